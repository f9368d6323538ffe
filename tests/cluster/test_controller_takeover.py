#!/usr/bin/env python3
"""The upgrade from the reference operator, and the way back. Run: python3 tests/cluster/test_controller_takeover.py

A cluster has the graphs and children of the reference's recordings, as the reference has written them. Then our operator
starts. A workload restarts exactly when the ledgers of tests/reference list a difference in its pod template, or when it has a
script that waits for other pods. Then our operator stops, and the reference's update of its children is played: it restarts
the same workloads, and no others. At last our operator starts again and deletes the graphs. The default plays a sample of the
recordings (DYNAMO_SEED repeats it), DYNAMO_FULL=1 all of them.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import base64
import contextlib
import json
import os
import random
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import CONTROLLER_USER, AuditLog, ProxiedController, described, wait_for_rest  # noqa: E402

import install as installation  # noqa: E402
import recordings  # noqa: E402
import takeover  # noqa: E402
from built import PLUGIN  # noqa: E402
from child_crds import install_child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from operator_config import config_of, role_names  # noqa: E402
from reference_objects import GRAPH, Case, call  # noqa: E402
from reference_sets import Set  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
SAMPLE = 5
SCHEDULING_GRACE_SECONDS = 32  # lifecycle::Grace, and a slow machine
QUIET_SECONDS = 30 if FULL else 3
REST_SECONDS = 6  # longer than the default minReadySeconds of a worker

plane = None


def setUpModule():
    global plane
    plane = Plane()
    unittest.addModuleCleanup(plane.close)


class Plane:
    """A control plane with all CRDs and without an operator."""

    def __init__(self):
        self._running = contextlib.ExitStack()
        try:
            self.audit = AuditLog(self._running.enter_context(tempfile.TemporaryDirectory()))
            self.cluster = self._running.enter_context(ControlPlane(apiserver_flags=self.audit.flags))
            self.cluster.add_nodes(4, gpus=64, cpu=512)
            crds = installation.rendered(self.cluster, installation.CRDS)
            for crd in crds:
                crd["spec"].pop("conversion", None)
            text = json.dumps({"apiVersion": "v1", "kind": "List", "items": crds})
            self.cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
            install_child_crds(self.cluster)
            self.cluster.wait_for_garbage_collector()
            role_names(self.cluster)
            self.webhook = installation.Webhook(self.cluster.directory)
            self._running.callback(self.webhook.stop)
            self.controller, self.port = None, 0
        except BaseException:
            self._running.close()
            raise

    def close(self):
        self._running.close()

    def start(self, name):
        """Installs our operator with the configuration of a set, and waits until it rests."""
        # The ledgers have the default time until a worker is available, also in digests of whole objects.
        with config_of(name, workers="") as config:
            self.webhook.start(self.port)
        if self.port:
            self._register()
        else:
            installation.install(self.cluster, self.webhook)
            self.port = self.webhook.port
        self.controller = ProxiedController(self.cluster, config)
        self._running.callback(self.controller.stop)
        self.controller.start()
        self.controller.wait_until_ready()
        self.wait_for_rest()

    def _register(self):
        ca_bundle = base64.b64encode(self.webhook.ca).decode()
        objects = installation.manifests(self.cluster, f"https://127.0.0.1:{self.port}", ca_bundle)
        items = [one for one in objects if one["kind"].endswith("WebhookConfiguration")]
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
        self.cluster.kubectl("apply", "--server-side", "-f", "-", input=text)

    def stop(self):
        """Stops our operator, if it runs, and removes its webhooks."""
        if self.controller is None:
            return
        controller, self.controller = self.controller, None
        if controller.stop() != 0:
            raise AssertionError(f"the controller failed:\n{controller.log_tail()}")
        for kind in ("mutating", "validating"):
            self.cluster.kubectl("delete", f"{kind}webhookconfigurations", "--all")
        self.webhook.stop()

    def writes(self):
        return self.audit.entries(CONTROLLER_USER)

    def wait_for_rest(self):
        wait_for_rest(self.writes, REST_SECONDS, 300)


def is_report(about):
    return about["resource"] == "events" or about.get("subresource") == "status"


class Takeover(takeover.Checks):
    @property
    def cluster(self):
        return plane.cluster

    def test_upgrade_and_way_back_without_grove(self):
        self.play("lws")

    def test_upgrade_and_way_back_with_grove(self):
        self.play("grove")

    def play(self, name):
        self.addCleanup(plane.stop)
        seed = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
        print(f"{name}: DYNAMO_SEED={seed}", file=sys.stderr)
        began = time.monotonic()
        chosen = self.create(name, random.Random(seed), None if FULL else SAMPLE)
        before = self.state(chosen)
        replica_sets = self.replica_sets(chosen)
        self.say(f"{len(chosen.cases)} graphs, {sum(map(len, before.values()))} objects of the reference", began)

        writes = len(plane.writes())
        plane.start(name)
        after = self.state(chosen)
        self.say(f"upgrade: {len(plane.writes()) - writes} writes", began)
        restarted = self.check_upgrade(chosen, before, after)
        self.check_replica_sets(chosen, replica_sets, restarted)
        self.check_graphs(chosen, before, after)
        self.check_quiet("after the upgrade")

        plane.stop()
        self.check_way_back(chosen, before, restarted)
        self.say("way back", began)

        plane.start(name)
        self.check_second_upgrade(chosen, before, after, self.state(chosen), restarted)
        self.check_quiet("after the second upgrade", with_reports=False)
        self.say("second upgrade", began)
        self.check_deletion(chosen)
        self.say("all graphs are deleted", began)

    @staticmethod
    def say(text, began):
        print(f"  {time.monotonic() - began:.1f} s: {text}", file=sys.stderr)

    def check_quiet(self, about, with_reports=True):
        """Nothing is written any more. Without reports, Events and statuses do not count, which change while pods start."""
        if with_reports:
            plane.cluster.wait(self.no_pod_is_about_to_be_reported, 60, "unscheduled pods are reported")
        plane.wait_for_rest()
        before = len(plane.writes())
        time.sleep(QUIET_SECONDS)
        writes = [one for one in plane.writes()[before:] if with_reports or not is_report(one["objectRef"])]
        self.assertEqual([described(one) for one in writes], [], about)

    @staticmethod
    def no_pod_is_about_to_be_reported():
        """The status names a pod that is not scheduled only after a grace time."""
        pods = plane.cluster.api("GET", "/api/v1/pods")["items"]
        created = [one["metadata"]["creationTimestamp"] for one in pods if not one["spec"].get("nodeName")]
        limit = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - SCHEDULING_GRACE_SECONDS))
        return all(each < limit for each in created)


class Plugin(unittest.TestCase):
    """`kubectl dynamo` beside an older operator: a graph, as the reference has written it, and no webhook of ours."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            recorded = Set("lws", recordings.unpack("graphs", folder))
        documents = next(case for case in recorded.cases if case.name == "r1-015").documents.values()
        cls.case = Case(recorded.recordings["r1-015"], documents, "plugin")
        cls.case.create(plane.cluster)
        cls.name = cls.case.graph()["metadata"]["name"]
        cls.addClassCleanup(call, plane.cluster, "DELETE", cls.case.path(GRAPH, cls.name))

    def run_plugin(self, *arguments, text=""):
        place = ("--namespace", self.case.namespace, "--kubeconfig", plane.cluster.kubeconfig)
        return subprocess.run([PLUGIN, *arguments, *place], input=text, capture_output=True, text=True, check=False)

    def graph(self):
        return call(plane.cluster, "GET", self.case.path(GRAPH, self.name))

    def test_what_only_reads(self):
        before = self.graph()
        manifest = json.dumps({**self.case.documents[self.name], "metadata": {"name": self.name, "namespace": self.case.namespace}})
        for arguments, statuses, words in (
            (("status", self.name), (0, 1), [self.name, "Worker"]),
            (("why", self.name), (0, 1), [f"{self.name} is "]),
            (("events", self.name), (0,), []),
            (("diff", "-f", "-"), (1,), ["Deployment"]),
        ):
            with self.subTest(arguments[0]):
                done = self.run_plugin(*arguments, text=manifest)
                self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
                self.assertEqual(done.stderr, "")
                for word in words:
                    self.assertIn(word, done.stdout)
        self.assertEqual(self.graph()["metadata"]["generation"], before["metadata"]["generation"])

    def test_what_writes(self):
        done = self.run_plugin("scale", self.name, "Worker", "3")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.graph()["spec"]["services"]["Worker"]["replicas"], 3)
        done = self.run_plugin("restart", self.name)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertTrue(self.graph()["spec"]["restart"]["id"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
