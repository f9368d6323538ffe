#!/usr/bin/env python3
"""The controller is killed after its writes while a request, a checkpoint and a model live.
Run: python3 tests/cluster/test_controller_kills_requests.py

A request lives until its graph is deleted, a checkpoint fails and is taken again, an adapter is loaded, also into a pod that joins;
then all are deleted: first undisturbed, then with a controller that is killed after its writes and started again. After each step
the objects must be those of the undisturbed run, and all workers must have the adapter. Nothing may get a second Job. By default
every seventh write is followed by a kill, from an offset that DYNAMO_SEED sets; with DYNAMO_FULL=1 every write is, of one life
after the other, then every second and every third one.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import os
import random
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from fault_proxy import Call  # noqa: E402
from killer import EveryNth, Killer  # noqa: E402
from request_lives import CONFIG, CheckpointLife, ModelLife, RequestLife, one_by_one, together  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
SEED = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
STRIDES = (1, 2, 3) if FULL else (7,)
# A kill costs the write that it interrupted, and the statuses that describe a moment which the undisturbed run did not see.
WRITES_PER_KILL = 3
MORE_WRITES = 10  # statuses depend on the moments at which pods become ready

plane = controller = workers = None


def setUpModule():
    global plane, controller, workers
    print(f"DYNAMO_SEED={SEED}", file=sys.stderr)
    workers, plane = worker_plane.start(config=CONFIG)
    for life in lives():
        plane.cluster.create_namespace(life.namespace)
    controller = plane.proxied_controller()
    controller.start()
    controller.wait_until_ready()
    ModelLife(plane, "life-of-model", workers).prepare()


def lives(expected=(None, None, None)):
    request, checkpoint, model = expected
    made = [
        RequestLife(plane, "life-of-request", request),
        CheckpointLife(plane, "life-of-checkpoint", checkpoint),
        ModelLife(plane, "life-of-model", workers, model),
    ]
    for life in made:
        life.explain = lambda: controller.log_tail()  # noqa: PLW0108  (there is no controller yet)
    return made


class Kills(unittest.TestCase):
    def test_a_controller_that_is_killed_after_its_writes_ends_where_an_undisturbed_one_does(self):
        proxy = controller.proxy
        proxy.reset()
        began, made = time.monotonic(), lives()
        expected = together(made)
        undisturbed = len(proxy.writes())
        print(f"  undisturbed: {undisturbed} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertEqual([now["workers with the adapter"] for now in expected[2].values()], [2, 3, 0])
        for life in made:
            self.assertEqual(life.jobs_created(), life.JOBS)
        for stride in STRIDES:
            for offset in range(stride) if FULL else [SEED]:
                with self.subTest(f"DYNAMO_SEED={SEED}: killed after every write {offset % stride} of {stride}"):
                    self.disturb(expected, undisturbed, stride, offset)

    def disturb(self, expected, undisturbed, stride, offset):
        proxy = controller.proxy
        proxy.reset()
        killer = Killer(controller)
        proxy.on_write = EveryNth(stride, offset, Call(killer.kill))
        began, made = time.monotonic(), lives(expected)
        try:
            (one_by_one if stride == 1 else together)(made)
        finally:
            proxy.on_write = {}
            killer.end()
            for life in made:
                life.deleted()
        writes = len(proxy.writes())
        took = time.monotonic() - began
        print(f"  {offset % stride} of {stride}: {killer.kills} kills, {writes} writes, {took:.1f} s", file=sys.stderr)
        self.assertGreater(killer.kills, writes // stride // 4)  # several writes may be on their way
        self.assertLessEqual(writes, undisturbed + MORE_WRITES + WRITES_PER_KILL * killer.kills)
        for life in made:
            self.assertEqual(life.jobs_created(), life.JOBS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
