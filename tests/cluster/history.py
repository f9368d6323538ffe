"""Watches of a control plane: the live objects of every namespace, and the exact order in which they changed.

A resourceVersion is the revision of the whole etcd, so it orders the changes of all kinds. Every change between two states is
in the history, however short it was: no state is missed, as it is when objects are polled."""

import collections
import contextlib
import http.client
import json
import socket
import threading
import time

from api import Api
from operator_plane import KINDS

GROVE = "/apis/grove.io/v1alpha1"
EVERY_KIND = {
    **KINDS,
    "Event": ("/api/v1", "events"),
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "PodGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "PodCliqueSet": (GROVE, "podcliquesets"),
    "PodClique": (GROVE, "podcliques"),
    "PodCliqueScalingGroup": (GROVE, "podcliquescalinggroups"),
}

Change = collections.namedtuple("Change", "version type kind object")


def path_of(kind, namespace=None, name=None, subresource=None):
    base, plural = EVERY_KIND[kind]
    parts = [base, f"namespaces/{namespace}" if namespace else None, plural, name, subresource]
    return "/".join(part for part in parts if part)


def version_of(item):
    return int(item["metadata"]["resourceVersion"])


class History:
    """One watch for each of the kinds. `api` may be used by every thread."""

    def __init__(self, kubeconfig, kinds=EVERY_KIND):
        self.api = Api(kubeconfig)
        self.changed = threading.Condition()
        self.broken = None  # the error that ended a watch
        self._live = collections.defaultdict(dict)
        self._changes = collections.defaultdict(list)
        self._counts = collections.Counter()
        self._deleted = set()  # uids
        self._stopped = False
        self._connections, self._threads = [], []
        for kind in kinds:
            got = self._list(kind)
            for item in got["items"]:
                self.put(kind, item)
            start = (kind, got["metadata"]["resourceVersion"])
            self._threads.append(threading.Thread(target=self._follow, args=start, daemon=True))
            self._threads[-1].start()

    def stop(self):
        """Ends the watches. The control plane must still run."""
        self._stopped = True
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)

    def _list(self, kind):
        deadline = time.monotonic() + 60
        while True:
            status, got = self.api.call("GET", path_of(kind))
            if status == 200:
                return got
            if status != 429 or time.monotonic() > deadline:  # 429: the storage of a new CRD starts
                raise RuntimeError(f"cannot list {kind}: {got}")
            time.sleep(0.2)

    def _follow(self, kind, version):
        connection = self.api.connect(timeout=None)
        self._connections.append(connection)
        try:
            path = f"{path_of(kind)}?watch=1&resourceVersion={version}&timeoutSeconds=3600"
            connection.request("GET", path, headers=self.api.headers)
            answer = connection.getresponse()
            for line in iter(answer.readline, b""):
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise OSError(f"the watch of {kind} failed: {event['object']}")
                self.put(kind, event["object"], event["type"])
            raise OSError(f"the watch of {kind} ended")
        except (OSError, ValueError, AttributeError, http.client.HTTPException) as error:
            if not self._stopped:
                with self.changed:
                    self.broken = error
                    self.changed.notify_all()
        finally:
            connection.close()

    def put(self, kind, item, what=None):
        """Records a change that a watch reports. Without `what`: an answer to a write, which only changes the live objects."""
        namespace, name = item["metadata"].get("namespace"), item["metadata"]["name"]
        item = {**item, "kind": kind}
        with self.changed:
            if what is not None:
                self._changes[namespace].append(Change(version_of(item), what, kind, item))
            elif item["metadata"]["uid"] in self._deleted:
                return  # the object was deleted before the answer arrived
            if what == "DELETED":
                self._deleted.add(item["metadata"]["uid"])
            live = self._live[namespace, kind]
            if name not in live or version_of(live[name]) <= version_of(item):
                if what == "DELETED":
                    live.pop(name, None)
                else:
                    live[name] = item
            self._counts[namespace] += 1
            self.changed.notify_all()

    def touch(self, namespace):
        """Makes those who follow `counts` look at the namespace again."""
        with self.changed:
            self._counts[namespace] += 1
            self.changed.notify_all()

    def counts(self):
        """namespace -> number of its changes so far."""
        with self.changed:
            return dict(self._counts)

    def all(self, namespace, kind):
        with self.changed:
            return [item for _, item in sorted(self._live[namespace, kind].items())]

    def get(self, namespace, kind, name):
        with self.changed:
            return self._live[namespace, kind].get(name)

    def now(self, namespace):
        """A version after which later changes of the namespace come."""
        with self.changed:
            return max((change.version for change in self._changes[namespace]), default=0)

    def changes(self, namespace):
        """All changes of the namespace in their order. They are complete up to this moment."""
        self._catch_up(namespace, ("Pod", "DynamoGraphDeployment", "DynamoComponentDeployment"))
        return self.reported(namespace)

    def reported(self, namespace):
        """The changes of the namespace that the watches have reported so far, in their order."""
        with self.changed:
            return sorted(self._changes[namespace], key=lambda change: change.version)

    def _catch_up(self, namespace, kinds):
        """Waits until the watches have reported what a list shows."""
        for kind in kinds:
            listed = self.api.call("GET", path_of(kind, namespace))[1]["items"]
            for item in listed:
                uid, version = item["metadata"]["uid"], version_of(item)
                self.wait(lambda: self._has(namespace, uid, version), 30, f"the watch reports {kind} {version}")

    def _has(self, namespace, uid, version):
        return any(one.object["metadata"]["uid"] == uid and one.version >= version for one in self._changes[namespace])

    def wait(self, condition, seconds, what):
        """Calls `condition` after every change until its result is true, and returns the result. `what` may be a function."""
        deadline = time.monotonic() + seconds
        with self.changed:
            while True:
                if self.broken:
                    raise self.broken
                if value := condition():
                    return value
                if (left := deadline - time.monotonic()) <= 0:
                    raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
                self.changed.wait(min(left, 1))


def is_deleting(item):
    return "deletionTimestamp" in item["metadata"]


def is_pod_ready(pod):
    conditions = pod.get("status", {}).get("conditions", [])
    return not is_deleting(pod) and any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def replay(changes):
    """Yields each change with the objects that exist after it, as (kind, uid) -> object."""
    live = {}
    for change in changes:
        key = change.kind, change.object["metadata"]["uid"]
        if change.type == "DELETED":
            live.pop(key, None)
        else:
            live[key] = change.object
        yield change, live


def orphans(changes):
    """The uids of pods that were created after an object that owns them was deleted. Garbage collection deletes these pods."""
    owners, ended, found = {}, set(), set()

    def has_ended(uid):
        return uid in ended or any(map(has_ended, owners.get(uid, ())))

    for change in changes:
        uid = change.object["metadata"]["uid"]
        owners[uid] = [one["uid"] for one in change.object["metadata"].get("ownerReferences", ())]
        if change.kind == "Pod" and change.type == "ADDED" and any(map(has_ended, owners[uid])):
            found.add(uid)
        if change.type == "DELETED" or is_deleting(change.object):
            ended.add(uid)
    return found
