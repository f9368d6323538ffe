#!/usr/bin/env python3
"""Webhook and controller run as pods of a real node, as deploy/kustomize installs them.
Run: tests/cluster/run test_node_operator, after building dynamo-webhook and dynamo-controller"""

import base64
import json
import ssl
import sys
import time
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ControlPlane  # noqa: E402
from node import requirements  # noqa: E402
from node.operator_pods import NAMESPACE, REPLICAS, RESTRICTED, install_operator  # noqa: E402

SAMPLES = HERE.parents[1] / "deploy/samples"
GRAPHS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments"
cluster = None


def setUpModule():
    global cluster
    requirements.require_node()
    cluster = ControlPlane(node=True)
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    install_operator(cluster)


def listed(path):
    return cluster.api("GET", path)["items"]


def served():
    """The certificates that the pods of the webhook serve."""
    found = set()
    for pod in listed(f"/api/v1/namespaces/{NAMESPACE}/pods"):
        if not pod["metadata"]["name"].startswith("dynamo-operator-webhook-"):
            continue
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        with context.wrap_socket(cluster.node.connect(pod["status"]["podIP"], 9443, 10)) as connection:
            found.add(connection.getpeercert(binary_form=True))
    return found


class Operator(unittest.TestCase):
    def test_its_pods_are_restricted_and_none_was_restarted(self):
        namespace = cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}")
        self.assertLessEqual(RESTRICTED.items(), namespace["metadata"]["labels"].items())
        pods = listed(f"/api/v1/namespaces/{NAMESPACE}/pods")
        self.assertEqual(len(pods), sum(REPLICAS.values()))
        for pod in pods:
            (status,) = pod["status"]["containerStatuses"]
            self.assertEqual((status["ready"], status["restartCount"]), (True, 0), pod["metadata"]["name"])

    def test_the_api_server_calls_the_webhook_through_its_service(self):
        hooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
        configs = [hook["clientConfig"] for item in listed(hooks) for hook in item["webhooks"]]
        self.assertTrue(configs)
        for config in configs:
            self.assertEqual(config["service"]["name"], "dynamo-operator-webhook-service")

    def test_a_graph_gets_defaults_and_children(self):
        cluster.kubectl("apply", "-f", SAMPLES / "graph.yaml")
        stored = cluster.api("GET", f"{GRAPHS}/qwen")
        given = yaml.safe_load((SAMPLES / "graph.yaml").read_text(encoding="utf-8"))["spec"]
        self.assertEqual(given["services"].keys(), stored["spec"]["services"].keys())
        self.assertNotIn("replicas", given["services"]["Planner"])
        self.assertEqual(stored["spec"]["services"]["Planner"]["replicas"], 1)
        expected = {name.lower() for name in given["services"]}

        def children():
            names = [item["metadata"]["name"] for item in listed("/apis/apps/v1/namespaces/default/deployments")]
            return {name.split("-")[1] for name in names if name.startswith("qwen-")} == expected

        cluster.wait(children, 60, "each service has a Deployment")
        accounts = [item["metadata"]["name"] for item in listed("/api/v1/namespaces/default/serviceaccounts")]
        self.assertTrue([name for name in accounts if name != "default"], accounts)
        cluster.kubectl("delete", "-f", SAMPLES / "graph.yaml", "--timeout=60s")
        cluster.wait(lambda: not listed("/apis/apps/v1/namespaces/default/deployments"), 60, "the children are deleted")

    def test_workers_and_frontends_drain(self):
        """Decisions pod-Q42 and child-Q44. The webhook learns from the controller that the API server knows the action,
        before it starts (cert-Q17)."""
        container = {"mainContainer": {"image": "none.invalid/none:1"}}
        services = {kind: {"componentType": kind, "extraPodSpec": container} for kind in ("frontend", "worker")}
        graph = {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "drained", "namespace": "default"},
            "spec": {"services": services},
        }

        def defaulted():
            made = cluster.api("POST", f"{GRAPHS}?dryRun=All", graph)["spec"]["services"]
            return all("lifecycle" in service["extraPodSpec"]["mainContainer"] for service in made.values())

        cluster.wait(defaulted, 10, "the webhook knows the facts of the cluster")
        cluster.api("POST", GRAPHS, graph)

        def drained():
            found = listed("/apis/apps/v1/namespaces/default/deployments?labelSelector=nvidia.com/dynamo-graph-deployment-name=drained")
            return found if len(found) == len(services) else None

        for found in cluster.wait(drained, 60, "each service has a Deployment"):
            (container,) = found["spec"]["template"]["spec"]["containers"]
            self.assertEqual(container["lifecycle"], {"preStop": {"sleep": {"seconds": 5}}})
            worker = found["metadata"]["name"].startswith("drained-worker")
            self.assertEqual(found["spec"].get("minReadySeconds", 0), 5 if worker else 0)
        cluster.api("DELETE", f"{GRAPHS}/drained")
        cluster.wait(lambda: not drained(), 60, "the children are deleted")

    def test_a_deleted_certificate_refuses_no_write(self):
        """The pods keep theirs until the kubelet has given them the new one, and the API server trusts both (cert-Q3, cert-Q17)."""
        path = f"/api/v1/namespaces/{NAMESPACE}/secrets/webhook-server-cert"
        before = cluster.api("GET", path)["data"]["tls.crt"]
        cluster.api("DELETE", path)
        cluster.wait(lambda: cluster.exists(path), 30, "the controller makes another certificate")
        made = cluster.api("GET", path)["data"]["tls.crt"]
        self.assertNotEqual(made, before)
        wanted = ssl.PEM_cert_to_DER_cert(base64.b64decode(made).decode().split("-----END CERTIFICATE-----")[0] + "-----END CERTIFICATE-----\n")
        service = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "none.invalid/none:1"}}}
        graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "asked"}}
        graph["spec"] = {"services": {"Worker": service}}
        writes, deadline = 0, time.monotonic() + 180
        while served() != {wanted}:
            cluster.api("POST", f"{GRAPHS}?dryRun=All", graph)
            writes += 1
            self.assertLess(time.monotonic(), deadline, f"the pods do not serve the new certificate, after {writes} writes")
            time.sleep(0.2)
        print(f"{writes} writes while the pods took the new certificate")

    def test_mistakes_are_refused(self):
        documents = list(yaml.safe_load_all((SAMPLES / "mistakes.yaml").read_text(encoding="utf-8")))
        for name, path in (("thorough-auto", "spec.searchStrategy"), ("other-namespace", "spec.deploymentOverrides.namespace")):
            (mistake,) = [one for one in documents if one["metadata"]["name"] == name]
            with self.subTest(name):
                refused = cluster.kubectl("create", "-f", "-", input=json.dumps(mistake), check=False)
                self.assertEqual(refused.returncode, 1, refused.stdout)
                self.assertIn(path, refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
