"""Requests, models and checkpoints, as the reference operator leaves them in a cluster. A user creates the object; the reference
adds its finalizer, writes the status, and makes the Job and what the Job needs."""

import hashlib
import json

from operator_plane import KINDS, OURS, path_of
from reference_objects import GENERATION, HASH, MANAGER, TIME, USER_MANAGER, spec_hash

KINDS.update(DynamoModel=(OURS, "dynamomodels"))
FINALIZER = "nvidia.com/finalizer"
REQUEST = "DynamoGraphDeploymentRequest"
CHECKPOINT_HASH = "nvidia.com/snapshot-checkpoint-hash"
PROFILING = "dgdr-profiling-job"
PROFILING_ROLE = "dynamo-dynamo-operator-dgdr-profiling"
# The condition Succeeded of each phase.
SUCCEEDED = {
    "Pending": ("False", "Pending", "DGDR is pending"),
    "Profiling": ("False", "Profiling", "Profiling is in progress"),
    "Ready": ("True", "SpecGenerated", "Profiling complete, spec available"),
    "Deploying": ("False", "Deploying", "Deployment is in progress"),
    "Deployed": ("True", "Deployed", "Deployment is healthy"),
    "Failed": ("False", "Failed", "DGDR has failed"),
}
DISCOVERING = ("Profiling", "False", "DiscoveringHardware", "Hardware is being discovered")
RUNNING = ("Profiling", "False", "ProfilingRunning", "Profiling is in progress")
COMPLETED = ("Profiling", "True", "ProfilingCompleted", "Profiling job completed successfully")


def condition(kind, status, reason, message, generation=1):
    made = {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": TIME}
    return {**made, "observedGeneration": generation} if generation else made


def generated(applied):
    text = "DynamoGraphDeployment spec generated successfully"
    return ("SpecGenerated", "True", "SpecGenerated", text if applied else "Generated spec is available in annotation nvidia.com/generated-dgd-spec")


def request_status(name, phase, *conditions, **more):
    """Also without an observedGeneration, if `more` says None."""
    fields = {"observedGeneration": 1}
    if phase not in ("Pending", "Failed"):
        fields["profilingJobName"] = f"profile-{name}"
    if phase == "Profiling":
        fields["profilingPhase"] = "Initializing"
    fields.update(more)
    listed = [condition("Succeeded", *SUCCEEDED[phase]), *(condition(*each) for each in conditions)]
    return {"phase": phase, "conditions": listed, **{key: value for key, value in fields.items() if value is not None}}


def selected(graph):
    """status.profilingResults for a graph. The reference stores its own type, with all members."""
    return {"selectedConfig": {**graph, "status": {"state": ""}}}


def endpoint_status(*endpoints, services=2):
    """The status of an adapter. `endpoints`: (name of the pod, address, whether it is ready)."""
    ready = sum(1 for _, _, is_ready in endpoints if is_ready)
    found = f"Found {ready} ready endpoint(s) out of {len(endpoints)} total"
    told = ("True", "AllEndpointsReady", f"All {ready} endpoint(s) are ready") if ready == len(endpoints) else ("False", "NotReady", found)
    return _model_status(endpoints, ready, services, told)


def base_status(*endpoints, services=2):
    """The status of a base model. Its endpoints are never ready."""
    listed = [(pod, address, False) for pod, address in endpoints]
    told = ("True", "EndpointsDiscovered", f"Found {len(listed)} endpoint(s) for base model")
    return _model_status(listed, 0, services, told)


def _model_status(endpoints, ready, services, told):
    listed = [{"address": f"http://{address}:9090", "podName": pod, "ready": is_ready} for pod, address, is_ready in endpoints]
    found = condition("ServicesFound", "True", "ServicesFound", f"Found {services} service(s)")
    return {
        "conditions": [found, condition("EndpointsReady", *told)],
        "endpoints": listed,
        "readyEndpoints": ready,
        "totalEndpoints": len(listed),
    }


def identity_hash(identity):
    text = {"model": identity["model"], "backendFramework": identity["backendFramework"], "tensorParallelSize": 1, "pipelineParallelSize": 1}
    return hashlib.sha256(json.dumps(text, separators=(",", ":")).encode()).hexdigest()[:16]


def checkpoint_status(name, identity, phase, completed=None, **more):
    """`completed`: status, reason and message of the condition JobCompleted. The conditions have no generation."""
    status = {"phase": phase, "identityHash": identity_hash(identity), **more}
    if phase != "Pending":
        status["jobName"] = f"checkpoint-{name}"
        status["conditions"] = [condition("JobCreated", "True", "JobCreated", f"Checkpoint job checkpoint-{name} created", 0)]
    if completed:
        status["conditions"].append(condition("JobCompleted", *completed, 0))
    return status


class Writer:
    """Writes objects of one namespace."""

    def __init__(self, plane, namespace):
        self.plane, self.namespace = plane, namespace

    def _call(self, method, kind, name, body, manager, subresource=None):
        path = path_of(kind, self.namespace, name, subresource) + f"?fieldManager={manager}"
        content = "application/merge-patch+json" if method == "PATCH" else "application/json"
        return self.plane.cluster.api(method, path, body, content)

    def create(self, manifest, status=None, finalizer=True, annotations=None):
        """What a user has created, with what the reference has written to it."""
        kind, name = manifest["kind"], manifest["metadata"]["name"]
        made = self._call("POST", kind, None, manifest, USER_MANAGER)
        if finalizer:
            self._call("PATCH", kind, name, {"metadata": {"finalizers": [FINALIZER]}}, MANAGER)
        if annotations:
            self._call("PATCH", kind, name, {"metadata": {"annotations": annotations}}, MANAGER)
        if status:
            made = self._call("PATCH", kind, name, {"status": status}, MANAGER, "status")
        return made

    def _child(self, body):
        return self._call("POST", body["kind"], None, body, MANAGER)

    def _job(self, owner, name, labels, spec):
        reference = {key: owner[key] for key in ("apiVersion", "kind")}
        reference.update(name=owner["metadata"]["name"], uid=owner["metadata"]["uid"], controller=True, blockOwnerDeletion=True)
        metadata = {"name": name, "namespace": self.namespace, "labels": labels, "ownerReferences": [reference]}
        made = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": spec}
        metadata["annotations"] = {HASH: spec_hash(made), GENERATION: "1"}
        return self._child(made)

    def rights(self):
        """The account of the profiler, one for all requests of the namespace. It has no marks of the reference."""
        labels = {"app.kubernetes.io/name": PROFILING, "app.kubernetes.io/component": "rbac", "app.kubernetes.io/managed-by": "dynamo-operator"}
        self._child({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": PROFILING, "labels": labels}})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": PROFILING_ROLE}
        subjects = [{"kind": "ServiceAccount", "name": PROFILING, "namespace": self.namespace}]
        metadata = {"name": f"{PROFILING}-binding", "labels": labels}
        binding = {"kind": "RoleBinding", "metadata": metadata, "roleRef": role, "subjects": subjects}
        self._child({"apiVersion": "rbac.authorization.k8s.io/v1", **binding})

    def profiling_job(self, request):
        name, spec = request["metadata"]["name"], request["spec"]
        variables = {"DGDR_NAME": name, "DGDR_NAMESPACE": self.namespace, "DGDR_UID": request["metadata"]["uid"]}
        variables.update(NATS_SERVER=f"nats://{self.namespace}-nats:4222", ETCD_ENDPOINTS=f"{self.namespace}-etcd:2379")
        token = {"name": "HUGGING_FACE_HUB_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf-token-secret", "key": "HF_TOKEN"}}}
        profiler = {
            "name": "profiler",
            "image": spec["image"],
            "command": ["python", "-m", "dynamo.profiler"],
            "args": ["--config", json.dumps(spec, separators=(",", ":")), "--output-dir", "/data"],
            "env": [token, *({"name": key, "value": value} for key, value in variables.items())],
            "workingDir": "/workspace",
            "volumeMounts": [{"name": "profiling-output", "mountPath": "/data"}],
        }
        copier = {
            "name": "output-copier",
            "image": "bitnami/kubectl:latest",
            "command": ["/bin/sh", "-c"],
            "args": [f"kubectl create configmap dgdr-output-{name} --from-file=/data/final_config.yaml"],
            "volumeMounts": [{"name": "profiling-output", "mountPath": "/data", "readOnly": True}],
        }
        pod = {
            "serviceAccountName": PROFILING,
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "runAsGroup": 1000, "fsGroup": 1000},
            "containers": [profiler, copier],
            "imagePullSecrets": [{"name": "nvcr-imagepullsecret"}],
            "volumes": [{"name": "profiling-output", "emptyDir": {}}],
        }
        labels = {"app": "dynamo-profiler", "dgdr": name, "nvidia.com/managed-by": "dynamo-operator"}
        return self._job(request, f"profile-{name}", labels, {"backoffLimit": 3, "template": {"spec": pod}})

    def checkpoint_job(self, checkpoint):
        name, spec = checkpoint["metadata"]["name"], checkpoint["spec"]
        found = identity_hash(spec["identity"])
        pod = json.loads(json.dumps(spec["job"]["podTemplateSpec"]["spec"]))
        variables = {"DYN_READY_FOR_CHECKPOINT_FILE": "/tmp/ready-for-checkpoint", "DYN_CHECKPOINT_HASH": found}
        pod["containers"][0]["env"] = [{"name": key, "value": value} for key, value in variables.items()]
        labels = {CHECKPOINT_HASH: found}
        template = {"metadata": {"labels": {**labels, "nvidia.com/snapshot-is-checkpoint-source": "true"}}, "spec": pod}
        limit = spec["job"].get("backoffLimit", 3)
        return self._job(checkpoint, f"checkpoint-{name}", labels, {"backoffLimit": limit, "ttlSecondsAfterFinished": 300, "template": template})
