#!/usr/bin/env python3
"""Secure metrics of the controller: HTTPS, and the API server decides whose token may read them.
Run: python3 tests/cluster/test_controller_metrics.py

Needs `cmake --build build/release --target dynamo-controller`."""

import concurrent.futures
import contextlib
import http.client
import socket
import ssl
import sys
import unittest
import urllib.request
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]

import install  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

RBAC = "/apis/rbac.authorization.k8s.io/v1"
NAMESPACE = "dynamo-system"
ASKS, ASKS_NOT, SCRAPER, STRANGER = "controller", "without-reviews", "scraper", "stranger"
WITHOUT_REPLY = 20

cluster = controller = None


def setUpModule():
    global cluster, controller
    cluster = ControlPlane({"etcd", "apiserver"})
    cluster.start()
    unittest.addModuleCleanup(cluster.stop)
    cluster.create_namespace(NAMESPACE)
    for name in (ASKS, ASKS_NOT, SCRAPER, STRANGER):
        cluster.api("POST", f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts", {"metadata": {"name": name}})
    reader = [{"nonResourceURLs": ["/metrics"], "verbs": ["get"]}]
    cluster.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "metrics-reader"}, "rules": reader})
    reviewer = [
        {"apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"], "verbs": ["create"]},
        {"apiGroups": ["authorization.k8s.io"], "resources": ["subjectaccessreviews"], "verbs": ["create"]},
    ]
    cluster.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "metrics-auth"}, "rules": reviewer})
    bind("metrics-reader", SCRAPER)
    bind("metrics-auth", ASKS)
    controller = started(ASKS)
    unittest.addModuleCleanup(controller.stop)
    # The authorizer learns of roles a moment after they are stored. A refusal would be kept.
    page = {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}
    review = {"resourceAttributes": {"group": "authorization.k8s.io", "resource": "subjectaccessreviews", "verb": "create"}}
    cluster.wait(lambda: is_allowed(SCRAPER, page), 30, "the right of the scraper")
    cluster.wait(lambda: is_allowed(ASKS, review), 30, "the rights of the controller")


def bind(role, account):
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    binding = {"metadata": {"name": f"{role}-{account}"}, "roleRef": reference, "subjects": [subject]}
    cluster.api("POST", f"{RBAC}/clusterrolebindings", binding)


def is_allowed(account, attributes):
    spec = {"user": f"system:serviceaccount:{NAMESPACE}:{account}", **attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    return cluster.api("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body)["status"]["allowed"]


def started(account):
    """A controller of this account, with the configuration of the base, in which metrics are secure."""
    text = yaml.safe_load((install.BASE / "config.yaml").read_text(encoding="utf-8"))["data"]["config.yaml"]
    config = yaml.safe_load(text)
    config["server"]["webhook"]["certProvisionMode"] = "manual"
    config["leaderElection"] = {"enabled": False}
    made = install.Controller(cluster, yaml.safe_dump(config), name=account, account=f"{NAMESPACE}/{account}")
    made.start()
    return made


def token_of(account):
    """A new token."""
    path = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    return cluster.api("POST", path, body)["status"]["token"]


def context(version=None):
    made = ssl.create_default_context()
    made.check_hostname = False
    made.verify_mode = ssl.CERT_NONE
    if version:
        made.maximum_version = version
    return made


def ask(authorization=None, method="GET", path="/metrics", port=None, version=None):
    """Status, headers and text of the answer."""
    connection = http.client.HTTPSConnection("127.0.0.1", port or controller.metrics_port, timeout=30, context=context(version))
    with contextlib.closing(connection):
        connection.request(method, path, headers={"Authorization": authorization} if authorization else {})
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), answer.read().decode()


def status_with(token, **more):
    return ask(f"Bearer {token}", **more)[0]


def certificate(version=None):
    """The certificate of the server and the version of TLS."""
    with socket.create_connection(("127.0.0.1", controller.metrics_port), timeout=30) as plain:
        with context(version).wrap_socket(plain, server_hostname="localhost") as secured:
            return secured.getpeercert(binary_form=True), secured.version()


class Metrics(unittest.TestCase):
    def test_a_token_with_the_right_reads_the_metrics(self):
        status, headers, text = ask(f"Bearer {token_of(SCRAPER)}")
        self.assertEqual((status, headers["Content-Type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        self.assertIn("\nrest_client_requests_total{", text)
        self.assertEqual(status_with(cluster.admin_token), 200)
        status, headers, text = ask(f"bearer {token_of(SCRAPER)}", "HEAD")
        self.assertEqual((status, text), (200, ""))

    def test_other_clients_are_refused(self):
        rows = (
            ("no token", None, 401),
            ("an invented token", "Bearer invented", 401),
            ("an empty token", "Bearer ", 401),
            ("another scheme", "Basic dXNlcjpwYXNz", 401),
            ("a changed token", f"Bearer {token_of(SCRAPER)}x", 401),
            ("a token without the right", f"Bearer {token_of(STRANGER)}", 403),
        )
        for about, authorization, expected in rows:
            for attempt in ("asked", "cached"):
                with self.subTest(f"{about}, {attempt}"):
                    status, headers, text = ask(authorization)
                    self.assertEqual(status, expected)
                    self.assertEqual(headers.get("WWW-Authenticate"), "Bearer" if expected == 401 else None)
                    self.assertIn('"kind":"Status"', text)
                    self.assertNotIn("rest_client", text)

    def test_what_is_no_read_of_the_page(self):
        authorization = f"Bearer {token_of(SCRAPER)}"
        self.assertEqual(ask(authorization, path="/other")[0], 404)
        self.assertEqual(ask(authorization, "POST")[0], 405)

    def test_tls(self):
        made, version = certificate()
        self.assertEqual(version, "TLSv1.3")
        self.assertEqual(certificate(ssl.TLSVersion.TLSv1_2), (made, "TLSv1.2"))
        self.assertEqual(status_with(token_of(SCRAPER), version=ssl.TLSVersion.TLSv1_2), 200)

    def test_http_without_tls_is_refused_with_an_explanation(self):
        with socket.create_connection(("127.0.0.1", controller.metrics_port), timeout=30) as plain:
            plain.sendall(f"GET /metrics HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token_of(SCRAPER)}\r\n\r\n".encode())
            with plain.makefile("rb") as stream:
                answer = stream.read().decode()
        self.assertTrue(answer.startswith("HTTP/1.1 400 Bad Request\r\n"), answer)
        self.assertIn("this port serves HTTPS", answer)

    def test_probes_stay_plain_http(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{controller.health_port}/healthz", timeout=30) as answer:
            self.assertEqual(answer.status, 200)

    def test_slow_clients_block_nobody(self):
        token = token_of(SCRAPER)
        with contextlib.ExitStack() as held:
            for number in range(WITHOUT_REPLY):
                one = held.enter_context(socket.create_connection(("127.0.0.1", controller.metrics_port), timeout=30))
                if number % 2:
                    one.sendall(b"\x16\x03\x01\x02\x00")  # the start of a handshake
            secured = held.enter_context(context().wrap_socket(held.enter_context(
                socket.create_connection(("127.0.0.1", controller.metrics_port), timeout=30))))  # fmt: skip
            secured.sendall(b"GET /metrics HTTP/1.1\r\n")
            self.assertEqual(status_with(token), 200)

    def test_many_invented_tokens_do_not_lock_out_a_scraper(self):
        token = token_of(SCRAPER)
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            invented = [pool.submit(status_with, f"invented-{number}") for number in range(400)]
            self.assertEqual(status_with(token), 200)
            self.assertEqual({one.result() for one in invented}, {401})
        self.assertEqual(status_with(token), 200)

    def test_tokens_are_not_logged(self):
        secret, valid = "a-secret-that-nobody-has", token_of(STRANGER)
        self.assertEqual((status_with(secret), status_with(valid)), (401, 403))
        log = controller.log.read_text(encoding="utf-8")
        self.assertNotIn(secret, log)
        self.assertNotIn(valid, log)

    def test_without_the_api_server(self):
        known, unknown = token_of(SCRAPER), token_of(SCRAPER)
        self.assertEqual(status_with(known), 200)
        cluster.kill_apiserver()
        try:
            self.assertEqual(status_with(known), 200)
            status, headers, text = ask(f"Bearer {unknown}")
            self.assertEqual((status, headers["Retry-After"]), (503, "1"))
            self.assertIn("the API server could not be asked", text)
            self.assertIsNone(controller.exit_status())
        finally:
            cluster.restart_apiserver()
        cluster.wait(lambda: status_with(unknown) == 200, 60, "the answer of the API server is used")

    def test_a_controller_that_may_not_ask(self):
        other = started(ASKS_NOT)
        self.addCleanup(other.stop)
        token = token_of(SCRAPER)
        self.assertEqual(status_with(token, port=other.metrics_port), 500)
        line = '"resource":"tokenreviews.authentication.k8s.io","reason":"Forbidden"'
        # A thread of its own writes the log.
        cluster.wait(lambda: line in other.log.read_text(encoding="utf-8"), 30, "the log tells it")
        self.assertNotIn(token, other.log.read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
