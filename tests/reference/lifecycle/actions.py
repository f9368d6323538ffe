"""The actions of a scenario on the cluster."""

import fnmatch
import hashlib
import json
import re
import time

from kinds import CUSTOM, WHERE
from lora import Lora
from settled import unfinished
from stand_ins import component, pods_of

APPLY, MERGE, JSON_PATCH = (f"application/{name}" for name in ("apply-patch+yaml", "merge-patch+json", "json-patch+json"))
TALK = ("name", "quiet", "timeout", "do")  # members of a step that are no actions
# Kinds by whose objects an operator shows that it has finished.
WRITTEN = ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter", "Deployment")
POLL = 0.1  # seconds
SLOWNESS = 3  # how much longer than a scenario expects a slow machine may take
IDLE = 2  # seconds without custom resources after which nothing is expected
NAME_TIMEOUT, PODS_TIMEOUT = 60, 60  # seconds until an object, or a matching pod, must exist
ROOM = {"cpu": "256", "memory": "2Ti", "ephemeral-storage": "4Ti", "pods": "250", "nvidia.com/gpu": "64"}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Actions:
    """`name`, `cluster`, `watch`, `operator`, `ns`, `nodes` and `written` are the play's."""

    def act(self, step):
        """Executes the actions of a step and returns the server's answer to each."""
        out = []
        for what, given in step.items():
            if what in TALK:
                continue
            action = getattr(self, f"do_{what}", None)
            if action is None:
                raise ValueError(f"{self.name}: no such action: {what}")
            out += action(given) or []
        return out

    def do_apply(self, manifests):
        for manifest in manifests:
            if manifest["kind"] == "EndpointSlice" and self.scenario.get("http"):
                self.stand_in(manifest)
        return [self.answer(self.apply(manifest)) for manifest in manifests]

    def stand_in(self, endpoint_slice):
        """Makes the pods of the slice."""
        owner = self.apply(component())[1]["metadata"]
        for pod, status in pods_of(endpoint_slice, owner):
            self.apply(pod)
            path = self.cluster.path("Pod", self.ns, pod["metadata"]["name"], "status")
            self.cluster.call("PATCH", path, {"status": status}, MERGE)

    def do_patch(self, given):
        kind = MERGE if "merge" in given else JSON_PATCH
        path = self.path_of(given, given.get("subresource"))
        return [self.answer(self.cluster.call("PATCH", path, self.real(given.get("merge", given.get("json"))), kind))]

    def do_scale(self, given):
        scale = {"spec": {"replicas": given["replicas"]}}
        return [self.answer(self.cluster.call("PATCH", self.path_of(given, "scale"), scale, MERGE))]

    def do_status(self, given):
        path = self.path_of(given)
        generation = self.cluster.call("GET", path)[1].get("metadata", {}).get("generation")
        status = {"status": self.real(given["set"], generation)}
        return [self.answer(self.cluster.call("PATCH", f"{path}/status", status, MERGE))]

    def do_label(self, given):
        metadata = {key: given[key] for key in ("labels", "annotations") if key in given}
        return [self.answer(self.cluster.call("PATCH", self.path_of(given), {"metadata": metadata}, MERGE))]

    def do_delete(self, given):
        policy = {"propagationPolicy": given.get("propagation", "Background")}
        return [self.answer(self.cluster.call("DELETE", self.path_of(given), policy))]

    def do_http(self, answers):
        with Lora.lock:
            Lora.answers.update(answers)

    def do_wait(self, given):
        return [{"waited": self.wait(given)}]

    def do_sleep(self, seconds):
        time.sleep(seconds)

    def do_node(self, given):
        """Adds or removes a kwok node with these labels."""
        digest = hashlib.sha1(json.dumps(given.get("labels"), sort_keys=True).encode()).hexdigest()[:4]
        name = f"lc-{self.ns}-{digest}"
        if given.get("remove"):
            self.cluster.call("DELETE", self.cluster.path("Node", None, name))
            return
        labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64", "type": "kwok"}
        metadata = {
            "name": name,
            "labels": {**labels, **self.real(given["labels"])},
            "annotations": {"kwok.x-k8s.io/node": "fake"},
        }
        status = {"capacity": ROOM, "allocatable": ROOM}
        node = {"apiVersion": "v1", "kind": "Node", "metadata": metadata, "status": status}
        self.cluster.call("POST", self.cluster.path("Node"), node)
        self.nodes.append(name)

    def do_pods(self, given):
        """Writes the status that a kubelet would report for the oldest `count` pods that do not have it yet, or for all. More
        pods are expected until the namespace is settled."""
        self.settle(1)  # the operator must have seen the earlier state of the pods
        end, left = time.monotonic() + PODS_TIMEOUT, given.get("count")
        while left != 0 and time.monotonic() < end:
            pods = self.pods_left(given)[:left]
            if not pods:
                self.settle(1)
                pods = self.pods_left(given)[:left]
            if not pods:
                return
            told = sum(self.report(pod, given) for pod in pods)
            if told and left is None:
                return
            left = left and left - told

    def report(self, pod, given):
        """Writes the status of one pod. Returns whether the pod still exists."""
        path = self.cluster.path("Pod", self.ns, pod["metadata"]["name"], "status")
        status, got = self.cluster.call("PATCH", path, {"status": reported(pod, given)}, MERGE)
        if status < 300:
            self.watch.answered("Pod", got)
        return status < 300

    def pods_left(self, given):
        """The matching pods that do not have the wanted status yet, oldest first."""

        def wanted(pod):
            labels = pod["metadata"].get("labels") or {}
            return (
                all(fnmatch.fnmatchcase(labels.get(key, ""), value) for key, value in given["match"].items())
                and not pod["metadata"].get("deletionTimestamp")
                and not has_status(pod, given)
            )

        pods = [pod for pod in self.watch.here(self.ns, ["Pod"]) if wanted(pod)]
        return sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def answer(self, got):
        """The server's answer to a request in the form of a recording."""
        status, body = got
        if status < 300:
            kind, version = body.get("kind"), (body.get("metadata") or {}).get("resourceVersion")
            if kind in WHERE and version:
                self.written[kind] = max(self.written[kind], int(version))
            return {"ok": True}
        return {"ok": False, "code": status, "message": body.get("message", "").replace(self.ns, "NS")}

    def real(self, value, generation=None):
        """A value of the scenario with its placeholders replaced."""
        text = json.dumps(value).replace('"GENERATION"', json.dumps(generation)).replace('"NOW"', json.dumps(now()))
        return json.loads(re.sub(r"\bNS\b", self.ns, text))

    def apply(self, manifest):
        document = self.real(manifest)
        document.setdefault("metadata", {})["namespace"] = self.ns
        version, plural = document["apiVersion"], WHERE[document["kind"]][1]
        group = f"/apis/{version}" if "/" in version else f"/api/{version}"
        path = f"{group}/namespaces/{self.ns}/{plural}/{document['metadata']['name']}"
        return self.cluster.call("PATCH", f"{path}?fieldManager=lifecycle&force=true", document, APPLY)

    def path_of(self, given, subresource=None):
        return self.cluster.path(given["kind"], self.ns, self.named(given), subresource)

    def find(self, given):
        """The newest matching object, or the oldest with `old: true`."""
        here = self.watch.here(self.ns, [given["kind"]])
        found = [item for item in here if fnmatch.fnmatchcase(item["metadata"]["name"], given["name"])]
        found.sort(
            key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]), reverse=not given.get("old")
        )
        return found[0] if found else None

    def named(self, given):
        """Waits for a matching object and returns its name."""
        self.until(lambda: self.find(given), NAME_TIMEOUT)
        item = self.find(given)
        return item["metadata"]["name"] if item else given["name"]

    def wait(self, given):
        """Waits for an object with the wanted value. Returns whether it appeared in time."""
        return self.until(lambda: self.is_there(given), SLOWNESS * given.get("timeout", 60))

    def until(self, holds, timeout):
        """Waits until `holds` returns true. Returns whether it did in time. The wait ends early in a namespace without custom
        resources, because there an operator does nothing."""
        now = time.monotonic()
        end, idle_since = now + timeout, now
        while not holds():
            now = time.monotonic()
            if self.watch.here(self.ns, CUSTOM):
                idle_since = now
            if now > end or now - idle_since > IDLE:
                return False
            time.sleep(POLL)
        return True

    def is_there(self, given):
        item = value = self.find(given)
        for part in given["path"].split(".") if item and "path" in given else []:
            value = value.get(part) if isinstance(value, dict) else None
            if part == "conditions":
                value = {condition["type"]: condition.get("status") for condition in value or []}
        if "absent" in given:
            return (value is None) == given["absent"]
        if "not" in given:
            return item is not None and value != given["not"]
        return value == given["is"]

    def settle(self, quiet, timeout=60):
        """Waits until nothing has changed for `quiet` seconds, no object waits for a control loop, and the operator is idle.
        Returns whether this happened in time. Polls are counted instead of seconds, because they take longer when the machine
        is slow."""
        end, seen, calm = time.monotonic() + SLOWNESS * timeout, -1, 0
        while calm < quiet / POLL or self.unfinished() or not self.is_at_rest():
            if time.monotonic() > end:
                return False
            time.sleep(POLL)
            changes = self.watch.changes[self.ns]
            calm = calm + 1 if changes == seen else 0
            seen = changes
        return True

    def is_at_rest(self):
        """Whether the operator is idle, and its writes have arrived here."""
        return self.operator.is_idle() and self.watch.is_current(self.ns, WRITTEN)

    def unfinished(self):
        """What is not finished: objects that wait for a control loop, and writes that the watch has not delivered."""
        late = [kind for kind, version in self.written.items() if self.watch.delivered[kind] < version]
        objects = self.watch.here(self.ns)
        return [*(f"the watch of {kind} is late" for kind in late), *unfinished(objects, self.watch.kinds)]


def has_status(pod, given):
    status = pod.get("status") or {}
    if "phase" in given:
        return status.get("phase") == given["phase"]
    conditions = status.get("conditions", [])
    return any(one["type"] == "Ready" and (one["status"] == "True") == given["ready"] for one in conditions)


def reported(pod, given):
    """The status that a kubelet reports for a pod."""
    time_now = now()
    if "phase" in given:
        phase, ready, started = given["phase"], False, None
        conditions = {"Ready": "False", "ContainersReady": "False"}
        code = 0 if phase == "Succeeded" else 1
        state = {"terminated": {"exitCode": code, "reason": "Error", "finishedAt": time_now}}
    else:
        phase, ready, started = "Running", given["ready"], True
        word = "True" if ready else "False"
        conditions = {"PodScheduled": "True", "Initialized": "True", "ContainersReady": word, "Ready": word}
        state = {"running": {"startedAt": time_now}}
    common = {"image": "x", "imageID": "x", "ready": ready, "restartCount": 0, "state": state}
    if started is not None:
        common["started"] = started
    return {
        "phase": phase,
        "conditions": [{"type": kind, "status": word, "lastTransitionTime": time_now} for kind, word in conditions.items()],
        "containerStatuses": [{"name": container["name"], **common} for container in pod["spec"]["containers"]],
    }
