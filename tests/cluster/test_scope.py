#!/usr/bin/env python3
"""The operating modes of the controller against a real API server. Run: python3 tests/cluster/test_scope.py

Needs `cmake --build build/release --target scope_probe`; SCOPE_PROBE names another build of it."""

import datetime
import os
import queue
import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ApiError, ControlPlane  # noqa: E402

PROBE = Path(os.environ.get("SCOPE_PROBE") or HERE.parents[1] / "build/release/bin/scope_probe")
MARKER = "dynamo-operator-namespace-scope"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/{}/leases"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
CENTRAL, OWN, SERVICE = "dynamo-system", "dynamo-team", "webhook"
NAME = "kubernetes.io/metadata.name"


# RBAC: exactly what the modes need, plus `configmaps: patch` for the writes of the probe.
def rule(group, resources, *verbs):
    return {"apiGroups": [group], "resources": resources, "verbs": list(verbs)}


SELECTOR_RULE = rule(
    "admissionregistration.k8s.io",
    ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    "list", "watch", "patch",
)  # fmt: skip
CLUSTER_RULES = [
    rule("coordination.k8s.io", ["leases"], "list", "watch"),
    rule("", ["namespaces"], "list", "watch"),  # only with namespace.scope.leaseNamespaceLabels
    SELECTOR_RULE,
    rule("", ["configmaps"], "patch"),
]
RESTRICTED_RULES = [
    rule("coordination.k8s.io", ["leases"], "get", "create", "update", "delete"),
    rule("", ["configmaps"], "patch"),
]


def now(ago=0):
    at = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(seconds=ago)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def reference_lease(namespace, seconds, acquired):
    """The Lease as the reference operator creates it: without renewTime."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": MARKER, "namespace": namespace},
        "spec": {
            "holderIdentity": "namespace-restricted-operator-1.0.0",
            "leaseDurationSeconds": seconds,
            "acquireTime": acquired,
        },
    }


def webhook_configuration(kind, name, operator_namespace, webhooks, service):
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name, "labels": {"nvidia.com/dynamo-operator-namespace": operator_namespace}},
        "webhooks": [
            {
                "name": webhook,
                "admissionReviewVersions": ["v1"],
                "sideEffects": "None",
                "failurePolicy": "Ignore",
                "clientConfig": {"service": {"name": service, "namespace": operator_namespace, "path": "/x"}},
                "rules": [
                    {
                        "apiGroups": ["nvidia.com"],
                        "apiVersions": ["v1alpha1"],
                        "operations": ["CREATE"],
                        "resources": ["dynamomodels"],
                    }
                ],
            }
            for webhook in webhooks
        ],
    }


class Probe:
    """A running scope_probe. Its lines come with the time of their arrival."""

    def __init__(self, environment, *arguments):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        self.process = subprocess.Popen([PROBE, *arguments], env=environment, **pipes)
        self.lines = queue.Queue()
        self.writes = []
        self.seen = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            line = line.strip()
            if line.startswith("wrote "):
                self.writes.append(int(line.split()[1]))
            else:
                self.seen.append(line)
                self.lines.put((time.monotonic(), line))

    def expect(self, prefix, timeout=10):
        """The next line, which must have this prefix, and when it came."""
        try:
            at, line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError(f"no line {prefix!r} within {timeout} s; there were {self.seen}") from None
        if not line.startswith(prefix):
            raise AssertionError(f"expected {prefix!r}, there were {self.seen}")
        return at

    def is_silent(self):
        return self.lines.empty()

    def stop(self):
        """Ends its input, as a SIGTERM does for the operator. Returns its exit status."""
        self.process.stdin.close()
        return self._wait()

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.stdin.close()
        self._wait()

    def _wait(self):
        self.process.wait(20)
        self._reader.join(5)
        self.process.stdout.close()
        return self.process.returncode


class Scope(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ControlPlane(components={"etcd", "apiserver"}, users={"central": [], "team": []})
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.bind("ClusterRole", "central", None, CLUSTER_RULES)
        cls.bind("ClusterRole", "team", None, [SELECTOR_RULE])
        for number, kind in enumerate(("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")):
            for name, namespace, service in (
                ("central", CENTRAL, SERVICE),
                ("team", OWN, SERVICE),
                ("stranger", CENTRAL, "another-operator"),
            ):
                entries = [f"{n}.{name}.example.com" for n in ("a", "b")[: number + 1]]
                body = webhook_configuration(kind, name, namespace, entries, service)
                cls.cluster.api("POST", f"{WEBHOOKS}/{kind.lower()}s", body)
        cls.number = 0

    @classmethod
    def bind(cls, kind, user, namespace, rules):
        base = "/apis/rbac.authorization.k8s.io/v1" + (f"/namespaces/{namespace}" if namespace else "")
        version = {"apiVersion": "rbac.authorization.k8s.io/v1"}
        role = {**version, "kind": kind, "metadata": {"name": user}, "rules": rules}
        cls.cluster.api("POST", f"{base}/{kind.lower()}s", role)
        binding = {
            **version,
            "kind": f"{kind}Binding",
            "metadata": {"name": user},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": user},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        }
        cls.cluster.api("POST", f"{base}/{kind.lower()}bindings", binding)

    def setUp(self):
        Scope.number += 1
        self.space = f"team-{self.number}"
        self.cluster.create_namespace(self.space)
        self.bind("Role", "team", self.space, RESTRICTED_RULES)
        shared = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "shared"}}
        self.cluster.api("POST", f"/api/v1/namespaces/{self.space}/configmaps", shared)
        self.addCleanup(self.remove_lease)  # after all probes have ended, so that the next test finds no Lease

    def central(self, *labels):
        environment = self.cluster.environment(self.cluster.user_kubeconfig("central"))
        probe = Probe(environment, "cluster", CENTRAL, SERVICE, self.space, *labels)
        self.addCleanup(probe.kill)
        return probe

    def restricted(self, pod="pod-0", duration=3000, renew=1000, version="1.0.0"):
        environment = self.cluster.environment(self.cluster.user_kubeconfig("team"))
        arguments = (OWN, SERVICE, self.space, version, pod, str(duration), str(renew))
        probe = Probe(environment, "restricted", *arguments)
        self.addCleanup(probe.kill)
        return probe

    def lease(self):
        try:
            return self.cluster.api("GET", LEASES.format(self.space) + "/" + MARKER)
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def remove_lease(self):
        if self.lease():
            self.cluster.api("DELETE", LEASES.format(self.space) + "/" + MARKER)

    def configurations(self, name):
        kinds = ("mutatingwebhookconfigurations", "validatingwebhookconfigurations")
        return [self.cluster.api("GET", f"{WEBHOOKS}/{kind}/{name}") for kind in kinds]

    def selectors(self, name):
        return [entry["namespaceSelector"] for one in self.configurations(name) for entry in one["webhooks"]]

    def versions(self, name):
        return [one["metadata"]["resourceVersion"] for one in self.configurations(name)]

    def generations(self, name):
        return [one["metadata"]["generation"] for one in self.configurations(name)]

    def wait_selectors(self, name, selector, timeout=2):
        what = f"selectors of {name}: {selector}"
        self.cluster.wait(lambda: self.selectors(name) == [selector] * 3, timeout, what)

    def without(self):
        return {"matchExpressions": [{"key": NAME, "operator": "NotIn", "values": [self.space]}]}

    def test_handover_release_and_steady_state(self):
        central = self.central()
        central.expect("synced")
        self.cluster.wait(lambda: len(central.writes) > 5, what="writes of the cluster-wide operator")
        generations = self.generations("central")
        started = time.monotonic()
        restricted = self.restricted()
        excluded = central.expect(f"excluded {self.space}")
        self.assertLess(excluded - started, 1)
        self.wait_selectors("central", self.without())
        restricted.expect("acquired namespace-restricted-operator-1.0.0_pod-0")
        only = {"matchExpressions": [{"key": NAME, "operator": "In", "values": [self.space]}]}
        self.wait_selectors("team", only)
        spec = self.lease()["spec"]
        self.assertEqual(spec["leaseDurationSeconds"], 3)
        self.assertEqual(spec["holderIdentity"], "namespace-restricted-operator-1.0.0_pod-0")
        self.assertIn("renewTime", spec)
        versions = self.versions("central") + self.versions("team") + self.versions("stranger")
        self.assertEqual([one - 1 for one in self.generations("central")], generations)
        time.sleep(4)  # longer than a lease
        self.assertTrue(central.is_silent())
        self.assertEqual(versions, self.versions("central") + self.versions("team") + self.versions("stranger"))
        self.assertEqual(spec["acquireTime"], self.lease()["spec"]["acquireTime"])
        self.assertLess(spec["renewTime"], self.lease()["spec"]["renewTime"])
        first = len(central.writes)
        self.assertGreater(len(restricted.writes), 50)
        self.assertLess(max(central.writes), min(restricted.writes))
        stopped = time.monotonic()
        self.assertEqual(restricted.stop(), 0)
        returned = central.expect(f"returned {self.space}")
        self.assertLess(returned - stopped, 1)
        self.assertIsNone(self.lease())
        self.wait_selectors("central", {})
        self.cluster.wait(lambda: len(central.writes) > first, what="writes after the release")
        self.assertLess(max(restricted.writes), central.writes[first])
        central.stop()
        for one in self.configurations("central"):
            self.assertNotIn("annotations", one["metadata"])

    def test_crash_of_the_restricted_operator(self):
        central = self.central()
        central.expect("synced")
        restricted = self.restricted()
        restricted.expect("acquired")
        central.expect(f"excluded {self.space}")
        time.sleep(1.2)
        restricted.kill()
        renewed = datetime.datetime.fromisoformat(self.lease()["spec"]["renewTime"].replace("Z", "+00:00"))
        age = (datetime.datetime.now(datetime.timezone.utc) - renewed).total_seconds()
        found = time.monotonic()
        returned = central.expect(f"returned {self.space}")
        self.assertGreater(returned - found + age, 2.9)
        self.assertLess(returned - found + age, 3.6)
        self.wait_selectors("central", {})
        self.cluster.wait(lambda: max(central.writes) > max(restricted.writes), what="writes after the crash")
        self.assertTrue(all(one < min(restricted.writes) or one > max(restricted.writes) for one in central.writes))
        self.assertIsNotNone(self.lease())
        again = self.restricted("pod-1")
        again.expect("acquired")
        central.expect(f"excluded {self.space}")

    def test_a_lease_of_the_reference_operator(self):
        central = self.central()
        central.expect("synced")
        url = LEASES.format(self.space)
        self.cluster.api("POST", url, reference_lease(self.space, 2, now()))
        created = time.monotonic()
        central.expect(f"excluded {self.space}")
        time.sleep(1)
        lease = self.lease()
        lease["spec"]["renewTime"] = now()
        self.cluster.api("PUT", f"{url}/{MARKER}", lease)
        returned = central.expect(f"returned {self.space}")
        self.assertGreater(returned - created, 2.9)
        self.assertLess(returned - created, 3.8)
        self.cluster.api("DELETE", f"{url}/{MARKER}")
        self.cluster.api("POST", url, reference_lease(self.space, 2, now(ago=60)))
        other = reference_lease(self.space, 30, now())
        other["metadata"]["name"] = "another-lease"
        self.cluster.api("POST", url, other)
        time.sleep(0.5)
        self.assertTrue(central.is_silent(), "an old lease, and a Lease of another name")

    def test_leases_that_exist_at_the_start(self):
        url = LEASES.format(self.space)
        self.cluster.api("POST", url, reference_lease(self.space, 30, now(ago=10)))
        central = self.central()
        central.expect(f"excluded {self.space}")
        central.expect("synced")
        self.wait_selectors("central", self.without())
        self.assertEqual(central.writes, [])
        self.cluster.api("DELETE", f"{url}/{MARKER}")
        central.expect(f"returned {self.space}")
        self.wait_selectors("central", {})

    def test_overwritten_selectors_are_restored(self):
        restricted = self.restricted()
        restricted.expect("acquired")
        central = self.central()
        central.expect(f"excluded {self.space}")
        self.wait_selectors("central", self.without())
        for name in ("central", "team"):
            wanted = self.selectors(name)[0]
            for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
                patch = [{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {}}]
                url = f"{WEBHOOKS}/{kind}/{name}"
                self.cluster.api("PATCH", url, patch, content_type="application/json-patch+json")
            self.wait_selectors(name, wanted)
        self.assertEqual(self.selectors("stranger"), [{}] * 3)

    def test_another_controller_that_always_overwrites(self):
        restricted = self.restricted()
        restricted.expect("acquired")
        central = self.central()
        central.expect(f"excluded {self.space}")
        self.wait_selectors("central", self.without())
        url = f"{WEBHOOKS}/mutatingwebhookconfigurations/central"
        patch = [{"op": "replace", "path": "/webhooks/0/namespaceSelector", "value": {}}]
        before = self.generations("central")[0]
        until = time.monotonic() + 4
        while time.monotonic() < until:
            self.cluster.api("PATCH", url, patch, content_type="application/json-patch+json")
            time.sleep(0.02)
        # Each repair and each overwrite that follows it is a generation. The delays are 0.3, 0.6, 1.2, 2.4 s.
        changes = self.generations("central")[0] - before
        self.assertGreater(changes, 2)
        self.assertLess(changes, 14)
        self.wait_selectors("central", self.without(), timeout=10)

    def test_two_restricted_operators_in_one_namespace(self):
        central = self.central()
        central.expect("synced")
        first = self.restricted("pod-0")
        first.expect("acquired")
        central.expect(f"excluded {self.space}")
        second = self.restricted("pod-1")
        second.expect("acquired")
        time.sleep(2.5)
        self.assertEqual(first.stop(), 0)
        self.assertIsNotNone(self.lease())
        time.sleep(3.5)
        self.assertTrue(central.is_silent(), "the second operator still holds the namespace")
        stopped = time.monotonic()
        self.assertEqual(second.stop(), 0)
        self.assertLess(central.expect(f"returned {self.space}") - stopped, 1)

    def test_labels_of_namespaces_whose_leases_count(self):
        central = self.central("hybrid=allowed")
        central.expect("synced")
        self.cluster.api("POST", LEASES.format(self.space), reference_lease(self.space, 30, now()))
        time.sleep(0.5)
        self.assertTrue(central.is_silent())
        for value, line in (("allowed", "excluded"), (None, "returned")):
            patch = {"metadata": {"labels": {"hybrid": value}}}
            url = f"/api/v1/namespaces/{self.space}"
            self.cluster.api("PATCH", url, patch, content_type="application/merge-patch+json")
            central.expect(f"{line} {self.space}")

    def test_the_api_server_is_away(self):
        restricted = self.restricted()
        restricted.expect("acquired")
        central = self.central()
        central.expect(f"excluded {self.space}")
        central.expect("synced")
        killed = time.monotonic()
        self.cluster.kill_apiserver()
        failed = restricted.expect("failed could not renew the marker lease")
        self.assertLess(failed - killed, 3)
        self.assertEqual(restricted.stop(), 1)
        time.sleep(1)
        self.assertTrue(central.is_silent(), "nobody can tell whether the lease was renewed")
        self.cluster.restart_apiserver()
        central.expect(f"returned {self.space}", timeout=40)

    def test_missing_permissions(self):
        environment = self.cluster.environment(self.cluster.user_kubeconfig("nobody"))
        for arguments in (
            ("cluster", CENTRAL, SERVICE, self.space),
            ("restricted", OWN, SERVICE, self.space, "1.0.0", "pod", "2000", "500"),
        ):
            probe = Probe(environment, *arguments)
            self.addCleanup(probe.kill)
            probe.expect("failed cannot", timeout=20)
            self.assertEqual(probe.stop(), 1)


if __name__ == "__main__":
    unittest.main(verbosity=2)
