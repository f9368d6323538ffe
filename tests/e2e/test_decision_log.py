"""The webhook's log lines for a denial, a malformed body, and an API server that does not trust the certificate."""

import base64
import json
import pathlib
import socket
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from install import WEBHOOK  # noqa: E402
from requests import beta, start_cluster, unique  # noqa: E402

SECRET = "hf_TopSecretToken"

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


def lines(message):
    text = cluster.webhook.log.read_text(encoding="utf-8")
    return [entry for entry in map(json.loads, text.splitlines()) if entry["msg"] == message]


def wait_for_line(message, **fields):
    """The first line with that message and those members. It may be delayed, because the log has its own thread."""
    def search():
        return [line for line in lines(message) if all(line.get(key) == value for key, value in fields.items())]
    cluster.plane.wait(search, 30, f"a line {message!r} with {fields}")
    return search()[0]


def another_ca():
    folder = cluster.plane.directory / "another-ca"
    subprocess.run([WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", folder], check=True, capture_output=True)
    return (folder / "ca.crt").read_bytes()


def registration(ca):
    """The registration of a webhook for ConfigMaps named "untrusted"."""
    return {
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "untrusted"},
        "webhooks": [{
            "name": "untrusted.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": f"https://127.0.0.1:{cluster.port}/validate-nvidia-com-v1alpha1-dynamomodel",
                             "caBundle": base64.b64encode(ca).decode()},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}],
            "matchConditions": [{"name": "one", "expression": "object.metadata.name == 'untrusted'"}]}]}


def ask(head, body):
    """Sends a raw request and returns the answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection(("127.0.0.1", cluster.port), 30) as plain, context.wrap_socket(plain) as connection:
        connection.sendall(f"{head}\r\nHost: w\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
                           f"Connection: close\r\n\r\n{body}".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
        return answer.decode(), "%s:%s" % connection.getsockname()


class DecisionLog(unittest.TestCase):
    def test_a_denial(self):
        ns = cluster.namespace()
        name = unique()
        done = ns.kubectl("create", "-f", "-", input=beta(name, model=SECRET, backend="auto", searchStrategy="thorough"))
        self.assertNotEqual(done.returncode, 0)
        line = wait_for_line("denied", name=name)
        self.assertTrue(line.pop("uid"))
        self.assertTrue(line.pop("ts"))
        self.assertEqual(line, {
            "level": "info", "logger": "admission", "msg": "denied", "kind": "DynamoGraphDeploymentRequest",
            "namespace": ns.name, "name": name, "operation": "CREATE", "user": "admin",
            "path": "/validate-nvidia-com-v1beta1-dynamographdeploymentrequest", "rules": "dgdr-thorough-backend"})

    def test_a_malformed_body(self):
        answer, remote = ask("POST /convert HTTP/1.1", '{"kind": "%s' % SECRET)
        self.assertIn("400 Bad Request", answer)
        line = wait_for_line("request refused", remote=remote)
        self.assertTrue(line.pop("ts"))
        self.assertEqual(line, {
            "level": "warn", "logger": "http", "msg": "request refused", "remote": remote, "path": "/convert",
            "status": 400, "reason": "the body cannot be read as a review"})

    def test_an_api_server_that_does_not_trust_the_certificate(self):
        cluster.plane.kubectl("apply", "-f", "-", input=json.dumps(registration(another_ca())), check=True)
        ns = cluster.namespace()

        def refused():
            done = ns.kubectl("create", "configmap", "untrusted", "--dry-run=server")
            return "failed to verify certificate" in done.stderr
        try:
            cluster.plane.wait(refused, 60, "the API server calls the webhook and does not trust it")
        finally:
            cluster.plane.kubectl("delete", "validatingwebhookconfiguration", "untrusted", check=True)
        line = wait_for_line("TLS handshake failed", reason="remote error: bad certificate")
        self.assertEqual((line["level"], line["logger"], line["alert"]), ("warn", "http", 42))
        self.assertRegex(line["remote"], r"^127\.0\.0\.1:\d+$")
        self.assertIn("the caBundle of the webhook configuration or CRD does not match tls.crt", line["hint"])

    def test_valid_requests_are_not_logged(self):
        """TCP probes and the reviews of the readiness check are not logged either."""
        before = cluster.webhook.log.read_text(encoding="utf-8")
        ns = cluster.namespace()
        name = unique()
        ns.create(beta(name))
        ns.get(name)
        for _ in range(5):
            socket.create_connection(("127.0.0.1", cluster.port), 30).close()
        ready = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{cluster.webhook.health_port}/readyz"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(ready, "ok\n")
        # Lines keep their order, so all earlier lines have been written when this one appears.
        _, remote = ask("POST /nothing HTTP/1.1", "{}")
        wait_for_line("request refused", remote=remote, status=404)
        after = cluster.webhook.log.read_text(encoding="utf-8")
        self.assertEqual(len(after[len(before):].splitlines()), 1, after[len(before):])

    @classmethod
    def tearDownClass(cls):
        assert SECRET not in cluster.webhook.log.read_text(encoding="utf-8"), "the log quotes a value of the user"


if __name__ == "__main__":
    unittest.main()
