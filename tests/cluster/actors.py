"""Stand-ins for the operators of LeaderWorkerSets and Grove (grove_actor.py). They create pods and report status as these
operators do, one small step at a time, so that readiness progresses. The test control plane has only their CRDs.

LeaderWorkerSet 0.6: the operator replaces a group whose template has changed as a whole. The status has no
observedGeneration."""

import copy
import hashlib
import json
import sys
import threading
import time
import traceback

from history import is_deleting, is_pod_ready, path_of

MERGE = "application/merge-patch+json"
REVISION = "test.nvidia.com/revision"  # a digest of the template from which a pod was made
INDEX = "test.nvidia.com/index"  # the replica of a group to which an object belongs
NODE = "gpu-node-0"


def digest(value):
    return hashlib.sha1(json.dumps(value, sort_keys=True).encode()).hexdigest()[:10]


def timestamp():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Actor:
    """A thread that calls `reconcile(namespace)` after every change of a namespace."""

    def __init__(self, history):
        self.history = history
        self._paused = set()  # namespaces
        self._stopped = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self):
        self._stopped = True
        with self.history.changed:
            self.history.changed.notify_all()
        self._thread.join(10)

    def pause(self, namespace):
        """Does nothing in the namespace until `resume` is called."""
        self._paused.add(namespace)

    def resume(self, namespace):
        self._paused.discard(namespace)
        self.history.touch(namespace)

    def _run(self):
        seen = {}
        while not self._stopped:
            now = self.history.counts()
            changed = [name for name, count in now.items() if name and seen.get(name) != count]
            seen = now
            for namespace in set(changed) - self._paused:
                try:
                    self.reconcile(namespace)
                except (OSError, KeyError):
                    traceback.print_exc(file=sys.stderr)
                    seen.pop(namespace)
            with self.history.changed:
                if not self._stopped and self.history.counts() == seen:
                    self.history.changed.wait(1)

    # Writes. Conflicts and absent objects are ignored: another change follows, and the next call decides again.

    def create(self, kind, manifest):
        namespace = manifest["metadata"]["namespace"]
        return self._sent(kind, self.history.api.call("POST", path_of(kind, namespace), manifest))

    def patch(self, kind, item, patch, subresource=None):
        metadata = item["metadata"]
        path = path_of(kind, metadata["namespace"], metadata["name"], subresource)
        patch = {**patch, "metadata": {**patch.get("metadata", {}), "uid": metadata["uid"]}}
        return self._sent(kind, self.history.api.call("PATCH", path, patch, MERGE))

    def replace(self, kind, item):
        path = path_of(kind, item["metadata"]["namespace"], item["metadata"]["name"])
        self._sent(kind, self.history.api.call("PUT", path, item))

    def delete(self, kind, item):
        metadata = item["metadata"]
        if is_deleting(item):
            return
        options = {"propagationPolicy": "Background", "preconditions": {"uid": metadata["uid"]}}
        self._sent(kind, self.history.api.call("DELETE", path_of(kind, metadata["namespace"], metadata["name"]), options))

    def _sent(self, kind, answer):
        status, body = answer
        if status < 300 and "resourceVersion" in body.get("metadata", {}):
            self.history.put(kind, body)
        elif status not in (200, 404, 409):
            print(f"{type(self).__name__}: {status} {body.get('message')}", file=sys.stderr)
        return body if status < 300 else None

    def report(self, kind, item, status):
        """Writes the status if it differs. The times of conditions change with their status only."""
        stored = item.get("status", {})
        since = {(one["type"], one["status"]): one["lastTransitionTime"] for one in stored.get("conditions", [])}
        for condition in status.get("conditions", []):
            condition["lastTransitionTime"] = since.get((condition["type"], condition["status"])) or timestamp()
        if any(stored.get(key) != value for key, value in status.items()):
            self.patch(kind, item, {"status": status}, "status")

    def owned(self, namespace, kind, owner):
        uid = owner["metadata"]["uid"]
        mine = lambda item: any(one["uid"] == uid for one in item["metadata"].get("ownerReferences", []))  # noqa: E731
        return list(filter(mine, self.history.all(namespace, kind)))

    @staticmethod
    def child(owner, name, labels, annotations=None, **parts):
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
            "blockOwnerDeletion": True,
        }
        metadata = {"name": name, "namespace": owner["metadata"]["namespace"], "labels": labels, "ownerReferences": [reference]}
        if annotations:
            metadata["annotations"] = annotations
        return {"metadata": metadata, **parts}

    def create_pod(self, owner, name, template, revision, index):
        labels = {**template["metadata"].get("labels", {}), REVISION: revision, INDEX: str(index)}
        pod = self.child(owner, name, labels, template["metadata"].get("annotations"))
        self.create("Pod", {**pod, "spec": {**template["spec"], "nodeName": NODE}})


def label(item, key):
    return item["metadata"].get("labels", {}).get(key)


def split(pods, revision):
    """Pods that are not ending: all, ready ones, ones of the revision."""
    alive = [pod for pod in pods if not is_deleting(pod)]
    return alive, [pod for pod in alive if is_pod_ready(pod)], [pod for pod in alive if label(pod, REVISION) == revision]


class LeaderWorkerSetActor(Actor):
    """`broken`: (namespace, image) for which the pods of sets with the number 0 cannot pull their image."""

    def __init__(self, history):
        self.broken = set()
        super().__init__(history)

    def reconcile(self, namespace):
        for found in self.history.all(namespace, "LeaderWorkerSet"):
            if not is_deleting(found):
                self.sync(namespace, found)

    def sync(self, namespace, found):
        spec, name = found["spec"], found["metadata"]["name"]
        revision, size = digest(spec["leaderWorkerTemplate"]), spec["leaderWorkerTemplate"]["size"]
        pods = self.owned(namespace, "Pod", found)
        ready = updated = present = 0
        for index in range(spec["replicas"]):
            group = [pod for pod in pods if label(pod, INDEX) == str(index)]
            self.sync_group(found, f"{name}-{index}", index, group, revision)
            alive, good, new = split(group, revision)
            present += bool(alive)
            ready += len(good) == size
            updated += len(new) == size
        for pod in pods:
            if int(label(pod, INDEX)) >= spec["replicas"]:
                self.delete("Pod", pod)
        available = "True" if ready == spec["replicas"] else "False"
        condition = {"type": "Available", "status": available, "reason": "GroupsReady", "message": f"{ready} groups are ready"}
        counts = {"replicas": present, "readyReplicas": ready, "updatedReplicas": updated}
        self.report("LeaderWorkerSet", found, {**counts, "conditions": [condition]})

    def templates(self, found):
        templates, metadata = copy.deepcopy(found["spec"]["leaderWorkerTemplate"]), found["metadata"]
        for template in (templates.get("leaderTemplate"), templates["workerTemplate"]):
            for container in template["spec"]["containers"] if template else ():
                if metadata["name"].endswith("-0") and (metadata["namespace"], container["image"]) in self.broken:
                    container["image"] = "runtime:missing"
        return templates

    def sync_group(self, found, name, index, group, revision):
        """The workers start when the leader exists. A changed template ends the whole group before the next begins."""
        old = [pod for pod in group if label(pod, REVISION) != revision]
        if old or any(map(is_deleting, group)):
            for pod in old:
                self.delete("Pod", pod)
            return
        templates = self.templates(found)
        present = {pod["metadata"]["name"] for pod in group}
        if name not in present:
            self.create_pod(found, name, templates.get("leaderTemplate") or templates["workerTemplate"], revision, index)
            return
        for number in range(1, templates["size"]):
            if f"{name}-{number}" not in present:
                self.create_pod(found, f"{name}-{number}", templates["workerTemplate"], revision, index)
