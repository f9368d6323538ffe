"""What happens to the pods of a namespace, and when: conditions, ends, addresses in EndpointSlices, discovery objects, state
of the graph and of models. Beside the requests that failed this shows the cause."""

import http.client
import json
import ssl
import threading
import time

WATCHED = {
    "pods": "/api/v1/namespaces/{}/pods",
    "endpointslices": "/apis/discovery.k8s.io/v1/namespaces/{}/endpointslices",
    "dynamographdeployments": "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamographdeployments",
    "dynamoworkermetadatas": "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamoworkermetadatas",
    "dynamomodels": "/apis/nvidia.com/v1alpha1/namespaces/{}/dynamomodels",
}
TIMEOUT = 600


def describe_pod(pod):
    """The members of a pod that decide whether it gets requests."""
    status = pod.get("status", {})
    words = [status.get("phase", "?")]
    conditions = {one["type"]: one["status"] for one in status.get("conditions", [])}
    words.append("ready" if conditions.get("Ready") == "True" else "not ready")
    for one in status.get("containerStatuses", []):
        state = next(iter(one.get("state", {}).items()), ("?", {}))
        if state[0] != "running":
            detail = state[1].get("reason", "")
            code = f" {state[1]['exitCode']}" if "exitCode" in state[1] else ""
            words.append(f"{state[0]} {detail}{code}".strip())
        elif not one.get("started"):
            words.append("not started")
        if one.get("restartCount"):
            words.append(f"restarts {one['restartCount']}")
    if "deletionTimestamp" in pod["metadata"]:
        words.append("terminating")
    return ", ".join(words)


def describe_slice(found):
    """The endpoints of a slice and their conditions."""
    words = []
    for endpoint in found.get("endpoints") or []:
        conditions = endpoint.get("conditions", {})
        state = "ready" if conditions.get("ready") else "serving" if conditions.get("serving") else "not ready"
        if conditions.get("terminating"):
            state += ", terminating"
        words.append(f"{(endpoint.get('targetRef') or {}).get('name', endpoint['addresses'][0])} {state}")
    return "; ".join(sorted(words)) or "no endpoints"


def describe_graph(found):
    status = found.get("status", {})
    ready = next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {})
    phases = [f"{name} {status[name].get('phase')}" for name in ("rollingUpdate", "restart") if status.get(name)]
    return ", ".join([f"Ready={ready.get('status')} {ready.get('reason', '')}".strip(), *phases])


def describe_model(found):
    status = found.get("status", {})
    ready = next((one for one in status.get("conditions", []) if one["type"] == "EndpointsReady"), {})
    return f"{status.get('readyEndpoints')} of {status.get('totalEndpoints')} {ready.get('reason')}: {ready.get('message')}"


DESCRIBE = {
    "pods": describe_pod,
    "endpointslices": describe_slice,
    "dynamographdeployments": describe_graph,
    "dynamoworkermetadatas": lambda found: "exists",
    "dynamomodels": describe_model,
}


def clock(seconds):
    return time.strftime("%H:%M:%S", time.gmtime(seconds)) + f".{int(seconds % 1 * 10)}"


class Timeline:
    """Watches a namespace from start() to stop(). `entries`: (time in seconds since the epoch, kind, name, text). The logs of
    all containers are written to the folder `logs` as <pod>.<container>.<restarts>.log while they run."""

    def __init__(self, cluster, namespace, logs):
        self.entries = []
        self.logs = logs
        self._cluster = cluster
        self._namespace = namespace
        self._last = {}
        self._followed = set()
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._watch, args=[kind], daemon=True) for kind in WATCHED]

    def start(self):
        self.logs.mkdir(parents=True, exist_ok=True)
        for one in self._threads:
            one.start()

    def stop(self):
        self._end.set()

    def between(self, begin, end):
        return sorted(entry for entry in self.entries if begin <= entry[0] < end)

    def changes_of_pods(self, prefix, begin, end):
        """What pods whose names begin with `prefix` reported in this time. Pods that stay as they are report nothing."""
        return [entry for entry in self.between(begin, end) if entry[1] == "pods" and entry[2].startswith(prefix)]

    def _open(self, path):
        tls = ssl.create_default_context(cafile=self._cluster.ca_file)
        address = self._cluster.api_url.removeprefix("https://")
        connection = http.client.HTTPSConnection(address, context=tls, timeout=TIMEOUT)
        connection.request("GET", path, headers={"Authorization": f"Bearer {self._cluster.admin_token}"})
        return connection, connection.getresponse()

    def _watch(self, kind):
        """Lists and watches. Deletions while a watch is broken are found by comparison with the list."""
        path = WATCHED[kind].format(self._namespace)
        while not self._end.is_set():
            try:
                listed = self._cluster.api("GET", path)
                names = {one["metadata"]["name"] for one in listed["items"]}
                for known, name in [key for key in self._last if key[0] == kind and key[1] not in names]:
                    self._note(known, name, None)
                for one in listed["items"]:
                    self._note(kind, one["metadata"]["name"], one)
                version = listed["metadata"]["resourceVersion"]
                connection, response = self._open(f"{path}?watch=true&resourceVersion={version}")
                while line := response.readline():
                    event = json.loads(line)
                    found = event["object"]
                    if event["type"] == "ERROR":
                        break
                    self._note(kind, found["metadata"]["name"], None if event["type"] == "DELETED" else found)
                connection.close()
            except Exception:  # noqa: BLE001  (the API server may be restarted at any time)
                self._end.wait(0.2)

    def _note(self, kind, name, found):
        text = "gone" if found is None else DESCRIBE[kind](found)
        if kind == "dynamographdeployments" and found is not None:
            text += f", generation {found['metadata']['generation']} seen {found.get('status', {}).get('observedGeneration')}"
        if self._last.get((kind, name)) != text:
            self.entries.append((time.time(), kind, name, text))
        if found is None:
            self._last.pop((kind, name), None)
            return
        self._last[kind, name] = text
        if kind == "pods":
            for one in found.get("status", {}).get("containerStatuses", []):
                key = (name, one["name"], one.get("restartCount", 0))
                if "running" in one.get("state", {}) and key not in self._followed:
                    self._followed.add(key)
                    threading.Thread(target=self._follow, args=key, daemon=True).start()

    def _follow(self, pod, container, restarts):
        path = f"/api/v1/namespaces/{self._namespace}/pods/{pod}/log?follow=true&timestamps=true&container={container}"
        try:
            connection, response = self._open(path)
            with open(self.logs / f"{pod}.{container}.{restarts}.log", "wb") as file:
                while data := response.read1(1 << 16):
                    file.write(data)
                    file.flush()
            connection.close()
        except (OSError, http.client.HTTPException):
            pass
