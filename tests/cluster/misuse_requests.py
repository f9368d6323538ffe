"""The correct requests, models and checkpoints that test_controller_misoperation_requests.py changes, and how they are sent."""

import copy
import json

import yaml

from misuse_bases import MAIN, POD
from operator_plane import KINDS, condition_of, path_of
from request_samples import CHECKPOINT, MODEL, REQUEST

BETA = """
model: Qwen/Qwen3-0.6B
backend: vllm
image: "runtime:1"
autoApply: true
searchStrategy: rapid
hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8, totalGpus: 8}
workload: {isl: 4000, osl: 1000}
sla: {ttft: 200, itl: 20}
modelCache: {pvcName: models, pvcModelPath: qwen, pvcMountPath: /cache}
features: {mocker: {enabled: false}}
overrides:
  profilingJob:
    backoffLimit: 2
    template: {metadata: {labels: {team: a}}, spec: {containers: [{name: profiler, env: [{name: A, value: b}]}]}}
"""
ALPHA = """
model: Qwen/Qwen3-0.6B
backend: vllm
useMocker: false
autoApply: true
enableGpuDiscovery: false
profilingConfig:
  profilerImage: "runtime:1"
  config: {sla: {ttft: 200, itl: 20}, hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8, totalGpus: 8}}
  resources: {requests: {cpu: "1"}, limits: {memory: 4Gi}}
  tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
  nodeSelector: {kubernetes.io/os: linux}
deploymentOverrides: {name: chosen, labels: {team: a}, annotations: {note: b}, workersImage: "runtime:2"}
"""
IDENTITY = """
{model: m, backendFramework: vllm, dtype: bf16, dynamoVersion: "1.0", maxModelLen: 4096, tensorParallelSize: 1,
pipelineParallelSize: 1, extraParameters: {a: b}}
"""


def beta(name):
    return manifest(REQUEST, name, yaml.safe_load(BETA), "v1beta1")


def alpha(name):
    spec = yaml.safe_load(ALPHA)
    spec["deploymentOverrides"]["name"] = f"{name}-chosen"
    return manifest(REQUEST, name, spec)


def checkpoint(name):
    main = {"name": "main", **yaml.safe_load(MAIN), "image": "runtime:1"}
    pod = yaml.safe_load(POD)
    for part in ("affinity", "imagePullSecrets", "securityContext"):
        pod.pop(part)
    pod |= {"restartPolicy": "Never", "containers": [main, *pod["containers"]]}
    job = {"activeDeadlineSeconds": 3600, "backoffLimit": 0, "ttlSecondsAfterFinished": 3600}
    template = {"metadata": {"labels": {"team": "a"}}, "spec": pod}
    return manifest(CHECKPOINT, name, {"identity": yaml.safe_load(IDENTITY), "job": {**job, "podTemplateSpec": template}})


def adapter(name, base):
    return manifest(MODEL, name, {"modelName": "org/tuned", "baseModelName": base, "modelType": "lora", "source": {"uri": "s3://bucket/tuned"}})


def base_model(name, base):
    return manifest(MODEL, name, {"modelName": base, "baseModelName": base, "modelType": "base"})


def manifest(kind, name, spec, version="v1alpha1"):
    return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": {"name": name}, "spec": spec}


class Stored:
    """An object that is written with PUT requests in its own version."""

    def __init__(self, requests, base, namespace):
        self.requests, self.base, self.namespace = requests, copy.deepcopy(base), namespace
        self.kind, self.name = base["kind"], base["metadata"]["name"]
        self.base["metadata"]["namespace"] = namespace
        plural = KINDS[self.kind][1]
        self.all = f"/apis/{base['apiVersion']}/namespaces/{namespace}/{plural}"
        self.path = f"{self.all}/{self.name}"
        self.stored = f"{KINDS[self.kind][0]}/namespaces/{namespace}/{plural}/{self.name}"

    def create(self):
        self.requests.must("POST", self.all + "?fieldManager=user", self.base)
        return self

    def delete(self):
        self.requests.send("DELETE", self.path)

    def get(self):
        """The object as it is stored; None if there is none."""
        status, answer = self.requests.send("GET", self.stored)
        return None if status == 404 else answer

    def live(self):
        """The object in its own version."""
        return self.requests.must("GET", self.path)

    def put(self, changed, dry_run=False):
        """(status, answer). Metadata other than the name stays."""
        flags = "?fieldManager=user" + ("&dryRun=All" if dry_run else "")
        while True:
            body = {**changed, "metadata": self.live()["metadata"]}
            status, answer = self.requests.send("PUT", self.path + flags, body)
            if status != 409:
                return status, answer

    def status(self):
        return (self.get() or {}).get("status", {})

    def condition(self, kind):
        return condition_of(self.get() or {}, kind) or {}

    @property
    def job_name(self):
        return f"{'profile' if self.kind == REQUEST else 'checkpoint'}-{self.name}"

    def job(self):
        """The Job with the name of the object's Job; None if there is none."""
        status, answer = self.requests.send("GET", path_of("Job", self.namespace, self.job_name))
        return None if status == 404 else answer

    def own_job(self):
        """Whether the Job is the object's."""
        return bool((self.job() or {"metadata": {}})["metadata"].get("ownerReferences"))

    def template(self):
        """What the Job of the object runs, without what depends on its name and uid."""
        job = self.job()
        if job is None:
            return None
        spec = {name: value for name, value in job["spec"].items() if name != "selector"}
        for name in ("controller-uid", "batch.kubernetes.io/controller-uid"):
            spec["template"]["metadata"]["labels"].pop(name, None)
        text = json.dumps(spec, sort_keys=True).replace(self.name, "NAME").replace(self.get()["metadata"]["uid"], "UID")
        return json.loads(text)
