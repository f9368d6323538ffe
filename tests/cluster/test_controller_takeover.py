#!/usr/bin/env python3
"""The upgrade from the reference operator, and the way back. Run: python3 tests/cluster/test_controller_takeover.py

A cluster has the graphs and children of the reference's recordings, as the reference has written them. Then our operator
starts. A workload restarts exactly when the ledgers of tests/reference list a difference in its pod template, or when it has a
script that waits for other pods. Then our operator stops, and the reference's update of its children is played: it restarts
the same workloads, and no others. At last our operator starts again and deletes the graphs. The default plays a sample of the
recordings (DYNAMO_SEED repeats it), DYNAMO_FULL=1 all of them.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import base64
import collections
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
from built import PLUGIN  # noqa: E402
from child_crds import install_child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402
from operator_config import config_of, role_names  # noqa: E402
from reference_objects import GRAPH, HASH, Case, call, key_of  # noqa: E402
from reference_sets import Set, changed, templates, without_scripts  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
SAMPLE = 5
SCHEDULING_GRACE_SECONDS = 32  # lifecycle::Grace, and a slow machine
QUIET_SECONDS = 30 if FULL else 3
REST_SECONDS = 4 if FULL else 2
HASH_ANNOTATION = "nvidia.com/current-worker-hash"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"

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
        with config_of(name) as config:
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


class Takeover(unittest.TestCase):
    def test_upgrade_and_way_back_without_grove(self):
        self.play("lws")

    def test_upgrade_and_way_back_with_grove(self):
        self.play("grove")

    def play(self, name):
        self.addCleanup(plane.stop)
        seed = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
        print(f"{name}: DYNAMO_SEED={seed}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as folder:
            chosen = Set(name, recordings.unpack("graphs", folder), random.Random(seed), None if FULL else SAMPLE)
        began = time.monotonic()
        for case in chosen.cases:
            case.create(plane.cluster)
        self.wait_for_deployments(chosen)
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
        again = self.state(chosen)
        for case in chosen.cases:
            moved, text = changed(templates(after[case.name]), templates(again[case.name]))
            self.assertEqual(moved, set(), f"{case.name}: the second upgrade has another result:\n{text}")
        self.check_quiet("after the second upgrade")
        self.say("second upgrade", began)
        self.check_deletion(chosen)
        self.say("all graphs are deleted", began)

    @staticmethod
    def say(text, began):
        print(f"  {time.monotonic() - began:.1f} s: {text}", file=sys.stderr)

    @staticmethod
    def state(chosen):
        return {case.name: case.live(plane.cluster) for case in chosen.cases}

    @staticmethod
    def replica_sets(chosen):
        """case -> Deployment -> names of its ReplicaSets."""
        found = {}
        for case in chosen.cases:
            found[case.name] = owned = collections.defaultdict(set)
            for one in call(plane.cluster, "GET", f"/apis/apps/v1/namespaces/{case.namespace}/replicasets")["items"]:
                owned[one["metadata"]["ownerReferences"][0]["name"]].add(one["metadata"]["name"])
        return found

    def wait_for_deployments(self, chosen):
        def settled():
            for case in chosen.cases:
                for one in call(plane.cluster, "GET", f"/apis/apps/v1/namespaces/{case.namespace}/deployments")["items"]:
                    if one.get("status", {}).get("observedGeneration") != one["metadata"]["generation"]:
                        return False
            return True

        plane.cluster.wait(settled, 120, "all Deployments are observed")

    def check_upgrade(self, chosen, before, after):
        """Returns the restarted workloads: (case, kind, name)."""
        restarted, workloads, scripts, kept = set(), 0, 0, 0
        for case in chosen.cases:
            old, new = before[case.name], after[case.name]
            accepted, others = chosen.differences(case, new)
            with self.subTest(f"{case.name}: differences from the reference"):
                text = [f"{f.kind} {f.name} {'.'.join(f.path)}: {f.theirs!r:.200} -> {f.ours!r:.200}" for f, _ in others]
                self.assertEqual(text, [])
            with self.subTest(f"{case.name}: restarts"):
                moved, text = changed(templates(old), templates(new))
                more, _ = changed(*map(without_scripts, (templates(old), templates(new))))
                restarted |= {(case.name, *key) for key in moved}
                scripts += len(moved - more)
                workloads += len({key[:2] for key in templates(old)})
                expected = {(f.kind, f.name) for f, context in accepted if context.template_path() is not None}
                self.assertEqual(more, expected & old.keys(), text)
            with self.subTest(f"{case.name}: nothing is lost"):
                gone = {(f.kind, f.name) for f, _ in accepted if f.path == () and f.direction == "theirs"}
                self.assertEqual(old.keys() - new.keys() - gone, set())
                both = old.keys() & new.keys()
                kept += len(both)
                replaced = [key for key in both if old[key]["metadata"]["uid"] != new[key]["metadata"]["uid"]]
                self.assertEqual(replaced, [])
        about = f"{len(restarted)} of {workloads} workloads restarted, {scripts} of them because of the text of a script"
        print(f"  {about}; {kept} objects kept", file=sys.stderr)
        return restarted

    def check_replica_sets(self, chosen, before, restarted):
        """Only restarted Deployments get another ReplicaSet."""
        expected = {(case, name) for case, kind, name in restarted if kind == "Deployment"}

        def moved():
            now = self.replica_sets(chosen)
            return {(case, name) for case in before for name, sets in before[case].items() if now[case][name] != sets}

        plane.cluster.wait(lambda: moved() >= expected, 60, "new ReplicaSets of the restarted Deployments")
        self.assertEqual(moved(), expected)

    def check_graphs(self, chosen, before, after):
        for case in chosen.cases:
            key = key_of(case.graph())
            old, new = before[case.name][key], after[case.name][key]
            with self.subTest(f"{case.name}: the graph"):
                self.assertEqual(new["spec"], old["spec"])
                self.assertEqual(new["metadata"]["finalizers"], old["metadata"]["finalizers"])
                current = new["metadata"]["annotations"].get(HASH_ANNOTATION)
                with_current = {**old["metadata"]["annotations"], HASH_ANNOTATION: current}
                self.assertEqual({HASH_ANNOTATION: None, **new["metadata"]["annotations"]}, with_current)
                # The worker hash is that of the reference, so no rolling update starts.
                labels = [one["metadata"].get("labels") or {} for one in before[case.name].values()]
                hashes = {each[HASH_LABEL] for each in labels if HASH_LABEL in each}
                recorded = old["metadata"]["annotations"].get(HASH_ANNOTATION)
                if recorded or hashes:
                    self.assertEqual({current}, {recorded} if recorded else hashes)
                self.assertNotIn("rollingUpdate", new["status"])
                if old.get("status", {}).get("state") != "failed":
                    self.assertNotEqual(new["status"]["state"], "failed", new["status"])

    def check_quiet(self, about):
        plane.cluster.wait(self.no_pod_is_about_to_be_reported, 60, "unscheduled pods are reported")
        plane.wait_for_rest()
        before = len(plane.writes())
        time.sleep(QUIET_SECONDS)
        self.assertEqual([described(one) for one in plane.writes()[before:]], [], about)

    @staticmethod
    def no_pod_is_about_to_be_reported():
        """The status names a pod that is not scheduled only after a grace time."""
        pods = plane.cluster.api("GET", "/api/v1/pods")["items"]
        created = [one["metadata"]["creationTimestamp"] for one in pods if not one["spec"].get("nodeName")]
        limit = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - SCHEDULING_GRACE_SECONDS))
        return all(each < limit for each in created)

    def check_way_back(self, chosen, before, restarted):
        """The reference updates the children as it does after a restart. Their templates are its own again."""
        updates, created, back = [], [], set()
        for case in chosen.cases:
            live = case.live(plane.cluster)
            with self.subTest(f"{case.name}: the way back"):
                for child in case.children():
                    if "spec" not in child and key_of(child) in live:
                        # The reference fails on an object without a spec that lacks the annotation.
                        self.assertIn(HASH, live[key_of(child)]["metadata"]["annotations"], key_of(child))
                did, made = case.reconcile(plane.cluster)
                updates += did
                created += made
                now = case.live(plane.cluster)
                moved, _ = changed(templates(live), templates(now))
                moved = {key for key in moved if key in before[case.name]}
                back |= {(case.name, *key) for key in moved}
                wrong, text = changed(templates(before[case.name]), templates(now))
                self.assertEqual(wrong, set(), text)
        self.assertEqual(back, restarted)
        kinds = collections.Counter(kind for kind, _ in updates)
        print(f"  the reference updates {len(updates)} children ({dict(kinds)}) and creates {len(created)}", file=sys.stderr)

    def check_deletion(self, chosen):
        """All children go with their graphs; the finalizer of the reference does not keep them."""
        for case in chosen.cases:
            call(plane.cluster, "DELETE", case.path(GRAPH, case.graph()["metadata"]["name"]))

        def left():
            return [
                f"{case.name} {' '.join(key)}"
                for case in chosen.cases
                for key, one in case.live(plane.cluster).items()
                if one["metadata"].get("ownerReferences") or key[0] == GRAPH
            ]

        deadline = time.monotonic() + 120
        while found := left():
            if time.monotonic() > deadline:
                self.fail(f"these objects stay: {found}")
            time.sleep(0.3)


class Plugin(unittest.TestCase):
    """`kubectl dynamo` beside an older operator: a graph, as the reference has written it, and no webhook of ours."""

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            recorded = Set("lws", recordings.unpack("graphs", folder), random.Random(0), None)
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
