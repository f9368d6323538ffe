"""`check` and the cluster agree: the offline command reports errors exactly for the objects that kubectl cannot create."""

import json
import pathlib
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from requests import alpha, beta, rich_alpha, rich_beta, start_cluster  # noqa: E402
from test_cli import run  # noqa: E402

AT_ONCE = 4
DGD = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment"}

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


def spec(request, without=(), **members):
    """The request with changed members of its spec."""
    request["spec"].update(members)
    for name in without:
        del request["spec"][name]
    return request


def bare(request, *names):
    """The request without these top-level members."""
    return {key: value for key, value in request.items() if key not in names}


def job(**pod):
    return {"profilingJob": {"template": {"spec": {"containers": [], **pod}}}}


# name, request, whether it can be created
TABLE = [
    # The schema of v1alpha1 requires these fields. It is validated after the webhook has set defaults.
    ("v1alpha1", alpha("a"), True),
    ("v1alpha1, every field", rich_alpha("a"), True),
    ("v1alpha1 without profilingConfig", spec(alpha("a"), without=["profilingConfig"]), True),
    ("v1alpha1 with profilingConfig null", spec(alpha("a"), profilingConfig=None), True),
    ("v1alpha1 with an empty profilingConfig", spec(alpha("a"), profilingConfig={}), True),
    ("v1alpha1 without profilerImage", spec(alpha("a"), profilingConfig={"config": {"sla": {"ttft": 1, "itl": 1}}}), True),
    ("v1alpha1 with an empty profilerImage", alpha("a", profilerImage=""), True),
    # The webhook sets no default here.
    ("v1alpha1 with the image of workers alone",
     spec(alpha("a"), without=["profilingConfig"], deploymentOverrides={"workersImage": "w:1"}), False),
    ("v1alpha1 without backend", spec(alpha("a"), without=["backend"]), False),
    ("v1alpha1 with an empty backend", spec(alpha("a"), backend=""), False),
    ("v1alpha1 without model", spec(alpha("a"), without=["model"]), False),
    ("v1alpha1 with an empty model", spec(alpha("a"), model=""), False),
    ("v1alpha1 without model, backend and profilingConfig",
     spec(alpha("a"), without=["model", "backend", "profilingConfig"]), False),
    ("v1alpha1 without spec", bare(alpha("a"), "spec"), False),
    ("v1alpha1 with an empty spec", {**alpha("a"), "spec": {}}, False),
    ("v1alpha1 with profilingConfig as text", spec(alpha("a"), profilingConfig="i:1"), False),
    ("v1alpha1 with a configuration as text", alpha("a", config="sla: {}"), False),
    ("v1alpha1 with a configuration as text and no image", spec(alpha("a"), profilingConfig={"config": "sla: {}"}), False),
    ("v1alpha1 with a configuration as a list", alpha("a", config=[1]), False),
    ("v1alpha1 with tokens as text", alpha("a", config={"sla": {"isl": "3000"}}), True),
    ("v1alpha1 with settings without effect", alpha("a", config={"hardware": {"x": 1}, "y": 2}), True),
    ("v1alpha1 with a bad quantity", alpha("a", resources={"limits": {"memory": "16GB"}}), False),
    ("v1alpha1 with resources as text", alpha("a", resources="2"), False),
    ("v1alpha1 with a bad toleration", alpha("a", tolerations=[{"key": "a", "operator": "In"}]), False),
    ("v1alpha1 with tolerations as an object", alpha("a", tolerations={"key": "a"}), False),
    ("v1alpha1 with a ConfigMap without name", alpha("a", configMapRef={"key": "k"}), False),
    ("v1alpha1 with a ConfigMap of a bad name", alpha("a", configMapRef={"name": "A_b"}), False),
    ("v1alpha1 with an image with a line break", alpha("a", profilerImage="i:1\n"), False),
    ("v1alpha1 with autoApply as text", spec(alpha("a"), autoApply="yes"), False),
    ("v1alpha1 with a label of a number", spec(alpha("a"), deploymentOverrides={"labels": {"a": 1}}), False),
    ("v1alpha1 with a long name", alpha("a" * 56), False),
    ("v1beta1", beta("b"), True),
    ("v1beta1, every field", rich_beta("b"), True),
    ("v1beta1 with a model alone", beta("b", backend=None), True),
    ("v1beta1 without model", beta("b", model=None), False),
    ("v1beta1 with an empty model", beta("b", model=""), False),
    ("v1beta1 without spec", bare(beta("b"), "spec"), False),
    ("v1beta1 with an empty spec", {**beta("b"), "spec": {}}, False),
    ("v1beta1 with an empty backend", beta("b", backend=""), False),
    ("v1beta1 thorough of any backend", beta("b", backend="auto", searchStrategy="thorough"), False),
    ("v1beta1 with an image with a line break", beta("b", image="i:1\n"), False),
    ("v1beta1 with an empty image", beta("b", image=""), True),
    ("v1beta1 with GPUs as text", beta("b", hardware={"totalGpus": "8"}), False),
    ("v1beta1 with more GPUs in a node than in all", beta("b", hardware={"totalGpus": 4, "numGpusPerNode": 8}), True),
    ("v1beta1 with a planner that is off", beta("b", features={"planner": {"enabled": False}}), True),
    ("v1beta1 with a Job override without containers", beta("b", overrides={"profilingJob": {"template": {"spec": {}}}}), False),
    ("v1beta1 with a Job override in part without effect", beta("b", overrides=job(hostNetwork=True)), True),
    ("v1beta1 with a bad Job override", beta("b", overrides=job(serviceAccountName="A_b")), False),
    ("v1beta1 with a part of a graph",
     beta("b", overrides={"dgd": {**DGD, "spec": {"services": {"Worker": {"replicas": 2}}}}}), True),
    ("v1beta1 with a part of a graph with a typing error",
     beta("b", overrides={"dgd": {**DGD, "spec": {"services": {"Worker": {"replica": 2}}}}}), True),
    ("v1beta1 with a part of a graph of a wrong type",
     beta("b", overrides={"dgd": {**DGD, "spec": {"services": {"Worker": {"replicas": "2"}}}}}), False),
    ("v1beta1 with a part of a graph with a bad quantity",
     beta("b", overrides={"dgd": {**DGD, "spec": {"services": {"Worker": {"resources": {"limits": {"cpu": "two"}}}}}}}), False),
    ("v1beta1 with a graph without kind", beta("b", overrides={"dgd": {"spec": {}}}), False),
    ("v1beta1 with another kind of override", beta("b", overrides={"dgd": {"apiVersion": "v1", "kind": "Pod"}}), True),
    ("v1beta1 with an unknown field", spec(beta("b"), profilingConfig={}), False),
    ("v1alpha1 with an unknown field", spec(alpha("a"), sla={}), False),
    ("another API group", {**beta("b"), "apiVersion": "nvidia.co/v1beta1"}, False),
    ("another version", {**beta("b"), "apiVersion": "nvidia.com/v1"}, False),
    ("no version", bare(beta("b"), "apiVersion"), False),
    ("no kind", bare(beta("b"), "kind"), False),
]


class Agreement(unittest.TestCase):
    def test_each_request(self):
        space = cluster.namespace()

        def tried(request):
            return space.kubectl("create", "--dry-run=server", "-f", "-", input=request)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            answers = list(pool.map(tried, [request for _, request, _ in TABLE]))
        for (name, request, good), done in zip(TABLE, answers):
            with self.subTest(name):
                checked = run("check", "-n", space.name, "-f", "-", text=json.dumps(request))
                self.assertEqual(done.returncode == 0, good, done.stderr)
                self.assertEqual(checked.returncode, 0 if good else 1, checked.stdout + checked.stderr + done.stderr)


if __name__ == "__main__":
    unittest.main()
