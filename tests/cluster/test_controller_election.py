#!/usr/bin/env python3
"""Two controllers with leader election. Run: python3 tests/cluster/test_controller_election.py

The audit log tells the controllers apart by their tokens. DYNAMO_FULL=1: leaders that fall asleep for 10 minutes, again and again.

Needs `cmake --build build/release --target dynamo-controller
dynamo-webhook`."""

import datetime
import os
import signal
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import OperatorPlane, described, graph, is_ready, objects_of, received  # noqa: E402

NAMESPACE = "election"
LEASE_SECONDS = 15
RETRY_SECONDS = 2
TAKEOVER_SLACK = 4  # two attempts of the second controller, and a slow machine
STOPPED_SECONDS = 20
RUN_SECONDS = 60
FULL = os.environ.get("DYNAMO_FULL") == "1"
FULL_SECONDS = 600

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)


def queued(controller):
    """The number of keys that the controller has put into its queues."""
    return sum(float(line.split()[-1]) for line in controller.metrics().splitlines() if line.startswith("workqueue_adds_total{"))


class Changes:
    """A user who changes a graph all the time, so that there is always something to write."""

    def __init__(self):
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._change, daemon=True)
        self._thread.start()

    def _change(self):
        number = 0
        while not self._ended.wait(0.2):
            number += 1
            services = {"Frontend": {"replicas": 1 + number % 3}}
            plane.patch("DynamoGraphDeployment", NAMESPACE, "g", {"spec": {"services": services}})

    def end(self):
        self._ended.set()
        self._thread.join()


class Election(unittest.TestCase):
    def setUp(self):
        self.first, self.second = (plane.controller(name, leader_election=True) for name in ("first", "second"))
        for controller in (self.first, self.second):
            self.addCleanup(controller.stop)
            controller.start()
            controller.wait_until_ready()
            if controller is self.first:
                plane.cluster.wait(lambda: self.first.leads(), 40, "the first controller leads")
        plane.apply(graph("g", NAMESPACE))
        self.addCleanup(plane.delete, "DynamoGraphDeployment", NAMESPACE, "g")
        plane.cluster.wait(self.is_ready, 60, "the graph is ready")
        self.assertFalse(self.second.leads())
        # Nothing takes keys out of the queues of a standby.
        self.assertEqual(queued(self.second), 0)
        self.assertGreater(queued(self.first), 0)

    @staticmethod
    def is_ready():
        found = plane.get("DynamoGraphDeployment", NAMESPACE, "g")
        return found is not None and is_ready(found)

    @staticmethod
    def writes_of(controller):
        return controller.writes(plane.audit)

    def assert_second_works(self):
        plane.apply(graph("g", NAMESPACE, image="runtime:2"))
        plane.cluster.wait(self.is_ready, 60, "the second controller rolls the image out")
        self.assertTrue(self.writes_of(self.second))

    def test_a_killed_leader_is_replaced_when_its_lease_ends(self):
        self.assertEqual(self.writes_of(self.second), [], "only the leader writes")
        self.assertTrue(self.writes_of(self.first))
        self.first.kill()
        began = time.monotonic()
        plane.cluster.wait(lambda: self.second.leads(), 2 * LEASE_SECONDS, "the second controller leads")
        took = time.monotonic() - began
        print(f"takeover after kill -9: {took:.1f} s", file=sys.stderr)
        # The last renewal was at most RETRY_SECONDS before the kill.
        self.assertGreater(took, LEASE_SECONDS - RETRY_SECONDS - 2)
        self.assertLess(took, LEASE_SECONDS + TAKEOVER_SLACK)
        self.assert_second_works()

    def test_a_stopped_leader_is_replaced_at_once(self):
        began = time.monotonic()
        self.assertEqual(self.first.stop(), 0)
        ended = time.monotonic() - began
        plane.cluster.wait(lambda: self.second.leads(), LEASE_SECONDS, "the second controller leads")
        took = time.monotonic() - began
        print(f"SIGTERM: ended after {ended:.1f} s, takeover after {took:.1f} s", file=sys.stderr)
        self.assertLess(took, RETRY_SECONDS + TAKEOVER_SLACK)
        self.assert_second_works()

    def test_a_leader_that_slept_writes_nothing_after_the_takeover(self):
        changes = Changes()
        self.addCleanup(changes.end)
        began = time.monotonic()
        time.sleep(5)
        os.kill(self.first.pid, signal.SIGSTOP)
        self.addCleanup(self.wake)
        stopped = time.monotonic()
        plane.cluster.wait(lambda: self.second.leads(), 2 * LEASE_SECONDS, "the second controller leads")
        took = time.monotonic() - stopped
        time.sleep(max(0, STOPPED_SECONDS - took))
        woken = datetime.datetime.now(datetime.timezone.utc)
        self.wake()
        time.sleep(max(0, RUN_SECONDS - (time.monotonic() - began)))
        changes.end()
        ours = self.writes_of(self.second)
        self.assertTrue(ours)
        taken_over = received(ours[0])
        late = [entry for entry in self.writes_of(self.first) if received(entry) >= taken_over]
        print(
            f"takeover {took:.1f} s after SIGSTOP; {len(self.writes_of(self.first))} writes of the first, "
            f"{len(ours)} of the second, {sum(received(one) > woken for one in ours)} of them after SIGCONT",
            file=sys.stderr,
        )
        self.assertEqual([described(entry) for entry in late], [])
        # The first process ends, so that it does not lead again with an old state.
        plane.cluster.wait(lambda: self.first.exit_status() is not None, 30, "the first controller ends")
        self.assertEqual(self.first.exit_status(), 1)
        plane.cluster.wait(self.is_ready, 60, "the graph is ready")

    def test_leaders_that_sleep_again_and_again(self):
        if not FULL:
            self.skipTest("needs DYNAMO_FULL=1")
        leader, other = self.first, self.second
        wanted = self.children()
        changes = Changes()
        self.addCleanup(changes.end)
        self.addCleanup(self.wake)
        rounds, end = 0, time.monotonic() + FULL_SECONDS
        while time.monotonic() < end:
            written = len(self.writes_of(other))
            os.kill(leader.pid, signal.SIGSTOP)
            plane.cluster.wait(lambda: other.leads(), 2 * LEASE_SECONDS, "the other controller leads")
            plane.cluster.wait(lambda: len(self.writes_of(other)) > written, 20, "the other controller writes")
            taken_over = received(self.writes_of(other)[written])
            os.kill(leader.pid, signal.SIGCONT)
            plane.cluster.wait(lambda: leader.exit_status() is not None, 30, "the former leader ends")
            late = [entry for entry in self.writes_of(leader) if received(entry) >= taken_over]
            self.assertEqual([described(entry) for entry in late], [])
            # As the kubelet does.
            leader.stop()
            leader.start()
            leader.wait_until_ready()
            leader, other = other, leader
            rounds += 1
        changes.end()
        plane.cluster.wait(self.is_ready, 60, "the graph is ready")
        self.assertEqual(self.children(), wanted)
        print(f"{rounds} leaders slept and were replaced in {FULL_SECONDS} s", file=sys.stderr)

    @staticmethod
    def children():
        """(kind, name) of each object of the namespace without pods and ReplicaSets."""
        found = objects_of(plane.cluster, NAMESPACE)
        names = {(one["kind"], one["metadata"]["name"]) for one in found if one["kind"] not in ("Pod", "ReplicaSet")}
        return sorted(names)

    def wake(self):
        try:
            os.kill(self.first.pid, signal.SIGCONT)
        except ProcessLookupError:
            pass


if __name__ == "__main__":
    unittest.main(verbosity=2)
