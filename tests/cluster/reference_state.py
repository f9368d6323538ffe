"""The state of a cluster that the reference operator has managed: requests in every phase, models and checkpoints."""

from operator_plane import condition_of
from reference_requests import (
    COMPLETED,
    DISCOVERING,
    REQUEST,
    RUNNING,
    Writer,
    base_status,
    checkpoint_status,
    endpoint_status,
    generated,
    identity_hash,
    request_status,
    selected,
)

GRAPH, MODEL, CHECKPOINT = "DynamoGraphDeployment", "DynamoModel", "DynamoCheckpoint"
BASE = "Qwen/Qwen3-0.6B"
ADAPTER = "org/tuned"
SECONDS = 120
DEPLOYMENT = {"replicas": 1, "availableReplicas": 1}


def graph(name):
    """The graph that the profiler has made for a request."""
    service = {"componentType": "frontend", "replicas": 1, "extraPodSpec": {"mainContainer": {"image": "runtime:1"}}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": {"name": f"{name}-graph"}, "spec": {"services": {"Frontend": service}}}


def text_of(made):
    """YAML of the graph, which has no members that need quotes."""

    def lines(value, indent):
        for key, member in value.items():
            if isinstance(member, dict):
                yield f"{indent}{key}:"
                yield from lines(member, indent + "  ")
            else:
                yield f"{indent}{key}: {member}"

    return "\n".join(lines(made, "")) + "\n"


class Reference:
    """The objects that the reference leaves in a namespace, in which the graph "served" has the pods of the models."""

    def __init__(self, plane, namespace, samples, workers):
        self.plane, self.namespace, self.samples, self.workers = plane, namespace, samples, workers
        self.writer = Writer(plane, namespace)

    def write(self):
        self.writer.rights()
        self.requests()
        self.models()
        self.checkpoints()

    def wait_for_job(self, name, kind):
        finished = lambda: condition_of(self.plane.get("Job", self.namespace, name), kind).get("status") == "True"  # noqa: E731
        self.plane.cluster.wait(finished, SECONDS, f"{name} is {kind}")

    def request(self, name, phase=None, *conditions, annotations=None, spec=None, **status):
        manifest = self.samples.request(name, **(spec or {}))
        return self.writer.create(manifest, phase and request_status(name, phase, *conditions, **status), annotations=annotations)

    def requests(self):
        self.request("new")
        self.request("checked", "Pending", DISCOVERING)
        self.writer.profiling_job(self.request("with-job", "Pending", DISCOVERING))
        self.writer.profiling_job(self.request("discovering", "Profiling", DISCOVERING))
        for name in ("profiling", "done", "job-failed"):
            self.writer.profiling_job(self.request(name, "Profiling", RUNNING))
        self.samples.write_output("done")
        self.samples.end_pod("profile-done", "profiler", "Succeeded")
        for _ in range(4):  # the first pod, and three retries
            self.samples.end_pod("profile-job-failed", "profiler", "Failed", 1)
        self.wait_for_job("profile-done", "Complete")
        self.finished("ready", "Ready", {"autoApply": False}, True)
        self.finished("generated", "Deploying", {}, True)
        self.finished("created", "Deploying", {}, True)
        in_progress = ("DeploymentReady", "False", "DeploymentInProgress", "DGD deploying-graph is in pending state", 0)
        self.finished("deploying", "Deploying", {}, False, in_progress, deploymentInfo={"replicas": 0, "availableReplicas": 0})
        is_deployed = ("DeploymentReady", "True", "DeploymentReady", "DynamoGraphDeployment deployed-graph is ready", 0)
        self.finished("deployed", "Deployed", {}, False, is_deployed, deploymentInfo=DEPLOYMENT)
        failed = ("Profiling", "False", "ProfilingFailed", "profiling job failed: Job has reached the specified backoff limit")
        self.request("failed", "Failed", failed, profilingJobName="profile-failed")
        missing = ("Validation", "False", "ValidationFailed", f"model cache PVC absent not found in namespace {self.namespace}")
        self.request("invalid", "Failed", missing, spec={"modelCache": {"pvcName": "absent"}}, observedGeneration=None)
        self.request("leaving", "Profiling", RUNNING)
        self.plane.delete(REQUEST, self.namespace, "leaving")
        self.wait_for_job("profile-job-failed", "Failed")

    def finished(self, name, phase, spec, is_annotated, *conditions, **status):
        """A request whose Job has ended and was collected since."""
        made = graph(name)
        annotations = {"nvidia.com/generated-dgd-spec": text_of(made)} if is_annotated else None
        results = {"dgdName": made["metadata"]["name"], "profilingResults": selected(made)}
        spec_generated = generated(spec.get("autoApply", True))
        self.request(name, phase, COMPLETED, spec_generated, *conditions, annotations=annotations, spec=spec, **results, **status)

    def models(self):
        """The reference lists the endpoints as it has found them."""
        pods = sorted(self.samples.addresses("served").items(), reverse=True)
        for _, address in pods:
            self.workers.adapters[address] = {ADAPTER, "org/partial", "org/unloaded"}
        self.workers.adapters[pods[1][1]].remove("org/partial")
        both = endpoint_status(*((pod, address, True) for pod, address in pods))
        self.writer.create(self.samples.adapter("tuned", BASE), both)
        self.writer.create(self.samples.base_model("base", BASE), base_status(*pods))
        self.writer.create(self.samples.adapter("late", BASE))
        self.writer.create(self.samples.adapter("partial", BASE), endpoint_status((*pods[0], True), (*pods[1], False)))
        self.writer.create(self.samples.adapter("unloaded", BASE), both)
        self.plane.delete(MODEL, self.namespace, "unloaded")

    def checkpoint(self, name, phase=None, completed=None, limit=3, **status):
        manifest = self.samples.checkpoint(name, backoffLimit=limit)
        identity = manifest["spec"]["identity"]
        return self.writer.create(manifest, phase and checkpoint_status(name, identity, phase, completed, **status), finalizer=False)

    def checkpoints(self):
        self.checkpoint("ck-new")
        self.writer.checkpoint_job(self.checkpoint("ck-with-job", "Pending"))
        self.writer.checkpoint_job(self.checkpoint("ck-creating", "Creating"))
        self.writer.checkpoint_job(self.checkpoint("ck-done", "Creating"))
        self.samples.end_pod("checkpoint-ck-done", "main", "Succeeded")
        self.wait_for_job("checkpoint-ck-done", "Complete")
        location = f"s3://bucket/prefix/{identity_hash({'model': 'ck-ready', 'backendFramework': 'vllm'})}.tar"
        told = ("True", "JobSucceeded", f"Checkpoint job completed, available at {location}")
        when = "2026-01-01T00:00:00Z"
        self.checkpoint("ck-ready", "Ready", told, location=location, storageType="s3", createdAt=when)
        failure = "Checkpoint job failed"
        made = self.checkpoint("ck-failed", "Failed", ("False", "JobFailed", failure), 0, message=failure)
        self.writer.checkpoint_job(made)
        self.samples.end_pod("checkpoint-ck-failed", "main", "Failed", 1)
        self.wait_for_job("checkpoint-ck-failed", "Failed")
