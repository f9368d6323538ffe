#!/usr/bin/env python3
"""The controller is killed after its writes while a request, a checkpoint and a model live.
Run: python3 tests/cluster/test_controller_kills_requests.py

A request lives until its graph is deleted, a checkpoint fails and is taken again, an adapter is loaded, also into a pod that joins;
then all are deleted: first undisturbed, then with a controller that is killed after every write and started again. After each step
the objects must be those of the undisturbed run, and all workers must have the adapter. Nothing may get a second Job. With
DYNAMO_FULL=1 the controller is also killed after every second and every third write.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import json
import os
import re
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import own_network  # noqa: E402
from components import POD_CIDR  # noqa: E402
from fault_proxy import Call  # noqa: E402
from killer import EveryNth, Killer  # noqa: E402
from lora_workers import Workers  # noqa: E402
from operator_plane import CONTROLLER_USER, OperatorPlane, difference, is_ready, normalised, path_of  # noqa: E402
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, Samples  # noqa: E402

STRIDES = (1, 2, 3) if os.environ.get("DYNAMO_FULL") == "1" else (1,)
NAMESPACE = "kills"
BASE = "Qwen/Qwen3-0.6B"
CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
KINDS = (REQUEST, MODEL, CHECKPOINT, GRAPH, "Job", "ConfigMap", "ServiceAccount", "RoleBinding")
STABLE_SECONDS = 3
STEP_SECONDS = 180
# A kill costs the write that it interrupted, and the statuses that describe a moment which the undisturbed run did not see.
WRITES_PER_KILL = 3
JOBS = {"profile-r": 1, "checkpoint-c": 2}  # the failed one, and that of the new spec
POD_OF_JOB = re.compile(r"\b(profile-r|checkpoint-c)-[a-z0-9]{5}\b")
TIMES = {"createdAt", "completionTime", "lastProbeTime"}

plane = controller = workers = samples = None


def setUpModule():
    global plane, controller, workers, samples
    if not own_network.enter(POD_CIDR):
        raise unittest.SkipTest("needs the right to make a network namespace")
    workers = Workers()
    unittest.addModuleCleanup(workers.stop)
    plane = OperatorPlane(nodes=2, gpus=64, kwok_config=HERE / "pods.kwok.yaml", config=CONFIG)
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    samples = Samples(plane, NAMESPACE)
    controller = plane.proxied_controller()
    controller.start()
    controller.wait_until_ready()
    plane.apply(samples.workers("served", BASE))
    wait("the workers are ready", lambda: is_ready(samples.get(GRAPH, "served")) and len(samples.addresses("served")) == 2)


def wait(what, condition):
    try:
        plane.cluster.wait(condition, STEP_SECONDS, what)
    except Exception as error:
        raise AssertionError(f"{what}: {json.dumps(snapshot())[:4000]}\n{controller.log_tail()}") from error


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(member) for key, member in value.items() if key not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


def snapshot():
    """"Kind/name" -> object, without times and without names of pods, addresses and uids."""
    found = {}
    for kind in KINDS:
        for one in plane.cluster.api("GET", path_of(kind, NAMESPACE))["items"]:
            found[f"{kind}/{one['metadata']['name']}"] = one
    text = json.dumps({name: without_times(normalised(one)) for name, one in found.items()})
    for name, one in found.items():
        text = text.replace(one["metadata"]["uid"], f"uid of {name}")
    for pod, address in samples.addresses("served").items():
        text = text.replace(pod, "a pod").replace(f"http://{address}:", "http://its-address:")
    return json.loads(POD_OF_JOB.sub(r"\1", text))


def loaded():
    """How many workers of the graph have the adapter."""
    return sum("org/tuned" in workers.adapters.get(address, ()) for address in samples.addresses("served").values())


class Life:
    """`expected`: the snapshots of the undisturbed run by step; None if this is it."""

    STEPS = ("request", "profiled", "checkpoint", "failed", "again", "taken", "adapter", "joins", "graph_deleted", "deleted")

    def __init__(self, expected):
        self.expected, self.found = expected, {}

    def live(self):
        for step in self.STEPS:
            getattr(self, step)()
            self.settle(step)
        return self.found

    def request(self):
        plane.apply(samples.request("r"))
        samples.wait_for_phase(REQUEST, "r", "Profiling")

    def profiled(self):
        samples.write_output("r")
        samples.end_pod("profile-r", "profiler", "Succeeded")
        samples.wait_for_phase(REQUEST, "r", "Deployed")

    def checkpoint(self):
        plane.apply(samples.checkpoint("c", backoffLimit=0))
        samples.wait_for_phase(CHECKPOINT, "c", "Creating")

    def failed(self):
        samples.end_pod("checkpoint-c", "main", "Failed", 1)
        samples.wait_for_phase(CHECKPOINT, "c", "Failed")

    def again(self):
        plane.patch(CHECKPOINT, NAMESPACE, "c", {"spec": {"job": {"backoffLimit": 1}}})
        samples.wait_for_phase(CHECKPOINT, "c", "Creating")

    def taken(self):
        samples.end_pod("checkpoint-c", "main", "Succeeded")
        samples.wait_for_phase(CHECKPOINT, "c", "Ready")

    def adapter(self):
        plane.apply(samples.adapter("tuned", BASE))
        self.wait_for_endpoints(2)

    def joins(self):
        self.scale(3)
        self.wait_for_endpoints(3)

    def graph_deleted(self):
        plane.delete(GRAPH, NAMESPACE, "r-graph")
        samples.wait_for_phase(REQUEST, "r", "Failed")

    def deleted(self):
        end_of_life()

    @staticmethod
    def scale(replicas):
        plane.patch(GRAPH, NAMESPACE, "served", {"spec": {"services": {"Worker": {"replicas": replicas}}}})

    @staticmethod
    def wait_for_endpoints(count):
        wait(f"{count} pods have the adapter", lambda: samples.status(MODEL, "tuned").get("readyEndpoints") == count)

    def settle(self, step):
        """Waits until the objects are the expected ones; in the undisturbed run until they do not change."""
        expected = self.expected and self.expected[step]
        deadline, since, before = time.monotonic() + STEP_SECONDS, time.monotonic(), None
        while True:
            now = {**snapshot(), "workers with the adapter": loaded()}
            if now != before:
                since, before = time.monotonic(), now
            if now == expected or expected is None and time.monotonic() - since > STABLE_SECONDS:
                self.found[step] = now
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"step {step}:\n{difference(expected, now)}")
            time.sleep(0.3)


def end_of_life():
    """Deletes what a life has made. The workers are two again."""
    for kind, name in ((REQUEST, "r"), (CHECKPOINT, "c"), (MODEL, "tuned"), (GRAPH, "r-graph"), ("ConfigMap", "dgdr-output-r")):
        if plane.get(kind, NAMESPACE, name) is not None:
            plane.delete(kind, NAMESPACE, name)
    Life.scale(2)
    names = (REQUEST, "r"), (CHECKPOINT, "c"), (MODEL, "tuned"), (GRAPH, "r-graph"), ("Job", "profile-r"), ("Job", "checkpoint-c")
    wait("everything is gone", lambda: not any(plane.get(kind, NAMESPACE, name) for kind, name in names))
    wait("two workers are left", lambda: is_ready(samples.get(GRAPH, "served")) and len(samples.addresses("served")) == 2)


def jobs_created():
    """name -> how many Jobs of this name the controller has created."""
    entries = [one for one in plane.audit.entries(CONTROLLER_USER) if one["objectRef"]["resource"] == "jobs"]
    made = [one for one in entries if one["verb"] == "create" and one["responseStatus"]["code"] < 300]
    return collections.Counter(one["objectRef"]["name"] for one in made)


class Kills(unittest.TestCase):
    def test_a_controller_that_is_killed_after_its_writes_ends_where_an_undisturbed_one_does(self):
        proxy = controller.proxy
        proxy.reset()
        began, before = time.monotonic(), jobs_created()
        expected = Life(None).live()
        undisturbed = len(proxy.writes())
        print(f"  undisturbed: {undisturbed} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertEqual([expected[step]["workers with the adapter"] for step in ("adapter", "joins", "graph_deleted", "deleted")], [2, 3, 3, 0])
        self.assertEqual(jobs_created() - before, JOBS)
        for stride in STRIDES:
            for offset in range(stride):
                with self.subTest(f"killed after every write {offset} of {stride}"):
                    self.disturb(expected, undisturbed, stride, offset)

    def disturb(self, expected, undisturbed, stride, offset):
        proxy = controller.proxy
        proxy.reset()
        killer = Killer(controller)
        proxy.on_write = EveryNth(stride, offset, Call(killer.kill))
        began, before = time.monotonic(), jobs_created()
        try:
            Life(expected).live()
        finally:
            proxy.on_write = {}
            killer.end()
            end_of_life()
        writes = len(proxy.writes())
        print(f"  {offset} of {stride}: {killer.kills} kills, {writes} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertGreater(killer.kills, writes // stride // 4)  # several writes are on their way at once
        self.assertLessEqual(writes, undisturbed + WRITES_PER_KILL * killer.kills)
        self.assertEqual(jobs_created() - before, JOBS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
