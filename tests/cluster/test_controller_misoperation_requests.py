#!/usr/bin/env python3
"""Wrong and contradictory changes of each field of requests, models and checkpoints, in each of their phases.
Run: python3 tests/cluster/test_controller_misoperation_requests.py

The changes are generated from the schemas, as in test_controller_misoperation.py. A change is either refused with a message that
names the field, or the controller comes to rest and the status tells the truth; the original manifest then leads back, and where
a phase is final, a new object does.

By default a random sample is played (DYNAMO_SEED repeats it). DYNAMO_FULL=1 plays all changes. It needs the right to make a
network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import concurrent.futures
import copy
import os
import random
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import misuse_requests as bases  # noqa: E402
import worker_plane  # noqa: E402
from misuse_bases import claims  # noqa: E402
from misuse_changes import changes  # noqa: E402
from misuse_groups import combined, described_group, grouped, key_of, names_a_field_of, names_the_field  # noqa: E402
from misuse_play import Requests, significant  # noqa: E402
from operator_plane import path_of  # noqa: E402
from request_samples import CHECKPOINT, GRAPH, REQUEST, SECONDS, Samples  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
ALL = 10**6
DRY = ALL if FULL else 25  # changes of a request in a phase that are tried
PLAYED = ALL if FULL else 16  # changes that are played in a phase
GROUP = 20 if FULL else 6  # changes of a checkpoint that are played at once
THREADS = 8 if FULL else 4
CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
TAKEN = "exists and does not belong to this"
LOCKED = ("Profiling", "Ready", "Deploying", "Deployed")
BASE_MODEL = "Qwen/Qwen3-0.6B"
# Requests of v1alpha1 cannot say which GPUs there are.
GPUS = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.memory": "81920"}

plane = requests = workers = dice = None


def setUpModule():
    global plane, requests, workers, dice
    workers, plane = worker_plane.start(config=CONFIG)
    requests = Requests(plane.cluster)
    unittest.addModuleCleanup(requests.close)
    seed = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))
    print(f"DYNAMO_SEED={seed}", file=sys.stderr)
    dice = random.Random(seed)
    for node in plane.cluster.api("GET", "/api/v1/nodes")["items"]:
        requests.must("PATCH", f"/api/v1/nodes/{node['metadata']['name']}", {"metadata": {"labels": GPUS}}, "application/merge-patch+json")
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def until(what, condition, seconds=SECONDS):
    """`what()` or a text."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.1)


def sample(population, count):
    return dice.sample(population, min(count, len(population)))


def namespace_of(name):
    """A namespace with what the bases need."""
    plane.cluster.create_namespace(name)
    for one in claims(name, GRAPH):
        requests.must("POST", path_of(one["kind"], name) if one["kind"] == "PersistentVolumeClaim" else "/api/v1/persistentvolumes", one)
    return name


def take_name(one):
    """Somebody else has a Job with the name of the object's Job. The object is then created."""
    template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "runtime:1"}]}}
    job = {"metadata": {"name": one.job_name, "labels": {"somebody": "else"}}, "spec": {"suspend": True, "template": template}}
    requests.must("POST", path_of("Job", one.namespace), job)
    return one.create()


def give_names_back(namespace):
    requests.must("DELETE", path_of("Job", namespace) + "?labelSelector=somebody%3Delse&propagationPolicy=Background")


def in_parallel(function, items):
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(function, items))


def named(change, manifest, answer):
    """Whether a refusal names the field, or another one that the manifest contradicts."""
    return names_the_field(change, answer) or names_a_field_of(change.applied(manifest), answer)


def plain(value):
    """The value without empty members. A quantity is the same as a number and as a text."""
    if isinstance(value, dict):
        return {name: plain(member) for name, member in significant(value).items()}
    if isinstance(value, list):
        return [plain(one) for one in value]
    return f"{value:g}" if isinstance(value, (int, float)) and not isinstance(value, bool) else value


class Counted(unittest.TestCase):
    def setUp(self):
        self.counts = collections.Counter()
        self.problems = []
        self.began = time.monotonic()

    def tearDown(self):
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        print(f"  {self._testMethodName}: {counts}; {time.monotonic() - self.began:.1f} s", file=sys.stderr)

    def done(self):
        self.assertEqual(self.problems, [], "\n".join(self.problems[:40]))

    def tried(self, stored, chosen):
        """Dry runs. Returns the changes that are admitted and change something, each result once."""
        live, seen, admitted = stored.live(), set(), []
        answers = in_parallel(lambda change: stored.put(change.applied(stored.base), dry_run=True), chosen)
        for change, (status, answer) in zip(chosen, answers):
            if status == 200:
                if not change.typed:
                    self.problems.append(f"{stored.name}: {change}: a value of another type is admitted")
                key = key_of(answer["spec"])
                self.counts["without effect" if answer["spec"] == live["spec"] else "admitted"] += 1
                if answer["spec"] != live["spec"] and key not in seen:
                    seen.add(key)
                    admitted.append(change)
            else:
                self.counts["refused"] += 1
                if status not in (400, 422) or not named(change, stored.base, answer):
                    self.problems.append(f"{stored.name}: {change}: {status} {answer.get('message')}")
        return admitted


class RequestsInEachPhase(Counted):
    """Both versions: requests whose spec is locked, failed ones, and pending ones."""

    @classmethod
    def setUpClass(cls):
        cls.namespace = namespace_of("phases")
        cls.stored = {}
        for version, make in (("v1beta1", bases.beta), ("v1alpha1", bases.alpha)):
            for phase in (*LOCKED, "Failed"):
                base = make(f"{phase.lower()}-{version}")
                if phase == "Ready":
                    base["spec"]["autoApply"] = False
                cls.stored[version, phase] = bases.Stored(requests, base, cls.namespace).create()
        samples = Samples(plane, cls.namespace)
        for (_, phase), one in cls.stored.items():
            samples.wait_for_phase(REQUEST, one.name, "Profiling")
            if phase == "Failed":
                requests.must("PATCH", f"/apis/batch/v1/namespaces/{cls.namespace}/jobs/profile-{one.name}", {"spec": {"backoffLimit": 0}}, "application/merge-patch+json")
                samples.end_pod(f"profile-{one.name}", "profiler", "Failed", 1)
            elif phase != "Profiling":
                samples.write_output(one.name, "runtime:missing" if phase == "Deploying" else "runtime:1")
                samples.end_pod(f"profile-{one.name}", "profiler", "Succeeded")
        for (_, phase), one in cls.stored.items():
            samples.wait_for_phase(REQUEST, one.name, phase)
        time.sleep(1)

    def test_the_spec_is_locked(self):
        for (version, phase), one in self.stored.items():
            if phase not in LOCKED:
                continue
            before, job = one.get(), one.job()
            live = one.live()
            for change in sample(changes(one.base), DRY):
                status, answer = one.put(change.applied(one.base), dry_run=True)
                message = answer.get("message", "")
                if status == 200:
                    self.counts["without effect"] += 1
                    if plain(answer["spec"]) != plain(live["spec"]):
                        self.problems.append(f"{version} {phase}: {change}: admitted")
                elif f"spec: Forbidden: may not be changed in phase {phase}" in message:
                    self.counts["locked"] += 1
                elif status in (400, 422) and named(change, one.base, answer):
                    self.counts["refused as wrong"] += 1
                else:
                    self.problems.append(f"{version} {phase}: {change}: {status} {message}")
            # The same answer to a write that is no dry run; the original manifest is no change.
            changed = copy.deepcopy(one.base)
            changed["spec"]["model"] = "another"
            self.assertEqual(one.put(changed)[0], 422)
            self.assertEqual(one.put(one.base)[0], 200)
            time.sleep(0.5)
            self.assertEqual(one.get()["status"], before["status"])
            self.assertEqual((one.job() or {}).get("metadata", {}).get("uid"), (job or {}).get("metadata", {}).get("uid"))
        self.done()

    def test_a_failed_request_stays_failed_until_it_is_created_again(self):
        for version in ("v1beta1", "v1alpha1"):
            one = self.stored[version, "Failed"]
            before, job = one.get(), one.job()
            for change in sample(self.tried(one, sample(changes(one.base), DRY)), PLAYED // 2):
                status, answer = one.put(change.applied(one.base))
                self.assertEqual(status, 200, f"{change}: {answer}")
                time.sleep(0.2)
                found = one.status()
                if (found["phase"], found["conditions"]) != ("Failed", before["status"]["conditions"]):
                    self.problems.append(f"{version}: {change}: {found}")
                self.counts["played"] += 1
            self.assertEqual(one.put(one.base)[0], 200)
            time.sleep(0.5)
            self.assertEqual(one.job()["metadata"]["uid"], job["metadata"]["uid"])
            one.delete()
            until("the Job is gone", lambda: one.get() is None and one.job() is None)  # noqa: B023
            one.create()
            until(lambda: one.status(), lambda: one.status().get("phase") == "Profiling")  # noqa: B023
        self.done()

    def test_a_pending_request_takes_each_spec_and_the_original_leads_back(self):
        """A Job of somebody else has the name of its Job. Whatever was played, the Job is that of a new request in the end."""
        namespace = namespace_of("pending")
        slots = []
        for version, make in (("v1beta1", bases.beta), ("v1alpha1", bases.alpha)):
            made = [take_name(bases.Stored(requests, make(f"slot-{number}-{version}"), namespace)) for number in range(THREADS // 2)]
            admitted = self.tried(made[0], sample(changes(made[0].base), DRY * 2))
            chosen = sample(admitted, PLAYED)
            slots += [(one, chosen[number :: len(made)]) for number, one in enumerate(made)]
        in_parallel(lambda slot: self.play(*slot), slots)
        fresh = [bases.Stored(requests, make(f"fresh-{version}"), namespace).create() for version, make in (("v1beta1", bases.beta), ("v1alpha1", bases.alpha))]
        give_names_back(namespace)
        everyone = [one for one, _ in slots] + fresh
        until(lambda: [one.status() for one in everyone], lambda: all(one.own_job() for one in everyone))
        templates = {one.name.rpartition("-")[2]: one.template() for one in fresh}
        for one, _ in slots:
            self.assertEqual(one.template(), templates[one.name.rpartition("-")[2]], one.name)
        self.done()

    def play(self, one, chosen):
        self.wait_for_job(one)
        for change in chosen:
            status, answer = one.put(change.applied(one.base))
            if status != 200:
                self.problems.append(f"{one.name}: {change}: only refused when played: {answer.get('message')}")
                continue
            try:
                found = self.rest(one)
                self.counts[f"played, then {found['status']['phase']}"] += 1
                self.problems += [f"{one.name}: {change}: {problem}" for problem in self.untruths(found)]
                if found["status"]["phase"] == "Failed":
                    one.put(one.base)
                    one.delete()
                    until("it is gone", lambda: one.get() is None)
                    one.create()
                else:
                    status, answer = one.put(one.base)
                    if status != 200:
                        self.problems.append(f"{one.name}: {change}: the way back is refused: {answer.get('message')}")
                self.wait_for_job(one)
            except AssertionError as error:
                print(f"  {one.name}: {change}: {error}"[:2000], file=sys.stderr)
                self.problems.append(f"{one.name}: {change}: {error}")
                return  # the object is not as it should be for the next change

    def rest(self, one):
        """The request when its latest spec is judged."""
        found = {}

        def judged():
            found.update(one.get())
            status = found.get("status", {})
            if status.get("phase") == "Failed":
                return True
            conditions = {each["type"]: each for each in status.get("conditions", [])}
            profiling = conditions.get("Profiling", {})
            return (
                status.get("observedGeneration") == found["metadata"]["generation"] == profiling.get("observedGeneration")
                and profiling.get("reason") == "JobCreationFailed"
            )

        until(lambda: found.get("status"), judged, 60)
        return found

    def wait_for_job(self, one):
        found = self.rest(one)
        message = one.condition("Profiling").get("message", "")
        if found["status"]["phase"] != "Pending" or TAKEN not in message:
            raise AssertionError(f"the original manifest does not lead back: {found['status']}")

    def untruths(self, found):
        conditions = {each["type"]: each for each in found["status"]["conditions"]}
        if found["status"]["phase"] == "Pending":
            if TAKEN not in conditions["Profiling"]["message"]:
                yield f"it waits for something else: {conditions}"
        elif not any(
            one["message"] == conditions["Succeeded"]["message"] and one["status"] == "False" and one["message"]
            for kind, one in conditions.items()
            if kind != "Succeeded"
        ):
            yield f"it has failed, and does not say why: {conditions}"


class Models(Counted):
    """All changes are played."""

    def test_an_adapter_and_a_base_model(self):
        namespace = namespace_of("models")
        samples = Samples(plane, namespace)
        plane.apply(samples.workers("g", BASE_MODEL))
        idle = bases.Stored(requests, bases.adapter("idle", "nobody/serves"), namespace).create()
        adapter = bases.Stored(requests, bases.adapter("tuned", BASE_MODEL), namespace).create()
        base = bases.Stored(requests, bases.base_model("base", BASE_MODEL), namespace).create()
        for one in (idle, adapter, base):
            until(lambda: one.status(), lambda: self.is_true(one, namespace) and self.is_like_the_base(one))  # noqa: B023
            for change in self.tried(one, changes(one.base)):
                status, answer = one.put(change.applied(one.base))
                self.assertEqual(status, 200, f"{change}: {answer}")
                self.counts["played"] += 1
                until(lambda: f"{one.name}: {change}: {one.status()} {workers.adapters}", lambda: self.is_true(one, namespace))  # noqa: B023
                self.assertEqual(one.put(one.base)[0], 200)
                until(lambda: f"{one.name}: back from {change}: {one.status()}", lambda: self.is_true(one, namespace) and self.is_like_the_base(one))  # noqa: B023
        self.done()

    @staticmethod
    def is_true(one, namespace):
        """Whether the status says which pods have the model."""
        found = one.get()
        spec, status = found["spec"], found.get("status", {})
        ready = one.condition("EndpointsReady")
        if not ready.get("message") or ready.get("observedGeneration", found["metadata"]["generation"]) != found["metadata"]["generation"]:
            return False
        pods = Samples(plane, namespace).addresses("g").values() if spec["baseModelName"] == BASE_MODEL else []
        if len(pods) not in (0, 2) or status.get("totalEndpoints", 0) != len(pods):
            return False
        if spec["modelType"] != "lora":
            return True
        have = [address for address in pods if spec["modelName"] in workers.adapters.get(address, ())]
        return status.get("readyEndpoints", 0) == len(have) and (ready["status"] == "True") == (len(have) == len(pods) > 0)

    @staticmethod
    def is_like_the_base(one):
        expected = 0 if one.name == "idle" else 2
        return one.status().get("totalEndpoints", 0) == expected


class Checkpoints(Counted):
    """Dry runs of all changes; groups of them in each phase."""

    def groups(self, one):
        admitted = self.tried(one, sample(changes(one.base), ALL if FULL else DRY * 4))
        return sample(grouped(admitted, GROUP, dice), ALL if FULL else 3)

    def put(self, one, group):
        """Returns whether the group is admitted. Changes that contradict each other are left out."""
        while group:
            status, answer = one.put(combined(one.base, group))
            if status == 200:
                self.counts["played"] += len(group)
                return True
            blamed = [change for change in group if names_the_field(change, answer)] or group[: len(group) // 2 + 1]
            group = [change for change in group if change not in blamed]
            self.counts["refused together with others"] += len(blamed)
        return False

    def test_pending(self):
        namespace = namespace_of("checkpoints-pending")
        one = take_name(bases.Stored(requests, bases.checkpoint("waits"), namespace))
        told = lambda: TAKEN in one.status().get("message", "")  # noqa: E731
        until(lambda: one.status(), told)
        for group in self.groups(one):
            if not self.put(one, group):
                continue
            until(lambda: one.status(), lambda: self.is_current(one) and one.status().get("message"))
            self.assertEqual((one.status()["phase"], one.condition("JobCreated")["status"]), ("Pending", "False"))
            self.assertEqual(one.put(one.base)[0], 200)
            until(lambda: f"back from {described_group(group)}: {one.status()}", lambda: self.is_current(one) and told())  # noqa: B023
        give_names_back(namespace)
        self.assert_like_new(one)
        self.done()

    @staticmethod
    def is_current(one):
        return one.condition("JobCreated").get("observedGeneration") == one.get()["metadata"]["generation"]

    def assert_like_new(self, one):
        new = bases.Stored(requests, bases.checkpoint("new"), one.namespace).create()
        until(lambda: (one.status(), new.status()), lambda: one.own_job() and new.own_job())
        self.assertEqual(one.template(), new.template())

    def test_creating_and_ready(self):
        """Nothing happens: the Job goes on, and what is ready stays."""
        namespace = namespace_of("checkpoints-ready")
        one = bases.Stored(requests, bases.checkpoint("made"), namespace).create()
        samples = Samples(plane, namespace)
        groups = self.groups(one)
        for phase in ("Creating", "Ready"):
            samples.wait_for_phase(CHECKPOINT, one.name, phase)
            until("the Job is seen", lambda: one.condition("JobCreated").get("status") == "True")
            job = one.job()["metadata"]["uid"]
            before = {name: value for name, value in one.status().items() if name != "conditions"}
            for group in groups:
                if self.put(one, group):
                    time.sleep(0.5)
                    self.assertEqual({name: value for name, value in one.status().items() if name != "conditions"}, before, described_group(group))
                    self.assertEqual(one.job()["metadata"]["uid"], job)
                    self.assertEqual(one.put(one.base)[0], 200)
            if phase == "Creating":
                samples.end_pod(f"checkpoint-{one.name}", "main", "Succeeded")
        self.done()

    def test_failed(self):
        """A change starts another Job, or is told; the original manifest starts one like the first."""
        namespace = namespace_of("checkpoints-failed")
        one = bases.Stored(requests, bases.checkpoint("fails"), namespace).create()
        samples = Samples(plane, namespace)
        samples.wait_for_phase(CHECKPOINT, one.name, "Creating")
        first = one.template()
        for group in self.groups(one):
            self.fail_job(one, samples)
            if not self.put(one, group):
                continue
            until(lambda: f"{described_group(group)}: {one.status()}", lambda: self.has_begun_again(one))  # noqa: B023
            self.counts[f"then {one.status()['phase']}"] += 1
            if one.status()["phase"] == "Creating":
                self.fail_job(one, samples)
            self.assertEqual(one.put(one.base)[0], 200)
            samples.wait_for_phase(CHECKPOINT, one.name, "Creating")
            until(lambda: f"back from {described_group(group)}: {one.status()}", lambda: one.template() == first)  # noqa: B023
        self.done()

    @staticmethod
    def has_begun_again(one):
        status = one.status()
        if status.get("phase") == "Failed":
            return False
        return status.get("phase") == "Creating" or bool(status.get("message"))

    @staticmethod
    def fail_job(one, samples):
        """The Job fails, whatever keeps its pods from running."""
        job = one.job()
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        conditions = [{"type": kind, "status": "True", "reason": "Told", "message": "told to fail", "lastTransitionTime": now, "lastProbeTime": now} for kind in ("FailureTarget", "Failed")]
        path = f"/apis/batch/v1/namespaces/{one.namespace}/jobs/{job['metadata']['name']}/status"
        change = {"status": {"startTime": job.get("status", {}).get("startTime", now), "conditions": conditions, "active": 0, "ready": 0, "terminating": 0}}
        requests.must("PATCH", path, change, "application/merge-patch+json")
        samples.wait_for_phase(CHECKPOINT, one.name, "Failed")


if __name__ == "__main__":
    unittest.main(verbosity=2)
