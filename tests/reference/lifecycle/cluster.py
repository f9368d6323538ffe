"""The API server: requests, and watches of all objects of the watched kinds."""

import collections
import http.client
import json
import pathlib
import sys
import threading
import time
import urllib.request

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

from api import Api  # noqa: E402
from kinds import CUSTOM, WHERE, is_of_operator  # noqa: E402


class Cluster(Api):
    @staticmethod
    def path(kind, ns=None, name=None, sub=None):
        base, plural = (
            WHERE[kind] if kind in WHERE else {"Namespace": ("/api/v1", "namespaces"), "Node": ("/api/v1", "nodes")}[kind]
        )
        return (
            base
            + (f"/namespaces/{ns}" if ns else "")
            + f"/{plural}"
            + (f"/{name}" if name else "")
            + (f"/{sub}" if sub else "")
        )


class Operator:
    """The queues of an operator, from its metrics, which have the names of controller-runtime."""

    BUSY = ("workqueue_depth", "controller_runtime_active_workers")

    def __init__(self, url):
        self.url = url

    def is_idle(self):
        """Whether the operator reconciles nothing at this moment. Without metrics this is not known, and true."""
        if self.url is None:
            return True
        with urllib.request.urlopen(self.url, timeout=30) as answer:
            lines = answer.read().decode().splitlines()
        values = [float(line.split()[-1]) for line in lines if line.startswith(self.BUSY)]
        if not values:
            raise RuntimeError(f"{self.url} has no metrics of queues")
        return not any(values)


def version_of(o):
    return int(o["metadata"]["resourceVersion"])


class Watch:
    """All objects of the watched kinds and their watch events."""

    def __init__(self, cluster):
        self.cluster, self.lock = cluster, threading.Lock()
        self.live = collections.defaultdict(dict)  # namespace -> (kind, name) -> object
        self.story, self.changes = collections.defaultdict(list), collections.Counter()
        self.delivered = collections.Counter()  # kind -> resourceVersion up to which its events have arrived
        self.broken = None  # why the watch has missed events
        ready = []
        for kind in WHERE:
            status, got = cluster.call("GET", cluster.path(kind))
            if status == 404:
                continue
            if status != 200:
                sys.exit(f'cannot list {kind}: {got.get("message")}')
            for o in got["items"]:
                self.live[o["metadata"].get("namespace")][kind, o["metadata"]["name"]] = {**o, "kind": kind}
            ready.append((kind, got["metadata"]["resourceVersion"]))
        self.kinds = [k for k, _ in ready]
        for kind, version in ready:
            threading.Thread(target=self.follow, args=(kind, version), daemon=True).start()

    def follow(self, kind, version):
        while True:
            c = self.cluster.connect(timeout=None)
            try:
                c.request(
                    "GET",
                    self.cluster.path(kind) + f"?watch=1&allowWatchBookmarks=true&resourceVersion={version}",
                    headers=self.cluster.headers,
                )
                r = c.getresponse()
                if r.status != 200:
                    raise OSError(r.status)
                for line in iter(r.readline, b""):
                    e = json.loads(line)
                    o = e["object"]
                    if e["type"] == "ERROR":
                        self.broken = f"the watch of {kind} was interrupted, record again: {o}"
                        return
                    version = o["metadata"]["resourceVersion"]
                    if e["type"] != "BOOKMARK":
                        self.heard(kind, e["type"], o)
                    self.delivered[kind] = int(version)
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
            finally:
                c.close()

    def heard(self, kind, what, o):
        o["kind"] = kind
        ns, name = o["metadata"].get("namespace"), o["metadata"]["name"]
        with self.lock:
            if what == "DELETED":
                self.live[ns].pop((kind, name), None)
            else:
                self.live[ns][kind, name] = o
            if kind in CUSTOM or kind == "Event":
                self.story[ns].append((kind, what, o))
            if kind != "Event" or is_of_operator(o):
                self.changes[ns] += 1

    def is_current(self, ns, kinds):
        """Whether the watch has delivered all present versions of the objects of these kinds."""
        for kind in (kind for kind in kinds if kind in self.kinds):
            status, got = self.cluster.call("GET", self.cluster.path(kind, ns))
            versions = {item["metadata"]["name"]: version_of(item) for item in got["items"]} if status == 200 else None
            if versions != {item["metadata"]["name"]: version_of(item) for item in self.here(ns, [kind])}:
                return False
        return True

    def answered(self, kind, o):
        """Stores the answer to a write of this program, unless the watch has delivered a newer state."""
        key = kind, o["metadata"]["name"]
        with self.lock:
            known = self.live[o["metadata"]["namespace"]]
            if key in known and version_of(known[key]) < version_of(o):
                known[key] = {**o, "kind": kind}

    def here(self, ns, kinds=None):
        if self.broken:
            raise RuntimeError(self.broken)
        with self.lock:
            return [o for (kind, _), o in sorted(self.live[ns].items()) if not kinds or kind in kinds]
