"""Plays changes of objects with the controller: each change in a namespace of its own, then the way back to the base."""

import copy
import http.client
import json
import ssl
import threading
import time

from misuse_bases import NAME, claims
from operator_plane import CONTROLLER_USER, KINDS, PROVIDED, condition_of, described, difference, normalised, path_of, snapshot

QUIET_SECONDS = 1.0  # without a write in the namespace, to be at rest
TIMEOUT = 180  # some pods are only removed by the garbage collector of pods, after a minute
MAX_REFUSALS = 40  # refused writes of children while a change is held: retries back off
IDLE_SECONDS = 30  # the API server closes a connection that is idle for 90 s
PODS = 20  # the quota of a namespace: replicas may be huge
MORE_KINDS = {
    "Secret": ("/api/v1", "secrets"),
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    "DynamoCheckpoint": ("/apis/nvidia.com/v1alpha1", "dynamocheckpoints"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "PodGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "InferencePool": ("/apis/inference.networking.k8s.io/v1", "inferencepools"),
    "VirtualService": ("/apis/networking.istio.io/v1", "virtualservices"),
}
# What the controller creates again and updates; claims keep their data, and accounts are shared.
RENEWED = {"DynamoComponentDeployment", "Deployment", "Service", "ConfigMap", "Ingress", "InferencePool"}


class Requests:
    """Requests of a user on connections that are kept, one per thread."""

    def __init__(self, cluster):
        self._cluster = cluster
        self._tls = ssl.create_default_context(cafile=cluster.ca_file)
        self._of_thread = threading.local()
        self._opened = []

    def close(self):
        for one in self._opened:
            one.close()

    def send(self, method, path, body=None, content_type="application/json"):
        """(status, decoded answer)"""
        connection = getattr(self._of_thread, "connection", None)
        if connection is None:
            port = int(self._cluster.api_url.rsplit(":", 1)[1])
            connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=120, context=self._tls)
            self._of_thread.connection = connection
            self._opened.append(connection)
        elif time.monotonic() - self._of_thread.used > IDLE_SECONDS:
            connection.close()  # the next request opens it again
        self._of_thread.used = time.monotonic()
        headers = {"Authorization": f"Bearer {self._cluster.admin_token}", "Content-Type": content_type}
        connection.request(method, path, None if body is None else json.dumps(body), headers)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    def must(self, *arguments):
        status, answer = self.send(*arguments)
        if status >= 400:
            raise AssertionError(f"{arguments[:2]}: {status} {answer.get('message')}")
        return answer

    def replace(self, manifest, dry_run=False):
        """A PUT request; the manifest has the resourceVersion."""
        metadata = manifest["metadata"]
        flags = "?fieldManager=user" + ("&dryRun=All" if dry_run else "")
        return self.send("PUT", path_of(manifest["kind"], metadata["namespace"], metadata["name"]) + flags, manifest)

    def apply(self, manifest):
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata["namespace"], metadata["name"]) + "?fieldManager=user&force=true"
        return self.send("PATCH", path, manifest, "application/apply-patch+yaml")


class Writes:
    """The writes in each namespace, from the audit log. A thread reads it until stop()."""

    def __init__(self, log):
        self._log = log
        self._lock = threading.Lock()
        self._of = {}  # namespace -> entries of the controller
        self._last = {}  # namespace -> time of the last successful write of anybody
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def of_controller(self, namespace, first=0):
        with self._lock:
            return self._of.get(namespace, [])[first:]

    def last(self, namespace):
        with self._lock:
            return self._last.get(namespace, 0)

    def _follow(self):
        with open(self._log, encoding="utf-8") as log:
            part = ""
            while not self._stopped.wait(0.1):
                *lines, part = (part + log.read()).split("\n")
                for line in lines:
                    self._take(json.loads(line))

    def _take(self, entry):
        about = entry.get("objectRef", {})
        namespace = about.get("namespace")
        if namespace is None or about.get("resource") == "leases" or "dryRun" in entry["requestURI"]:
            return
        with self._lock:
            if entry["responseStatus"]["code"] < 300:
                self._last[namespace] = time.monotonic()
            if entry["user"]["username"] == CONTROLLER_USER:
                self._of.setdefault(namespace, []).append(entry)


def failed(entry):
    """Whether the API server refused a write. Conflicts and objects that are gone are no refusals."""
    return entry["responseStatus"]["code"] >= 400 and entry["responseStatus"]["code"] not in (404, 409)


def ready_condition(found):
    return condition_of(found, "Ready" if found["kind"] == "DynamoGraphDeployment" else "Available") or None


def is_observed(found):
    return found.get("status", {}).get("observedGeneration") == found["metadata"]["generation"]


def is_judged(found):
    """Whether a condition describes the spec. After a failure the rest of the status may describe the last success."""
    condition = ready_condition(found)
    return condition is not None and condition.get("observedGeneration") == found["metadata"]["generation"]


def is_up(found):
    return is_judged(found) and is_observed(found) and ready_condition(found)["status"] == "True"


# The digests of defaulted values change with values that significant() ignores.
DIGESTS = "nvidia.com/dynamo-defaulted"


def significant(value):
    """The value without empty members: absent or empty means the same, and server-side apply may keep empty ones."""
    if isinstance(value, dict):
        found = {name: significant(member) for name, member in value.items() if name != DIGESTS}
        return {name: member for name, member in found.items() if member not in (None, "", [], {}, False, 0)}
    return [significant(one) for one in value] if isinstance(value, list) else value


class Slot:
    """A namespace with one base object. `how`: "apply" or "replace"."""

    def __init__(self, requests, writes, base, namespace, how):
        self.requests, self.writes, self.namespace, self.how = requests, writes, namespace, how
        self.base = copy.deepcopy(base)
        self.base["metadata"] = {"name": NAME, "namespace": namespace}
        self.renewed = False
        self.path = path_of(base["kind"], namespace, NAME)
        self.expected = None

    def create(self):
        requests = self.requests
        requests.must("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})
        quota = {"metadata": {"name": "pods"}, "spec": {"hard": {"pods": str(PODS)}}}
        requests.must("POST", f"/api/v1/namespaces/{self.namespace}/resourcequotas", quota)
        for one in claims(self.namespace, self.base["kind"]):
            where = "/api/v1/persistentvolumes"
            if one["kind"] == "PersistentVolumeClaim":
                where = path_of(one["kind"], self.namespace)
            requests.must("POST", where, one)
        status, answer = requests.apply(self.base) if self.how == "apply" else self.create_by_post()
        if status >= 400:
            raise AssertionError(f"the base is refused: {answer.get('message')}")
        self.rest(is_up, "the base is ready")
        self.expected, self.expected_without_hash = self.children(), self.children_without_hash()

    def create_by_post(self):
        return self.requests.send("POST", path_of(self.base["kind"], self.namespace) + "?fieldManager=user", self.base)

    def write(self, manifest):
        """(status, answer)"""
        if self.how == "apply":
            return self.requests.apply(manifest)
        while True:
            live = self.requests.must("GET", self.path)
            put = {**manifest, "metadata": {**live["metadata"], **manifest["metadata"]}}
            status, answer = self.requests.replace(put)
            if status != 409:
                return status, answer

    def play(self, changed, hold, renew=False):
        """Applies the changed manifest, holds it for `hold` seconds of rest, and goes back. With `renew` the children are also
        compared with new ones. Returns (refusal, problems, seconds until rest); refusal is an answer or None."""
        first = len(self.writes.of_controller(self.namespace))
        began = time.monotonic()
        status, answer = self.write(changed)
        if status >= 400:
            return answer, [], 0
        problems = []
        try:
            found = self.rest(is_judged, "the changed object comes to rest", hold)
            took = time.monotonic() - began
            problems += self.untruths(found, first)
            if renew and not problems and is_up(found):
                self.renew()
        except AssertionError as error:
            problems.append(str(error))
            took = TIMEOUT
        status, answer = self.write(self.base)
        if status >= 400:
            return None, [*problems, f"the way back is refused: {answer.get('message')}"], took
        try:
            self.rest(lambda found: is_up(found) and self.is_back(), "the way back leads back")
        except AssertionError as error:
            problems.append(f"{error}\n{difference(self.expected, self.children())}")
        return None, problems, took

    def is_back(self):
        """Workers that were created again keep the hash of the change if the change does not alter them (ctl-Q31)."""
        if self.renewed:
            return self.children_without_hash() == self.expected_without_hash
        return self.children() == self.expected

    def renew(self):
        """Deletes the children. The controller creates the same again, so its updates have left nothing behind. Only the worker
        hash may differ: it stays while workers run whose content has not changed (ctl-Q31)."""
        before = self.children_without_hash()
        self.renewed = True
        for found in self.objects():
            owned = any(owner.get("controller") for owner in found["metadata"].get("ownerReferences", []))
            if found["kind"] in RENEWED and owned:
                base, plural = {**KINDS, **MORE_KINDS}[found["kind"]]
                path = f"{base}/namespaces/{self.namespace}/{plural}/{found['metadata']['name']}"
                self.requests.send("DELETE", path, {"propagationPolicy": "Background"})
        try:
            self.rest(lambda found: is_up(found) and self.children_without_hash() == before, "the children are created again")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{difference(before, self.children_without_hash())}") from None

    def children_without_hash(self):
        annotations = self.requests.must("GET", self.path)["metadata"].get("annotations", {})
        hash_of_workers = annotations.get("nvidia.com/current-worker-hash") or "no worker hash"
        return json.loads(json.dumps(self.children()).replace(hash_of_workers, "HASH"))

    def rest(self, condition, what, seconds=QUIET_SECONDS):
        """Waits until nobody writes for a moment, the controller not for `seconds`, and the condition holds."""
        deadline = time.monotonic() + TIMEOUT
        count, since = len(self.writes.of_controller(self.namespace)), time.monotonic()
        while True:
            time.sleep(0.2)
            accepted = [one for one in self.writes.of_controller(self.namespace) if not failed(one)]
            if len(accepted) != count:
                count, since = len(accepted), time.monotonic()
            now = time.monotonic()
            calm = now - since >= seconds
            # Others may write for ever, for example if pods are refused.
            if calm and (now - self.writes.last(self.namespace) >= QUIET_SECONDS or now - since > 5 * QUIET_SECONDS):
                found = self.requests.must("GET", self.path)
                if condition(found):
                    return found
            if now > deadline:
                found = self.requests.must("GET", self.path)
                lines = [described(one) for one in self.writes.of_controller(self.namespace)[-12:]]
                state = json.dumps(found.get("status"))[:1500]
                raise AssertionError("\n".join([f"not within {TIMEOUT} s: {what}", state, "last writes:", *lines]))

    def untruths(self, found, first):
        """What the status of the object at rest conceals. `first`: the number of writes before the change."""
        condition = ready_condition(found)
        problems = []
        if not condition.get("reason") or not condition.get("message"):
            problems.append(f"a condition without reason or message: {condition}")
        entries = [one for one in self.writes.of_controller(self.namespace, first) if one["objectRef"]["resource"] != "events"]
        refusals = [one for one in entries if failed(one)]
        if len(refusals) > MAX_REFUSALS:
            problems.append(f"{len(refusals)} refused writes")
        latest = {json.dumps(one["objectRef"].get("resource")) + one["objectRef"].get("name", ""): one for one in entries}
        for one in latest.values():
            if failed(one) and (condition["status"] == "True" or one["objectRef"].get("name", "") not in condition["message"]):
                problems.append(f"refused, but the condition is {condition}: {described(one)}")
        if condition["status"] == "True":
            problems += [f"ready, but {one}" for one in self.unready()]
        return problems

    def unready(self):
        lines = []
        for found in self.objects():
            if found["kind"] == "LeaderWorkerSet":
                lines.append("nothing runs a LeaderWorkerSet here")
            if found["kind"] != "Deployment":
                continue
            wanted, status = found["spec"]["replicas"], found.get("status", {})
            counts = [status.get(name, 0) for name in ("replicas", "updatedReplicas", "availableReplicas")]
            if not is_observed(found) or counts != [wanted] * 3:
                lines.append(f"Deployment {found['metadata']['name']} has {counts} of {wanted} replicas")
        return lines

    def objects(self):
        found = []
        for kind, (base, plural) in {**KINDS, **MORE_KINDS}.items():
            status, answer = self.requests.send("GET", f"{base}/namespaces/{self.namespace}/{plural}")
            items = answer["items"] if status == 200 else []
            found += [{**one, "kind": kind} for one in items if (kind, one["metadata"]["name"]) not in PROVIDED]
        return found

    @staticmethod
    def forget_binding(claim):
        """The volume controller binds a claim at any time."""
        claim["spec"].pop("volumeName", None)
        annotations = claim["metadata"].get("annotations", {})
        for name in [name for name in annotations if name.startswith("pv.kubernetes.io/")]:
            del annotations[name]

    def children(self):
        """The content of all objects without statuses; pods as numbers."""
        found = snapshot(one for one in self.objects() if one["kind"] != "ReplicaSet")
        for one in found.values():
            if isinstance(one, dict):  # pods are numbers
                one.pop("status", None)
                if one["kind"] == "PersistentVolumeClaim":
                    self.forget_binding(one)
        return significant(normalised(found))
