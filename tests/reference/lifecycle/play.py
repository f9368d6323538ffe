"""Plays one scenario in its own namespace and records the result."""

import collections
import hashlib
import json
import os
import re
import time

import yaml

from actions import Actions
from cluster import Operator
from facts import facts_of
from history import races, went
from kinds import CHILD, CUSTOM, EVERY_TIME, HASH_LABEL, HASH_NOTE, RACE, is_of_operator, source_of
from lora import Lora
from recorded import matches
from stand_ins import is_stand_in

CLUSTERS_OBJECTS = (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))
MADE_BY_USERS = ("DynamoGraphDeploymentRequest", "DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoModel")
EVENTS_QUIET = 1  # seconds without a new Event at the end
READS = ("get", "list", "watch")


def this_second():
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime())


class Play(Actions):
    def __init__(self, file, cluster, watch, options):
        self.name = os.path.splitext(os.path.basename(file))[0]
        with open(file, encoding="utf-8") as text:
            self.scenario = yaml.safe_load(text)
        self.ns = "lc" + hashlib.sha1(self.name.encode()).hexdigest()[:8]
        self.cluster, self.watch, self.options = cluster, watch, options
        self.operator = Operator(options.operator_metrics)
        self.addresses = set(self.scenario.get("http") or {})
        self.before = {}  # (kind, name) -> the object after the previous step
        self.hashes = []  # worker hashes in the order of their first occurrence
        self.told = self.heard = 0  # number of recorded watch events and of recorded LoRA requests
        self.pods_seen, self.nodes = set(), []
        self.written = collections.Counter()  # kind -> the highest resourceVersion that this play has written
        self.restless = []  # steps that did not end in time, with what they waited for

    def run(self):
        """(name, steps, steps that never became quiet, rejections)"""
        began, steps, starts = this_second(), [], []
        self.set_up()
        try:
            for manifest in self.scenario.get("setup") or []:
                status, got = self.apply(manifest)
                if status >= 300:
                    raise RuntimeError(f"{self.name}: setup: {got.get('message')}")
            if self.scenario.get("setup"):
                self.settle(1)
            for step in self.scenario["steps"]:
                starts.append(this_second())
                answers = [answer for actions in step.get("do", [step]) for answer in self.act(actions)]
                quiet = self.settle(step.get("quiet", self.options.quiet), step.get("timeout", 60))
                steps.append(self.dump(step["name"], answers, quiet))
                if not quiet:
                    self.restless.append(f"{step['name']}: {'; '.join(self.unfinished()) or 'changes do not end'}")
            every = self.events(steps, starts)
            writes = self.writes(began) if self.options.audit else {}
        finally:
            if not self.options.keep:
                self.clean()
        out = self.fold({"scenario": self.name, "steps": steps, "allEvents": every})
        for pattern in self.scenario.get("unstable") or []:
            unstable(out, pattern)
        out.update(hashes={f"HASH-{i}": value for i, value in enumerate(self.hashes, 1)}, writes=writes)
        with open(f"{self.options.out}/{self.name}.json", "w", encoding="utf-8") as file:
            json.dump(out, file, indent=1, sort_keys=True, ensure_ascii=False)
            file.write("\n")
        failed = [(step["step"], answer) for step in steps for answer in step["answers"] if False in answer.values()]
        return self.name, steps, self.restless, [f"{step}: {answer}" for step, answer in failed]

    def set_up(self):
        with Lora.lock:
            Lora.answers.update(self.scenario.get("http") or {})
            self.heard = len(Lora.seen)
        status, got = self.cluster.call("POST", "/api/v1/namespaces", {"metadata": {"name": self.ns}})
        if status >= 300:
            raise RuntimeError(f"{self.name}: namespace {self.ns}: {got.get('message')}")
        end = time.monotonic() + 20
        while not self.has_default_account() and time.monotonic() < end:
            time.sleep(0.1)

    def has_default_account(self):
        return any(item["metadata"]["name"] == "default" for item in self.watch.here(self.ns, ["ServiceAccount"]))

    def dump(self, step, answers, quiet):
        """The objects after a step and the events during it."""
        here = self.watch.here(self.ns, [*CUSTOM, *CHILD])
        objects = [item for item in here if (item["kind"], item["metadata"]["name"]) not in CLUSTERS_OBJECTS]
        objects = [item for item in objects if not is_stand_in(item)]
        with self.watch.lock:
            story = self.watch.story[self.ns][self.told :]
            self.told += len(story)
        story = [event for event in story if not is_stand_in(event[2])]
        story.sort(key=lambda event: int(event[2]["metadata"]["resourceVersion"]))
        self.learn(objects)
        self.pods_seen |= {pod["metadata"]["name"] for pod in self.watch.here(self.ns, ["Pod"]) if not is_stand_in(pod)}
        before = list(self.before.values())
        lost = races([*before, *(item for kind, _, item in story if kind in CUSTOM)])
        facts = {}
        for item in objects:
            key = item["kind"], item["metadata"]["name"]
            facts["/".join(key)] = facts_of(item, self.before.get(key), lost, self.pods_seen)
        told = {"step": step, "answers": answers, "objects": facts, "went": went(before, story, lost)}
        if not quiet:
            told["quiet"] = False
        with Lora.lock:
            calls = Lora.seen[self.heard :]
            self.heard = len(Lora.seen)
        if self.addresses:
            told["requests"] = sorted({call for host, call in calls if host in self.addresses})
        self.before = {(item["kind"], item["metadata"]["name"]): item for item in objects}
        return told

    def learn(self, objects):
        """Numbers worker hashes in the order of their first occurrence."""
        seen = []
        for item in objects:
            metadata = item["metadata"]
            if item["kind"] == "DynamoGraphDeployment":
                seen.append(("", (metadata.get("annotations") or {}).get(HASH_NOTE)))
            elif item["kind"] == "DynamoComponentDeployment":
                seen.append((metadata["creationTimestamp"], (metadata.get("labels") or {}).get(HASH_LABEL)))
        known = ((when, value) for when, value in seen if value and re.fullmatch("[0-9a-f]{8}", value))
        for _, value in sorted(known):
            if value not in self.hashes:
                self.hashes.append(value)

    def fold(self, value):
        """A recording without random values."""
        text = json.dumps(value, sort_keys=True).replace(self.ns, "NS")
        for i, known in enumerate(self.hashes, 1):
            text = text.replace(known, f"HASH-{i}")
        text = re.sub(r"(Pod: [a-z0-9.-]+)-[a-z0-9]{5}\b", r"\1-RANDOM", text)
        return ordered(json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z", "TIME", text)))

    def events(self, steps, starts):
        """Assigns each Event of the operator to the step of its first occurrence, because Events are written with a delay."""
        self.settle(EVENTS_QUIET)
        first = {}  # (text, object, message) -> when
        for kind, what, event in self.watch.story[self.ns]:
            if kind != "Event" or what == "DELETED":
                continue
            if is_stand_in(event) or not is_of_operator(event) or RACE.search(event.get("message") or ""):
                continue
            about = event["involvedObject"]
            text = f"{about.get('kind')} {event.get('type')} {event.get('reason')} {source_of(event)}"
            when = event.get("firstTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
            key = text, about.get("uid"), event.get("message")
            first[key] = min(when[:19], first.get(key, when[:19]))
        for start, end, step in zip(starts, [*starts[1:], "9"], steps):
            texts = {text for (text, _, _), when in first.items() if start <= when < end}
            step["events"] = sorted(text for text in texts if not EVERY_TIME.match(text.split(" ")[2]))
        return sorted({text for text, _, _ in first})

    def writes(self, since):
        """The number of the operator's writes by kind, from the API server's audit log."""
        count = collections.Counter()
        time.sleep(0.5)
        with open(self.options.audit, encoding="utf-8") as log:
            lines = [json.loads(line) for line in log if self.ns in line]
        for line in lines:
            about = line.get("objectRef") or {}
            if about.get("namespace") != self.ns or line["user"]["username"] != self.options.user:
                continue
            if line["verb"] in READS or line["stageTimestamp"] < since:
                continue
            count["/".join(filter(None, (f"{line['verb']} {about['resource']}", about.get("subresource"))))] += 1
            if (line.get("responseStatus") or {}).get("code") == 409:
                count["refused as conflict or existing"] += 1
        return dict(sorted(count.items()))

    def clean(self):
        for kind in MADE_BY_USERS:
            self.cluster.call("DELETE", self.cluster.path(kind, self.ns))
        end = time.monotonic() + 15
        while (
            self.watch.here(self.ns, [kind for kind in MADE_BY_USERS if "Component" not in kind]) and time.monotonic() < end
        ):
            time.sleep(0.2)
        for name in self.nodes:
            self.cluster.call("DELETE", self.cluster.path("Node", None, name))
        self.cluster.call("DELETE", "/api/v1/namespaces/" + self.ns)


def ordered(value):
    """Sorts component names again, because they were sorted by their worker hash, which is folded."""
    if isinstance(value, dict):
        return {key: sorted(member) if key == "componentNames" else ordered(member) for key, member in value.items()}
    return [ordered(element) for element in value] if isinstance(value, list) else value


def unstable(recording, pattern):
    """Replaces the values at STEP/KIND/path with ANY."""
    for step in recording["steps"]:
        for part, prefix in (("objects", ""), ("went", "went.")):
            for name, value in step[part].items():
                _forget(value, f"{step['step']}/{name.split('/')[0]}/{prefix}", pattern)
        step["events"] = [text for text in step["events"] if not matches(_path_of_event(step["step"], text), pattern)]


def _forget(value, path, pattern):
    for key in list(value):
        if matches(path + key, pattern):
            value[key] = "ANY"
        elif isinstance(value[key], dict):
            _forget(value[key], f"{path}{key}.", pattern)


def _path_of_event(step, text):
    kind, rest = text.split(" ", 1)
    return f"{step}/{kind}/events.{rest.replace(' ', '.')}"
