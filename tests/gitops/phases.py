"""Real runs in which every kind passes through its phases. Watches keep every stored state.

    history = phases.watch(plane)
    phases.play(plane, history, workers)    # "graph rolling" -> the object as it was stored"""

import time

from operator_plane import condition_of, is_ready, path_of
from request_lives import all_at_once
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, Samples
from history import History  # (after request_samples, which adds a kind)

COMPONENT, ADAPTER = "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter"
KINDS = (GRAPH, COMPONENT, ADAPTER, REQUEST, MODEL, CHECKPOINT)
BASE = "Qwen/Qwen3-0.6B"
SECONDS = 120


class Play:
    """One namespace. `moments`: the objects that have been named so far."""

    def __init__(self, plane, history, namespace, moments):
        self.plane, self.history, self.namespace, self.moments = plane, history, namespace, moments
        self.samples = Samples(plane, namespace)
        plane.cluster.create_namespace(namespace)

    def keep(self, label, kind, name, condition, since=0):
        """Waits for the first state after version `since` of the object that meets the condition. Returns its version."""

        def found():
            changes = (one for one in self.history.reported(self.namespace) if one.kind == kind and one.version > since)
            return next((one for one in changes if one.object["metadata"]["name"] == name and condition(one.object)), None)

        change = self.history.wait(found, SECONDS, lambda: f"{label}: {self.history.get(self.namespace, kind, name)}")
        self.moments[label] = change.object
        return change.version

    def apply(self, manifest):
        return int(self.plane.apply(manifest)["metadata"]["resourceVersion"])

    def patch(self, kind, name, change, subresource=None):
        return int(self.plane.patch(kind, self.namespace, name, change, subresource)["metadata"]["resourceVersion"])


def is_new(one):
    return "status" not in one


def is_unseen(one):
    """Whether the status is that of an older generation."""
    return one.get("status", {}).get("observedGeneration", 0) < one["metadata"]["generation"]


def has_reason(kind, reason, text=""):
    def check(one):
        condition = condition_of(one, kind)
        return condition.get("reason") == reason and text in condition["message"]

    return check


def has_phase(phase):
    return lambda one: one.get("status", {}).get("phase") == phase


class Graphs(Play):
    def graph(self, name, image="runtime:1", **more):
        """A frontend and a worker that an adapter scales."""
        frontend = {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "runtime:1"}}}
        main = {"image": image, "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
        worker = {"componentType": "worker", "scalingAdapter": {"enabled": True}, "extraPodSpec": {"mainContainer": main}}
        return {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": GRAPH,
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {"services": {"Frontend": frontend, "Worker": worker}, **more},
        }

    def play(self):
        self.lives()
        self.fails()
        self.is_scaled_to_nothing()

    def lives(self):
        since = self.apply(self.graph("g")) - 1
        self.keep("graph created", GRAPH, "g", is_new, since)
        self.keep("component created", COMPONENT, "g-frontend", is_new, since)
        self.keep("adapter created", ADAPTER, "g-worker", is_new, since)
        self.keep("graph starting", GRAPH, "g", has_reason("Ready", "some_resources_are_not_ready"), since)
        self.keep("component starting", COMPONENT, "g-frontend", has_reason("Available", "DeploymentNotReady"), since)
        ready = since = self.keep("graph ready", GRAPH, "g", is_ready, since)
        self.keep("component ready", COMPONENT, "g-frontend", has_reason("Available", "DeploymentReady"))
        self.keep("adapter follows", ADAPTER, "g-worker", has_reason("Scalable", "ScalesService"))
        self.lose_a_pod()
        since = self.keep("graph not ready", GRAPH, "g", has_reason("Ready", "some_resources_are_not_ready"), since)
        self.keep("component not ready", COMPONENT, "g-frontend", has_reason("Available", "DeploymentNotReady"), ready)
        self.remove_pods("Frontend")
        self.keep("graph ready again", GRAPH, "g", is_ready, since)
        since = self.apply(self.graph("g", "runtime:2")) - 1
        self.keep("graph changed", GRAPH, "g", is_unseen, since)
        since = self.keep("graph rolling", GRAPH, "g", has_reason("Ready", "rolling_update_in_progress"), since)
        since = self.keep("graph rolled", GRAPH, "g", is_ready, since)
        self.apply(self.graph("g", "runtime:missing"))
        since = self.keep("graph stuck", GRAPH, "g", has_reason("Ready", "rolling_update_in_progress", "cannot pull image"), since)
        fails = lambda one: condition_of(one, "PodFailure").get("status") == "True"  # noqa: E731
        stuck = next(one["metadata"]["name"] for one in self.history.all(self.namespace, COMPONENT) if fails(one))
        self.keep("component stuck", COMPONENT, stuck, fails)
        self.apply(self.graph("g", "runtime:2"))
        self.keep("graph ready after a way back", GRAPH, "g", is_ready, since)
        since = self.patch(ADAPTER, "g-worker", {"spec": {"replicas": 2}}) - 1
        scaled = lambda one: condition_of(one, "Scalable").get("observedGeneration") == one["metadata"]["generation"]  # noqa: E731
        self.keep("adapter changed", ADAPTER, "g-worker", lambda one: not scaled(one), since)
        self.keep("adapter has scaled", ADAPTER, "g-worker", scaled, since)
        self.keep("graph scaled", GRAPH, "g", is_ready, since)
        self.apply(self.adapter("early", "later", "Worker"))
        self.keep("adapter without graph", ADAPTER, "early", has_reason("Scalable", "GraphNotFound"))
        self.apply(self.adapter("other", "g", "Frontend"))
        self.keep("adapter refused", ADAPTER, "other", has_reason("Scalable", "AdapterDisabled"))

    def adapter(self, name, graph, service):
        metadata = {"name": name, "namespace": self.namespace}
        spec = {"replicas": 1, "dgdRef": {"name": graph, "serviceName": service}}
        return {"apiVersion": "nvidia.com/v1alpha1", "kind": ADAPTER, "metadata": metadata, "spec": spec}

    def pods(self, service):
        labels = f"nvidia.com/dynamo-graph-deployment-name%3Dg,nvidia.com/dynamo-component%3D{service}"
        return self.plane.cluster.api("GET", path_of("Pod", self.namespace) + f"?labelSelector={labels}")["items"]

    def lose_a_pod(self):
        """A pod is no longer ready."""
        name = self.pods("Frontend")[0]["metadata"]["name"]
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        conditions = [{"type": kind, "status": "False", "lastTransitionTime": now} for kind in ("Ready", "ContainersReady")]
        path = path_of("Pod", self.namespace, name, "status")
        how = "application/strategic-merge-patch+json"
        self.plane.cluster.api("PATCH", path, {"status": {"conditions": conditions}}, content_type=how)

    def remove_pods(self, service):
        for pod in self.pods(service):
            self.plane.delete("Pod", self.namespace, pod["metadata"]["name"])

    def fails(self):
        """A claim does not exist; later it does; later it is deleted."""
        self.apply(self.graph("claim", pvcs=[{"name": "theirs", "create": False}]))
        failed = has_reason("Ready", "failed_to_reconcile_the_resources")
        since = self.keep("graph failed", GRAPH, "claim", failed)
        claim = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        path = path_of("PersistentVolumeClaim", self.namespace)
        self.plane.cluster.api("POST", path, {"metadata": {"name": "theirs"}, "spec": claim})
        since = self.keep("graph ready after a failure", GRAPH, "claim", is_ready, since)
        self.apply(self.graph("claim", "runtime:2", pvcs=[{"name": "absent", "create": False}]))
        self.keep("graph failed after a change", GRAPH, "claim", failed, since)

    def is_scaled_to_nothing(self):
        manifest = self.graph("nothing")
        del manifest["spec"]["services"]["Worker"]
        manifest["spec"]["services"]["Frontend"]["replicas"] = 0
        self.apply(manifest)
        self.keep("graph scaled to nothing", GRAPH, "nothing", is_ready)


class Requests(Play):
    def play(self):
        samples = self.samples
        self.apply(samples.request("auto"))
        self.keep("request created", REQUEST, "auto", is_new)
        self.keep("request pending", REQUEST, "auto", has_phase("Pending"))
        self.keep("request profiling", REQUEST, "auto", has_phase("Profiling"))
        self.apply(samples.request("by-hand", autoApply=False))
        self.apply(samples.request("broken"))
        self.apply(samples.request("claimless", modelCache={"pvcName": "absent"}))
        self.keep("request refused", REQUEST, "claimless", has_phase("Failed"))
        for name in ("auto", "by-hand"):
            self.samples.wait_for_phase(REQUEST, name, "Profiling")
            samples.write_output(name)
            samples.end_pod(f"profile-{name}", "profiler", "Succeeded")
        self.keep("request deploying", REQUEST, "auto", has_phase("Deploying"))
        since = self.keep("request deployed", REQUEST, "auto", has_phase("Deployed"))
        self.keep("request for approval", REQUEST, "by-hand", has_phase("Ready"))
        self.plane.patch(GRAPH, self.namespace, "auto-graph", {"spec": {"services": {"Frontend": {"replicas": 2}}}})
        since = self.keep("request degraded", REQUEST, "auto", has_phase("Deploying"), since)
        since = self.keep("request deployed again", REQUEST, "auto", has_phase("Deployed"), since)
        self.plane.delete(GRAPH, self.namespace, "auto-graph")
        self.keep("request without its graph", REQUEST, "auto", has_phase("Failed"), since)
        samples.end_pod("profile-broken", "profiler", "Failed", 1)
        self.plane.patch("Job", self.namespace, "profile-broken", {"spec": {"backoffLimit": 0}})
        self.keep("request failed", REQUEST, "broken", has_phase("Failed"))


class Checkpoints(Play):
    def play(self):
        self.apply(self.samples.checkpoint("c", backoffLimit=0))
        self.keep("checkpoint created", CHECKPOINT, "c", is_new)
        self.keep("checkpoint creating", CHECKPOINT, "c", has_phase("Creating"))
        self.samples.end_pod("checkpoint-c", "main", "Failed", 1)
        since = self.keep("checkpoint failed", CHECKPOINT, "c", has_phase("Failed"))
        since = self.patch(CHECKPOINT, "c", {"spec": {"job": {"backoffLimit": 1}}}) - 1
        self.keep("checkpoint changed", CHECKPOINT, "c", has_phase("Failed"), since)
        since = self.keep("checkpoint pending", CHECKPOINT, "c", has_phase("Pending"), since)
        since = self.keep("checkpoint creating again", CHECKPOINT, "c", has_phase("Creating"), since)
        self.samples.end_pod("checkpoint-c", "main", "Succeeded")
        self.keep("checkpoint ready", CHECKPOINT, "c", has_phase("Ready"), since)
        # Somebody else has a Job of the name.
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "runtime:1"}]}
        job = {"metadata": {"name": "checkpoint-refused"}, "spec": {"template": {"spec": pod}}}
        self.plane.cluster.api("POST", path_of("Job", self.namespace), job)
        self.apply(self.samples.checkpoint("refused"))
        self.keep("checkpoint refused", CHECKPOINT, "refused", has_reason("JobCreated", "JobCreationFailed"))


class Models(Play):
    def __init__(self, plane, history, namespace, moments, workers):
        super().__init__(plane, history, namespace, moments)
        self.workers = workers

    def play(self):
        for manifest in (self.samples.adapter("tuned", BASE), self.samples.base_model("base", BASE)):
            self.apply(manifest)
        self.keep("model created", MODEL, "tuned", is_new)
        since = self.keep("model without workers", MODEL, "tuned", has_reason("EndpointsReady", "NoEndpoints"))
        self.workers.behave = lambda method, address: 500 if method == "POST" else None
        self.apply(self.samples.workers("served", BASE))
        refused = has_reason("EndpointsReady", "NotReady", "told to fail")
        since = self.keep("model that is not loaded", MODEL, "tuned", refused, since)
        self.workers.behave = lambda method, address: None
        since = self.keep("model loaded", MODEL, "tuned", has_reason("EndpointsReady", "AllEndpointsReady", "All 2"), since)
        self.keep("base model found", MODEL, "base", has_reason("EndpointsReady", "EndpointsDiscovered"))
        since = self.patch(MODEL, "tuned", {"spec": {"source": {"uri": "s3://bucket/other"}}}) - 1
        unseen = lambda one: condition_of(one, "EndpointsReady")["observedGeneration"] < one["metadata"]["generation"]  # noqa: E731
        self.keep("model changed", MODEL, "tuned", unseen, since)


def watch(plane):
    """A History of these kinds, and of pods."""
    return History(plane.cluster.kubeconfig, ("Pod", *KINDS))


def play(plane, history, workers):
    """Plays everything at once. Returns "graph rolling" -> the object as it was stored."""
    moments = {}
    plays = [each(plane, history, each.__name__.lower(), moments) for each in (Graphs, Requests, Checkpoints)]
    plays.append(Models(plane, history, "models", moments, workers))
    all_at_once([each.play for each in plays])
    return moments
