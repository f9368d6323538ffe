"""DynamoGraphDeploymentRequests for the tests, and helpers to write and read them."""

import copy
import itertools
import json
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cluster"), str(ROOT / "deploy/lib")]

from control_plane import ApiError, ControlPlane  # noqa: E402,F401
from install import Webhook, install  # noqa: E402

PLURAL = "dynamographdeploymentrequests"
ALPHA = f"{PLURAL}.v1alpha1.nvidia.com"
BETA = f"{PLURAL}.v1beta1.nvidia.com"

_names = itertools.count()


def unique(prefix="r"):
    return f"{prefix}-{next(_names)}"


def beta(name=None, **spec):
    """A v1beta1 request. Keyword arguments replace members of the spec; None removes one."""
    full = {"model": "Qwen/Qwen3-0.6B", "backend": "vllm", **spec}
    full = {key: value for key, value in full.items() if value is not None}
    return {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest",
            "metadata": {"name": name or unique("beta")}, "spec": full}


def alpha(name=None, **profiling):
    """A v1alpha1 request. Keyword arguments are members of profilingConfig."""
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest",
            "metadata": {"name": name or unique("alpha")},
            "spec": {"model": "Qwen/Qwen3-0.6B", "backend": "vllm", "autoApply": True,
                     "profilingConfig": {"profilerImage": "profiler:1", **profiling}}}


def rich_beta(name=None):
    """A request with every field that v1alpha1 does not have."""
    return beta(
        name, searchStrategy="thorough", hardware={"gpuSku": "h200_sxm", "vramMb": 141000.5, "totalGpus": 16},
        workload={"isl": 4000, "osl": 200, "concurrency": 4.5, "requestRate": 2},
        sla={"ttft": 200.5, "itl": 20, "e2eLatency": 900}, autoApply=False, image="profiler:1",
        modelCache={"pvcName": "models"}, features={"planner": {}, "mocker": {"enabled": False}},
        overrides={"profilingJob": {"backoffLimit": 1, "template": {
            "metadata": {"labels": {"a": "b"}},
            "spec": {"nodeSelector": {"gpu": "true"}, "tolerations": [{"key": "gpu", "operator": "Exists"}],
                     "containers": [{"name": "profiler", "image": "i:1", "resources": {"limits": {"cpu": "1000m"}}},
                                    {"name": "sidecar", "image": "s:1"}]}}},
                   "dgd": {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment",
                           "metadata": {"name": "base"}, "spec": {"services": {}}}})


def rich_alpha(name=None):
    """A request with every field that v1beta1 does not have."""
    request = alpha(
        name, nodeSelector={"gpu": "true"}, outputPVC="out", configMapRef={"name": "base", "key": "disagg.yaml"},
        resources={"limits": {"cpu": "1000m"}}, tolerations=[{"key": "gpu", "operator": "Exists"}],
        config={"sla": {"ttft": 200.5, "osl": 200}, "planner": {"enable": True}, "extra": [1, "2", {"x": None}],
                "big": 9007199254740993, "deployment": {"modelCache": {"pvcName": "m", "pvcPath": "old/path"}}})
    request["spec"].update(enableGpuDiscovery=False, useMocker=True, deploymentOverrides={
        "name": "my-dgd", "labels": {"team": "ml"}, "workersImage": "workers:1"})
    return request


class Cluster:
    """A control plane with the webhook, and kubectl in one namespace."""

    def __init__(self, **options):
        self.plane = ControlPlane(**options)

    def start(self):
        self.plane.start()
        self.webhook = Webhook(self.plane.directory)
        self.webhook.start()
        self.port = self.webhook.port
        install(self.plane, self.webhook)
        return self

    def stop(self):
        self.webhook.stop()
        self.plane.stop()

    def namespace(self):
        name = unique("ns")
        self.plane.create_namespace(name)
        return Namespace(self.plane, name)


class Namespace:
    def __init__(self, plane, name):
        self.plane = plane
        self.name = name

    def kubectl(self, *arguments, input=None, check=False):
        if input is not None and not isinstance(input, str):
            input = json.dumps(input)
        return self.plane.kubectl("-n", self.name, *arguments, input=input, check=check)

    def create(self, request):
        return self.kubectl("create", "-f", "-", input=request, check=True)

    def get(self, name, resource=BETA):
        return json.loads(self.kubectl("get", resource, name, "-o", "json", check=True).stdout)

    def set_status(self, name, status, resource=BETA):
        patch = json.dumps({"status": status})
        return self.kubectl("patch", resource, name, "--subresource=status", "--type=merge", "-p", patch, check=True)

    def patch(self, name, patch, resource=BETA, *arguments):
        return self.kubectl("patch", resource, name, "--type=merge", "-p", json.dumps(patch), *arguments)


def start_cluster(whole=False):
    """A cluster for the tests of a module: etcd and the API server, or the whole control plane. Call it in setUpModule; the
    cluster stops after the module's tests."""
    cluster = (Cluster() if whole else Cluster(components=("etcd", "apiserver"))).start()
    unittest.addModuleCleanup(cluster.stop)
    return cluster


class ClusterTest(unittest.TestCase):
    """Tests with a namespace per class, `self.ns`, in the cluster that the variable `cluster` of their module holds."""

    @classmethod
    def setUpClass(cls):
        cls.ns = sys.modules[cls.__module__].cluster.namespace()

    def assertRefused(self, done, *texts):
        self.assertNotEqual(done.returncode, 0, done.stdout)
        for text in texts:
            self.assertIn(text, done.stderr)

    def assertWrites(self, done):
        self.assertEqual(done.returncode, 0, done.stderr)


def written(request):
    """The expected spec of a request when it is read: a deep copy."""
    return copy.deepcopy(request["spec"])


def holds(stored, wanted):
    """Whether `stored` contains `wanted`. It may also have schema defaults."""
    if isinstance(wanted, dict):
        return isinstance(stored, dict) and all(key in stored and holds(stored[key], wanted[key]) for key in wanted)
    if isinstance(wanted, list):
        return isinstance(stored, list) and len(stored) == len(wanted) and all(map(holds, stored, wanted))
    return type(stored) is type(wanted) and stored == wanted
