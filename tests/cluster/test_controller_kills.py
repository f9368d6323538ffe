#!/usr/bin/env python3
"""The controller is killed after its writes, on all pathways. Run: python3 tests/cluster/test_controller_kills.py

Three graphs, one on each pathway, live from creation to deletion at the same time: first undisturbed, then with a controller that is
killed after every write, or after every n-th, and started again. After each step the objects must be those of the undisturbed
run, no step may stop more pods than it does undisturbed, and the number of additional writes is bounded. By default every ninth
write is followed by a kill, from an offset that DYNAMO_SEED sets; with DYNAMO_FULL=1 every write is, then every second one, and
so on.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import concurrent.futures
import os
import random
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from fault_proxy import Call  # noqa: E402
from operator_plane import OperatorPlane, difference, normalised  # noqa: E402
from actors import LeaderWorkerSetActor  # noqa: E402
from grove_actor import GroveActor  # noqa: E402
from history import EVERY_KIND, History  # noqa: E402
from killer import EveryNth, Killer  # noqa: E402
from lifecycles import FULL, PATHWAYS, Play, image_of  # noqa: E402

SEED = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
SAMPLE_STRIDE = 9
STRIDES = (1, 2, 3) if FULL else (SAMPLE_STRIDE,)
STABLE_SECONDS = 1.5
STEP_SECONDS = 180
# A kill costs the write that it interrupted, and the statuses that describe a moment which the undisturbed run did not see.
WRITES_PER_KILL = 3
MORE_WRITES = 60  # of one run of three graphs: statuses depend on the moments at which pods become ready
# Pods and what belongs to the stand-ins for other operators.
OTHERS = {"Event", "Pod", "ReplicaSet", "PodClique", "PodCliqueScalingGroup", "HorizontalPodAutoscaler"}
PROVIDED = ("kube-root-ca.crt", "default")

plane = history = controller = None


def setUpModule():
    global plane, history, controller
    print(f"DYNAMO_SEED={SEED}", file=sys.stderr)
    plane = OperatorPlane(child_crds=True, grove=True, kwok_config=HERE / "pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)
    controller = plane.proxied_controller()
    controller.start()
    controller.wait_until_ready()
    history = History(plane.cluster.kubeconfig)
    unittest.addModuleCleanup(history.stop)
    for actor in (GroveActor(history), LeaderWorkerSetActor(history)):
        unittest.addModuleCleanup(actor.stop)


class Lifecycle:
    """One graph. `expected`: the snapshots of the undisturbed run; None if this is it."""

    ALL = ("create", "image", "two_images", "revert", "sequential", "parallel", "scale", "autoscale", "delete")
    STEPS = ALL if FULL else ("create", "image", "two_images", "sequential", "scale", "delete")

    def __init__(self, play, expected):
        self.play = play
        self.expected = expected
        self.found = {}

    def live(self):
        for step in self.STEPS:
            since = self.play.now()
            generation = getattr(self, step)()
            if step == "delete":
                return self.found
            self.play.wait_until_ready(generation)
            self.settle(step)
            if step in ("image", "two_images", "revert"):
                least, most = (1, 2) if self.play.pathway == "Grove" else (2, 3)
                for service in self.play.nodes:
                    self.play.check_pods(since, least, most, service, step)

    def create(self):
        return self.play.apply()

    def image(self):
        return self.play.apply(image="runtime:2")

    def two_images(self):
        self.play.apply(image="runtime:3")
        self.play.wait(lambda: any(image_of(pod) == "runtime:3" for pod in self.play.pods()), "a pod of the third image")
        return self.play.apply(image="runtime:4")

    def revert(self):
        self.play.apply(image="runtime:5")
        self.play.wait(lambda: self.play.ready_pods("runtime:5"), "a ready pod of the fifth image")
        return self.play.apply(image="runtime:4")

    def sequential(self):
        order = [*self.play.nodes, "Frontend"]
        return self.play.patch({"restart": {"id": "one", "strategy": {"type": "Sequential", "order": order}}})

    def parallel(self):
        return self.play.patch({"restart": {"id": "two", "strategy": {"type": "Parallel", "order": None}}})

    def scale(self):
        self.play.scale(3)
        self.play.wait_for_replicas(3)
        return 0

    def autoscale(self):
        self.play.autoscaler(minimum=2, maximum=2)
        self.play.wait_for_replicas(2)
        self.play.delete("HorizontalPodAutoscaler", "user")
        return 0

    def delete(self):
        self.play.delete("DynamoGraphDeployment", "g")
        self.play.wait_until_gone()

    def snapshot(self):
        return {
            f"{kind}/{one['metadata']['name']}": normalised(one)
            for kind in EVERY_KIND
            if kind not in OTHERS
            for one in history.all(self.play.namespace, kind)
            if one["metadata"]["name"] not in PROVIDED
        }

    def settle(self, step):
        """Waits until the objects are the expected ones; in the undisturbed run until they do not change."""
        expected = self.expected and self.expected[step]
        deadline, since, before = time.monotonic() + STEP_SECONDS, time.monotonic(), None
        while True:
            now = self.snapshot()
            if now != before:
                since, before = time.monotonic(), now
            if now == expected or expected is None and time.monotonic() - since > STABLE_SECONDS:
                self.found[step] = now
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"{self.play.pathway}, step {step}:\n{difference(expected, now)}")
            time.sleep(0.1)


class Kills(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        # Hashes of pods depend on the namespace, so all runs have the same ones.
        cls.plays = {pathway: Play(plane, history, pathway, f"kills-{pathway.lower()}") for pathway in PATHWAYS}

    def run_all(self, expected):
        """Plays all pathways at once. Returns pathway -> snapshots."""
        with concurrent.futures.ThreadPoolExecutor(len(PATHWAYS)) as pool:
            played = {
                pathway: pool.submit(Lifecycle(play, expected and expected[pathway]).live)
                for pathway, play in self.plays.items()
            }
        errors = [f"{pathway}: {one.exception()}" for pathway, one in played.items() if one.exception()]
        if errors:
            raise AssertionError("\n".join(errors))
        return {pathway: one.result() for pathway, one in played.items()}

    def remove_all(self):
        """What a run has left that failed, so that the next run begins with empty namespaces."""
        for play in self.plays.values():
            if play.get() is not None:
                play.delete("DynamoGraphDeployment", "g")
        for play in self.plays.values():
            play.wait_until_gone()

    def test_a_controller_that_is_killed_after_its_writes_ends_where_an_undisturbed_one_does(self):
        proxy = controller.proxy
        proxy.reset()
        began = time.monotonic()
        expected = self.run_all(None)
        undisturbed = len(proxy.writes())
        print(f"  undisturbed: {undisturbed} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        for stride in STRIDES:
            for offset in range(stride) if FULL else [SEED]:
                about = f"DYNAMO_SEED={SEED}: killed after every write {offset % stride} of {stride}"
                with self.subTest(about):
                    self.disturb(about, expected, undisturbed, stride, offset)

    def disturb(self, about, expected, undisturbed, stride, offset):
        proxy = controller.proxy
        proxy.reset()
        killer = Killer(controller)
        proxy.on_write = EveryNth(stride, offset, Call(killer.kill))
        began = time.monotonic()
        try:
            self.run_all(expected)
        except AssertionError as error:
            print(f"  {about}, {killer.kills} kills: {error}", file=sys.stderr)
            raise
        finally:
            proxy.on_write = {}
            killer.end()
            self.remove_all()
        writes = len(proxy.writes())
        print(f"  {about}: {killer.kills} kills, {writes} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        self.assertGreater(killer.kills, writes // stride // 4)  # up to six writes of a kind are on their way at once
        self.assertLessEqual(writes, undisturbed + MORE_WRITES + WRITES_PER_KILL * killer.kills)


if __name__ == "__main__":
    unittest.main(verbosity=2)
