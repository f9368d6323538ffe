"""The table pod-rules-cases.json on a real API server, which rejects exactly the rows with an error of the pod rules.
tests/unit/rules/pod reads the same table with the exact findings (`says`).

A row: `name`, `refused` (by the API server), `kind` (default Deployment), `container` (members of the main container),
`podSpec` (members of its pod spec), `metadata` (of the template), `template` (instead of these), `jobSpec` (members of a
Job's spec), `spec` (of other kinds), `stricter` (the reason why the rules reject an object that the API server accepts).
"""

import json
import pathlib
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

from control_plane import ApiError, ControlPlane  # noqa: E402

CASES = json.loads((HERE / "pod-rules-cases.json").read_text(encoding="utf-8"))
NAMESPACE = "pod-rules"
LABELS = {"app": "a"}
API = {
    "Deployment": ("apps/v1", "deployments"),
    "Ingress": ("networking.k8s.io/v1", "ingresses"),
    "Job": ("batch/v1", "jobs"),
    "PersistentVolumeClaim": ("v1", "persistentvolumeclaims"),
    "Pod": ("v1", "pods"),
}


def pod_spec(case):
    main = {"name": "main", "image": "i:1", **case.get("container", {})}
    policy = {"restartPolicy": "Never"} if case.get("kind") == "Job" else {}
    return {"containers": [main], **policy, **case.get("podSpec", {})}


def pod_template(case):
    metadata = case.get("metadata", {})
    metadata = {**metadata, "labels": {**metadata.get("labels", {}), **LABELS}}
    return case["template"] if "template" in case else {"metadata": metadata, "spec": pod_spec(case)}


def whole_object(case):
    kind = case.get("kind", "Deployment")
    metadata = {"name": "a", "namespace": NAMESPACE}
    if kind == "Deployment":
        spec = {"selector": {"matchLabels": LABELS}, "template": pod_template(case)}
    elif kind == "Job":
        spec = {"template": pod_template(case), **case.get("jobSpec", {})}
    elif kind == "Pod":
        spec = pod_spec(case)
    else:
        spec = case["spec"]
    return {"apiVersion": API[kind][0], "kind": kind, "metadata": metadata, "spec": spec}


class PodRules(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(components=("etcd", "apiserver"))
        cls.plane.start()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.create_namespace(NAMESPACE)
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
        cls.plane.api("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", account)

    def refusal(self, case):
        """The API server's error for the case; empty when it accepts the object."""
        body = whole_object(case)
        version, plural = API[body["kind"]]
        prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
        path = f"{prefix}/namespaces/{NAMESPACE}/{plural}?dryRun=All&fieldValidation=Strict"
        try:
            self.plane.api("POST", path, body)
        except ApiError as error:
            # 400 is a value that cannot be decoded, 422 an invalid one. 403 would be a problem of the cluster.
            self.assertIn(error.status, (400, 422), error)
            return str(error)
        return ""

    def test_every_case(self):
        self.assertGreater(len(CASES), 100)
        for case in CASES:
            with self.subTest(case["name"]):
                refusal = self.refusal(case)
                self.assertEqual(bool(refusal), case["refused"], refusal or "accepted by the API server")


if __name__ == "__main__":
    unittest.main()
