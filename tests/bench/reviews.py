"""Reviews as the API server sends them. Every peer of the benchmark gets the same bytes.

The members of the envelope have the order of the Go struct, and objects have sorted keys. Objects have managedFields like
real ones and, if written by client-side apply, the last-applied annotation.
"""

import copy
import json
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UID = "0df28fbd-5f5f-11f0-8bc6-0242ac110002"
OBJECT_UID = "6f1c0e4e-0000-4c2e-9d0c-1f6f6a000000"
GROUP = "nvidia.com"
KIND = "DynamoGraphDeploymentRequest"
ADMISSION = "dynamographdeploymentrequest"
VALIDATE_PATH = f"/validate-nvidia-com-v1beta1-{ADMISSION}"
MUTATE_PATH = f"/mutate-nvidia-com-v1beta1-{ADMISSION}"
CONVERT_PATH = "/convert"
GRAPH_PATHS = {role: f"/{role}-nvidia-com-v1alpha1-dynamographdeployment" for role in ("mutate", "validate")}
ADMISSION_PATHS = (VALIDATE_PATH, MUTATE_PATH, *GRAPH_PATHS.values())
SMALL, LARGE = 2048, 10240
TIME = "2026-01-01T00:00:00Z"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def dump(value, **options):
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False, **options)


def fields(value):
    """The managedFields set of everything in `value`, as server-side apply writes it."""
    if isinstance(value, dict) and value:
        return {"f:" + key: fields(item) for key, item in value.items()}
    return {}


def managed(manager, operation, version, value, subresource=None):
    entry = {"apiVersion": f"{GROUP}/{version}", "fieldsType": "FieldsV1",
             "fieldsV1": fields(value), "manager": manager, "operation": operation, "time": TIME}
    if subresource:
        entry["subresource"] = subresource
    return entry


def planner(services):
    return {"enable_load_scaling": True, "adjustment_interval": 180, "max_gpu_budget": 16,
            "prefill": {f"stage-{i}": {"engine_num_gpu": i + 1, "min_endpoint": 1,
                                       "predictor": "constant", "window": 50} for i in range(services)}}


def pod_template(options):
    return {"metadata": {"labels": {"team": "inference"}}, "spec": {
        "containers": [{
            "name": "profiler",
            "image": "registry.example.com/team/profiler:1.0.0",
            "env": [{"name": f"PROFILER_OPTION_{n}", "value": f"value-{n}"} for n in range(options)],
            "resources": {"limits": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "1"},
                          "requests": {"cpu": "4", "memory": "16Gi"}},
            "volumeMounts": [{"name": "models", "mountPath": "/models", "readOnly": True}],
        }],
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"},
        "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
    }}


def base_graph():
    def worker(role):
        return {"componentType": "worker", "subComponentType": role, "replicas": 2,
                "envFromSecret": "hf-token-secret", "resources": {"limits": {"gpu": "2"}},
                "extraPodSpec": {"mainContainer": {
                    "image": "registry.example.com/team/vllm-runtime:1.0.0", "workingDir": "/workspace",
                    "command": ["python3", "-m", "dynamo.vllm"],
                    "args": ["--model", "Qwen/Qwen3-32B", "--tensor-parallel-size", "2"]}}}
    return {"apiVersion": f"{GROUP}/v1alpha1", "kind": "DynamoGraphDeployment",
            "metadata": {"name": "base"},
            "spec": {"backendFramework": "vllm", "services": {
                "Frontend": {"componentType": "frontend", "replicas": 1},
                "VllmPrefillWorker": worker("prefill"), "VllmDecodeWorker": worker("decode")}}}


def conditions():
    return [{"type": kind, "status": "True", "reason": reason, "observedGeneration": 1,
             "message": f"{kind} is done", "lastTransitionTime": TIME}
            for kind, reason in [("Validation", "Valid"), ("Profiling", "ProfilingCompleted"),
                                 ("SpecGenerated", "SpecGenerated")]]


def beta_spec(large, stored):
    spec = {"autoApply": True, "backend": "vllm", "model": "Qwen/Qwen3-32B", "searchStrategy": "rapid",
            "hardware": {"gpuSku": "h100_sxm", "numGpusPerNode": 8, "totalGpus": 16, "vramMb": 81920},
            "sla": {"itl": 20, "ttft": 200.5}, "workload": {"isl": 4000, "osl": 1000}}
    if large:
        spec["modelCache"] = {"pvcName": "models", "pvcModelPath": "qwen3-32b", "pvcMountPath": "/models"}
        spec["features"] = {"planner": planner(2 if stored else 6)}
        job = {"backoffLimit": 2, "template": pod_template(2 if stored else 6)}
        spec["overrides"] = {"dgd": base_graph(), "profilingJob": job}
    return spec


def alpha_spec(large):
    config = {"sla": {"isl": 4000, "osl": 1000, "itl": 20, "ttft": 200.5},
              "hardware": {"max_num_gpus_per_engine": 8, "num_gpus_per_node": 8}}
    profiling = {"config": config, "profilerImage": "registry.example.com/team/profiler:1.0.0"}
    if large:
        config["planner"] = planner(6)
        config["deployment"] = {"modelCache": {"pvcName": "models", "modelPathInPvc": "qwen3-32b"},
                                "namespace": "inference"}
        config["sweep"] = {f"round-{i}": {"batch": [1, 2, 4, 8, 16, 32, 64], "granularity": 16,
                                          "use_aic": False} for i in range(8)}
        profiling["configMapRef"] = {"name": "base-graph", "key": "disagg.yaml"}
        profiling["resources"] = {"limits": {"cpu": "8", "memory": "32Gi"}}
        profiling["tolerations"] = [{"key": "nvidia.com/gpu", "operator": "Exists"}]
    return {"autoApply": True, "backend": "vllm", "enableGpuDiscovery": True, "model": "Qwen/Qwen3-32B",
            "useMocker": False, "profilingConfig": profiling}


def beta_status(large):
    status = {"conditions": conditions()[:3 if large else 1], "dgdName": "qwen", "observedGeneration": 1,
              "phase": "Ready"}
    if large:
        status["profilingResults"] = {"selectedConfig": base_graph()}
    return status


def alpha_status(large):
    status = {"conditions": conditions()[:3 if large else 1], "observedGeneration": 1, "state": "Ready",
              "deployment": {"name": "qwen", "namespace": "inference", "state": "successful",
                             "created": True}}
    if large:
        status["generatedDeployment"] = base_graph()
    return status


def make_object(version, large, name, stored):
    """A request as written by a client or, when `stored`, with the controller's status."""
    spec = beta_spec(large, stored) if version == "v1beta1" else alpha_spec(large)
    labels = {"app.kubernetes.io/managed-by": "argocd", "app.kubernetes.io/name": "qwen", "team": "inference"}
    written = {"metadata": {"labels": labels}, "spec": spec}
    annotations = {}
    if large:
        applied = {"apiVersion": f"{GROUP}/{version}", "kind": KIND,
                   "metadata": {"annotations": {}, "labels": labels, "name": name,
                                "namespace": "inference"}, "spec": spec}
        annotations[LAST_APPLIED] = dump(applied, sort_keys=True) + "\n"
        written["metadata"]["annotations"] = dict(annotations)
    manager = "kubectl-client-side-apply" if large else "kubectl-create"
    entries = [managed(manager, "Update", version, written)]
    result = {"apiVersion": f"{GROUP}/{version}", "kind": KIND, "spec": spec, "metadata": {
        "annotations": annotations, "creationTimestamp": TIME, "generation": 1, "labels": labels,
        "managedFields": entries, "name": name, "namespace": "inference",
        "uid": OBJECT_UID}}
    if stored:
        status = (beta_status if version == "v1beta1" else alpha_status)(large)
        result["status"] = status
        result["metadata"]["resourceVersion"] = "123456"
        entries.append(managed("manager", "Update", version, {"status": status}, "status"))
    return copy.deepcopy(result)


def pad(thing, build, size):
    """Adds an annotation with text to `thing` so that len(build()) is `size`, unless it is larger already."""
    prose = "Serves the chat front end of the inference team. Ask on the team channel before a change. "
    annotations = thing["metadata"]["annotations"]
    annotations["team.example.com/notes"] = ""
    missing = size - len(build())
    annotations["team.example.com/notes"] = (prose * (max(missing, 0) // len(prose) + 1))[:max(missing, 0)]
    if not annotations["team.example.com/notes"]:
        del annotations["team.example.com/notes"]
    return build()


def admission(large):
    """An AdmissionReview v1 for CREATE of a v1beta1 request; about 2 or 10 KB in total."""
    version = {"group": GROUP, "version": "v1beta1"}
    kind, resource = {**version, "kind": KIND}, {**version, "resource": ADMISSION + "s"}
    thing = make_object("v1beta1", large, "qwen", False)

    def build():
        request = {
            "uid": UID, "kind": kind, "resource": resource, "requestKind": kind,
            "requestResource": resource, "name": "qwen", "namespace": "inference",
            "operation": "CREATE",
            "userInfo": {"username": "kubernetes-admin",
                         "groups": ["kubeadm:cluster-admins", "system:authenticated"]},
            "object": json.loads(dump(thing, sort_keys=True)), "oldObject": None, "dryRun": False,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1",
                        "fieldManager": "kubectl-client-side-apply" if large else "kubectl-create",
                        "fieldValidation": "Strict"}}
        return dump({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                     "request": request}).encode()

    return pad(thing, build, LARGE if large else SMALL)


def conversion_envelope(desired, objects):
    """`objects` are JSON texts."""
    head = dump({"kind": "ConversionReview", "apiVersion": "apiextensions.k8s.io/v1",
                 "request": {"uid": UID, "desiredAPIVersion": f"{GROUP}/{desired}"}})
    return (head[:-2] + ',"objects":[' + ",".join(objects) + "]}}").encode()


def conversion(desired, large):
    """A ConversionReview of one object in the other version; about 2 or 10 KB in total."""
    thing = make_object("v1alpha1" if desired == "v1beta1" else "v1beta1", large, "qwen", True)
    return pad(thing, lambda: conversion_envelope(desired, [dump(thing, sort_keys=True)]),
               LARGE if large else SMALL)


def bulk_conversion(desired, count):
    """A ConversionReview of `count` objects of 10 KB each, with different names and uids."""
    thing = make_object("v1alpha1" if desired == "v1beta1" else "v1beta1", True, "qwen-00000", True)
    pad(thing, lambda: dump(thing, sort_keys=True).encode(), LARGE)
    text = dump(thing, sort_keys=True)
    return conversion_envelope(desired, [
        text.replace("qwen-00000", f"qwen-{i:05d}").replace(OBJECT_UID, f"{OBJECT_UID[:-6]}{i:06d}")
        for i in range(count)])


def effective_graph():
    """The sample of four services as stored, with its defaults and their record."""
    argv = [ROOT / "build/release/bin/dynamo-webhook", "effective", "-o", "json", "-n", "inference", "-f",
            ROOT / "deploy/samples/graph.yaml"]
    return json.loads(subprocess.run(argv, capture_output=True, text=True, check=True).stdout)


def graph_update():
    """An AdmissionReview v1 for UPDATE of a stored graph: another image for every service."""
    stored = effective_graph()
    metadata = {"creationTimestamp": TIME, "generation": 1, "resourceVersion": "123456", "uid": OBJECT_UID}
    stored["metadata"] = {**stored["metadata"], **metadata,
                          "managedFields": [managed("kubectl-create", "Update", "v1alpha1", {"spec": stored["spec"]})]}
    changed = json.loads(re.sub(r'("image":\s*"[^"]*):[^:"]*"', r'\1:9.9.9"', dump(stored)))
    changed["metadata"]["generation"] = 2
    version = {"group": GROUP, "version": "v1alpha1"}
    kind = {**version, "kind": "DynamoGraphDeployment"}
    resource = {**version, "resource": "dynamographdeployments"}
    request = {
        "uid": UID, "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": stored["metadata"]["name"], "namespace": "inference", "operation": "UPDATE",
        "userInfo": {"username": "kubernetes-admin", "groups": ["system:authenticated"]},
        "object": json.loads(dump(changed, sort_keys=True)),
        "oldObject": json.loads(dump(stored, sort_keys=True)), "dryRun": False,
        "options": {"kind": "PatchOptions", "apiVersion": "meta.k8s.io/v1", "fieldManager": "kubectl-patch"}}
    return dump({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": request}).encode()


def graph_cases():
    body = graph_update()
    for role, path in GRAPH_PATHS.items():
        yield f"{role} UPDATE of a graph", path, body


def allowed_answer():
    """The constant answer of the peers that make no decisions."""
    return dump({"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1",
                 "response": {"uid": UID, "allowed": True, "status": {"metadata": {}, "code": 200}}})


def cases():
    """(name, path, body) of every measured request in both sizes."""
    for size, large in (("2 KB", False), ("10 KB", True)):
        yield f"validate {size}", VALIDATE_PATH, admission(large)
        yield f"mutate {size}", MUTATE_PATH, admission(large)
        yield f"convert to v1alpha1 {size}", CONVERT_PATH, conversion("v1alpha1", large)
        yield f"convert to v1beta1 {size}", CONVERT_PATH, conversion("v1beta1", large)


if __name__ == "__main__":
    for name, path, body in [*cases(), *graph_cases()]:
        notes = re.search('"team.example.com/notes":"([^"]*)"', body.decode())
        print(f"{name:28} {path:58} {len(body):6} bytes, {len(notes[1]) if notes else 0} of them padding")
