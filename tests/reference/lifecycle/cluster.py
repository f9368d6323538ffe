"""The API server: requests, and every object of every watched kind as watches tell of it."""

import collections
import http.client
import json
import pathlib
import sys
import threading
import time

sys.path.insert(1, str(pathlib.Path(__file__).resolve().parents[1]))

from api import Api  # noqa: E402
from kinds import CUSTOM, WHERE  # noqa: E402


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


class Watch:
    """Every object of every watched kind, and what happened to it, as watches tell."""

    def __init__(self, cluster):
        self.cluster, self.lock = cluster, threading.Lock()
        self.live, self.story, self.changed = {}, collections.defaultdict(list), collections.defaultdict(float)
        ready = []
        for kind in WHERE:
            status, got = cluster.call("GET", cluster.path(kind))
            if status == 404:
                continue
            if status != 200:
                sys.exit(f'cannot list {kind}: {got.get("message")}')
            for o in got["items"]:
                self.live[kind, o["metadata"].get("namespace"), o["metadata"]["name"]] = {**o, "kind": kind}
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
                        sys.exit(f"watch of {kind} lost its place: record again: {o}")
                    version = o["metadata"]["resourceVersion"]
                    if e["type"] != "BOOKMARK":
                        self.heard(kind, e["type"], o)
            except (OSError, http.client.HTTPException):
                time.sleep(0.2)
            finally:
                c.close()

    def heard(self, kind, what, o):
        o["kind"] = kind
        ns, name = o["metadata"].get("namespace"), o["metadata"]["name"]
        with self.lock:
            if what == "DELETED":
                self.live.pop((kind, ns, name), None)
            else:
                self.live[kind, ns, name] = o
            if kind in CUSTOM or kind == "Event":
                self.story[ns].append((kind, what, o))
            if kind != "Event":
                self.changed[ns] = time.monotonic()

    def here(self, ns, kinds=None):
        with self.lock:
            return [
                o
                for (k, n, _), o in sorted(self.live.items(), key=lambda x: (x[0][0], x[0][2]))
                if n == ns and (not kinds or k in kinds)
            ]
