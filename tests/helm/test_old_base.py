"""The way from the base of deploy/kustomize that was not made from the chart, and from its overlay for one namespace: the commands of the
README are played on clusters with the objects of that base, whose pods are on fake nodes. The controller then runs with the result.

Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`."""

import json
import re
import subprocess
import unittest

import kustomized
import old_base
import plane
from backends import Backends
from control_plane import ControlPlane

import install

NEW_SECRET = "webhook-server-cert"
SECONDS = 300
# Names of objects of the operator.
OWN = re.compile("dynamo-|webhook-|planner-|epp-|dgdr-")


def blocks():
    """The blocks of commands in the README: those for both folders, those for the base, those for one namespace."""
    text = (kustomized.KUSTOMIZE / "README.md").read_text(encoding="utf-8")
    (section,) = re.findall(r"^## From a base without the chart\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    return ["\n".join(line[4:] for line in block.splitlines()) for block in re.findall(r"(?:^    .*\n)+", section, re.M)]


class Way:
    """The tests. `old`: what is there before; `folder` of deploy/kustomize comes after it; `last`: the place of its last block."""

    old = folder = last = None
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.namespace = cls.old.namespace
        cls.secrets = f"/api/v1/namespaces/{cls.namespace}/secrets"
        cls.cluster = cls.enterClassContext(ControlPlane())
        cls.cluster.add_nodes(2)
        cls.cluster.create_namespace(cls.namespace)
        cls.cluster.kubectl("apply", "--server-side", "-k", plane.CRDS)
        # The Secret that the old controller made.
        cls.ca = plane.make_secret(cls.cluster, cls.namespace, old_base.SECRET, old_base.SERVICE)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": old_base.objects(cls.old, cls.ca)})
        cls.cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
        cls.cluster.kubectl("-n", cls.namespace, "rollout", "status", "deployment", "--timeout=120s")
        cls.cluster.wait(lambda: Backends(cls.cluster, cls.namespace, old_base.SERVICE).now() == 2, 60, "the old webhook serves")
        cls.old_pods = cls.pods()
        cls.play()

    @classmethod
    def play(cls):
        both = blocks()
        text = both[0].replace("NAMESPACE=dynamo-system\n", f"NAMESPACE={cls.namespace}\n")
        text = text.replace("FOLDER=deploy/kustomize/base\n", f"FOLDER=deploy/kustomize/{cls.folder}\n")
        script = ["bash", "-euo", "pipefail", "-c", f"{text}\n{both[cls.last]}"]
        environment = cls.cluster.environment()
        with Backends(cls.cluster, cls.namespace, old_base.SERVICE) as cls.backends:
            done = subprocess.run(script, cwd=kustomized.ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False)
            if done.returncode:
                raise AssertionError(done.stdout + done.stderr)
            cls.cluster.wait(lambda: not cls.old_pods & cls.pods(), 120, "the old pods are gone")

    @classmethod
    def pods(cls):
        return {pod["metadata"]["name"] for pod in cls.cluster.api("GET", f"/api/v1/namespaces/{cls.namespace}/pods")["items"]}

    def test_two_pods_of_the_webhook_were_always_ready(self):
        self.assertGreater(self.backends.samples, 10)
        self.assertGreaterEqual(self.backends.fewest, 2)
        self.assertEqual(self.backends.now(), 2)
        self.assertEqual(len(self.old_pods), 4)
        self.assertEqual(len(self.pods()), 3)

    def test_no_other_object_is_left(self):
        """The objects of the operator are those of a new installation, and what the controller makes."""
        expected = set(kustomized.built(self.cluster, kustomized.KUSTOMIZE / self.folder))
        kinds = {kind for kind, _, _ in expected} | {each["kind"] for each in old_base.objects(self.old, "")} | {"Secret"}
        listed = json.loads(self.cluster.kubectl("get", "-A", "-o", "json", ",".join(sorted(kinds))).stdout)["items"]
        found = {kustomized.key(one) for one in listed if OWN.match(one["metadata"]["name"])}
        self.assertEqual(found - expected, {("Secret", self.namespace, NEW_SECRET)})
        self.assertEqual(expected - found, set())

    def test_every_object_has_the_new_content(self):
        done = self.cluster.kubectl("diff", "--server-side", "--force-conflicts", "-k", kustomized.KUSTOMIZE / self.folder, check=False)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_the_controller_keeps_the_certificate(self):
        before = self.cluster.api("GET", f"{self.secrets}/{NEW_SECRET}")
        controller = install.Controller(self.cluster, account=f"{self.namespace}/{old_base.CONTROLLER}")
        self.addCleanup(controller.stop)
        controller.start()
        controller.wait_until_ready()
        self.assertEqual(self.cluster.api("GET", f"{self.secrets}/{NEW_SECRET}")["data"], before["data"])
        self.assertEqual(before["data"]["ca.crt"], self.ca)
        hooks = f"/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/dynamo-operator-validating{self.old.suffix}"

        def bundles():
            return {hook["clientConfig"].get("caBundle") for hook in self.cluster.api("GET", hooks)["webhooks"]}

        self.cluster.wait(lambda: bundles() == {self.ca}, 60, "all webhooks have the CA of before")


class Base(Way, unittest.TestCase):
    old, folder, last = old_base.BASE, "base", 1


class Restricted(Way, unittest.TestCase):
    old, folder, last = old_base.RESTRICTED, "restricted", 2


if __name__ == "__main__":
    unittest.main()
