#!/usr/bin/env python3
"""Provisioning of the webhook's certificates against a real API server. Run: python3 tests/cluster/test_certificates.py

Needs `cmake --build build/release --target certificates_probe`; CERTIFICATES_PROBE names another build of it. The probe runs
as a user with exactly the rights that provisioning needs, see rights()."""

import base64
import contextlib
import itertools
import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ApiError, ControlPlane  # noqa: E402

ROOT = HERE.parents[1]
PROBE = Path(os.environ.get("CERTIFICATES_PROBE") or ROOT / "build/release/bin/certificates_probe")
CRD_FILE = ROOT / "deploy/crds/nvidia.com_dynamographdeploymentrequests.yaml"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeploymentrequests.nvidia.com"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
KINDS = {
    "mutatingwebhookconfigurations": "MutatingWebhookConfiguration",
    "validatingwebhookconfigurations": "ValidatingWebhookConfiguration",
}
SERVICE = "webhook-service"
SECRET = "webhook-server-cert"
USER = "operator"
QUIET_SECONDS = 2
REPAIR_SECONDS = 5
NUMBERS = itertools.count(1)

CA_EXTENSIONS = """\
[req]
distinguished_name = name
[name]
[ca]
basicConstraints = critical, CA:TRUE
keyUsage = critical, digitalSignature, keyEncipherment, keyCertSign
subjectKeyIdentifier = hash
subjectAltName = DNS:Dynamo-Webhook-CA
[leaf]
basicConstraints = critical, CA:FALSE
keyUsage = critical, digitalSignature, keyEncipherment
extendedKeyUsage = serverAuth
subjectAltName = DNS:{service}.{namespace}.svc, DNS:{service}, DNS:{service}.{namespace}
"""


def rights(namespace, mode):
    """The RBAC objects that the operator needs for its certificates in `namespace`."""
    group = "rbac.authorization.k8s.io"
    secret_verbs = ["get", "list", "watch"] + (["patch"] if mode == "auto" else [])
    secrets = [{"apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET], "verbs": secret_verbs}]
    crd = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
    crd["resourceNames"] = ["dynamographdeploymentrequests.nvidia.com"]
    crd["verbs"] = ["get", "list", "watch", "patch"]
    # Only a restricted operator reads Services.
    cluster = [crd, {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]}]
    if mode == "auto":
        secrets.append({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]})
    webhooks = {"apiGroups": ["admissionregistration.k8s.io"], "resources": list(KINDS)}
    webhooks["verbs"] = ["get", "list", "watch", "patch"]
    cluster.append(webhooks)
    subject = [{"apiGroup": group, "kind": "User", "name": USER}]
    found = []
    for kind, rules in (("Role", secrets), ("ClusterRole", cluster)):
        reference = {"apiGroup": group, "kind": kind, "name": "certificates"}
        for body in (
            {"kind": kind, "rules": rules},
            {"kind": kind + "Binding", "roleRef": reference, "subjects": subject},
        ):
            metadata = {"name": "certificates", **({"namespace": namespace} if kind == "Role" else {})}
            found.append({"apiVersion": f"{group}/v1", "metadata": metadata, **body})
    return found


def reference_data(namespace, days):
    """The data of a Secret as the reference operator creates it: RSA keys in PKCS#1, serial numbers 0 and 1. The serving
    certificate ends in `days`."""
    with tempfile.TemporaryDirectory() as directory:

        def openssl(*args):
            subprocess.run(["openssl", *args], cwd=directory, check=True, capture_output=True)

        text = CA_EXTENSIONS.format(service=SERVICE, namespace=namespace)
        Path(directory, "extensions").write_text(text, encoding="utf-8")
        for key in ("ca.key", "tls.key"):
            openssl("genrsa", "-traditional", "-out", key, "2048")
        ca = ["-x509", "-new", "-key", "ca.key", "-set_serial", "0", "-days", "3650", "-config", "extensions"]
        openssl("req", *ca, "-extensions", "ca", "-subj", "/O=NVIDIA/CN=Dynamo-Webhook-CA", "-out", "ca.crt")
        name = f"/CN={SERVICE}.{namespace}.svc"
        openssl("req", "-new", "-key", "tls.key", "-config", "extensions", "-subj", name, "-out", "tls.csr")
        leaf = ["-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-set_serial", "1", "-days", str(days)]
        openssl("x509", *leaf, "-extfile", "extensions", "-extensions", "leaf", "-out", "tls.crt")
        names = ("ca.crt", "ca.key", "tls.crt", "tls.key")
        return {name: base64.b64encode(Path(directory, name).read_bytes()).decode() for name in names}


def verify(data, host):
    """Verifies the serving certificate of a Secret as a TLS client does."""
    with tempfile.TemporaryDirectory() as directory:
        for name in ("ca.crt", "tls.crt"):
            Path(directory, name).write_bytes(base64.b64decode(data[name]))
        argv = ["openssl", "verify", "-CAfile", "ca.crt", "-purpose", "sslserver", "-verify_hostname", host, "tls.crt"]
        return subprocess.run(argv, cwd=directory, capture_output=True, text=True, check=False)


def split_pem(text):
    end = "-----END CERTIFICATE-----\n"
    return [part + end for part in text.split(end) if part.strip()]


class Probe:
    """A running probe. `lines` are the changes of its readiness so far."""

    def __init__(self, environment, *arguments):
        self._errors = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = subprocess.Popen(
            [PROBE, *arguments],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.lines = []
        self._queue = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._process.stdout:
            self._queue.put(line.rstrip("\n"))
        self._queue.put(None)

    def wait_for(self, accept, seconds=20):
        """Waits until the latest line is accepted, and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            if self.lines and accept(self.lines[-1]) and self._queue.empty():
                return self.lines[-1]
            try:
                line = self._queue.get(timeout=max(deadline - time.monotonic(), 0.01))
            except queue.Empty:
                raise AssertionError(f"not in time; lines: {self.lines}\n{self.log()}") from None
            if line is None:
                raise AssertionError(f"the probe has ended; lines: {self.lines}\n{self.log()}")
            self.lines.append(line)

    def ready(self, seconds=20):
        return self.wait_for(lambda line: line == "ready", seconds)

    def log(self):
        self._errors.flush()
        self._errors.seek(0)
        return self._errors.read()

    def stop(self):
        """Ends the probe. Returns its log and the metrics that it prints last."""
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        status = self._process.wait(20)
        self._reader.join()
        rest = []
        while not self._queue.empty():
            rest.append(self._queue.get())
        self._process.stdout.close()
        log = self.log()
        self._errors.close()
        assert status == 0, f"status {status}\n{log}"
        return log, "\n".join(line for line in rest if line)


class Certificates(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ControlPlane(components={"etcd", "apiserver"}, users={USER: []})
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.kubectl("apply", "--server-side", "-f", CRD_FILE)

    def setUp(self):
        self.namespace = f"certs-{next(NUMBERS)}"
        self.cluster.create_namespace(self.namespace)
        self.secret_path = f"/api/v1/namespaces/{self.namespace}/secrets"
        self.set_conversion({"strategy": "None"})

    # Helpers

    def start(self, mode="auto", *restricted, clock=0):
        for body in rights(self.namespace, mode):
            plural = body["kind"].lower() + "s"
            scope = f"namespaces/{self.namespace}/" if "namespace" in body["metadata"] else ""
            path = f"/apis/rbac.authorization.k8s.io/v1/{scope}{plural}"
            with contextlib.suppress(ApiError):
                self.cluster.api("DELETE", f"{path}/certificates")
            self.cluster.api("POST", path, body)
        environment = self.cluster.environment(self.cluster.user_kubeconfig(USER))
        environment["DYNAMO_PROBE_CLOCK"] = str(clock)
        probe = Probe(environment, self.namespace, SERVICE, SECRET, mode, *restricted)
        self.addCleanup(lambda: probe._process.poll() is None and probe.stop())
        return probe

    def create_webhooks(self, name="own", namespace=None, services=(SERVICE, SERVICE, "other"), ca_bundle=None):
        """A configuration of each kind, with one webhook for each Service."""
        for plural, kind in KINDS.items():
            webhooks = []
            for number, service in enumerate(services):
                client = {"service": {"name": service, "namespace": self.namespace, "path": "/x"}}
                if ca_bundle:
                    client["caBundle"] = ca_bundle
                rule = {"apiGroups": ["probe.example.com"], "apiVersions": ["v1"]}
                rule.update(operations=["CREATE"], resources=["widgets"])
                webhooks.append({"name": f"w{number}.probe.example.com", "clientConfig": client, "rules": [rule]})
                webhooks[-1].update(admissionReviewVersions=["v1"], sideEffects="None")
            labels = {"nvidia.com/dynamo-operator-namespace": namespace or self.namespace}
            body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "webhooks": webhooks}
            body["metadata"] = {"name": f"{self.namespace}-{name}", "labels": labels}
            self.cluster.api("POST", f"{WEBHOOKS}/{plural}", body)
            self.addCleanup(self.delete_quietly, f"{WEBHOOKS}/{plural}/{self.namespace}-{name}")

    def delete_quietly(self, path):
        with contextlib.suppress(ApiError):
            self.cluster.api("DELETE", path)

    def configuration(self, plural, name="own"):
        return self.cluster.api("GET", f"{WEBHOOKS}/{plural}/{self.namespace}-{name}")

    def bundles(self, name="own"):
        """The caBundles of all entries of both configurations, decoded."""
        found = []
        for plural in KINDS:
            for webhook in self.configuration(plural, name)["webhooks"]:
                found.append(base64.b64decode(webhook["clientConfig"].get("caBundle", "")).decode())
        return found

    def set_conversion(self, conversion):
        patch = [{"op": "replace", "path": "/spec/conversion", "value": conversion}]
        self.cluster.api("PATCH", CRD, patch, "application/json-patch+json")

    def conversion(self):
        return self.cluster.api("GET", CRD)["spec"]["conversion"]

    def conversion_bundle(self):
        client = self.conversion().get("webhook", {}).get("clientConfig", {})
        return base64.b64decode(client.get("caBundle", "")).decode()

    def stanza(self, service, namespace, ca_bundle=None):
        client = {"service": {"name": service, "namespace": namespace, "path": "/convert", "port": 443}}
        if ca_bundle:
            client["caBundle"] = ca_bundle
        return {"strategy": "Webhook", "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client}}

    def create_secret(self, data):
        body = {"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data}
        body["metadata"] = {"name": SECRET}
        return self.cluster.api("POST", self.secret_path, body)

    def secret(self):
        return self.cluster.api("GET", f"{self.secret_path}/{SECRET}")

    def secret_exists(self):
        return self.cluster.exists(f"{self.secret_path}/{SECRET}")

    def delete_secret(self):
        self.cluster.api("DELETE", f"{self.secret_path}/{SECRET}")

    def ca(self):
        return base64.b64decode(self.secret()["data"]["ca.crt"]).decode()

    def wait_until_both_are_trusted(self, old):
        """Waits until the Secret has a new CA, and this and the old CA are in all bundles."""

        def trusts_both():
            if not self.secret_exists():
                return False
            new = self.ca()
            both = new + old
            return new != old and self.bundles() == [both, both, ""] * 2 and self.conversion_bundle() == both

        self.cluster.wait(trusts_both, 20, "the new CA is injected beside the old one")

    def versions(self):
        objects = [self.configuration(plural) for plural in KINDS] + [self.cluster.api("GET", CRD), self.secret()]
        return [item["metadata"]["resourceVersion"] for item in objects]

    def assert_no_writes(self):
        before = self.versions()
        time.sleep(QUIET_SECONDS)
        self.assertEqual(self.versions(), before)

    def repaired(self, condition, what):
        """Waits for a repair and prints its time. The limit is for a busy machine, on which the API server alone needs half
        a second to write the CRD."""
        began = time.monotonic()
        self.cluster.wait(condition, REPAIR_SECONDS, what)
        print(f"{what}: {time.monotonic() - began:.2f} s", file=sys.stderr)

    # Tests

    def test_a_missing_secret_is_created_and_its_ca_injected(self):
        self.create_webhooks()
        self.create_webhooks("foreign", namespace="elsewhere")
        probe = self.start()
        probe.ready()
        secret = self.secret()
        self.assertEqual(secret["type"], "kubernetes.io/tls")
        labels = {"managed-by": "dynamo-operator", "component": "webhook", "part-of": "dynamo-operator"}
        labels = {f"app.kubernetes.io/{key}": value for key, value in labels.items()}
        self.assertEqual(secret["metadata"]["labels"], labels)
        self.assertEqual(sorted(secret["data"]), ["ca.crt", "ca.key", "tls.crt", "tls.key"])
        verified = verify(secret["data"], f"{SERVICE}.{self.namespace}.svc")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        ca = self.ca()
        self.assertEqual(self.bundles(), [ca, ca, ""] * 2)
        self.assertEqual(self.bundles("foreign"), [""] * 6)
        self.assertEqual(self.conversion(), self.stanza(SERVICE, self.namespace, secret["data"]["ca.crt"]))
        self.assert_no_writes()
        log, metrics = probe.stop()
        self.assertNotIn("PRIVATE", log)
        for certificate in ("ca", "serving"):
            name = "dynamo_operator_webhook_certificate_expiration_timestamp_seconds"
            self.assertRegex(metrics, name + '{certificate="' + certificate + r'"} [1-9]')

    def test_what_others_overwrite_is_repaired_at_once(self):
        self.create_webhooks()
        self.start().ready()
        ca = self.ca()
        patch = [{"op": "remove", "path": "/webhooks/1/clientConfig/caBundle"}]
        for plural in KINDS:
            path = f"{WEBHOOKS}/{plural}/{self.namespace}-own"
            self.cluster.api("PATCH", path, patch, "application/json-patch+json")
        self.repaired(lambda: self.bundles() == [ca, ca, ""] * 2, "a removed caBundle is repaired")

        other = reference_data("elsewhere", 365)["ca.crt"]
        patch = [{"op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": other}]
        path = f"{WEBHOOKS}/mutatingwebhookconfigurations/{self.namespace}-own"
        self.cluster.api("PATCH", path, patch, "application/json-patch+json")
        self.repaired(lambda: self.bundles()[0].startswith(ca), "a replaced caBundle is repaired")

        for plural in KINDS:
            self.cluster.api("DELETE", f"{WEBHOOKS}/{plural}/{self.namespace}-own")
        self.create_webhooks(services=(SERVICE,))
        self.repaired(lambda: self.bundles() == [ca] * 2, "new configurations get the CA")

        self.set_conversion({"strategy": "None"})
        self.repaired(lambda: self.conversion_bundle() == ca, "the conversion is repaired")
        self.set_conversion(self.stanza("stranger", "elsewhere"))
        self.repaired(lambda: self.conversion_bundle() == ca, "another Service is replaced")
        self.assertEqual(self.conversion()["webhook"]["clientConfig"]["service"]["name"], SERVICE)
        self.assert_no_writes()

    def test_a_deleted_secret_is_created_again_and_the_old_ca_stays_trusted(self):
        self.create_webhooks()
        probe = self.start()
        probe.ready()
        old = self.ca()
        self.delete_secret()
        self.wait_until_both_are_trusted(old)
        probe.ready()
        self.assert_no_writes()

    def test_two_replicas_agree(self):
        self.create_webhooks()
        first = self.start()
        environment = self.cluster.environment(self.cluster.user_kubeconfig(USER))
        second = Probe(environment, self.namespace, SERVICE, SECRET, "auto")
        self.addCleanup(second.stop)
        first.ready()
        second.ready()
        ca = self.ca()
        self.assertEqual(len(split_pem(ca)), 1)
        self.assertEqual(self.bundles(), [ca, ca, ""] * 2)
        for plural in KINDS:
            # Generation 1 is the creation, so each configuration was changed once.
            self.assertEqual(self.configuration(plural)["metadata"]["generation"], 2)
        self.assert_no_writes()

        self.delete_secret()
        self.wait_until_both_are_trusted(ca)
        first.ready()
        second.ready()
        self.assert_no_writes()

    def test_manual_mode_injects_the_ca_of_the_secret_where_there_is_none(self):
        self.create_webhooks()
        probe = self.start("manual")
        probe.wait_for(lambda line: "the Secret does not exist" in line)
        self.assertEqual(self.conversion(), self.stanza(SERVICE, self.namespace))
        data = reference_data(self.namespace, 30)
        version = self.create_secret(data)["metadata"]["resourceVersion"]
        probe.ready()
        self.assertEqual(self.conversion(), self.stanza(SERVICE, self.namespace, data["ca.crt"]))
        ca = self.ca()
        self.repaired(lambda: self.bundles() == [ca, ca, ""] * 2, "the CA is injected")
        self.set_conversion({"strategy": "None"})
        self.repaired(lambda: self.conversion_bundle() == self.ca(), "the conversion is repaired")
        self.assert_no_writes()
        self.assertEqual(self.secret()["metadata"]["resourceVersion"], version)
        renewed = reference_data(self.namespace, 30)
        self.cluster.api("PATCH", f"{self.secret_path}/{SECRET}", {"data": renewed}, "application/merge-patch+json")
        first = lambda: {split_pem(one)[0] for one in (*self.bundles(), self.conversion_bundle()) if one}  # noqa: E731
        self.repaired(lambda: first() == set(split_pem(self.ca())), "the other CA is injected, too")
        self.assert_no_writes()

    def test_manual_mode_follows_the_secret_where_auto_mode_has_injected_the_ca(self):
        self.create_webhooks()
        probe = self.start()
        probe.ready()
        first = self.ca()
        probe.stop()
        data = reference_data(self.namespace, 30)
        self.cluster.api("PATCH", f"{self.secret_path}/{SECRET}", {"data": data}, "application/merge-patch+json")
        self.start("manual").ready()
        trusted = set(split_pem(self.ca())) | set(split_pem(first))
        self.repaired(lambda: all(set(split_pem(one)) == trusted for one in self.bundles() if one), "the other CA is injected")
        self.assert_no_writes()

    def test_manual_mode_leaves_the_ca_bundle_of_the_administrator(self):
        theirs = reference_data(self.namespace, 30)["ca.crt"]
        self.create_webhooks(ca_bundle=theirs)
        before = self.bundles()
        self.create_secret(reference_data(self.namespace, 30))
        self.start("manual").ready()
        self.assertEqual(self.bundles(), before)
        self.assert_no_writes()

    def test_manual_mode_leaves_the_ca_bundle_to_cert_manager(self):
        annotations = "/metadata/annotations/cert-manager.io~1inject-ca-from"
        add = [{"op": "add", "path": annotations, "value": "ns/certificate"}]
        if "annotations" not in self.cluster.api("GET", CRD)["metadata"]:
            add.insert(0, {"op": "add", "path": "/metadata/annotations", "value": {}})
        self.cluster.api("PATCH", CRD, add, "application/json-patch+json")
        remove = [{"op": "remove", "path": annotations}]
        self.addCleanup(self.cluster.api, "PATCH", CRD, remove, "application/json-patch+json")
        self.create_webhooks()
        data = reference_data(self.namespace, 30)
        self.create_secret(data)
        probe = self.start("manual")
        probe.wait_for(lambda line: "has no caBundle" in line or "cert-manager" in line)
        self.assertEqual(self.conversion(), self.stanza(SERVICE, self.namespace))
        self.set_conversion(self.stanza(SERVICE, self.namespace, data["ca.crt"]))
        probe.ready()
        self.assert_no_writes()

    def test_a_valid_secret_of_the_reference_is_not_written(self):
        self.create_webhooks()
        data = reference_data(self.namespace, 365)
        version = self.create_secret(data)["metadata"]["resourceVersion"]
        self.start().ready()
        self.assertEqual(self.secret()["metadata"]["resourceVersion"], version)
        ca = self.ca()
        self.assertEqual(self.bundles(), [ca, ca, ""] * 2)
        self.assertEqual(self.conversion_bundle(), ca)
        self.assert_no_writes()

    def test_a_serving_certificate_with_89_days_left_is_renewed_by_the_same_ca(self):
        self.create_webhooks()
        data = reference_data(self.namespace, 89)
        data["extra"] = base64.b64encode(b"kept").decode()
        self.create_secret(data)
        self.start().ready()
        renewed = self.cluster.wait(lambda: self.secret()["data"]["tls.crt"] != data["tls.crt"] and self.secret(), 10)
        for key in ("ca.crt", "ca.key", "extra"):
            self.assertEqual(renewed["data"][key], data[key])
        self.assertNotEqual(renewed["data"]["tls.key"], data["tls.key"])
        verified = verify(renewed["data"], f"{SERVICE}.{self.namespace}.svc")
        self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assert_no_writes()

    def test_a_certificate_is_renewed_at_the_moment_when_this_becomes_due(self):
        self.create_webhooks()
        data = reference_data(self.namespace, 91)
        self.create_secret(data)
        began = time.monotonic()
        seconds = 10
        self.start(clock=24 * 3600 - seconds).ready()
        self.assertEqual(self.secret()["data"], data)
        self.cluster.wait(lambda: self.secret()["data"]["tls.crt"] != data["tls.crt"], 3 * seconds, "a renewal")
        self.assertGreater(time.monotonic() - began, seconds - 1)
        self.assertEqual(self.secret()["data"]["ca.crt"], data["ca.crt"])
        self.assert_no_writes()

    def test_a_restricted_operator_respects_the_service_of_another(self):
        self.create_webhooks()
        path = f"/api/v1/namespaces/{self.namespace}/services"
        body = {"apiVersion": "v1", "kind": "Service", "spec": {"ports": [{"port": 443}]}}
        self.cluster.api("POST", path, {**body, "metadata": {"name": "other"}})
        other = self.stanza("other", self.namespace)
        self.set_conversion(other)
        probe = self.start("auto", "team-a")
        probe.ready()
        self.assertEqual(self.conversion(), other)
        self.assert_no_writes()
        probe.stop()

        self.cluster.api("DELETE", f"{path}/other")
        probe = self.start("auto", "team-a")
        probe.ready()
        self.assertEqual(self.conversion_bundle(), self.ca())

        # The operator of that Service is installed again.
        self.cluster.api("POST", path, {**body, "metadata": {"name": "other"}})
        self.set_conversion(other)
        self.assert_no_writes()
        self.assertEqual(self.conversion(), other)

    def test_two_releases_with_one_secret_get_a_common_certificate(self):
        self.create_webhooks(services=(SERVICE, "second"))
        services = f"/api/v1/namespaces/{self.namespace}/services"
        body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE}, "spec": {"ports": [{"port": 443}]}}
        self.cluster.api("POST", services, body)
        first = self.start()
        first.ready()
        environment = self.cluster.environment(self.cluster.user_kubeconfig(USER))
        second = Probe(environment, self.namespace, "second", SECRET, "auto", "team-a")
        self.addCleanup(second.stop)
        second.ready()
        first.ready()
        for service in (SERVICE, "second"):
            verified = verify(self.secret()["data"], f"{service}.{self.namespace}.svc")
            self.assertEqual(verified.returncode, 0, verified.stderr)
        self.assertEqual(self.bundles(), [self.ca()] * 4)
        self.assert_no_writes()
        self.assertIn("the certificate keeps names of other Services", second.log())

    def test_a_secret_that_another_program_keeps_deleting_is_not_fought_over(self):
        self.create_webhooks()
        probe = self.start()
        authorities = []

        def own_bundles():
            # Entries of other Services have no caBundle.
            return [*filter(None, self.bundles()), self.conversion_bundle()]

        def trusted():
            return all(authorities[-1] in each for each in own_bundles())

        for _ in range(5):
            self.cluster.wait(self.secret_exists, 20, "the Secret is created again")
            authorities.append(self.ca())
            self.cluster.wait(trusted, 20, "the CA is injected")
            self.delete_secret()
        time.sleep(QUIET_SECONDS)
        self.assertFalse(self.secret_exists())
        # The webhook may still serve a certificate of the first CA.
        for bundle in own_bundles():
            self.assertEqual([one for one in authorities if one not in bundle], [])
        probe.wait_for(lambda line: "the Secret does not exist" in line)
        log, _ = probe.stop()
        self.assertIn("another program keeps changing the object", log)
        self.assertEqual(log.count("created the certificate Secret"), 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
