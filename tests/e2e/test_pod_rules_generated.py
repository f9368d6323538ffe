"""The pod rules and a real API server reject the same generated pods.

Pods are generated with a fixed seed (DYNAMO_SEED, 1) from every field of the pod schema; pod_rules_values.py has the values.
DYNAMO_PODS is their number (2000; 0: every value at every path, and 20,000 pairs). DYNAMO_SHOW=1 prints disagreements as
rows for pod-rules-cases.json.
There are two API servers. One enables the feature gates of pod fields: the pod rules must report errors for exactly the
pods that it rejects, as a Deployment or as a pod, with the same fields. The other one has default feature gates: the pod
rules must warn about the pods that only it rejects.
"""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

from control_plane import ControlPlane  # noqa: E402
from plausible_check import Api  # noqa: E402
from pod_rules_generated import Drawer, row  # noqa: E402

COUNT = int(os.environ.get("DYNAMO_PODS") or 2000)
EVERYTHING = os.environ.get("DYNAMO_PODS") == "0"
PAIRS = 20000
SEED = int(os.environ.get("DYNAMO_SEED") or 1)
JUDGE = os.environ.get("DYNAMO_JUDGE") or ROOT / "build/release/bin/pod_rules_judge"
NAMESPACE = "pod-rules"
GATES = ("ClusterTrustBundleProjection", "ContainerRestartRules", "ContainerStopSignals", "CrossNamespaceVolumeDataSource",
         "EnvFiles", "HostnameOverride", "ImageVolume", "PodCertificateRequest", "SELinuxMount")
GATED = "pod.feature-gate"

# Fields where the API server names another field than the invalid one: ends of paths, without indexes, in lower case.
THEIRS = [
    (r"^spec\.securitycontext\.shareprocessnamespace", "spec.shareprocessnamespace"),
    (r"^spec\.volumes\.persistentdisk", "spec.volumes.gcepersistentdisk"),
    (r"^spec\.volumes\.projected\.path$", "spec.volumes.projected.sources.serviceaccounttoken.path"),
    (r"^spec\.volumes\.csi\.name", "spec.volumes.csi.nodepublishsecretref.name"),
    (r"^(spec\.affinity\..*\.namespace)$", r"\1s"),
]
# Fields of ours that are mapped to the field that the API server names.
OURS = [
    (r"^spec\.serviceaccount$", "spec.serviceaccountname"),
    (r"^spec\.tolerations\.value", "spec.tolerations.operator"),
    (r"\.fieldref\.apiversion$", ".fieldref.fieldpath"),
]
# In a pod, invalid limits are also invalid requests. The API server leaves out the metadata of templates.
BOTH = [(r"\[[^\]]*\]", ""), (r"^spec\.template\.", ""), (r"^metadata\.", ""), (r"downwardapi\.items", "downwardapi"),
        (r"\.resources\.(limits|requests)", ".resources")]


def place(field, names):
    field = field.lower()
    for pattern, name in (*BOTH, *names):
        field = re.sub(pattern, name, field)
    return field


def apart(ours, theirs):
    """Fields that only one side names. A field includes all fields below it, because the API server often names an object."""
    def known(one, others):
        # The resources of a pod are derived from its containers, including their errors.
        follows = one == "spec.resources" and any(other.endswith("containers.resources") for other in others)
        return follows or any(one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.") for other in others)

    return [one for one in ours if not known(one, theirs)] + [one for one in theirs if not known(one, ours)]


def drawn():
    drawer = Drawer(random.Random(SEED))
    if EVERYTHING:
        yield from drawer.everywhere()
        yield from (drawer.pair() for _ in range(PAIRS))
        return
    singles = list(drawer.singles())
    drawer.random.shuffle(singles)
    # Each field at least once, then singles and pairs in equal parts.
    seen = set()
    first = [one for one in singles if one[0][0] not in seen and not seen.add(one[0][0])]
    rest = [one for one in singles if one not in first]
    chosen = (first + rest)[:max(COUNT // 2, len(first))]
    yield from chosen
    yield from (drawer.pair() for _ in range(COUNT - len(chosen)))


def findings_of(rows):
    text = "".join(json.dumps(each) + "\n" for each in rows)
    done = subprocess.run([str(JUDGE)], input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def objects(template):
    """The objects that a controller would create from the template: the Deployment and a pod."""
    labels = {"app": "a"}
    metadata = template.get("metadata", {})
    metadata = {**metadata, "labels": {**metadata.get("labels", {}), **labels}}
    spec = {"selector": {"matchLabels": labels}, "template": {"metadata": metadata, "spec": template["spec"]}}
    yield {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a", "namespace": NAMESPACE}, "spec": spec}
    # The pod gets the service account that admission would set, because no controller creates one.
    account = {} if template["spec"].get("serviceAccount") else {"serviceAccountName": "default"}
    yield {"apiVersion": "v1", "kind": "Pod", "metadata": {**metadata, "name": "a", "namespace": NAMESPACE},
           "spec": {**account, **template["spec"]}}


class Server:
    """An API server that validates objects by dry run."""

    def __init__(self, case, gates):
        flags = ["--feature-gates=" + ",".join(f"{gate}=true" for gate in gates)] if gates else []
        plane = ControlPlane(components=("etcd", "apiserver"), apiserver_flags=flags)
        plane.start()
        case.addClassCleanup(plane.stop)
        plane.create_namespace(NAMESPACE)
        self.api = Api(plane)

    def refusal(self, template):
        """The API server's errors for the template, empty when it is accepted, and the fields that they name. 403 is about
        missing classes in the cluster."""
        said, fields = [], set()
        for item in objects(template):
            path = {"Deployment": "/apis/apps/v1", "Pod": "/api/v1"}[item["kind"]]
            path = f"{path}/namespaces/{NAMESPACE}/{item['kind'].lower()}s?dryRun=All&fieldValidation=Strict"
            status, answer = self.api.call("POST", path, item)
            if status == 422:
                said.append(answer["message"])
                fields |= {cause["field"] for cause in answer["details"]["causes"]}
            elif status not in (201, 403) and not said:  # errors of admission plugins for a pod that is rejected anyway
                raise AssertionError(f"{status}: {answer}")
        return "; ".join(said), fields


class Generated(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.gated = Server(cls, GATES)
        cls.plain = Server(cls, ())

    def test_generated_pods(self):
        rows = [row(draws) for draws in drawn()]
        ours = findings_of(rows)
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            gated = list(pool.map(lambda each: self.gated.refusal(each["template"]), rows))
            plain = list(pool.map(lambda pair: "" if pair[1][0] else self.plain.refusal(pair[0]["template"])[0],
                                  zip(rows, gated)))
        wrong, both = [], 0
        for each, said, (refusal, fields), by_default in zip(rows, ours, gated, plain):
            errors = [line for line in said if line.startswith("E ")]
            both += bool(errors and refusal)
            named = {line.split(" ", 2)[2].split(": ")[0] for line in errors}
            if bool(errors) != bool(refusal):
                wrong.append((each, said, refusal or "accepted by the API server"))
            elif others := apart({place(field, OURS) for field in named}, {place(field, THEIRS) for field in fields}):
                wrong.append((each, said, f"{refusal}\n    not named by both: {others}"))
            elif by_default and not any(GATED in line for line in said):
                wrong.append((each, said, f"by default: {by_default}"))
        for each, said, refusal in wrong[:None if os.environ.get("DYNAMO_SHOW") else 10]:
            print(f"{each['name']}\n    ours: {said}\n    API server: {refusal}")
        print(f"podrules: {len(rows)} generated pods, {both} refused by both, {len(wrong)} disagreements")
        self.assertGreater(both, len(rows) // 10)
        self.assertEqual(len(wrong), 0)


if __name__ == "__main__":
    unittest.main()
