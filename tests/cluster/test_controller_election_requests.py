#!/usr/bin/env python3
"""Two controllers with leader election while requests, checkpoints and models live.
Run: python3 tests/cluster/test_controller_election_requests.py

Requests, checkpoints and adapters are in each of their phases, and each has something to do, when the leader falls asleep or is killed
in the middle of its writes. The other controller takes over: every object has one Job and the end of an undisturbed life, workers have
the adapters of one, and the former leader writes nothing any more. The write after which the leader stops depends on DYNAMO_SEED;
DYNAMO_FULL=1: many of them. It needs the right to make a network namespace. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import concurrent.futures
import os
import random
import signal
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from fault_proxy import Call  # noqa: E402
from operator_plane import described, received, wait_for_rest  # noqa: E402
from request_lives import CONFIG, CheckpointLife, ModelLife, RequestLife, all_at_once, together  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
SEED = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
WRITES = range(1, 19, 2)  # of these, the leader makes one before it stops
LEASE_SECONDS = 15
TAKEOVER_SLACK = 6  # two attempts of the second controller, and a slow machine
KINDS = (RequestLife, CheckpointLife, ModelLife)

plane = workers = None


def setUpModule():
    global plane, workers
    print(f"DYNAMO_SEED={SEED}", file=sys.stderr)
    workers, plane = worker_plane.start(gpus=512, config=CONFIG)
    for kind in KINDS:
        for number, _ in enumerate(kind.STEPS):
            plane.cluster.create_namespace(namespace_of(kind, number))


def namespace_of(kind, number):
    return f"life-of-{kind.KIND.lower()}-{number}"


def life_of(kind, namespace, expected=None):
    return kind(plane, namespace, *((workers,) if kind is ModelLife else ()), expected)


class Held:
    """A life that takes `number` steps before the leader stops; the next one is what it has to do then."""

    def __init__(self, kind, number, expected):
        namespace = namespace_of(kind, number)
        self.life = life_of(kind, namespace, expected[namespace])
        self.steps, self.number = list(kind.STEPS), number

    def before(self):
        for step in self.steps[: self.number]:
            self.life.take(step)

    def act(self):
        self.life.act(self.steps[self.number])

    def after(self):
        self.life.settle(self.steps[self.number])
        for step in self.steps[self.number + 1 :]:
            self.life.take(step)


class Election(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.first = plane.proxied_controller("first", leader_election=True)
        cls.second = plane.controller("second", leader_election=True)
        cls.first.start()
        # Hashes of defaults depend on the namespace.
        made = [life_of(kind, namespace_of(kind, number)) for kind in KINDS for number, _ in enumerate(kind.STEPS)]
        all_at_once(life.prepare for life in made if isinstance(life, ModelLife))
        together(made)
        cls.expected = {life.namespace: life.found for life in made}
        cls.events = {life.namespace: life.events() for life in made}

    def start(self):
        """The first controller leads, the second one waits."""
        for controller in (self.first, self.second):
            controller.stop()
        self.first.start()
        plane.cluster.wait(self.first.leads, 2 * LEASE_SECONDS, "the first controller leads")
        self.second.start()
        self.second.wait_until_ready()

    def signal(self, number):
        try:
            os.kill(self.first.pid, number)
        except ProcessLookupError:
            pass

    def take_over(self, stop, write):
        """The leader stops by `stop` after its `write`-th write. Returns the lives when all have ended."""
        self.start()
        proxy = self.first.proxy
        proxy.reset()
        held = [Held(kind, number, self.expected) for kind in KINDS for number, _ in enumerate(kind.STEPS)]
        all_at_once(each.before for each in held)
        wait_for_rest(lambda: self.first.writes(plane.audit))  # an Event is written after the status that it is about
        self.assertFalse(self.second.leads())
        proxy.reset()
        proxy.on_write[write] = Call(stop)
        with concurrent.futures.ThreadPoolExecutor() as background:
            # Some of them wait for the next leader.
            acting = background.submit(all_at_once, [each.act for each in held])
            plane.cluster.wait(lambda: proxy.triggered, LEASE_SECONDS, "the leader stops")
            began = time.monotonic()
            plane.cluster.wait(self.second.leads, 2 * LEASE_SECONDS, "the second controller leads")
            took = time.monotonic() - began
            print(f"  {stop.__name__} after write {write}: takeover after {took:.1f} s", file=sys.stderr)
            self.assertLess(took, LEASE_SECONDS + TAKEOVER_SLACK)
            self.signal(signal.SIGCONT)
            acting.result()
        all_at_once(each.after for each in held)
        return [each.life for each in held]

    def check(self, lives):
        for life in lives:
            with self.subTest(life.namespace):
                self.assertEqual(life.jobs_created(), life.JOBS)
                expected, told = self.events[life.namespace], life.events()
                # The Event of a status that was written in the moment of the end may be missing or come from both.
                self.assertLessEqual(told.keys(), expected.keys())
                self.assertLessEqual(max(told.values()), 2)
                self.assertLessEqual(abs(told.total() - expected.total()), 1, f"missing {expected - told}, more {told - expected}")
        ours = self.second.writes(plane.audit)
        self.assertTrue(ours)
        late = [entry for entry in self.first.writes(plane.audit) if received(entry) >= received(ours[0])]
        self.assertEqual([described(entry) for entry in late], [])

    def writes_before_the_end(self):
        return WRITES if FULL else [random.Random(SEED + len(self.id())).choice(WRITES)]

    def test_a_killed_leader(self):
        def killed():
            self.first.kill()

        for write in self.writes_before_the_end():
            with self.subTest(f"DYNAMO_SEED={SEED}: after write {write}"):
                self.check(self.take_over(killed, write))

    def test_a_leader_that_slept(self):
        def asleep():
            self.signal(signal.SIGSTOP)

        self.addCleanup(self.signal, signal.SIGCONT)
        for write in self.writes_before_the_end():
            with self.subTest(f"DYNAMO_SEED={SEED}: after write {write}"):
                lives = self.take_over(asleep, write)
                # It ends, so that it does not lead again with an old state.
                plane.cluster.wait(lambda: self.first.exit_status() is not None, 30, "the first controller ends")
                self.assertEqual(self.first.exit_status(), 1)
                self.check(lives)


if __name__ == "__main__":
    unittest.main(verbosity=2)
