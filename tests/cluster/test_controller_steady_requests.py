#!/usr/bin/env python3
"""Requests, models and checkpoints at rest. Run: python3 tests/cluster/test_controller_steady_requests.py

A hundred and more of each kind are in the phases in which they can stay; then the controller writes nothing for a minute, not even an
Event, and asks no worker that has its adapter, also after it has started again. DYNAMO_FULL=1: 10 minutes.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import concurrent.futures
import os
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from operator_plane import CONTROLLER_USER, condition_of, described, is_ready, path_of, wait_for_rest  # noqa: E402
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, Samples  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
OF_EACH = 25  # objects of each kind in each phase
REST_SECONDS = 600 if FULL else 60
RESTART_REST_SECONDS = 120 if FULL else 15
AT_ONCE = 8
CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
GOOD, BAD = "Qwen/Qwen3-0.6B", "Qwen/Qwen3-8B"  # the pods of the second refuse adapters

plane = controller = workers = samples = None


def setUpModule():
    global plane, controller, workers, samples
    workers, plane = worker_plane.start(nodes=8, config=CONFIG)
    plane.cluster.create_namespace("rest")
    samples = Samples(plane, "rest")
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    began = time.monotonic()
    make_workers()
    for step in (apply, finish):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(step, range(OF_EACH)))
    wait_for_phases()
    time.sleep(35)  # until pods that cannot be scheduled, and those that do not load, are told
    wait_for_rest(writes, 10, 300)
    print(f"all are at rest after {time.monotonic() - began:.1f} s, {len(writes())} writes", file=sys.stderr)


def make_workers():
    for name, base in (("good", GOOD), ("bad", BAD)):
        plane.apply(samples.workers(name, base))
    graphs = lambda: plane.cluster.api("GET", path_of(GRAPH, "rest"))["items"]  # noqa: E731
    plane.cluster.wait(lambda: all(map(is_ready, graphs())), 180, "the workers are ready")
    plane.cluster.wait(lambda: len(samples.addresses("bad")) == 2, 60, "the workers have addresses")
    refuse = set(samples.addresses("bad").values())
    workers.behave = lambda method, address: 500 if address in refuse else None


def apply(n):
    nowhere = {"profilingJob": {"template": {"spec": {"containers": [], "nodeSelector": {"no": "where"}}}}}
    for manifest in (
        samples.request(f"profiling-{n}"),
        samples.request(f"unscheduled-{n}", overrides=nowhere),
        samples.request(f"ready-{n}", autoApply=False),
        samples.request(f"deployed-{n}"),
        samples.request(f"failed-{n}", modelCache={"pvcName": "absent"}),
        samples.checkpoint(f"creating-{n}"),
        samples.checkpoint(f"unpulled-{n}", image="runtime:missing"),
        samples.checkpoint(f"taken-{n}"),
        samples.checkpoint(f"lost-{n}", backoffLimit=0),
        samples.adapter(f"tuned-{n}", GOOD),
        samples.adapter(f"refused-{n}", BAD),
        samples.adapter(f"unserved-{n}", "nobody/serves-it"),
        samples.base_model(f"base-{n}", GOOD),
    ):
        plane.apply(manifest)


def finish(n):
    for name in (f"ready-{n}", f"deployed-{n}"):
        samples.wait_for_phase(REQUEST, name, "Profiling")
        samples.write_output(name)
        samples.end_pod(f"profile-{name}", "profiler", "Succeeded")
    samples.end_pod(f"checkpoint-taken-{n}", "main", "Succeeded")
    samples.end_pod(f"checkpoint-lost-{n}", "main", "Failed", 1)


# The phase of requests and checkpoints, the reason of the condition EndpointsReady of models, by the first part of their names.
PHASES = {
    REQUEST: {"profiling": "Profiling", "unscheduled": "Profiling", "ready": "Ready", "deployed": "Deployed", "failed": "Failed"},
    CHECKPOINT: {"creating": "Creating", "unpulled": "Creating", "taken": "Ready", "lost": "Failed"},
    MODEL: {"tuned": "AllEndpointsReady", "refused": "NotReady", "unserved": "NoEndpoints", "base": "EndpointsDiscovered"},
}


def phase_of(kind, found):
    return condition_of(found, "EndpointsReady").get("reason") if kind == MODEL else found.get("status", {}).get("phase")


def others(kind):
    """name -> phase of the objects that are not in the phase in which they stay."""
    found = plane.cluster.api("GET", path_of(kind, "rest"))["items"]
    phases = {one["metadata"]["name"]: phase_of(kind, one) for one in found}
    return {name: phase for name, phase in phases.items() if phase != PHASES[kind][name.rsplit("-", 1)[0]]}


def wait_for_phases():
    for kind in PHASES:
        try:
            plane.cluster.wait(lambda: not others(kind), 300, f"{kind} in their phases")
        except Exception as error:
            raise AssertionError(f"{kind}: {others(kind)}") from error


def writes():
    return plane.audit.entries(CONTROLLER_USER)


class Steady(unittest.TestCase):
    def assert_no_writes(self, before, about):
        new = writes()[before:]
        self.assertEqual(new, [], f"{about}:\n" + "\n".join(map(described, new[:20])))

    def loads(self, base):
        """Requests to load an adapter into the pods of a base model."""
        addresses = set(samples.addresses("good" if base == GOOD else "bad").values())
        return sum(call[0] == "POST" and call[1] in addresses for call in workers.calls)

    def test_a_controller_at_rest_writes_nothing(self):
        before, good, bad = wait_for_rest(writes), self.loads(GOOD), self.loads(BAD)
        self.assertGreaterEqual(min(len(plane.cluster.api("GET", path_of(kind, "rest"))["items"]) for kind in PHASES), 100)
        time.sleep(REST_SECONDS)
        self.assert_no_writes(before, f"{REST_SECONDS} s of rest")
        self.assertEqual(self.loads(GOOD), good)
        tries = (self.loads(BAD) - bad) / (2 * OF_EACH)  # of each adapter at each pod: every 30 s (ctl-Q81)
        self.assertGreaterEqual(tries, 1)
        self.assertLessEqual(tries, REST_SECONDS / 30 + 1)

    def test_a_restarted_controller_writes_nothing(self):
        for how in ("stop", "kill"):
            with self.subTest(how):
                before, good = wait_for_rest(writes), self.loads(GOOD)
                began = time.monotonic()
                getattr(controller, how)()
                ended = time.monotonic()
                controller.start()
                controller.wait_until_ready()
                print(f"{how}: {ended - began:.1f} s, start: {time.monotonic() - ended:.1f} s", file=sys.stderr)
                time.sleep(RESTART_REST_SECONDS)
                self.assert_no_writes(before, f"after {how} and start")
                self.assertEqual(self.loads(GOOD), good + 2 * OF_EACH)


if __name__ == "__main__":
    unittest.main(verbosity=2)
