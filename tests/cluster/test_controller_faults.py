#!/usr/bin/env python3
"""The controller with faults between it and the API server. Run: python3 tests/cluster/test_controller_faults.py

One lifecycle of a graph (create, new image, scale, delete) runs undisturbed, then again and again, each time with a fault. The
objects after every step must be the same, nothing may be left after the deletion, and the number of writes is bounded. By default
a random sample of the faults is played (DYNAMO_SEED repeats one); DYNAMO_FULL=1 plays all.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from fault_proxy import EVENTS, REPLIES, Call, Hang, Reply  # noqa: E402
from control_plane import ApiError  # noqa: E402
from operator_plane import (  # noqa: E402
    OperatorPlane,
    difference,
    graph,
    is_ready,
    objects_of,
    path_of,
    snapshot,
    unfinished,
)

NAMESPACE = "faults"
FULL = os.environ.get("DYNAMO_FULL") == "1"
SAMPLE_SECONDS = 40
STEP_SECONDS = 60
SLOW_SECONDS = 10  # a step that takes longer is explained in the output
QUIET_SECONDS = 0.6
LOOK_SECONDS = 0.4  # a look lists objects of all kinds
STEPS = ("create", "image", "scale", "delete")
# More writes than in any undisturbed run: their number depends on the times at which pods become ready, which changes the
# intermediate statuses and the steps of the rolling update.
MORE_WRITES, MORE_STATUS_WRITES = 12, 30
# A fault on one write: that write again, the status that reported its failure, and the status after its success.
WRITES_PER_FAULT = 3
EXHAUSTIVE_STRIDE = 6

plane = controller = proxy = None


def setUpModule():
    global plane, controller, proxy
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    controller = plane.proxied_controller()
    proxy = controller.proxy
    controller.start()
    controller.wait_until_ready()


class Lifecycle:
    """One run. `expected` has the snapshots after each step; None: the run is the undisturbed one."""

    def __init__(self, expected=None):
        self.expected = expected
        self.found = {}
        self.killed = threading.Event()
        self.kills = 0
        self.seconds = []
        self.explained = False
        self.stale = False  # the lists after the restart lack the children, which are all applied once more

    def kill(self):
        """For Call: the controller ends; the main thread starts it again."""
        controller.kill()
        self.killed.set()

    def revive(self):
        if self.killed.is_set():
            self.killed.clear()
            self.kills += 1
            controller.start()

    def run(self):
        for step in STEPS:
            began = time.monotonic()
            getattr(self, step)()
            self.settle(step)
            self.seconds.append(f"{step} {time.monotonic() - began:.1f} s")
        self.revive()
        return self.found

    def create(self):
        plane.apply(graph("g", NAMESPACE))

    def image(self):
        plane.apply(graph("g", NAMESPACE, image="runtime:2"))

    def scale(self):
        plane.patch("DynamoGraphDeployment", NAMESPACE, "g", {"spec": {"services": {"Worker": {"replicas": 3}}}})
        path = path_of("DynamoGraphDeploymentScalingAdapter", NAMESPACE, "g-processor", "scale")
        plane.cluster.api("PATCH", path, {"spec": {"replicas": 2}}, "application/merge-patch+json")

    def delete(self):
        plane.delete("DynamoGraphDeployment", NAMESPACE, "g")

    def settle(self, step):
        """Waits until the objects are the expected ones and no write follows."""
        deadline = time.monotonic() + STEP_SECONDS
        slow = time.monotonic() + SLOW_SECONDS
        quiet_since, writes, before = time.monotonic(), None, None
        while True:
            self.revive()
            try:
                objects = objects_of(plane.cluster, NAMESPACE)
            except (ApiError, OSError):  # the API server starts; it answers 429 while its storage starts
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)
                continue
            now = snapshot(objects)
            count = len(proxy.writes())
            if count != writes or now != before:
                quiet_since, writes, before = time.monotonic(), count, now
            if self.is_done(step, objects, now) and time.monotonic() - quiet_since > QUIET_SECONDS:
                self.found[step] = now
                return
            if self.expected and time.monotonic() > slow and not self.explained:
                self.explained = True
                expected = self.expected[step]
                log = controller.log.read_text(encoding="utf-8")[-2000:]
                text = f"{difference(expected, now)}\nunfinished: {unfinished(objects)}\n{log}"
                print(f"  step {step} is slow:\n{text}", file=sys.stderr)
            if time.monotonic() > deadline:
                expected = self.expected[step] if self.expected else "a ready graph"
                raise AssertionError(
                    f"step {step} does not end:\n{difference(expected, now)}\n"
                    f"unfinished: {unfinished(objects)}\n"
                    f"the end of the log:\n{controller.log.read_text(encoding='utf-8')[-3000:]}"
                )
            time.sleep(LOOK_SECONDS)

    def is_done(self, step, objects, now):
        if step == "delete":
            return not objects
        if unfinished(objects):
            return False
        if self.expected is not None:
            return now == self.expected[step]
        found = next(one for one in objects if one["kind"] == "DynamoGraphDeployment")
        ready = is_ready(found) and found["status"].get("rollingUpdate", {}).get("phase") in (None, "Completed")
        return ready and all(" ready=True ending=False" in key for key in now if key.startswith("Pod/"))


def kinds_of_writes():
    """"METHOD resource[/subresource]" -> number, of the writes that the API server has accepted."""
    counts = collections.Counter()
    for write in proxy.writes():
        if write.injected or write.status >= 300:
            continue
        parts = write.path.split("/namespaces/")[-1].split("/")
        counts[f"{write.method} {'/'.join(parts[1:2] + parts[3:])}"] += 1
    return counts


def split(kinds):
    """The numbers of writes of objects and of statuses."""
    statuses = sum(count for kind, count in kinds.items() if kind.endswith("/status"))
    return sum(kinds.values()) - statuses, statuses


class Baseline:
    """The end states and the numbers of undisturbed runs."""

    def __init__(self):
        self.expected = None
        self.writes = self.events = self.requests = 0
        self.objects = self.statuses = 0
        self.kinds = collections.Counter()

    def record(self):
        proxy.reset()
        found = Lifecycle(self.expected).run()
        self.expected = self.expected or found
        self.writes = max(self.writes, len(proxy.writes()))
        self.events = max(self.events, proxy.count("event"))
        self.requests = max(self.requests, proxy.count("request"))
        kinds = kinds_of_writes()
        objects, statuses = split(kinds)
        self.objects, self.statuses = max(self.objects, objects), max(self.statuses, statuses)
        self.kinds |= kinds


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.baseline = Baseline()
        for _ in range(3 if FULL else 2):
            began = time.monotonic()
            cls.baseline.record()
            took = time.monotonic() - began
        base = cls.baseline
        print(
            f"undisturbed: {base.objects} writes of objects, {base.statuses} of statuses, {base.requests} requests, "
            f"{base.events} events, {took:.1f} s: "
            + ", ".join(f"{count} {kind}" for kind, count in sorted(base.kinds.items())),
            file=sys.stderr,
        )

    def play(self, about, arrange, faults=1):
        """Plays the lifecycle with the faults that `arrange(lifecycle)` sets up, at most `faults` of them."""
        proxy.reset()
        lifecycle = Lifecycle(self.baseline.expected)
        arrange(lifecycle)
        try:
            lifecycle.run()
        except AssertionError as error:
            self.recover(lifecycle)
            raise AssertionError(f"{about}: {error}") from None
        kinds = kinds_of_writes()
        objects, statuses = split(kinds)
        more = f"{about}: more than undisturbed: {dict(kinds - self.baseline.kinds)}"
        each = WRITES_PER_FAULT * faults
        if lifecycle.stale:
            each += self.baseline.objects
        self.assertLessEqual(objects, self.baseline.objects + MORE_WRITES + each, more)
        self.assertLessEqual(statuses, self.baseline.statuses + MORE_STATUS_WRITES + each, more)
        refused = sum(one.status == 409 and not one.injected for one in proxy.writes())
        took = ", ".join(lifecycle.seconds)
        print(
            f"  {about}: {objects} + {statuses} writes, {refused} conflicts, {proxy.triggered} faults, {took}",
            file=sys.stderr,
        )
        if objects > self.baseline.objects:
            print(f"    {dict(kinds - self.baseline.kinds)}", file=sys.stderr)
        return proxy.triggered

    def recover(self, lifecycle):
        """Removes everything, so that the next run begins with an empty namespace. A controller that has just started may still
        write children of the graph after its deletion, so the namespace must stay empty."""
        proxy.reset()
        lifecycle.revive()
        try:
            plane.delete("DynamoGraphDeployment", NAMESPACE, "g")
        except Exception:  # noqa: BLE001  (it may be gone)
            pass
        lifecycle.settle("delete")

    # Every function below returns (description, arrange).

    @staticmethod
    def kill(number):
        return f"kill -9 after write {number}", lambda run: proxy.on_write.update({number: Call(run.kill)})

    @staticmethod
    def kill_with_stale_lists(number):
        def arrange(run):
            def kill():
                proxy.lists = dict(proxy.recorded_lists)
                run.kill()

            run.stale = True
            proxy.recorded_lists = dict(Faults.empty_lists)
            proxy.on_write[number] = Call(kill)

        return f"kill -9 after write {number}, then lists from before the graph", arrange

    @staticmethod
    def reply(name, number):
        return f"{name} on write {number}", lambda run: proxy.on_write.update({number: REPLIES[name]})

    @staticmethod
    def request(name, number):
        return f"{name} on request {number}", lambda run: proxy.on_request.update({number: REPLIES[name]})

    @staticmethod
    def event(name, number):
        return f"event {number} {name}", lambda run: proxy.on_event.update({number: name})

    @staticmethod
    def delay(seconds):
        return f"all events {seconds} s late", lambda run: setattr(proxy, "event_delay", seconds)

    @staticmethod
    def many(about, where, numbers, fault):
        return about, lambda run: getattr(proxy, where).update({number: fault for number in numbers})

    def fault_of(self, dice):
        base = self.baseline
        write = dice.randint(1, base.writes)
        return dice.choice([
            lambda: self.kill(write),
            lambda: self.kill(write),
            lambda: self.kill_with_stale_lists(write),
            lambda: self.reply(dice.choice(list(REPLIES)), write),
            lambda: self.reply(dice.choice(list(REPLIES)), write),
            lambda: self.request(dice.choice(["410", "429", "500", "503", "cut"]), dice.randint(1, base.requests)),
            lambda: self.event(dice.choice(EVENTS), dice.randint(1, base.events)),
            lambda: self.delay(dice.choice([0.3, 1, 2])),
        ])()  # fmt: skip

    def test_a_sample_of_faults(self):
        if FULL:
            self.skipTest("DYNAMO_FULL plays all faults")
        seed = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
        print(f"DYNAMO_SEED={seed}", file=sys.stderr)
        dice = random.Random(seed)
        self.record_empty_lists()
        deadline = time.monotonic() + SAMPLE_SECONDS
        triggered = 0
        while time.monotonic() < deadline:
            about, arrange = self.fault_of(dice)
            with self.subTest(f"DYNAMO_SEED={seed}: {about}"):
                triggered += self.play(about, arrange)
        self.assertGreater(triggered, 0)

    def test_all_faults(self):
        if not FULL:
            self.skipTest("needs DYNAMO_FULL=1")
        self.record_empty_lists()
        base = self.baseline
        chosen = [self.kill(number) for number in range(1, base.writes + 1)]
        chosen += [self.kill_with_stale_lists(number) for number in range(1, base.writes + 1, 3)]
        chosen += [self.delay(seconds) for seconds in (0.1, 0.3, 1, 2)]
        faults = {about: 1 for about, _ in chosen}

        def strided(name, where, last, fault):
            for first in range(1, EXHAUSTIVE_STRIDE + 1):
                numbers = range(first, last * 2, EXHAUSTIVE_STRIDE)
                about = f"{name} on every {EXHAUSTIVE_STRIDE}th of {where}, from {first}"
                chosen.append(self.many(about, where, numbers, fault))
                faults[about] = len(numbers)

        for name, fault in REPLIES.items():
            strided(name, "on_write", base.writes, fault)
        for name in EVENTS:
            strided(name, "on_event", base.events, name)
        for about, arrange in chosen:
            with self.subTest(about):
                self.play(about, arrange, faults[about])

    def record_empty_lists(self):
        """What a restarted controller lists before there is a graph. A list of an API server with an old cache may be
        as old as that; its watch then replays what happened since."""
        proxy.reset()
        controller.kill()
        controller.start()
        controller.wait_until_ready()
        Faults.empty_lists = dict(proxy.recorded_lists)
        self.assertGreater(len(self.empty_lists), 10)

    def test_requests_for_watches_are_refused(self):
        for name in ("410", "429", "500", "503") if FULL else ("410", "429"):
            reply = Reply(int(name), retry_after=1 if name == "429" else None)

            def arrange(run, reply=reply):
                proxy.on_watch.update({number: reply for number in range(1, 30, 2)})
                proxy.drop_connections()

            about = f"connections drop, then every second watch is answered with {name}"
            with self.subTest(about):
                self.assertGreater(self.play(about, arrange, 5), 3)

    def test_a_stop_does_not_wait_for_a_write_that_is_never_answered(self):
        proxy.reset()
        proxy.on_write[1] = Hang()
        plane.apply(graph("g", NAMESPACE))
        plane.cluster.wait(lambda: proxy.triggered, 10, "a write hangs")
        began = time.monotonic()
        try:
            self.assertEqual(controller.stop(seconds=40), 0)
            took = time.monotonic() - began
        finally:
            controller.start()
            controller.wait_until_ready()
            self.recover(Lifecycle())
        print(f"  SIGTERM during a write without an answer: ended after {took:.1f} s", file=sys.stderr)

    def test_owners_are_deleted_while_their_watch_is_away(self):
        """Their children are gone in the eyes of the controller, which must not create them for the garbage collector."""
        for plural in ("dynamographdeployments", "dynamocomponentdeployments"):
            with self.subTest(plural):
                proxy.reset()
                run = Lifecycle(self.baseline.expected)
                run.create()
                run.settle("create")
                proxy.reset()
                proxy.refused[plural] = Reply(503)
                proxy.drop_connections()
                plane.cluster.wait(lambda: proxy.triggered, 10, "the watch is refused")
                run.delete()
                run.settle("delete")
                proxy.refused.clear()
                run.settle("delete")
                self.assertEqual(kinds_of_writes(), {})

    def test_the_api_server_restarts(self):
        all_of_them = [(how, step) for how in ("orderly", "killed") for step in ("create", "image")]
        for how, step in all_of_them if FULL else [("orderly", "create"), ("killed", "image")]:
            about = f"the API server restarts during {step}, {how}"
            with self.subTest(about):
                self.play(about, lambda run, how=how, step=step: self.interrupt(run, step, self.restarts(how)), 5)

    @staticmethod
    def restarts(how):
        def restart():
            if how == "killed":
                plane.cluster.kill_apiserver()
            plane.cluster.restart_apiserver()

        return restart

    def test_etcd_restarts(self):
        for step in ("create", "image") if FULL else ("image",):
            about = f"etcd restarts during {step}"
            with self.subTest(about):
                restart = lambda: plane.cluster.restart("etcd")  # noqa: E731
                self.play(about, lambda run, step=step: self.interrupt(run, step, restart), 5)

    @staticmethod
    def interrupt(run, step, restart):
        """Calls `restart` in the middle of `step`, after the fourth write of the controller in it. Then the other actors start
        again: kwok drops a change of a pod that fails with an internal error, and the controller-manager waits up to a minute
        before it repeats a watch. A kubelet repeats its writes."""
        act = getattr(run, step)

        def interrupted():
            before = len(proxy.writes())
            act()
            plane.cluster.wait(lambda: len(proxy.writes()) >= before + 4, 30, "the controller writes")
            restart()
            plane.cluster.wait(serves, 60, "the API server serves")
            for actor in ("controller-manager", "scheduler", "kwok"):
                plane.cluster.restart(actor)

        setattr(run, step, interrupted)


def serves():
    try:
        return plane.cluster.api("GET", "/readyz") == "ok"
    except Exception:  # noqa: BLE001  (connection refused, 500)
        return False


if __name__ == "__main__":
    unittest.main(verbosity=2)
