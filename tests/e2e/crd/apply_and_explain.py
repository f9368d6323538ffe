#!/usr/bin/env python3
"""Installs deploy/crds like a user, with client-side kubectl apply, and checks the result with kubectl."""
import re
import sys

import compare_schemas

sys.path.insert(0, str(compare_schemas.ROOT / "tests" / "cluster"))
from control_plane import ControlPlane, ControlPlaneError  # noqa: E402

EXPLAINED = [
    ("dgd.spec.services.extraPodSpec.containers.livenessProbe", "failureThreshold"),
    ("dgd.spec.services.extraPodSpec.mainContainer", "imagePullPolicy"),
    ("dgd.spec.services.checkpoint.mode", "Manual"),
    ("dckpt.spec.job.podTemplateSpec.spec.volumes", "projected"),
    ("dgdr.spec.overrides.profilingJob", "podFailurePolicy"),
    ("dgdsa.spec.replicas", "Desired replicas"),
]


def condition(kind, status, reason, message):
    changed = "2026-01-01T00:00:00Z"
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": changed}


CONTAINER = {"extraPodSpec": {"mainContainer": {"image": "runtime:9"}}}
SERVICE = {"componentKind": "Deployment", "componentName": "c", "replicas": 2, "updatedReplicas": 2, "readyReplicas": 1}
PULL = 'cannot pull image "runtime:9"'
# What kubectl prints for objects that are not up: (resource, kind, spec, status, cells of "kubectl get -o wide" by column).
SHOWN = [
    (
        "dynamographdeployments", "DynamoGraphDeployment",
        {"backendFramework": "vllm", "services": {"Worker": CONTAINER}},
        {"state": "pending", "conditions": [condition("Ready", "False", "some_resources_are_not_ready", PULL)]},
        {"READY": "False", "STATE": "pending", "REASON": "some_resources_are_not_ready", "BACKEND": "vllm", "MESSAGE": PULL},
    ),
    (
        "dynamocomponentdeployments", "DynamoComponentDeployment",
        {"backendFramework": "vllm", "replicas": 2, **CONTAINER},
        {"service": SERVICE, "conditions": [condition("Available", "False", "DeploymentNotReady", PULL),
                                            condition("PodFailure", "True", "ImagePullFailed", PULL)]},
        {"AVAILABLE": "False", "READY": "1", "DESIRED": "2", "REASON": "DeploymentNotReady", "FAILURE": "ImagePullFailed",
         "BACKEND": "vllm", "MESSAGE": PULL},
    ),
    (
        "dynamographdeploymentscalingadapters", "DynamoGraphDeploymentScalingAdapter",
        {"replicas": 3, "dgdRef": {"name": "g", "serviceName": "Worker"}},
        {"replicas": 2, "conditions": [condition("Scalable", "False", "ServiceNotFound", "g has no service Worker")]},
        {"DGD": "g", "SERVICE": "Worker", "REPLICAS": "2", "DESIRED": "3", "READY": "False", "REASON": "ServiceNotFound",
         "MESSAGE": "g has no service Worker"},
    ),
    (
        "dynamographdeploymentrequests", "DynamoGraphDeploymentRequest",
        {"model": "m", "backend": "vllm", "image": "profiler:1"},
        {"phase": "Failed", "dgdName": "g",
         "conditions": [condition("Succeeded", "False", "ProfilingFailed", PULL), condition("Profiling", "False", "JobFailed", "the Job"),
                        condition("DeploymentReady", "False", "Waiting", "the graph")]},
        {"MODEL": "m", "BACKEND": "vllm", "PHASE": "Failed", "REASON": "ProfilingFailed", "DGD": "g", "MESSAGE": PULL,
         "JOB-MESSAGE": "the Job", "DGD-MESSAGE": "the graph"},
    ),
    (
        "dynamomodels", "DynamoModel",
        {"modelName": "org/tuned", "baseModelName": "m", "modelType": "lora", "source": {"uri": "s3://bucket/tuned"}},
        {"readyEndpoints": 1, "totalEndpoints": 2, "conditions": [condition("EndpointsReady", "False", "NotReady", "pod a: no answer")]},
        {"BASEMODEL": "m", "TYPE": "lora", "READY": "1", "TOTAL": "2", "REASON": "NotReady", "MESSAGE": "pod a: no answer"},
    ),
    (
        "dynamocheckpoints", "DynamoCheckpoint",
        {"identity": {"model": "m", "backendFramework": "vllm"},
         "job": {"podTemplateSpec": {"spec": {"containers": [{"name": "main", "image": "runtime:9"}]}}}},
        {"phase": "Failed", "identityHash": "96429b2725761a09", "message": PULL, "jobName": "checkpoint-c", "location": "/checkpoints/c"},
        {"MODEL": "m", "BACKEND": "vllm", "PHASE": "Failed", "HASH": "96429b2725761a09", "MESSAGE": PULL, "JOB": "checkpoint-c",
         "LOCATION": "/checkpoints/c"},
    ),
]  # fmt: skip
# Requests are stored in v1beta1, the version that kubectl asks for.
VERSIONS = {"dynamographdeploymentrequests": "v1beta1"}


def shown(cluster, resource, kind, spec, status):
    """The cells of the object's row, by column. Empty cells are left out."""
    version = f"nvidia.com/{VERSIONS.get(resource, 'v1alpha1')}"
    path = f"/apis/{version}/namespaces/default/{resource}"
    body = {"apiVersion": version, "kind": kind, "metadata": {"name": "shown"}, "spec": spec}
    cluster.api("POST", path, body)
    cluster.api("PATCH", f"{path}/shown/status", {"status": status}, "application/merge-patch+json")
    header, row = cluster.kubectl("get", resource, "shown", "-o", "wide").stdout.splitlines()
    cells = {}
    for column in re.finditer(r"\S+ *", header):
        end = None if column.end() == len(header) else column.end()
        cells[column.group().strip()] = row[column.start():end].strip()
    return {name: cell for name, cell in cells.items() if cell and name not in ("NAME", "AGE")}


def main():
    failures = []
    with ControlPlane(components=("etcd", "apiserver")) as cluster:
        kinds = len(list(compare_schemas.OURS.glob("*.yaml")))
        first = cluster.kubectl("apply", "-f", compare_schemas.OURS).stdout.splitlines()
        if len(first) != kinds or not all(line.endswith(" created") for line in first):
            failures.append(f"first apply: {first}")
        again = cluster.kubectl("apply", "-f", compare_schemas.OURS).stdout.splitlines()
        if len(again) != kinds or not all(line.endswith(" unchanged") for line in again):
            failures.append(f"second apply: {again}")
        cluster.wait_for_crds(30)
        for crd in cluster.api("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]:
            for condition in crd["status"]["conditions"]:
                if condition["type"] == "NonStructuralSchema":
                    failures.append(f"{crd['metadata']['name']}: {condition['message']}")
        for path, wanted in EXPLAINED:
            def explained(path=path, wanted=wanted):
                run = cluster.kubectl("explain", path, check=False)
                return run.returncode == 0 and wanted in run.stdout
            try:  # the OpenAPI document is updated a moment after the CRDs
                cluster.wait(explained, timeout=120, what=f"kubectl explain {path}")
            except ControlPlaneError as error:
                failures.append(str(error))
        table = cluster.kubectl("get", "--raw", "/apis/nvidia.com/v1alpha1/dynamographdeployments").stdout
        if '"items":[]' not in table:
            failures.append(f"list: {table}")
        for *written, wanted in SHOWN:
            cells = shown(cluster, *written)
            if cells != wanted:
                failures.append(f"kubectl get {written[0]}: {cells}, not {wanted}")
    for failure in failures:
        print(failure)
    done = f"{kinds} CRDs, {len(EXPLAINED)} fields explained, {len(SHOWN)} rows shown"
    print(f"apply and explain: {done}, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
