"""Modes of the chart on a real node: an operator of one namespace, installed by an administrator and by somebody who has rights in
that namespace only; a certificate of the administrator, and one of the real cert-manager; and the network of the node. Each is installed
as deploy/README.md says, admits with defaults, makes the children of a graph, and is uninstalled.

Only in a full run. Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`, and a node (tests/cluster/node)."""

import base64
import contextlib
import json
import ssl
import time
import unittest

import cert_manager
import charts
import node_release
import plane
import render
from control_plane import ApiError
from node_release import OLD_REQUESTS, ORIGIN, SECONDS, Admission, sample

TAG = "1.0.0-modes"
TENANT = "tenant"
MOMENT = 5.0  # seconds without admission at a change of the CA's owner
END = "-----END CERTIFICATE-----\n"
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
        """A graph gets defaults, a wrong one is refused, and the controller makes a Deployment for each service, with the rights that it
        has."""
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
        self.assertEqual(self.forbidden_requests(), [])


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


class CertManager(Mode, node_release.Releases):
    """cert-manager makes and renews the certificate. Its CA injector writes the CA into the webhook configurations, and the controller
    into the CRD."""

    namespace = "managed"
    values = ENABLED = {"webhook": {"certManager": {"enabled": True}}}

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.operator = f"{cls.namespace}-dynamo-operator"
        cls.secrets = f"/api/v1/namespaces/{cls.namespace}/secrets"
        cls.manager = cls.enterClassContext(contextlib.closing(cert_manager.CertManager(cluster)))

    def helm(self, *arguments, **options):
        with self.manager.explains():
            return super().helm(*arguments, **options)

    def check(self):
        with self.manager.explains():
            super().check()
            self.check_certificate()
            first = self.secret()
            self.replace("a renewed CA, and a Secret that was deleted", self.renew_all)
            self.assertNotEqual(self.secret()["data"]["ca.crt"], first["data"]["ca.crt"])
            self.check_certificate()

    def renew_all(self):
        """The CA gets another certificate with the same key, and the certificate of the webhook is lost."""
        path = f"{self.secrets}/{self.operator}-root-ca-secret"
        before = cluster.api("GET", path)["data"]
        self.manager.renew(self.namespace, f"{self.operator}-root-ca")
        cluster.wait(lambda: cluster.api("GET", path)["data"]["tls.crt"] != before["tls.crt"], 60, "cert-manager renews the CA")
        self.assertEqual(cluster.api("GET", path)["data"]["tls.key"], before["tls.key"])
        cluster.api("DELETE", f"{self.secrets}/webhook-server-cert")

    def secret(self):
        """The Secret of the webhook, None if there is none."""
        path = f"{self.secrets}/webhook-server-cert"
        return cluster.api("GET", path) if cluster.exists(path) else None

    def check_certificate(self):
        """It is cert-manager's, all pods serve it, the API server trusts it, and requests are converted."""
        secret, name = self.secret(), f"{self.operator}-serving-cert"
        self.assertEqual(secret["metadata"]["annotations"]["cert-manager.io/certificate-name"], name)
        (ca,) = encoded(secret["data"]["ca.crt"])
        for kind in ("mutating", "validating"):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{self.operator}-{kind}"
            found = cluster.api("GET", path)
            self.assertEqual(found["metadata"]["annotations"]["cert-manager.io/inject-ca-from"], f"{self.namespace}/{name}")
            for one in found["webhooks"]:
                self.assertIn(ca, encoded(one["clientConfig"]["caBundle"]), one["name"])
        client = cluster.api("GET", plane.CONVERTED)["spec"]["conversion"]["webhook"]["clientConfig"]
        self.assertEqual(client["service"]["namespace"], self.namespace)
        self.assertIn(ca, encoded(client["caBundle"]))
        self.assertTrue(self.is_served(secret))
        self.check_conversion()

    def is_served(self, secret):
        """Whether all pods of the webhook serve this certificate, and its CA verifies it as the API server does."""
        context = ssl.create_default_context(cadata=b"".join(encoded(secret["data"]["ca.crt"])))
        pods = cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/pods?labelSelector=app.kubernetes.io/component=webhook")["items"]
        served = set()
        try:
            for pod in pods:
                with cluster.node.connect(pod["status"].get("podIP", ""), 9443) as plain:
                    with context.wrap_socket(plain, server_hostname=f"{self.operator}-webhook-service.{self.namespace}.svc") as connection:
                        served.add(connection.getpeercert(binary_form=True))
        except OSError:  # another certificate, or a pod that ends
            return False
        return served == set(encoded(secret["data"]["tls.crt"]))

    def check_conversion(self):
        stored = cluster.api("POST", OLD_REQUESTS, sample("dgdr-v1alpha1.yaml"))
        name = stored["metadata"]["name"]
        newer = OLD_REQUESTS.replace("v1alpha1", "v1beta1")
        self.assertEqual(cluster.api("GET", f"{OLD_REQUESTS}/{name}")["spec"], stored["spec"])
        self.assertEqual(cluster.api("GET", f"{newer}/{name}")["spec"]["model"], stored["spec"]["model"])
        cluster.api("DELETE", f"{newer}/{name}")
        cluster.wait(lambda: not cluster.exists(f"{newer}/{name}"), 60, "the request is gone")

    def replace(self, what, act, gap=0):
        """The Secret gets another certificate, and all pods serve it. Meanwhile no admission fails. `gap`: for less than these seconds the
        API server may not trust it yet."""
        before = self.secret()
        began = time.monotonic()
        with Admission(cluster) as stream:
            act()
            differs = lambda secret: secret and secret["data"].get("tls.crt") not in (None, before["data"]["tls.crt"])  # noqa: E731
            cluster.wait(lambda: differs(self.secret()), 60, "the Secret has another certificate")
            cluster.wait(lambda: self.is_served(self.secret()), 180, "the pods serve it")
        self.tell(what, time.monotonic() - began, stream)
        allowed = "signed by unknown authority" if gap else None
        self.assertEqual([one for one in stream.failures if not allowed or allowed not in one], [])
        self.assertLessEqual(stream.gap, gap, stream.failures)

    def clear(self):
        """The certificates are gone with the release. Their Secrets stay, as the guide says."""
        requests = f"{cert_manager.GROUP}/namespaces/{self.namespace}/certificaterequests"
        cluster.wait(lambda: not cluster.api("GET", requests)["items"], 90, "the requests of the certificates are gone")
        left = {one["metadata"]["name"] for one in cluster.api("GET", self.secrets)["items"]}
        self.assertEqual(left, {"webhook-server-cert", f"{self.operator}-root-ca-secret"})
        for name in left:
            cluster.api("DELETE", f"{self.secrets}/{name}")


class SwitchToCertManager(CertManager):
    """A release that makes its own certificate is switched to cert-manager, and back. A pod may read the Secret just before the API
    server knows its CA: the kubelet and those who inject the CA do not wait for each other."""

    namespace = "switched"
    values = {}

    def prepare(self, helm, chart, values):
        upgrade = (helm, "upgrade", self.namespace, chart, "--values", "-", "--wait", f"--timeout={SECONDS}s")
        self.upgrade = lambda more: self.helm(*upgrade, text=json.dumps({**json.loads(values), **more}))

    def check(self):
        with self.manager.explains():
            Mode.check(self)
            self.assertIn("ca.key", self.secret()["data"])
            self.replace("switch to cert-manager", lambda: self.upgrade(self.ENABLED), gap=MOMENT)
            self.check_certificate()
            self.replace("a Secret without the key of the earlier CA", lambda: cluster.api("DELETE", f"{self.secrets}/webhook-server-cert"))
            self.assertEqual(set(self.secret()["data"]), {"tls.crt", "tls.key", "ca.crt"})
            self.check_certificate()
            Mode.check(self)
            self.replace("switch to mode auto", lambda: self.upgrade({}), gap=MOMENT)
            self.check_conversion()
            Mode.check(self)


def encoded(text):
    """The certificates of a member of a Secret, or of a caBundle, as DER."""
    pem = base64.b64decode(text).decode()
    return [ssl.PEM_cert_to_DER_cert(one + END) for one in pem.split(END)[:-1]]


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
