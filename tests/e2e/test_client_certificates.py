"""Admission is only answered for a real API server with a client certificate: --client-ca-file, --client-names."""

import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from control_plane import ControlPlane, free_port  # noqa: E402
from install import Webhook, install  # noqa: E402
from requests import ALPHA, BETA, Namespace, alpha, beta, unique  # noqa: E402

ADMISSION = "/validate-nvidia-com-v1beta1-dynamographdeploymentrequest"
USER = "kube-apiserver"  # the common name that is allowed

plane = webhook = folder = None


def setUpModule():
    global plane, webhook, folder
    folder = pathlib.Path(tempfile.mkdtemp(prefix="client-certificates-"))
    for ca in ("ca", "other-ca"):
        openssl("-subj", f"/CN={ca}", "-addext", "keyUsage=critical,keyCertSign", "-keyout", f"{ca}.key", "-out", f"{ca}.crt")
    client("apiserver", "ca", USER)
    client("stranger", "ca", "somebody-else")
    client("impostor", "other-ca", USER)
    shutil.copy(folder / "ca.crt", folder / "trusted.crt")
    port = free_port()
    plane = ControlPlane(components=("etcd", "apiserver"), apiserver_flags=[f"--admission-control-config-file={admission(port)}"])
    plane.start()
    flags = ["--client-ca-file", folder / "trusted.crt", "--client-names", f"{USER},another-name"]
    webhook = Webhook(plane.directory, flags=flags)
    webhook.start(port)
    install(plane, webhook)


def tearDownModule():
    webhook.stop()
    plane.stop()
    shutil.rmtree(folder)


def openssl(*arguments):
    subprocess.run(["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", *arguments],
                   cwd=folder, check=True, capture_output=True)


def client(name, ca, user):
    openssl("-subj", f"/CN={user}", "-CA", f"{ca}.crt", "-CAkey", f"{ca}.key", "-addext", "basicConstraints=critical,CA:FALSE",
            "-addext", "extendedKeyUsage=clientAuth", "-keyout", f"{name}.key", "-out", f"{name}.crt")


def admission(port):
    """The files that deploy/access.md describes. They configure the client certificate of the API server."""
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [
        {"name": f"127.0.0.1:{port}", "user": {"client-certificate": str(folder / "apiserver.crt"),
                                               "client-key": str(folder / "apiserver.key")}}]}
    (folder / "webhooks.kubeconfig").write_text(json.dumps(kubeconfig))
    configuration = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "WebhookAdmissionConfiguration",
                     "kubeConfigFile": str(folder / "webhooks.kubeconfig")}
    document = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration", "plugins": [
        {"name": name, "configuration": configuration}
        for name in ("MutatingAdmissionWebhook", "ValidatingAdmissionWebhook")]}
    (folder / "admission.yaml").write_text(json.dumps(document))
    return folder / "admission.yaml"


def namespace():
    name = unique("ns")
    plane.create_namespace(name)
    return Namespace(plane, name)


def ask(path, identity=None, body="{}"):
    """(status, answer). Raises OSError when there is no answer."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if identity:
        context.load_cert_chain(folder / f"{identity}.crt", folder / f"{identity}.key")
    with socket.create_connection(("127.0.0.1", webhook.port), 30) as plain, context.wrap_socket(plain) as connection:
        connection.sendall(f"POST {path} HTTP/1.1\r\nHost: w\r\nContent-Type: application/json\r\n"
                           f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    if not answer:
        raise ConnectionError("no answer")
    head, _, text = answer.decode().partition("\r\n\r\n")
    return int(head.split()[1]), json.loads(text)


def log_lines(message):
    lines = map(json.loads, webhook.log.read_text(encoding="utf-8").splitlines())
    return [line for line in lines if line["msg"] == message]


class ClientCertificates(unittest.TestCase):
    def test_the_api_server_is_admitted_and_converts_without_a_certificate(self):
        ns = namespace()
        name = unique()
        ns.create(beta(name))
        self.assertTrue(ns.get(name)["spec"]["image"])  # a default
        self.assertEqual(ns.get(name, ALPHA)["apiVersion"], "nvidia.com/v1alpha1")
        ns.create(alpha("old"))
        self.assertEqual(ns.get("old", BETA)["apiVersion"], "nvidia.com/v1beta1")
        done = ns.kubectl("create", "-f", "-", input=beta(backend="auto", searchStrategy="thorough"))
        self.assertIn("spec.searchStrategy: Invalid value", done.stderr)

    def test_other_clients(self):
        status, answer = ask(ADMISSION)
        self.assertEqual((status, answer["kind"], answer["reason"], answer["message"]),
                         (403, "Status", "Forbidden", "this path requires a client certificate"))
        status, answer = ask(ADMISSION, "stranger")
        self.assertEqual((status, answer["message"]), (403, "the client certificate has none of the allowed names"))
        for identity in (None, "stranger", "apiserver"):
            self.assertEqual(ask("/convert", identity)[0], 400, identity)  # the body is no ConversionReview
        self.assertEqual(ask(ADMISSION, "apiserver")[0], 400)
        with self.assertRaises(OSError):
            ask("/convert", "impostor")
        reasons = {line["reason"] for line in log_lines("request refused") if line["status"] == 403}
        self.assertEqual(reasons, {"this path requires a client certificate",
                                   "the client certificate has none of the allowed names"})
        plane.wait(lambda: any(line["reason"].startswith("certificate verify failed: ")
                               for line in log_lines("TLS handshake failed")), 30, "a line on the impostor")

    def test_readiness_needs_no_certificate(self):
        before = len(log_lines("request refused"))
        ready = subprocess.run(["curl", "-sS", f"http://127.0.0.1:{webhook.health_port}/readyz"],
                               capture_output=True, text=True, check=True).stdout
        self.assertEqual(ready, "ok\n")
        self.assertEqual(len(log_lines("request refused")), before)

    def test_the_ca_is_reloaded(self):
        def admitted(identity):
            try:
                return ask(ADMISSION, identity)[0] == 400
            except OSError:
                return False

        def replace(source):
            shutil.copy(folder / source, folder / "trusted.new")
            (folder / "trusted.new").rename(folder / "trusted.crt")
            os.kill(webhook.pid, signal.SIGHUP)
        self.assertTrue(admitted("apiserver"))
        try:
            replace("other-ca.crt")
            plane.wait(lambda: admitted("impostor"), 30, "the other CA is used")
            self.assertFalse(admitted("apiserver"))
            replace("apiserver.key")  # no certificate at all
            plane.wait(lambda: log_lines("certificate files rejected, serving the previous pair if there is one"), 30,
                       "the invalid file is reported")
            self.assertTrue(admitted("impostor"))
        finally:
            replace("ca.crt")
            plane.wait(lambda: admitted("apiserver"), 30, "the first CA is used again")


if __name__ == "__main__":
    unittest.main()
