#!/usr/bin/env python3
"""Wrong and contradictory changes of each field of graphs and component deployments.
Run: python3 tests/cluster/test_controller_misoperation.py

The changes are generated from the schemas. A change is either refused with a message that names the field, or the controller
comes to rest and the status tells what does not work. The original manifest then always leads back to the original children.

By default a random sample is played (DYNAMO_SEED repeats it). DYNAMO_FULL=1 plays all changes; that takes about an hour.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import concurrent.futures
import os
import random
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from misuse_bases import BASES, NAME, claims  # noqa: E402
from misuse_changes import REMOVED, changes  # noqa: E402
from misuse_groups import combined, described_group, grouped, key_of, names_a_field_of, names_the_field  # noqa: E402
from misuse_play import Requests, Slot, Writes  # noqa: E402
from operator_plane import OperatorPlane, described, path_of  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
TRIED = int(os.environ.get("DYNAMO_TRIED", "0")) or (10**6 if FULL else 240)
PLAY_SECONDS = 10**6 if FULL else 20
HOLD_SECONDS = 4.0 if FULL else 2.5
QUIET_SECONDS = 60 if FULL else 5
# Changes that are played at once; those that are refused together are played in smaller groups.
GROUPS = (24, 8, 3, 1) if FULL else (12, 4, 1)
SLOTS = 24 if FULL else 6
ALONE = 2  # fields with paths up to this length below the service are played alone

# Fields with a default of the webhook that has members. If they are removed and set again by server-side apply, the members of
# the default stay, because the API server merges them. These changes are only played with PUT requests.
DEFAULTED = {"ports", "livenessProbe", "readinessProbe", "startupProbe", "securityContext"}

plane = controller = requests = writes = None


def setUpModule():
    global plane, controller, requests, writes
    plane = OperatorPlane(nodes=12, child_crds=True)
    unittest.addModuleCleanup(plane.close)
    requests = Requests(plane.cluster)
    unittest.addModuleCleanup(requests.close)
    writes = Writes(plane.audit.path)
    unittest.addModuleCleanup(writes.stop)
    for number in range(12):
        nic = {"example.com/nic": "64"}
        status = {"status": {"capacity": nic, "allocatable": nic}}
        requests.must("PATCH", f"/api/v1/nodes/gpu-node-{number}/status", status, "application/merge-patch+json")
    controller = plane.controller()


class Trial:
    """The answers to all dry runs of one base object."""

    def __init__(self, name, pool):
        make, only = BASES[name]
        self.name = name
        self.base = make()
        self.base["metadata"]["namespace"] = f"try-{name}"
        self.counts = collections.Counter()
        self.admitted = []
        self.problems = []
        self.seen = set()
        self.changes = changes(self.base, only)
        self.create()
        self.pool = pool

    def create(self):
        """The object without managedFields, so that the API server need not compute them for each dry run."""
        namespace = self.base["metadata"]["namespace"]
        plane.cluster.create_namespace(namespace)
        for one in claims(namespace, self.base["kind"]):
            if one["kind"] == "PersistentVolumeClaim":
                requests.must("POST", path_of(one["kind"], namespace), one)
        live = requests.must("POST", path_of(self.base["kind"], namespace), self.base)
        live["metadata"]["managedFields"] = [{}]
        _, self.live = requests.replace(live)
        self.base["metadata"]["resourceVersion"] = self.live["metadata"]["resourceVersion"]

    def run(self, chosen):
        for change, (status, answer) in zip(chosen, self.pool.map(self.attempt, chosen)):
            self.take(change, status, answer)

    def attempt(self, change):
        return requests.replace(change.applied(self.base), dry_run=True)

    def take(self, change, status, answer):
        if status == 200:
            if not change.typed:
                self.problems.append(f"{change}: a value of another type is admitted")
            key = key_of(answer["spec"])
            if answer["spec"] == self.live["spec"] or key in self.seen:
                self.counts["without effect or like another change"] += 1
                return
            self.seen.add(key)
            self.counts["admitted"] += 1
            self.admitted.append(change)
            return
        kind = "refused" if change.typed else "refused because of the type"
        self.counts[kind] += 1
        if status not in (400, 422):
            self.problems.append(f"{change}: {status} {answer.get('message')}")
        elif names_the_field(change, answer):
            pass
        elif names_a_field_of(change.applied(self.base), answer):
            self.counts["refused at the field that the change contradicts"] += 1
        else:
            self.problems.append(f"{change}: the refusal names no field: {answer.get('message')}")


def leaves_default(change):
    return change.value in (REMOVED, None, {}, []) and not DEFAULTED.isdisjoint(change.path[-2:])


class Player:
    """Plays groups of changes in slots, one thread per slot."""

    def __init__(self, dice):
        self.dice = dice
        self.lock = threading.Lock()
        self.played = self.groups = self.namespaces = 0
        self.refused = []
        self.problems = []
        self.slowest = (0, "")
        self.slots = []
        self.number = 0
        self.idle = collections.defaultdict(list)  # (trial, how) -> slots
        self.again = collections.defaultdict(list)  # trial -> changes that were refused together with others
        self.deadline = time.monotonic() + PLAY_SECONDS

    def run(self, trials):
        for size in GROUPS:
            work = [(trial, group) for trial in trials for group in self.groups_of(trial, size)]
            self.dice.shuffle(work)
            with concurrent.futures.ThreadPoolExecutor(SLOTS) as pool:
                list(pool.map(lambda one: self.serve(*one), work))

    def groups_of(self, trial, size):
        if size < GROUPS[0]:
            return grouped(self.again.pop(trial.name, []), size, self.dice)
        alone, deep = [], []
        for change in trial.admitted:
            below = len(change.path) - (3 if change.path[1] == "services" else 1)
            (alone if below <= ALONE and "extraPodSpec" not in change.path else deep).append(change)
        return [[change] for change in alone] + grouped(deep, size, self.dice)

    def serve(self, trial, group):
        if time.monotonic() > self.deadline:
            return
        with self.lock:
            self.number += 1
            how = "replace" if self.number % 2 or any(map(leaves_default, group)) else "apply"
            idle = self.idle[trial.name, how]
            slot = idle.pop() if idle else None
        slot = slot or self.new_slot(trial, how)
        if self.play(slot, group, trial):
            with self.lock:
                self.idle[trial.name, how].append(slot)

    def new_slot(self, trial, how):
        with self.lock:
            self.namespaces += 1
            number = self.namespaces
        slot = Slot(requests, writes, trial.base, f"play-{number}", how)
        slot.create()
        with self.lock:
            self.slots.append(slot)
        return slot

    def play(self, slot, group, trial):
        """Returns whether the slot can be used again."""
        refusal, problems, took = slot.play(combined(slot.base, group), HOLD_SECONDS, len(group) == 1)
        while refusal and len(group) > 1:
            blamed = [change for change in group if names_the_field(change, refusal)] or group[: len(group) // 2]
            with self.lock:
                self.again[trial.name] += blamed
            group = [change for change in group if change not in blamed]
            if not group:
                return True
            refusal, problems, took = slot.play(combined(slot.base, group), HOLD_SECONDS, len(group) == 1)
        with self.lock:
            self.groups += 1
            if took > self.slowest[0]:
                self.slowest = (took, described_group(group))
            if refusal:
                self.refused.append(f"{group[0]}: {refusal.get('message')}")
            elif not problems:
                self.played += len(group)
            elif len(group) == 1:
                self.problems.append(f"{trial.name}, {slot.how}, {slot.namespace}: {group[0]}:\n" + "\n".join(problems))
            else:
                self.again[trial.name] += group
            if problems:
                lines = "\n".join(problems)
                print(f"  {trial.name} {slot.namespace} {described_group(group)[:1500]}:\n    {lines}"[:5000], file=sys.stderr)
                self.slots.remove(slot)
        return not problems


class Misoperation(unittest.TestCase):
    def test_changes_are_refused_or_converge_and_the_way_back_leads_back(self):
        seed = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
        print(f"DYNAMO_SEED={seed}", file=sys.stderr)
        dice = random.Random(seed)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            trials = [Trial(name, pool) for name in BASES]
            fields = {change.field for trial in trials for change in trial.changes}
            total = sum(len(trial.changes) for trial in trials)
            print(f"{len(fields)} fields, {total} changes", file=sys.stderr)
            for trial in trials:
                count = max(1, round(len(trial.changes) * min(1.0, TRIED / total)))
                trial.run(dice.sample(trial.changes, count))
                counts = ", ".join(f"{count} {what}" for what, count in sorted(trial.counts.items()))
                print(f"{trial.name}: {count} tried: {counts}", file=sys.stderr)
        print(f"dry runs: {time.monotonic() - began:.1f} s", file=sys.stderr)
        for trial in trials:
            with self.subTest(f"dry runs of {trial.name}"):
                self.assertEqual(trial.problems, [], "\n".join(trial.problems[:50]))
            self.assertGreater(trial.counts["refused"] + trial.counts["admitted"], 0)
            requests.must("DELETE", path_of(trial.base["kind"], trial.base["metadata"]["namespace"], NAME))
        controller.start()
        controller.wait_until_ready()
        began = time.monotonic()
        player = Player(dice)
        player.run(trials)
        print(
            f"played: {player.played} changes in {player.groups} groups, {player.namespaces} namespaces, "
            f"{time.monotonic() - began:.1f} s; slowest {player.slowest[0]:.1f} s: {player.slowest[1][:300]}",
            file=sys.stderr,
        )
        for one in player.refused:
            print(f"refused only when played: {one}"[:600], file=sys.stderr)
        with self.subTest("played"):
            self.assertEqual(player.problems, [], "\n\n".join(player.problems))
        self.assertGreater(player.played, 0)
        before = {slot.namespace: len(writes.of_controller(slot.namespace)) for slot in player.slots}
        time.sleep(QUIET_SECONDS)
        late = [described(one) for name, count in before.items() for one in writes.of_controller(name, count)]
        self.assertEqual(late, [], f"writes in {QUIET_SECONDS} s after the way back")


if __name__ == "__main__":
    unittest.main(verbosity=2)
