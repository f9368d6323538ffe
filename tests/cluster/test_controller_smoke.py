#!/usr/bin/env python3
"""The command `dynamo-controller smoke` against a real API server. Run: python3 tests/cluster/test_controller_smoke.py

The command runs as a service account that may only create graphs and requests in one namespace.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`; DYNAMO_CONTROLLER and DYNAMO_WEBHOOK name
other builds of them."""

import base64
import json
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "deploy/lib")]
import install as installation  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

REQUESTS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeploymentrequests.nvidia.com"
ADMISSION = "/apis/admissionregistration.k8s.io/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/demo"
RESOURCES = ["dynamographdeployments", "dynamographdeploymentrequests"]
CHECKS = [
    "a valid DynamoGraphDeployment is admitted and gets defaults",
    "a wrong DynamoGraphDeployment is denied",
    "a v1alpha1 DynamoGraphDeploymentRequest is converted",
]
PASSED = [f"ok: {check}" for check in CHECKS]
WARN = "validation: {mode: warn}\n"
DISCOVERY_OFF = "gpu: {discoveryEnabled: false}\nnamespace: {restricted: demo}\n"

def setUpModule():
    global plane, webhook, kubeconfig
    plane = ControlPlane(components={"etcd", "apiserver"})
    plane.start()
    unittest.addModuleCleanup(plane.stop)
    plane.create_namespace("demo")
    webhook = start_webhook(unittest.addModuleCleanup)
    accounts = (("checker", RESOURCES), ("half", RESOURCES[:1]), ("nobody", []))
    kubeconfig = {name: account(name, resources) for name, resources in accounts}


def start_webhook(clean_up, **options):
    """A running webhook with a certificate of its own, until the clean-up."""
    folder = tempfile.TemporaryDirectory()
    clean_up(folder.cleanup)
    started = installation.Webhook(folder.name, **options)
    clean_up(started.stop)
    started.start()
    return started


def account(name, resources):
    """The kubeconfig of a service account that may create the resources in the namespace demo."""
    plane.api("POST", "/api/v1/namespaces/demo/serviceaccounts", {"metadata": {"name": name}})
    subject = {"kind": "ServiceAccount", "namespace": "demo", "name": name}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name}
    rules = [{"apiGroups": ["nvidia.com"], "resources": resources, "verbs": ["create"]}] if resources else []
    plane.api("POST", f"{RBAC}/roles", {"metadata": {"name": name}, "rules": rules})
    plane.api("POST", f"{RBAC}/rolebindings", {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})
    return plane.service_account_kubeconfig("demo", name)


def objects_of(running):
    """The CRDs of graphs and requests, and the webhook configurations, which call the running webhook."""
    objects = installation.manifests(plane, f"https://127.0.0.1:{running.port}", base64.b64encode(running.ca).decode())
    names = [f"{resource}.nvidia.com" for resource in RESOURCES]
    return [found for found in objects if found["kind"] != "CustomResourceDefinition" or found["metadata"]["name"] in names]


def install(objects, *kinds):
    """Applies the objects of these kinds, by default all that concern admission."""
    kinds = kinds or ("CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    items = [found for found in objects if found["kind"] in kinds]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    plane.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)


def install_all():
    install(objects_of(webhook))
    plane.wait_for_crds(180)
    plane.wait(lambda: installation.webhook_is_called(plane), 120, "the API server calls the webhook")


class Smoke(unittest.TestCase):
    def command(self, timeout, namespace):
        return [installation.CONTROLLER, "smoke", f"--namespace={namespace}", f"--timeout={timeout}"]

    def run_smoke(self, *flags, timeout="240s", account="checker", namespace="demo"):
        argv = [*self.command(timeout, namespace), *flags]
        environment = plane.environment(kubeconfig[account])
        return subprocess.run(argv, env=environment, capture_output=True, text=True, timeout=300)

    def assert_fails(self, passed, *words, **options):
        """The first checks pass, and the next one fails with these words in its reason."""
        ran = self.run_smoke(**options)
        self.assertEqual(ran.returncode, 1, ran.stdout)
        self.assertEqual([line for line in ran.stdout.splitlines() if not line.startswith("waiting: ")], PASSED[:passed])
        self.assertEqual(len(ran.stderr.splitlines()), 1, ran.stderr)
        self.assertIn(f"dynamo-controller: it is not so that {CHECKS[passed]}: ", ran.stderr)
        for word in words:
            self.assertIn(word, ran.stderr)

    def started(self, account="checker"):
        """A running smoke, and a function that reads its output until a line has all of the words."""
        process = subprocess.Popen(self.command("240s", "demo"), env=plane.environment(kubeconfig[account]),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for cleanup in (process.stdout.close, process.stderr.close, process.wait, process.kill):
            self.addCleanup(cleanup)

        def read_until(*words):
            for line in process.stdout:
                if all(word in line for word in words):
                    return
            self.fail(f"it ends without {words}: {process.stderr.read()}")

        return process, read_until

    def assert_waits(self, passed, *words):
        """The first checks pass, and the next one waits with these words in the reason."""
        process, read_until = self.started()
        for check in PASSED[:passed]:
            read_until(check)
        read_until("waiting: ", *words)
        process.kill()

    def assert_passes(self, ran):
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertEqual([line for line in ran.stdout.splitlines() if not line.startswith("waiting: ")], PASSED)


class BeforeTheInstallation(Smoke):
    """Runs first, while there is no CRD."""

    def test_it_waits_for_each_part(self):
        self.assert_fails(0, "not in time: the CustomResourceDefinition is missing or not served yet", "HTTP status 404",
                          timeout="5s")
        objects = objects_of(webhook)
        process, read_until = self.started()
        read_until("the CustomResourceDefinition is missing")
        install(objects, "CustomResourceDefinition")
        read_until("it gets no defaults: no mutating webhook of this operator is registered for namespace demo")
        install(objects, "MutatingWebhookConfiguration")
        read_until(PASSED[0])
        read_until("a wrong object is not denied: no validating webhook of this operator is registered for namespace demo")
        install(objects, "ValidatingWebhookConfiguration")
        out, errors = process.communicate(timeout=300)
        self.assertEqual((process.returncode, errors), (0, ""), out)
        self.assertEqual(out.splitlines()[-2:], PASSED[1:])


class Installation(Smoke):
    @classmethod
    def setUpClass(cls):
        install_all()

    def changes_the_installation(self):
        self.addCleanup(install_all)

    def test_an_installation_that_works(self):
        self.assert_passes(self.run_smoke())
        again = self.run_smoke()
        self.assertEqual((again.returncode, again.stdout.splitlines(), again.stderr), (0, PASSED, ""))
        for resource in RESOURCES:
            found = plane.api("GET", f"/apis/nvidia.com/v1alpha1/namespaces/demo/{resource}")
            self.assertEqual(found["items"], [])

    def test_the_webhook_does_not_run(self):
        port = webhook.port
        webhook.stop()
        try:
            self.assert_waits(0, "the API server cannot call the webhook: ", "connection refused")
        finally:
            webhook.start(port)

    def test_a_ca_that_is_wrong_or_missing(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        stranger = installation.Webhook(folder.name)
        stranger.make_certificate()
        wrong = base64.b64encode((Path(folder.name) / "webhook-certs/ca.crt").read_bytes()).decode()
        self.changes_the_installation()
        for bundle in (wrong, None):
            with self.subTest(bundle=bundle):
                objects = objects_of(webhook)
                for config in [one["clientConfig"] for found in objects for one in found.get("webhooks", [])]:
                    config["caBundle"] = bundle
                    if bundle is None:
                        del config["caBundle"]
                install(objects)
                self.assert_waits(0, "the API server does not trust the certificate of the webhook", "x509")

    def test_a_conversion_that_does_not_work(self):
        self.changes_the_installation()
        merge = "application/merge-patch+json"
        config = {"conversion": {"webhook": {"clientConfig": {"caBundle": None}}}}
        plane.api("PATCH", REQUESTS, {"spec": config}, merge)
        plane.wait(lambda: not installation.webhook_is_called(plane), 120, "the conversion fails")
        self.assert_waits(2, "does not trust the certificate of the webhook", "conversion webhook for nvidia.com/v1alpha1")
        plane.api("PATCH", REQUESTS, {"spec": {"conversion": {"strategy": "None", "webhook": None}}}, merge)
        plane.wait(lambda: "pruned" in self.converted(), 120, "the conversion changes only the version")
        self.assert_waits(2, "the conversion loses fields")

    def converted(self):
        """What becomes of a request in v1alpha1."""
        body = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "probe"},
                "spec": {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i", "outputPVC": "p"}}}
        ran = plane.kubectl("create", "--dry-run=server", "-n", "demo", "-o", "json", "-f", "-", input=json.dumps(body),
                            check=False)
        if ran.returncode != 0:
            return ran.stderr
        return "kept" if "outputPVC" in json.loads(ran.stdout)["spec"].get("profilingConfig", {}) else "pruned"

    def test_missing_rights(self):
        """They may be so new that the API server does not know them yet."""
        for account, namespace, passed, resource in (("nobody", "default", 0, RESOURCES[0]), ("half", "demo", 2, RESOURCES[1])):
            began = time.monotonic()
            self.assert_fails(passed, "a right is missing: ", f'cannot create resource "{resource}" in API group "nvidia.com"',
                              f'"system:serviceaccount:demo:{account}" ', f'in the namespace "{namespace}"',
                              account=account, namespace=namespace)
            self.assertGreater(time.monotonic() - began, 9)
            self.assertLess(time.monotonic() - began, 90)

    def test_rights_that_come_late(self):
        process, read_until = self.started("nobody")
        read_until("waiting: ", "a right is missing: ")
        rules = [{"apiGroups": ["nvidia.com"], "resources": RESOURCES, "verbs": ["create"]}]
        plane.api("PATCH", f"{RBAC}/roles/nobody", {"rules": rules}, "application/merge-patch+json")
        self.addCleanup(plane.api, "PATCH", f"{RBAC}/roles/nobody", {"rules": []}, "application/merge-patch+json")
        read_until(PASSED[-1])
        self.assertEqual(process.wait(30), 0)

    def test_a_policy_that_refuses_graphs(self):
        rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["*"], "resources": ["dynamographdeployments"], "operations": ["CREATE"]}
        policy = {"metadata": {"name": "none"}, "spec": {"failurePolicy": "Fail", "matchConstraints": {"resourceRules": [rule]},
                                                         "validations": [{"expression": "false", "message": "no graphs"}]}}
        plane.api("POST", f"{ADMISSION}/validatingadmissionpolicies", policy)
        self.addCleanup(plane.wait, lambda: not refused(), 120, "the policy is no longer in force")
        self.addCleanup(plane.api, "DELETE", f"{ADMISSION}/validatingadmissionpolicies/none")
        binding = {"metadata": {"name": "none"}, "spec": {"policyName": "none", "validationActions": ["Deny"]}}
        plane.api("POST", f"{ADMISSION}/validatingadmissionpolicybindings", binding)
        self.addCleanup(plane.api, "DELETE", f"{ADMISSION}/validatingadmissionpolicybindings/none")
        graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "probe"},
                 "spec": {"services": {"Frontend": {"componentType": "frontend",
                                                    "extraPodSpec": {"mainContainer": {"image": "i:1"}}}}}}

        def refused():
            ran = plane.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(graph), check=False)
            return "no graphs" in ran.stderr

        plane.wait(refused, 120, "the policy is in force")
        self.assert_fails(0, "refused: ", "no graphs")

    def configured(self, settings):
        """The API server calls a webhook with these settings."""
        other = start_webhook(self.addCleanup, config=installation.CONFIG.format(delay="0s") + settings)
        self.changes_the_installation()
        install(objects_of(other))

    def test_a_restricted_operator_without_gpu_discovery(self):
        self.configured(DISCOVERY_OFF)
        plane.wait(lambda: "GPU discovery is off" in self.converted(), 120, "the webhook denies requests in v1alpha1")
        self.assert_passes(self.run_smoke())

    def test_validation_that_only_warns(self):
        self.configured(WARN)
        self.assert_waits(1, "a wrong object is not denied")
        ran = self.run_smoke("--validation-mode=warn")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        lines = [line for line in ran.stdout.splitlines() if not line.startswith("waiting: ")]
        self.assertEqual(lines, [PASSED[0], f"left out, because validation only warns: {CHECKS[1]}", PASSED[2]])


if __name__ == "__main__":
    unittest.main(verbosity=2)
