"""A control plane without a controller, and the commands of `kubectl dynamo` that people use with it. The tests apply what
`dynamo-webhook effective` prints, create the children that `kubectl dynamo render` prints, and write their status."""

import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "deploy/lib")]
from built import CONTROLLER, PLUGIN, WEBHOOK  # noqa: E402,F401
from child_crds import install_child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

GROUP = "/apis/nvidia.com/v1alpha1/namespaces/demo"
NO_UID = "00000000-0000-0000-0000-000000000000"
MANAGER = "dynamo-controller"
OPERATOR_CONFIG = {
    "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1",
    "kind": "OperatorConfiguration",
    "server": {"webhook": {"serviceName": "dynamo-webhook"}},
    "rbac": {"plannerClusterRoleName": "p", "dgdrProfilingClusterRoleName": "q", "eppClusterRoleName": "e"},
    "mpi": {"sshSecretName": "mpi"},
}
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
        cls.plane.wait_for_crds()
        if cls.facts == ALL_INSTALLED:
            install_child_crds(cls.plane)
        cls.plane.create_namespace("demo")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.facts_file = Path(folder.name, "facts.yaml")
        cls.facts_file.write_text(cls.facts)

    def tearDown(self):
        # One request for each kind: a kubectl takes a quarter of a second of processor time.
        kinds = {
            # As they are stored, because no webhook converts them here.
            GROUP.replace("v1alpha1", "v1beta1"): ("dynamographdeploymentrequests",),
            GROUP: ("dynamomodels", "dynamocheckpoints", "dynamographdeployments", "dynamocomponentdeployments"),
            "/apis/apps/v1/namespaces/demo": ("deployments",),
            "/apis/batch/v1/namespaces/demo": ("jobs",),
            "/api/v1/namespaces/demo": ("pods", "services", "persistentvolumeclaims"),
            "/apis/rbac.authorization.k8s.io/v1/namespaces/demo": ("roles", "rolebindings"),
        }
        now = {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}
        for group, resources in kinds.items():
            for resource in resources:
                self.plane.api("DELETE", f"{group}/{resource}", now)
        ours = "labelSelector=app.kubernetes.io/managed-by=dynamo-operator"
        self.plane.api("DELETE", f"/api/v1/namespaces/demo/serviceaccounts?{ours}", now)

    def run_command(self, *args, input=None, kubeconfig=None, environment=None):
        merged = {**self.plane.environment(kubeconfig), **(environment or {})}
        return subprocess.run([PLUGIN, *args], env=merged, input=input, capture_output=True, text=True, timeout=120)

    def render(self, text):
        command = [PLUGIN, "render", "-f", "-", "-o", "json", "--facts", self.facts_file]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)["items"]

    def apply(self, manifest, without=()):
        """Applies a graph as its user does and its children, except those of the kinds `without`, as the controller does.
        Returns the children."""
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(effective(manifest)))
        stored = self.plane.kubectl("get", "dgd", manifest["metadata"]["name"], "-n", "demo", "-o", "json").stdout
        uids = {("DynamoGraphDeployment", manifest["metadata"]["name"]): json.loads(stored)["metadata"]["uid"]}
        children = [child for child in self.render(stored) if child["kind"] not in without]
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


class FailingGraph(Cluster):
    def make(self, name="llama", without=()):
        """A graph with one ready and one failing service."""
        manifest = graph()
        manifest["metadata"]["name"] = name
        children = self.apply(manifest, without)
        for child in children:
            if child["kind"] == "DynamoComponentDeployment":
                self.set_component(child, ready=child["spec"]["componentType"] == "frontend")
        worker = next(c for c in children if c["kind"] == "Deployment" and "-worker-" in c["metadata"]["name"])
        labels = worker["spec"]["template"]["metadata"]["labels"]
        spec = {"containers": [{"name": "main", "image": "nowhere/none:1"}]}
        pod = {"metadata": {"name": f"{name}-worker-0", "labels": labels}, "spec": spec}
        self.plane.api("POST", "/api/v1/namespaces/demo/pods", pod)
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "ErrImagePull: no such image"}}
        container = {"name": "main", "ready": False, "restartCount": 0, "image": "nowhere/none:1", "imageID": "", "state": waiting}
        self.set_status(f"/api/v1/namespaces/demo/pods/{name}-worker-0", {"phase": "Pending", "containerStatuses": [container]})
        self.set_graph(name, ready=False)
        return worker["metadata"]["name"]

    def set_component(self, child, ready):
        name = child["metadata"]["name"]
        condition = {
            "type": "Available", "status": str(ready), "reason": "Any", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "Deployment is ready" if ready else "Deployment is not ready: 0 of 1 replicas available",
        }
        counts = {"componentKind": "Deployment", "componentName": name, "replicas": 1, "updatedReplicas": 1, "readyReplicas": int(ready)}
        self.set_status(f"{GROUP}/dynamocomponentdeployments/{name}",
                        {"observedGeneration": 1, "conditions": [condition], "service": counts})
        counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": int(ready), "availableReplicas": int(ready)}
        available = {"type": "Available", "status": str(ready)}
        self.set_status(f"/apis/apps/v1/namespaces/demo/deployments/{name}",
                        {"observedGeneration": 1, "conditions": [available], **counts})

    def set_graph(self, name, ready, observed=1):
        reason = "all_resources_are_ready" if ready else "some_resources_are_not_ready"
        condition = {
            "type": "Ready", "status": str(ready), "reason": reason, "message": "All resources are ready" if ready else "why",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": observed,
        }
        status = {
            "state": "successful" if ready else "pending", "observedGeneration": observed, "conditions": [condition],
            "rollingUpdate": {"phase": "Completed", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:01:00Z"},
            "restart": {"phase": "Completed", "observedID": "7"},
        }
        self.set_status(f"{GROUP}/dynamographdeployments/{name}", status)
