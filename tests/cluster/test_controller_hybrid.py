#!/usr/bin/env python3
"""A cluster-wide controller and one that is restricted to a namespace. Run: python3 tests/cluster/test_controller_hybrid.py

Both run as in deploy/kustomize (base and restricted), each with its own webhook, account and configuration. Graphs
exist in the restricted namespace and in another one, and change all the time. The restricted controller starts, stops and is
killed. According to the audit log, the two never write objects of one namespace at the same time, and the namespace changes
hands within the lease time.
At the end both graphs have the same children.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import json
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from hybrid_plane import CENTRAL, LEASE_SECONDS, OTHER, RENEW_SECONDS, TEAM, HybridPlane, began, ended, user_of  # noqa: E402
from operator_plane import difference, graph, is_ready, objects_of, snapshot, unfinished  # noqa: E402

CHURN_SECONDS = 0.4  # between two changes of a graph
# A watch event and a reconcile on a busy machine.
SLACK_SECONDS = 5

plane = None


def setUpModule():
    global plane
    plane = HybridPlane()
    unittest.addModuleCleanup(plane.close)


def manifest(namespace, image):
    """A graph without an adapter: the other operator's webhook would treat its writes as those of a stranger."""
    made = graph("g", namespace, image)
    del made["spec"]["services"]["Processor"]["scalingAdapter"]
    return made


def family(namespace):
    """The graph and everything that it owns. The restricted operator's own objects are in its namespace, too."""
    left, kin = objects_of(plane.cluster, namespace), []
    while True:
        uids = {one["metadata"]["uid"] for one in kin}
        found = [
            one
            for one in left
            if one["kind"] == "DynamoGraphDeployment"
            or any(owner["uid"] in uids for owner in one["metadata"].get("ownerReferences", []))
        ]
        if not found:
            return kin
        kin += found
        left = [one for one in left if one not in found]


class Churn:
    """While it is active, the images of the graphs in both namespaces change. Attribute: image, the last one."""

    number = 0

    def __enter__(self):
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._error = None
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join(30)
        if self._error:
            raise self._error

    def _run(self):
        try:
            while True:
                Churn.number += 1
                for namespace in (TEAM, OTHER):
                    apply(namespace, f"runtime:{Churn.number}")
                if self._end.wait(CHURN_SECONDS):
                    return
        except Exception as error:  # noqa: BLE001  (raised in the main thread)
            self._error = error


def apply(namespace, image):
    plane.apply(manifest(namespace, image))


class Hybrid(unittest.TestCase):
    def test_a_namespace_changes_hands_and_back(self):
        plane.central.start()
        plane.central.wait_until_ready()
        for namespace in (TEAM, OTHER):
            apply(namespace, "runtime:0")
        self.converge(0)

        with self.subTest("the restricted controller starts"):
            with Churn():
                time.sleep(1)
                started = time.time()
                plane.restricted.start()
                first = self.wait_for_writes(TEAM, started, "the restricted controller writes")
                time.sleep(1)
            self.assertLess(began(first) - started, LEASE_SECONDS + SLACK_SECONDS)
            self.converge(Churn.number)
            self.say("start", began(first) - started)

        with self.subTest("it stops"):
            with Churn():
                time.sleep(0.5)
                self.assertEqual(plane.restricted.stop(), 0, plane.restricted.log_tail())
                stopped = time.time()
                self.assertIsNone(plane.lease())
                first = self.wait_for_writes(CENTRAL, stopped - 1, "the cluster-wide controller writes")
                time.sleep(0.5)
            # At once, that is without waiting for the end of the lease.
            self.assertLess(began(first) - stopped, LEASE_SECONDS / 2)
            took = began(first) - max(map(ended, plane.writes(TEAM, user_of(TEAM))))
            self.converge(Churn.number)
            self.say("stop", took)

        with self.subTest("it starts again and is killed"):
            restarted = time.time()
            plane.restricted.start()
            with Churn():
                self.wait_for_writes(TEAM, restarted, "the restricted controller writes again")
                plane.restricted.kill()
                killed = time.time()
                first = self.wait_for_writes(CENTRAL, killed, "the cluster-wide controller writes again")
                time.sleep(0.5)
            took = began(first) - killed
            self.assertLess(took, LEASE_SECONDS + SLACK_SECONDS)
            # The lease was renewed at most one interval before.
            self.assertGreater(took, LEASE_SECONDS - RENEW_SECONDS - 0.5)
            self.converge(Churn.number)
            self.say("kill", took)

        self.check_owners()
        self.check_children()

    def test_replicas_that_lose_the_marker_lease_end(self):
        """A standby must not go on without the marker and later take the place of the leader."""
        for one in (plane.restricted, plane.standby):
            one.start()
            one.wait_until_ready()
        plane.cluster.wait(lambda: "waiting for the lease" in plane.standby.log_tail(50), 20, "the second replica waits")
        plane.cluster.kill_apiserver()
        try:
            for one in (plane.restricted, plane.standby):
                plane.cluster.wait(lambda one=one: one.exit_status() is not None, 60, f"{one.name} ends")
                self.assertEqual(one.exit_status(), 1, one.log_tail())
        finally:
            plane.cluster.restart_apiserver()

    @staticmethod
    def say(about, seconds):
        print(f"  {about}: the other controller writes after {seconds:.1f} s", file=sys.stderr)

    def wait_for_writes(self, namespace, since, what):
        """The first write in TEAM by the controller of `namespace` after `since`."""

        def found():
            return next((one for one in plane.writes(TEAM, user_of(namespace)) if began(one) > since), None)

        return plane.cluster.wait(found, 60, what)

    def converge(self, number):
        """Waits until both graphs run the image, and nothing of an earlier one is left."""

        def late():
            reasons = []
            for namespace in (TEAM, OTHER):
                found = plane.get("DynamoGraphDeployment", namespace, "g")
                if not is_ready(found) or found["status"].get("rollingUpdate", {}).get("phase") not in (None, "Completed"):
                    reasons.append(f"{namespace}: {json.dumps(found.get('status'))}")
                reasons += unfinished(family(namespace))
                for one in (one for one in family(namespace) if one["kind"] == "Deployment"):
                    images = {each["image"] for each in one["spec"]["template"]["spec"]["containers"]}
                    if images != {f"runtime:{number}"}:
                        reasons.append(f"{namespace}/{one['metadata']['name']}: {images}")
            return reasons

        deadline = time.monotonic() + 90
        while reasons := late():
            if time.monotonic() > deadline:
                logs = "\n".join(one.log_tail(8) for one in (plane.central, plane.restricted))
                self.fail("no convergence:\n" + "\n".join(reasons) + "\n" + logs)
            time.sleep(0.2)

    def check_owners(self):
        """The namespace had one writer at a time."""
        self.assertEqual([user for user, _ in plane.turns(self)], [CENTRAL, TEAM, CENTRAL, TEAM, CENTRAL])

    def check_children(self):
        """No duplicate and no orphan: both namespaces have the same objects, up to their names."""
        seen = {}
        for namespace in (TEAM, OTHER):
            plane.cluster.wait(lambda: not unfinished(objects_of(plane.cluster, namespace)), 60, "no orphan is left")
            owned = [one for one in family(namespace) if one["kind"] not in ("DynamoGraphDeployment", "ReplicaSet")]
            for one in owned:
                if one["kind"] == "Deployment":
                    del one["status"]  # names ReplicaSets, whose names depend on the namespace
            seen[namespace] = json.loads(json.dumps(snapshot(owned)).replace(namespace, "NAMESPACE"))
        self.assertGreater(len(seen[TEAM]), 8)
        self.assertEqual(seen[TEAM].keys(), seen[OTHER].keys())
        self.assertEqual(difference(seen[OTHER], seen[TEAM]), "")


if __name__ == "__main__":
    unittest.main(verbosity=2)
