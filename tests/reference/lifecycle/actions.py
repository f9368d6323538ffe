"""What the steps of a scenario do to the cluster."""

import fnmatch
import hashlib
import json
import re
import time

from kinds import WHERE
from lora import Lora

APPLY, MERGE, JSON_PATCH = (f"application/{name}" for name in ("apply-patch+yaml", "merge-patch+json", "json-patch+json"))
TALK = ("name", "quiet", "timeout", "do")  # members of a step that are no actions
ROOM = {"cpu": "256", "memory": "2Ti", "ephemeral-storage": "4Ti", "pods": "250", "nvidia.com/gpu": "64"}


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Actions:
    """`name`, `cluster`, `watch`, `ns` and `nodes` are the play's."""

    def act(self, step):
        """Carries the actions of a step out; gives what the server answered to each."""
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
        return [self.answer(self.apply(manifest)) for manifest in manifests]

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
        """A kwok node with these labels comes or goes."""
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
        """What a kubelet would report, of the oldest `count` pods that are not there yet."""
        self.settle(1, 20)  # so that the operator has seen how the pods were
        end, left, told = time.monotonic() + 20, given.get("count", 10**6), 0
        while True:
            for pod in self.pods_left(given)[:left]:
                path = self.cluster.path("Pod", self.ns, pod["metadata"]["name"], "status")
                status, got = self.cluster.call("PATCH", path, {"status": reported(pod, given)}, MERGE)
                if status < 300:
                    self.watch.heard("Pod", "MODIFIED", got)
                    told += 1
                    left -= 1
            if told and ("count" not in given or left <= 0) or time.monotonic() > end:
                return
            time.sleep(0.2)

    def pods_left(self, given):
        """The pods that match and are not yet as they shall be, oldest first."""

        def wanted(pod):
            labels = pod["metadata"].get("labels") or {}
            return (
                all(fnmatch.fnmatchcase(labels.get(key, ""), value) for key, value in given["match"].items())
                and not pod["metadata"].get("deletionTimestamp")
                and not is_as_told(pod, given)
            )

        pods = [pod for pod in self.watch.here(self.ns, ["Pod"]) if wanted(pod)]
        return sorted(pods, key=lambda pod: (pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]))

    def answer(self, got):
        """What the server said to a request, as it stands in a recording."""
        status, body = got
        if status < 300:
            return {"ok": True}
        return {"ok": False, "code": status, "message": body.get("message", "").replace(self.ns, "NS")}

    def real(self, value, generation=None):
        """A value of the scenario with its placeholders filled."""
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
        """The newest object that matches; the oldest with `old: true`."""
        here = self.watch.here(self.ns, [given["kind"]])
        found = [item for item in here if fnmatch.fnmatchcase(item["metadata"]["name"], given["name"])]
        found.sort(
            key=lambda item: (item["metadata"]["creationTimestamp"], item["metadata"]["name"]), reverse=not given.get("old")
        )
        return found[0] if found else None

    def named(self, given, timeout=20):
        """The name of the object that matches, once there is one."""
        end = time.monotonic() + timeout
        while True:
            if item := self.find(given):
                return item["metadata"]["name"]
            if time.monotonic() > end:
                return given["name"]
            time.sleep(0.2)

    def wait(self, given):
        """Whether an object came to be as it shall, in time."""
        end = time.monotonic() + given.get("timeout", 60)
        while not self.is_there(given):
            if time.monotonic() > end:
                return False
            time.sleep(0.1)
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

    def settle(self, quiet, timeout):
        """Whether nothing changed for `quiet` seconds, in time."""
        start = time.monotonic()
        while time.monotonic() < start + timeout:
            if time.monotonic() - max(self.watch.changed[self.ns], start) >= quiet:
                return True
            time.sleep(0.1)
        return False


def is_as_told(pod, given):
    status = pod.get("status") or {}
    if "phase" in given:
        return status.get("phase") == given["phase"]
    conditions = status.get("conditions", [])
    return any(one["type"] == "Ready" and (one["status"] == "True") == given["ready"] for one in conditions)


def reported(pod, given):
    """The status that a kubelet reports of a pod."""
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
