"""Modes of the chart on a real node: an operator of one namespace, installed by an administrator and by somebody who has rights in
that namespace only; a certificate of the administrator; and the network of the node. Each is installed as deploy/README.md says, admits
with defaults, makes the children of a graph, and is uninstalled.

Only in a full run. Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`, and a node (tests/cluster/node)."""

import json
import unittest

import charts
import node_release
import plane
import render
from control_plane import ApiError
from node_release import ORIGIN, SECONDS, sample

TAG = "1.0.0-modes"
TENANT = "tenant"
cluster = None


def setUpModule():
    global cluster
    cluster = node_release.start_cluster("dynamo-system", TAG, [])
    cluster.kubectl("apply", "--server-side", "-k", plane.CRDS)


class Mode:
    """`values`: of the chart. The release and its namespace are `namespace`, with a `level` of Pod Security. A graph is made in
    `graphs`. `user`: who runs Helm; the administrator if None."""

    level, user, graphs = "restricted", None, "default"

    def test_life(self):
        chart = charts.lay(self.folder, charts.OPERATOR, notes=False)
        cluster.create_namespace(self.namespace, {"pod-security.kubernetes.io/enforce": self.level})
        values = json.dumps({"controllerManager": {"manager": {"image": {"tag": TAG}}}, **self.values})
        for helm in render.HELMS:
            with self.subTest(helm):
                self.prepare(helm, chart, values)
                install = (helm, "install", self.namespace, chart, "--values", "-", "--wait", f"--timeout={SECONDS}s")
                _, seconds = self.helm(*install, text=values, user=self.user)
                self.tell(f"{helm} {type(self).__name__}: install", seconds)
                self.check()
                self.helm(helm, "uninstall", self.namespace, "--wait", "--timeout=120s", user=self.user)
                self.clear()

    def prepare(self, helm, chart, values):
        """What an administrator does before."""

    def clear(self):
        """What he does after."""

    def check(self):
        """A graph gets defaults, a wrong one is refused, and the controller makes a Deployment for each service."""
        graphs = f"/apis/nvidia.com/v1alpha1/namespaces/{self.graphs}/dynamographdeployments"
        document = sample("graph.yaml")
        name, document["metadata"]["namespace"] = document["metadata"]["name"], self.graphs
        with self.assertRaises(ApiError) as caught:
            cluster.api("POST", graphs, {**document, "spec": {"services": {}}})
        self.assertIn("vdynamographdeployment.kb.io", str(caught.exception))
        stored = cluster.api("POST", graphs, document)
        self.assertIn(ORIGIN, stored["metadata"]["annotations"])
        path = f"/apis/apps/v1/namespaces/{self.graphs}/deployments?labelSelector=nvidia.com/dynamo-graph-deployment-name%3D{name}"
        children = lambda: cluster.api("GET", path)["items"]  # noqa: E731
        cluster.wait(lambda: len(children()) == len(document["spec"]["services"]), 60, "each service has a Deployment")
        cluster.api("DELETE", f"{graphs}/{name}")
        cluster.wait(lambda: not children(), 60, "the children are gone")


class OneNamespace(Mode, node_release.Releases):
    namespace = graphs = "team-a"
    values = {"namespaceRestriction": {"enabled": True}}


class OneNamespaceOfATenant(Mode, node_release.Releases):
    """The tenant has rights in his namespace only. An administrator applies what has no namespace."""

    namespace = graphs = "team-b"
    user = TENANT
    values = {"namespaceRestriction": {"enabled": True}, "rbac": {"clusterScoped": False}}
    applied = ""

    def prepare(self, helm, chart, values):
        rights = ("create", "rolebinding", TENANT, "--clusterrole=cluster-admin", f"--user={TENANT}", "-n", self.namespace)
        cluster.kubectl(*rights, check=False)
        show = ("--values", "-", "--set", "rbac.clusterScoped=true", "--show-only", "templates/cluster/*.yaml")
        self.applied, _ = self.helm(helm, "template", self.namespace, chart, *show, text=values)
        cluster.kubectl("apply", "-f", "-", input=self.applied)

    def clear(self):
        cluster.kubectl("delete", "-f", "-", input=self.applied)


class OwnCertificate(Mode, node_release.Releases):
    """The administrator fills the Secret, and the controller injects its CA."""

    namespace = "certified"
    values = {"webhook": {"certificateSecret": {"external": True}}}

    def prepare(self, helm, chart, values):
        plane.make_secret(cluster, self.namespace, "webhook-server-cert", f"{self.namespace}-dynamo-operator-webhook-service")

    def clear(self):
        cluster.api("DELETE", f"/api/v1/namespaces/{self.namespace}/secrets/webhook-server-cert")


class NetworkOfTheNode(Mode, node_release.Releases):
    """The API server reaches the webhook at ports of the node."""

    namespace, level = "on-the-node", "privileged"
    values = {"webhook": {"hostNetwork": True, "replicas": 1, "port": 10260, "healthPort": 10261, "metricsPort": 10262}}

    def check(self):
        pods = cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/pods?labelSelector=app.kubernetes.io/component=webhook")["items"]
        self.assertEqual([(pod["spec"]["hostNetwork"], pod["status"]["podIP"]) for pod in pods], [(True, pods[0]["status"]["hostIP"])])
        super().check()


if __name__ == "__main__":
    unittest.main()
