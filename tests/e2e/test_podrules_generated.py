"""The pod rules against a real API server, with generated pods: both refuse the same ones.

Pods are drawn with a fixed seed (DYNAMO_SEED, 1) from every field of the pod schema: podrules_values.py has the values.
DYNAMO_PODS is how many (2500; 0: every value at every place, and 20,000 pairs). DYNAMO_SHOW=1 prints disagreements as rows
for podrules-cases.json.

Two API servers judge. One has the feature gates on that pod fields are behind: what it refuses, as a Deployment or as
the pod in it, must be an error of ours, and nothing else. The other has its defaults: what only it refuses must be
warned of.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

from control_plane import ControlPlane  # noqa: E402
from plausible_check import Api  # noqa: E402
from podrules_generated import Drawer, row  # noqa: E402

COUNT = int(os.environ.get("DYNAMO_PODS") or 2500)
EVERYTHING = os.environ.get("DYNAMO_PODS") == "0"
PAIRS = 20000
SEED = int(os.environ.get("DYNAMO_SEED") or 1)
JUDGE = os.environ.get("DYNAMO_JUDGE") or ROOT / "build/release/bin/podrules_judge"
NAMESPACE = "podrules"
GATES = ("ClusterTrustBundleProjection", "ContainerRestartRules", "ContainerStopSignals", "CrossNamespaceVolumeDataSource",
         "EnvFiles", "HostnameOverride", "ImageVolume", "PodCertificateRequest", "SELinuxMount")
GATED = "pod.feature-gate"


def drawn():
    drawer = Drawer(random.Random(SEED))
    if EVERYTHING:
        yield from drawer.everywhere()
        yield from (drawer.pair() for _ in range(PAIRS))
        return
    singles = list(drawer.singles())
    drawer.random.shuffle(singles)
    # Each field at least once, then half singles and half pairs.
    seen = set()
    first = [one for one in singles if one[0][0] not in seen and not seen.add(one[0][0])]
    rest = [one for one in singles if one not in first]
    chosen = (first + rest)[:max(COUNT // 2, len(first))]
    yield from chosen
    yield from (drawer.pair() for _ in range(COUNT - len(chosen)))


def judged(rows):
    text = "".join(json.dumps(each) + "\n" for each in rows)
    done = subprocess.run([str(JUDGE)], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def objects(template):
    """What a controller would create of the template: the Deployment, and a pod of it."""
    labels = {"app": "a"}
    metadata = template.get("metadata", {})
    metadata = {**metadata, "labels": {**metadata.get("labels", {}), **labels}}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": metadata, "spec": template["spec"]}}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": NAMESPACE}, "spec": spec}
    # The service account is what admission would write: there is no controller that makes one.
    account = {} if template["spec"].get("serviceAccount") else {"serviceAccountName": "default"}
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": "a", "namespace": NAMESPACE},
           "spec": {**account, **template["spec"]}}


class Server:
    """An API server that is asked and stores nothing."""

    def __init__(self, case, gates):
        plane = ControlPlane(components=("etcd", "apiserver"), feature_gates=gates)
        plane.start()
        case.addClassCleanup(plane.stop)
        plane.create_namespace(NAMESPACE)
        self.api = Api(plane)

    def refusal(self, template):
        """What it says against the template; empty when it takes it. 403 is about the cluster: classes that are not there."""
        for item in objects(template):
            path = {"Deployment": "/apis/apps/v1", "Pod": "/api/v1"}[item["kind"]]
            path = f"{path}/namespaces/{NAMESPACE}/{item['kind'].lower()}s?dryRun=All&fieldValidation=Strict"
            status, answer = self.api.call("POST", path, item)
            if status in (400, 422):
                return answer["message"]
            if status not in (201, 403):
                raise AssertionError(f"{status}: {answer}")
        return ""


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gated = Server(cls, GATES)
        cls.plain = Server(cls, ())

    def test_generated_pods(self):
        rows = [row(draws) for draws in drawn()]
        ours = judged(rows)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            gated = list(pool.map(lambda each: self.gated.refusal(each["template"]), rows))
            plain = list(pool.map(lambda pair: "" if pair[1] else self.plain.refusal(pair[0]["template"]),
                                  zip(rows, gated)))
        wrong, both = [], 0
        for each, said, refusal, by_default in zip(rows, ours, gated, plain):
            errors = [line for line in said if line.startswith("E ")]
            both += bool(errors and refusal)
            if bool(errors) != bool(refusal):
                wrong.append((each, said, refusal or "taken by the API server"))
            elif by_default and not any(GATED in line for line in said):
                wrong.append((each, said, f"by default: {by_default}"))
        for each, said, refusal in wrong[:None if os.environ.get("DYNAMO_SHOW") else 10]:
            print(f"{each['name']}\n    ours: {said}\n    API server: {refusal}")
        print(f"podrules: {len(rows)} generated pods, {both} refused by both, {len(wrong)} disagreements")
        self.assertGreater(both, len(rows) // 10)
        self.assertEqual(len(wrong), 0)


if __name__ == "__main__":
    unittest.main()
