#!/usr/bin/env python3
"""Requests, models and checkpoints of a namespace that changes hands. Run: python3 tests/cluster/test_controller_hybrid_requests.py

A cluster-wide controller begins, one that is restricted to the namespace goes on, is killed, and the first one ends the work. Jobs end,
a pod joins and an adapter is deleted when the namespace has just changed hands. Nothing is made a second time.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import own_network  # noqa: E402
from components import POD_CIDR  # noqa: E402
from hybrid_plane import CENTRAL, LEASE_SECONDS, OTHER, TEAM, HybridPlane, began, user_of  # noqa: E402
from lora_workers import Workers  # noqa: E402
from operator_plane import is_ready  # noqa: E402
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, Samples  # noqa: E402

BASE = "org/base"
CHECKPOINTS = {"enabled": True, "storage": {"type": "s3", "s3": {"uri": "s3://bucket/prefix"}}}

plane = workers = None


def setUpModule():
    global plane, workers
    if not own_network.enter(POD_CIDR):
        raise unittest.SkipTest("needs the right to make a network namespace")
    workers = Workers()
    unittest.addModuleCleanup(workers.stop)
    plane = HybridPlane(kwok_config=HERE / "pods.kwok.yaml", settings={"checkpoint": CHECKPOINTS})
    unittest.addModuleCleanup(plane.close)


class Hybrid(unittest.TestCase):
    def test_the_work_goes_on_in_other_hands(self):
        plane.central.start()
        plane.central.wait_until_ready()
        team, other = Samples(plane, TEAM), Samples(plane, OTHER)
        begun = [team.request("first"), team.request("second"), other.request("first")]
        begun += [team.checkpoint("first"), team.checkpoint("second"), team.workers("workers", BASE), team.adapter("tuned", BASE)]
        for one in begun:
            plane.apply(one)
        for samples, name in ((team, "first"), (team, "second"), (other, "first")):
            samples.wait_for_phase(REQUEST, name, "Profiling")
        for name in ("first", "second"):
            team.wait_for_phase(CHECKPOINT, name, "Creating")
        self.until("both workers have the adapter", lambda: self.has_adapter(team, 2))

        plane.restricted.start()
        plane.cluster.wait(plane.lease, 30, "the restricted controller has the namespace")
        self.finish(team, "first")
        self.finish(other, "first", checkpoint=False)
        plane.apply(team.workers("workers", BASE, replicas=3))
        self.until("a worker that joins gets the adapter", lambda: self.has_adapter(team, 3))
        self.expect_end(team, "first")
        other.wait_for_phase(REQUEST, "first", "Deployed")

        plane.restricted.kill()
        killed = time.time()
        self.finish(team, "second")
        plane.delete(MODEL, TEAM, "tuned")
        self.until("the model is gone", lambda: team.get(MODEL, "tuned") is None)
        self.expect_end(team, "second")
        late = next(one for one in plane.writes(TEAM, user_of(CENTRAL)) if began(one) > killed)
        self.assertGreater(began(late) - killed, LEASE_SECONDS / 2)

        self.assertEqual([user for user, _ in plane.turns(self)], [CENTRAL, TEAM, CENTRAL])
        self.assertEqual({name: 1 for name in self.created()}, self.created())
        # A controller asks each pod once (ctl-Q81): the first one has asked two, the second one three.
        self.assertEqual((workers.count("POST"), workers.count("DELETE")), (2 + 3, 3), workers.calls)
        self.assertFalse(any(workers.adapters.values()), workers.adapters)

    def until(self, what, condition):
        try:
            plane.cluster.wait(condition, 60, what)
        except Exception as error:
            logs = "\n".join(one.log_tail(8) for one in (plane.central, plane.restricted))
            raise AssertionError(f"{what}: {workers.calls}\n{logs}") from error

    @staticmethod
    def has_adapter(samples, count):
        status = samples.status(MODEL, "tuned")
        return (status.get("readyEndpoints"), status.get("totalEndpoints")) == (count, count)

    @staticmethod
    def finish(samples, name, checkpoint=True):
        """The Jobs of a request and of a checkpoint succeed."""
        samples.write_output(name)
        samples.end_pod(f"profile-{name}", "profiler", "Succeeded")
        if checkpoint:
            samples.end_pod(f"checkpoint-{name}", "main", "Succeeded")

    def expect_end(self, samples, name):
        samples.wait_for_phase(REQUEST, name, "Deployed")
        samples.wait_for_phase(CHECKPOINT, name, "Ready")
        self.assertTrue(is_ready(samples.get(GRAPH, f"{name}-graph")))

    @staticmethod
    def created():
        """(resource, name) of what the controllers have created in the namespace -> how often."""
        entries = [one["objectRef"] for one in plane.writes(TEAM) if one["verb"] == "create" and one["objectRef"]["resource"] != "events"]
        return collections.Counter((one["resource"], one.get("name")) for one in entries)


if __name__ == "__main__":
    unittest.main(verbosity=2)
