"""A control plane without a controller, and the commands of `dynamo-controller` that people use with it. The tests apply what
`dynamo-webhook effective` prints, create the children that `dynamo-controller render` prints, and write their status."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from child_crds import install_child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

ROOT = HERE.parents[1]
CONTROLLER = os.environ.get("DYNAMO_CONTROLLER") or ROOT / "build/release/bin/dynamo-controller"
WEBHOOK = os.environ.get("DYNAMO_WEBHOOK") or ROOT / "build/release/bin/dynamo-webhook"
GROUP = "/apis/nvidia.com/v1alpha1/namespaces/demo"
NO_UID = "00000000-0000-0000-0000-000000000000"
MANAGER = "dynamo-controller"
NOTHING_INSTALLED = "apis: {grove: false, leaderWorkerSet: false, kaiScheduler: false, inferencePool: false}\n"
ALL_INSTALLED = "apis: {grove: true, leaderWorkerSet: true, kaiScheduler: false, inferencePool: true}\n"


def effective(manifest):
    """The manifest with the defaults of the webhook."""
    command = [WEBHOOK, "effective", "-f", "-", "-o", "json"]
    ran = subprocess.run(command, input=json.dumps(manifest), capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


def graph(image="runtime:1.0.0", **more):
    def service(component, **fields):
        return {"componentType": component, "replicas": 1, "extraPodSpec": {"mainContainer": {"image": image}}, **fields}

    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "llama", "namespace": "demo"},
        "spec": {
            "backendFramework": "vllm",
            "services": {
                "Frontend": service("frontend"),
                "Worker": service("worker", resources={"limits": {"gpu": "1"}}, sharedMemory={"size": "8Gi"}),
                **more,
            },
        },
    }


class Cluster(unittest.TestCase):
    facts = NOTHING_INSTALLED

    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(components={"etcd", "apiserver"}, users={"limited": []})
        cls.plane.start()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.kubectl("apply", "--server-side", "-k", ROOT / "deploy/crds")
        cls.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        if cls.facts == ALL_INSTALLED:
            install_child_crds(cls.plane)
        cls.plane.create_namespace("demo")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.facts_file = Path(folder.name, "facts.yaml")
        cls.facts_file.write_text(cls.facts)

    def tearDown(self):
        for kind in ("dgdr", "dm", "dckpt", "dgd", "dcd", "deployments", "jobs", "pods", "services", "pvc", "roles", "rolebindings"):
            self.plane.kubectl("delete", kind, "--all", "-n", "demo", "--force", "--grace-period=0")
        self.plane.kubectl("delete", "serviceaccounts", "-n", "demo", "-l", "app.kubernetes.io/managed-by=dynamo-operator")

    def run_command(self, *args, input=None, kubeconfig=None, environment=None):
        merged = {**self.plane.environment(kubeconfig), **(environment or {})}
        return subprocess.run([CONTROLLER, *args], env=merged, input=input, capture_output=True, text=True, timeout=120)

    def render(self, text):
        command = [CONTROLLER, "render", "-f", "-", "-o", "json", "--facts", self.facts_file]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)["items"]

    def apply(self, manifest):
        """Applies a graph as its user does and its children as the controller does. Returns the children."""
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(effective(manifest)))
        stored = self.plane.kubectl("get", "dgd", manifest["metadata"]["name"], "-n", "demo", "-o", "json").stdout
        uids = {("DynamoGraphDeployment", manifest["metadata"]["name"]): json.loads(stored)["metadata"]["uid"]}
        children = self.render(stored)
        for child in children:
            for owner in child["metadata"].get("ownerReferences", []):
                if owner["uid"] == NO_UID:
                    owner["uid"] = uids[owner["kind"], owner["name"]]
            command = ["apply", "--server-side", f"--field-manager={MANAGER}", "-f", "-", "-o", "json"]
            made = json.loads(self.plane.kubectl(*command, input=json.dumps(child)).stdout)
            uids[child["kind"], child["metadata"]["name"]] = made["metadata"]["uid"]
        return children

    def set_status(self, path, status):
        self.plane.api("PATCH", path + "/status", {"status": status}, "application/merge-patch+json")

    def versions(self):
        """resourceVersions of everything that the commands could change."""
        kinds = "dgdr,dm,dckpt,dgd,dcd,dgdsa,deployments,jobs,services,configmaps,serviceaccounts,roles,rolebindings,pvc,pods"
        found = json.loads(self.plane.kubectl("get", kinds, "-n", "demo", "-o", "json").stdout)["items"]
        return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"] for each in found}
