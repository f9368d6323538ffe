#!/usr/bin/env python3
"""Requests, checkpoints and models with faults between the controller and the API server.
Run: python3 tests/cluster/test_controller_faults_requests.py

A request, a checkpoint and a model live undisturbed, then again and again, each time with another fault that is repeated from their
creation to their deletion. The objects after every step must be the same, nothing gets a second Job, no worker is asked twice, Events
are told once, and the number of writes is bounded. By default a random sample of the faults is played (DYNAMO_SEED repeats one);
DYNAMO_FULL=1 plays all.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from fault_proxy import EVENTS, REPLIES, Call, Reply  # noqa: E402
from killer import EveryNth, Killer  # noqa: E402
from request_lives import CONFIG, CheckpointLife, ModelLife, RequestLife, together  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
SEED = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
SAMPLE_SECONDS = 40
STRIDE = 4
REQUEST_STRIDE = 7
# A fault on one write: that write again, the status that reported its failure, and the status after its success.
WRITES_PER_FAULT = 3
# A read that fails is told for the pod that could not be judged.
TOLD_OF_FAULTS = {"PartialEndpointFailure", "NotReady"}
MORE_WRITES = 12  # statuses depend on the moments at which pods become ready

# The reasons of the Events of an undisturbed life.
TOLD = [
    ["DeploymentCreated", "DeploymentDeleted", "DeploymentReady", "Initialized", "ProfilingJobCreated", "SpecGenerated"],
    ["CheckpointFailed", "CheckpointReady"],
    ["EndpointsReady", "EndpointsReady", "LoRAUnloaded"],
]

plane = controller = proxy = workers = None


def setUpModule():
    global plane, controller, proxy, workers
    print(f"DYNAMO_SEED={SEED}", file=sys.stderr)
    workers, plane = worker_plane.start(config=CONFIG)
    for name in ("life-of-request", "life-of-checkpoint", "life-of-model"):
        plane.cluster.create_namespace(name)
    controller = plane.proxied_controller()
    proxy = controller.proxy
    controller.start()
    controller.wait_until_ready()
    ModelLife(plane, "life-of-model", workers).prepare()


def lives(expected=(None, None, None)):
    request, checkpoint, model = expected
    acting = threading.Lock()
    made = [
        RequestLife(plane, "life-of-request", request, acting),
        CheckpointLife(plane, "life-of-checkpoint", checkpoint, acting),
        ModelLife(plane, "life-of-model", workers, model, acting),
    ]
    for life in made:
        life.explain = controller.log_tail
    return made


class Fault:
    """`arrange(lives)`: sets the fault up; it returns a function that is called when the lives have ended, or None.
    `lost`: the controller may not learn of a write that was carried out, or forgets what it has done."""

    def __init__(self, about, arrange, lost=False, again=0):
        self.about, self.arrange, self.lost, self.again = about, arrange, lost, again


def on(where, stride, offset, fault):
    return lambda _: setattr(proxy, where, EveryNth(stride, offset, fault))


def faults_of(offset):
    """All faults, those that are repeated from this number on."""
    for name, reply in REPLIES.items():
        lost = name == "cut" or reply.done
        yield Fault(f"{name} on every {STRIDE}th write from {offset}", on("on_write", STRIDE, offset, reply), lost)
    for name in ("410", "429", "500", "cut"):
        about = f"{name} on every {REQUEST_STRIDE}th request from {offset}"
        yield Fault(about, on("on_request", REQUEST_STRIDE, offset, REPLIES[name]), lost=True)
    for name in EVENTS:
        yield Fault(f"every {STRIDE}th event {name} from {offset}", on("on_event", STRIDE, offset, name))
    for seconds in (0.3, 2):
        yield Fault(f"all events {seconds} s late", lambda _, seconds=seconds: setattr(proxy, "event_delay", seconds))
    for plural in ("pods", "jobs", "endpointslices", "dynamographdeployments"):
        yield Fault(f"events of {plural} 3 s late", lambda _, plural=plural: proxy.event_delays.update({plural: 3}))
    for name in ("410", "429", "500", "503"):
        yield Fault(f"connections drop, every second watch is answered with {name}", refuse_watches(name), lost=True)
    for number in range(offset + 2, 40, 8):
        yield Fault(f"kill -9 after write {number}, then lists from before", kill_with_stale_lists(number), lost=True, again=1)
    for how in ("orderly", "killed"):
        number = 4 + 5 * offset
        yield Fault(f"the API server restarts after write {number}, {how}", restart_apiserver(how, number), lost=True, again=1)


def refuse_watches(name):
    def arrange(_):
        reply = Reply(int(name), retry_after=1 if name == "429" else None)
        proxy.on_watch.update(dict.fromkeys(range(1, 40, 2), reply))
        timers = [threading.Timer(seconds, proxy.drop_connections) for seconds in (0, 3)]
        for timer in timers:
            timer.start()
        return lambda: [timer.join() for timer in timers]

    return arrange


def kill_with_stale_lists(number):
    """The lists of the restarted controller are those from before the lives, as those of an API server with an old cache. Its
    watches then replay what happened since."""

    def arrange(_):
        controller.kill()
        proxy.reset()
        controller.start()
        controller.wait_until_ready()
        before = dict(proxy.recorded_lists)
        proxy.reset()
        killer = Killer(controller)

        def kill():
            proxy.lists = before
            killer.kill()

        proxy.on_write[number] = Call(kill)
        return killer.end

    return arrange


def restart_apiserver(how, number):
    """No step acts meanwhile. Then the other actors start again: kwok drops a change of a pod that fails with an internal error,
    and the controller-manager waits up to a minute before it repeats a watch."""

    def arrange(made):
        def restart():
            while len(proxy.writes()) < number:
                time.sleep(0.02)
            with made[0].acting:
                if how == "killed":
                    plane.cluster.kill_apiserver()
                plane.cluster.restart_apiserver()
                for actor in ("controller-manager", "scheduler", "kwok"):
                    plane.cluster.restart(actor)
                proxy.triggered += 1

        thread = threading.Thread(target=restart, daemon=True)
        thread.start()
        return thread.join

    return arrange


class Faults(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.expected, cls.writes = (None, None, None), 0
        for _ in range(2):
            proxy.reset()
            began, made = time.monotonic(), lives(cls.expected)
            found = together(made)
            cls.expected = found if cls.expected[0] is None else cls.expected
            cls.writes = max(cls.writes, len(proxy.writes()))
            cls.events = [life.events() for life in made]
            print(f"undisturbed: {len(proxy.writes())} writes, {time.monotonic() - began:.1f} s", file=sys.stderr)
        cls.calls = made[2].calls()

    def test_undisturbed(self):
        self.assertEqual(self.calls, {"POST": 3, "DELETE": 3})
        self.assertEqual([sorted(reason for _, reason, _ in events) for events in self.events], TOLD)
        self.assertEqual({count for events in self.events for count in events.values()}, {1})

    def play(self, fault):
        proxy.reset()
        began, made = time.monotonic(), lives(self.expected)
        finish = fault.arrange(made)
        try:
            together(made)
        except AssertionError:
            proxy.reset()
            for life in made:
                life.deleted()
            raise
        finally:
            triggered = proxy.triggered
            for where in ("on_write", "on_request", "on_watch", "on_event"):
                setattr(proxy, where, {})
            if finish is not None:
                finish()
        took, writes = time.monotonic() - began, len(proxy.writes())
        print(f"  {fault.about}: {writes} writes, {triggered} faults, {took:.1f} s", file=sys.stderr)
        self.assertTrue(triggered or proxy.event_delay or proxy.event_delays)
        self.assertLessEqual(writes, self.writes * (1 + fault.again) + MORE_WRITES + WRITES_PER_FAULT * triggered)
        for life in made:
            self.assertEqual(life.jobs_created(), life.JOBS)
        self.check_events(fault, made)
        if not fault.again:
            self.assertEqual(made[2].calls(), self.calls)

    def check_events(self, fault, made):
        """An Event follows the write that it describes. If the controller does not learn of the write, it is not told."""
        for life, expected in zip(made, self.events):
            told = life.events()
            if not fault.lost:
                self.assertEqual(told, expected, f"more: {told - expected}, less: {expected - told}")
                continue
            others = {reason for _, reason, _ in told - expected} - {reason for _, reason, _ in expected}
            self.assertLessEqual(others, TOLD_OF_FAULTS)
            self.assertLessEqual(max(told.values(), default=0), 2)

    def test_faults(self):
        dice = random.Random(SEED)
        chosen = [fault for offset in range(STRIDE) for fault in faults_of(offset)]
        dice.shuffle(chosen)
        deadline = time.monotonic() + SAMPLE_SECONDS
        for fault in chosen:
            if not FULL and time.monotonic() > deadline:
                break
            with self.subTest(f"DYNAMO_SEED={SEED}: {fault.about}"):
                self.play(fault)


if __name__ == "__main__":
    unittest.main(verbosity=2)
