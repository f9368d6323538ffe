"""The API server: requests, and every object of every watched kind as watches tell of it."""

import base64
import collections
import http.client
import json
import ssl
import sys
import tempfile
import threading
import time
import urllib.parse

import yaml

from kinds import CUSTOM, WHERE


class Cluster:
    def __init__(self, kubeconfig):
        config = yaml.safe_load(open(kubeconfig))

        def pick(what, name):
            return next(x for x in config[what + "s"] if x["name"] == name)[what]

        context = pick("context", config["current-context"])
        cluster, user = pick("cluster", context["cluster"]), pick("user", context["user"])
        url = urllib.parse.urlsplit(cluster["server"])
        self.host, self.port = url.hostname, url.port or 443
        self.tls = ssl.create_default_context()

        def file(key, of):  # inline data to a file
            if of.get(key + "-data"):
                f = tempfile.NamedTemporaryFile(delete=False)
                f.write(base64.b64decode(of[key + "-data"]))
                f.close()
                return f.name
            return of.get(key)

        if cluster.get("insecure-skip-tls-verify"):
            self.tls.check_hostname, self.tls.verify_mode = False, ssl.CERT_NONE
        elif file("certificate-authority", cluster):
            self.tls.load_verify_locations(file("certificate-authority", cluster))
        if file("client-certificate", user):
            self.tls.load_cert_chain(file("client-certificate", user), file("client-key", user))
        self.headers = {"Authorization": "Bearer " + user["token"]} if user.get("token") else {}
        self.local = threading.local()

    def connect(self, timeout=30):
        return http.client.HTTPSConnection(self.host, self.port, context=self.tls, timeout=timeout)

    def call(self, method, path, body=None, kind="application/json"):
        for attempt in (1, 2):
            if not getattr(self.local, "c", None):
                self.local.c = self.connect()
            try:
                self.local.c.request(
                    method, path, json.dumps(body) if body is not None else None, {**self.headers, "Content-Type": kind}
                )
                r = self.local.c.getresponse()
                text = r.read()
                return r.status, json.loads(text) if text else {}
            except (OSError, http.client.HTTPException):
                self.local.c = None
                if attempt == 2:
                    raise

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
