"""The lives of a request, a checkpoint and a model, each in a namespace of its own: the steps, what is there after each of them, and
what the controller has told and asked for. A life with a disturbed controller must have the same snapshots as the undisturbed one."""

import collections
import json
import re
import sys
import threading
import time

from client import close_connections
from control_plane import ApiError
from operator_plane import CONTROLLER_USER, difference, is_ready, normalised, path_of, received
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, Samples

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
BASE = "Qwen/Qwen3-0.6B"
KINDS = (REQUEST, MODEL, CHECKPOINT, GRAPH, "Job", "ConfigMap", "ServiceAccount", "RoleBinding")
STABLE_SECONDS = 2  # of the undisturbed life
QUIET_SECONDS = 0.5  # in which a disturbed life must keep the expected objects
STEP_SECONDS = 120
SLOW_SECONDS = 20  # a step that takes longer is explained in the output
POD_OF_JOB = re.compile(r"\b((?:profile|checkpoint)-[a-z0-9-]+?)-[a-z0-9]{5}\b(?!-)")
TIMES = {"createdAt", "completionTime", "lastProbeTime"}


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(member) for key, member in value.items() if key not in TIMES}
    return [without_times(each) for each in value] if isinstance(value, list) else value


class Life:
    """`namespace`: a name that occurs nowhere else. `expected`: the snapshots of the undisturbed life by step; None if this is it.
    `acting` is held while a step acts, so that somebody who holds it can take the API server away. STEPS: the name of each step, a
    method, and the phase that follows. JOBS: how many Jobs of each name are created in one life."""

    STEPS = {}
    JOBS = {}

    def __init__(self, plane, namespace, expected=None, acting=None):
        self.plane, self.namespace, self.expected = plane, namespace, expected
        self.acting = acting or threading.Lock()
        self.samples = Samples(plane, namespace)
        self.found, self.uids = {}, set()
        self.explain = lambda: ""  # what else is told when a step does not end
        self.began = time.time()

    def live(self):
        for step in self.STEPS:
            self.take(step)
        return self.found

    def take(self, step):
        self.act(step)
        self.settle(step)

    def act(self, step):
        with self.acting:
            getattr(self, step)()

    def snapshot(self):
        """"Kind/name" -> object, without times and without names of pods, addresses, uids and the namespace."""
        found = {}
        for kind in KINDS:
            for one in self.plane.cluster.api("GET", path_of(kind, self.namespace))["items"]:
                found[f"{kind}/{one['metadata']['name']}"] = one
        text = json.dumps({name: without_times(normalised(one)) for name, one in found.items()})
        for name, one in found.items():
            text = text.replace(one["metadata"]["uid"], f"uid of {name}")
            if one["metadata"]["name"] == self.NAME:
                self.uids.add(one["metadata"]["uid"])
        for pod, address in self.addresses().items():
            text = text.replace(pod, "a pod").replace(f"http://{address}:", "http://its-address:")
        text = text.replace(self.namespace, "its namespace")
        return {**json.loads(POD_OF_JOB.sub(r"\1", text)), **self.also()}

    def addresses(self):
        return {}

    def also(self):
        """What else belongs to a snapshot."""
        return {}

    def settle(self, step):
        """Waits until the objects are the expected ones; in the undisturbed life until they do not change."""
        expected, quiet = (self.expected[step], QUIET_SECONDS) if self.expected else (None, STABLE_SECONDS)
        began = since = time.monotonic()
        before = None
        explained = False
        while True:
            try:
                now = self.snapshot()
            except (ApiError, OSError):  # the API server starts; it answers 429 while its storage starts
                now = {}
            if now != before:
                since, before = time.monotonic(), now
            is_done = now == expected if expected is not None else self.is_done(step, now)
            if is_done and time.monotonic() - since > quiet:
                self.found[step] = now
                return
            took = time.monotonic() - began
            if took > STEP_SECONDS or took > SLOW_SECONDS and not explained and expected is not None:
                explained = True
                text = f"{type(self).__name__}, step {step} after {took:.0f} s:\n{difference(expected, now)}\n{self.explain()}"
                if took > STEP_SECONDS:
                    raise AssertionError(text)
                print(text, file=sys.stderr)
            time.sleep(0.2)

    def is_done(self, step, now):
        phase = self.STEPS[step]
        found = now.get(f"{self.KIND}/{self.NAME}")
        return found is None if phase is None else found is not None and found.get("status", {}).get("phase") == phase

    def delete(self, kind, name):
        if self.plane.get(kind, self.namespace, name) is not None:
            self.plane.delete(kind, self.namespace, name)

    def wait(self, what, condition):
        self.plane.cluster.wait(condition, STEP_SECONDS, f"{what} in {self.namespace}")

    def wait_until_gone(self, *objects):
        self.wait("everything is gone", lambda: not any(self.plane.get(kind, self.namespace, name) for kind, name in objects))

    def events(self):
        """(type, reason, message) -> how often it was told about the object of this life."""
        counts = collections.Counter()
        for one in self.plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]:
            if one["involvedObject"].get("uid") in self.uids:
                message = POD_OF_JOB.sub(r"\1", one["message"]).replace(self.namespace, "its namespace")
                counts[one["type"], one["reason"], message] += one.get("count", 1)
        return counts

    def jobs_created(self):
        """name -> how many Jobs of this name the controllers have created in this life."""
        entries = [one for one in self.plane.audit.entries(CONTROLLER_USER) if one["objectRef"]["resource"] == "jobs"]
        made = [one for one in entries if one["verb"] == "create" and one["responseStatus"]["code"] < 300]
        ours = [one for one in made if one["objectRef"]["namespace"] == self.namespace and received(one).timestamp() >= self.began]
        return dict(collections.Counter(one["objectRef"]["name"] for one in ours))


class RequestLife(Life):
    """A request is profiled, its graph is deployed and deleted."""

    KIND, NAME = REQUEST, "r"
    STEPS = {"request": "Profiling", "profiled": "Deployed", "graph_deleted": "Failed", "deleted": None}
    JOBS = {"profile-r": 1}

    def request(self):
        self.plane.apply(self.samples.request("r"))

    def profiled(self):
        self.samples.write_output("r")
        self.samples.end_pod("profile-r", "profiler", "Succeeded")

    def graph_deleted(self):
        self.plane.delete(GRAPH, self.namespace, "r-graph")

    def deleted(self):
        objects = (REQUEST, "r"), (GRAPH, "r-graph"), ("ConfigMap", "dgdr-output-r")
        for kind, name in objects:
            self.delete(kind, name)
        self.wait_until_gone(*objects, ("Job", "profile-r"))


class CheckpointLife(Life):
    """The Job of a checkpoint fails; with another spec it succeeds."""

    KIND, NAME = CHECKPOINT, "c"
    STEPS = {"checkpoint": "Creating", "failed": "Failed", "again": "Creating", "taken": "Ready", "deleted": None}
    JOBS = {"checkpoint-c": 2}  # the failed one, and that of the new spec

    def checkpoint(self):
        self.plane.apply(self.samples.checkpoint("c", backoffLimit=0))

    def failed(self):
        self.samples.end_pod("checkpoint-c", "main", "Failed", 1)

    def again(self):
        self.plane.patch(CHECKPOINT, self.namespace, "c", {"spec": {"job": {"backoffLimit": 1}}})

    def taken(self):
        self.samples.end_pod("checkpoint-c", "main", "Succeeded")

    def deleted(self):
        self.delete(CHECKPOINT, "c")
        self.wait_until_gone((CHECKPOINT, "c"), ("Job", "checkpoint-c"))


class ModelLife(Life):
    """An adapter is loaded into two workers, then into one that joins, and unloaded. `workers`: their LoRA endpoints."""

    KIND, NAME = MODEL, "tuned"
    STEPS = {"adapter": 2, "joins": 3, "deleted": None}

    def __init__(self, plane, namespace, workers, expected=None, acting=None):
        super().__init__(plane, namespace, expected, acting)
        self.workers = workers
        self.calls_before = len(workers.calls)
        self.served = set()

    def prepare(self):
        """Two workers run, before the first life."""
        self.plane.apply(self.samples.workers("served", BASE))
        self.wait("two workers are ready", lambda: self.has_workers(2))

    def has_workers(self, count):
        return is_ready(self.samples.get(GRAPH, "served")) and len(self.addresses()) == count

    def addresses(self):
        found = self.samples.addresses("served")
        self.served |= set(found.values())
        return found

    def also(self):
        loaded = sum("org/tuned" in self.workers.adapters.get(address, ()) for address in self.addresses().values())
        return {"workers with the adapter": loaded}

    def is_done(self, step, now):
        count = self.STEPS[step]
        status = now.get(f"{MODEL}/tuned", {}).get("status", {})
        if count is None:
            return super().is_done(step, now) and self.has_workers(2)
        return status.get("readyEndpoints") == count == now["workers with the adapter"]

    def adapter(self):
        self.plane.apply(self.samples.adapter("tuned", BASE))

    def joins(self):
        self.scale(3)

    def deleted(self):
        self.delete(MODEL, "tuned")
        self.wait_until_gone((MODEL, "tuned"))
        self.scale(2)
        self.wait("two workers are left", lambda: self.has_workers(2))

    def scale(self, replicas):
        self.plane.patch(GRAPH, self.namespace, "served", {"spec": {"services": {"Worker": {"replicas": replicas}}}})

    def calls(self):
        """Method -> how many calls the workers of this life have got."""
        made = self.workers.calls[self.calls_before :]
        return collections.Counter(method for method, address, *_ in made if address in self.served)


def one_by_one(lives):
    return [life.live() for life in lives]


def all_at_once(functions):
    """Calls each in a thread. Raises what the first failed one raises."""
    errors = []

    def call(function):
        try:
            function()
        except Exception as error:  # noqa: BLE001  (raised below)
            errors.append(error)
        finally:
            close_connections()

    threads = [threading.Thread(target=call, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def together(lives):
    """Lives all of them at once."""
    all_at_once([life.live for life in lives])
    return [life.found for life in lives]
