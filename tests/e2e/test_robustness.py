"""Failures of parts: the API server restarts with many stored requests, and the webhook crashes."""

import concurrent.futures
import json
import pathlib
import random
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from requests import ALPHA, BETA, PLURAL, ApiError, beta, holds, rich_alpha, rich_beta, start_cluster, unique  # noqa: E402

STORED = 2000

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


def path(namespace, version, name=""):
    return f"/apis/nvidia.com/{version}/namespaces/{namespace}/{PLURAL}" + (f"/{name}" if name else "")


def is_away(error):
    """Whether the error is expected while the API server stops (it cuts off watches), is down or fills its caches: no answer,
    429 or 503. A failed conversion would be a 500, a slow one no answer within a minute."""
    if isinstance(error, ApiError):
        return error.status in (429, 503) and "webhook" not in str(error)
    return isinstance(error, OSError) and not isinstance(error, TimeoutError)


class Reader(threading.Thread):
    """Reads in v1alpha1 in one of three ways until it is stopped. Every object must be unchanged. `errors` has (time,
    exception) of failed reads."""

    def __init__(self, way, namespace, before):
        super().__init__(daemon=True)
        self.read = {"list": self._list, "get": self._get, "watch": self._watch}[way]
        self.way = way
        self.path = path(namespace, "v1alpha1")
        self.before = before
        self.finished = []  # end of each complete read
        self.errors = []
        self.wrong = []
        self._stop_asked = threading.Event()

    def run(self):
        while not self._stop_asked.is_set():
            try:
                items = self.read()
            except (ApiError, OSError, ValueError) as error:
                self.errors.append((time.monotonic(), error))
                self._stop_asked.wait(0.05)
                continue
            self.finished.append(time.monotonic())
            self.wrong += [item for item in items if item != self.before.get(item["metadata"]["name"])][:3]

    def finish(self):
        self._stop_asked.set()
        self.join(90)

    def _list(self):
        items = listed(self.path)
        if len(items) != len(self.before):
            self.wrong.append(f"a list of {len(items)}")
        return items

    def _get(self):
        return [cluster.plane.api("GET", f"{self.path}/{random.choice(list(self.before))}", timeout=60)]

    def _watch(self):
        text = cluster.plane.api("GET", f"{self.path}?watch=1&timeoutSeconds=3", timeout=60)
        if isinstance(text, dict):
            text = json.dumps(text)  # a single event
        events = [json.loads(line) for line in text.splitlines()]
        if any(event["type"] == "ERROR" for event in events):
            raise ValueError(f"watch: {events[-1]}")
        return [event["object"] for event in events]


def listed(where):
    """The items of a list, each with the apiVersion and kind of a single read."""
    answer = cluster.plane.api("GET", where, timeout=60)
    kind = {"apiVersion": answer["apiVersion"], "kind": answer["kind"].removesuffix("List")}
    return [{**item, **kind} for item in answer["items"]]


class ApiServerRestart(unittest.TestCase):
    def test_every_request_is_readable_in_the_other_version_after_a_restart(self):
        ns = cluster.namespace()
        requests = [rich_alpha(f"s-{i}") if i % 2 else rich_beta(f"s-{i}") for i in range(STORED)]

        def store(request):
            cluster.plane.api("POST", path(ns.name, request["apiVersion"].split("/")[1]), request)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(store, requests))
        before = {version: self.by_name(ns, version) for version in ("v1alpha1", "v1beta1")}
        for request in requests:
            view = before[request["apiVersion"].split("/")[1]][request["metadata"]["name"]]
            self.assertTrue(holds(view["spec"], request["spec"]), view)

        readers = [Reader(way, ns.name, before["v1alpha1"]) for way in ("list", "get", "watch")]
        for reader in readers:
            reader.start()
        for reader in readers:
            cluster.plane.wait(lambda reader=reader: reader.finished, 60, f"a {reader.way} before the restart")
        went = time.monotonic()
        cluster.plane.restart_apiserver()
        ready = time.monotonic()
        for reader in readers:
            cluster.plane.wait(lambda reader=reader: reader.finished[-1] > ready, 60, f"a {reader.way} in v1alpha1")
        for reader in readers:
            reader.finish()
        for reader in readers:
            with self.subTest(reader.way):
                self.assertEqual(reader.wrong, [])
                back = min(when for when in reader.finished if when > ready)
                self.assertEqual([repr(error) for when, error in reader.errors
                                  if not went < when < back or not is_away(error)], [])
                print(f"{reader.way}: {STORED} requests, first answer {back - ready:.1f} s after the API server was "
                      f"ready, {len(reader.finished)} reads right, {len(reader.errors)} failed while it was down")
        for version, objects in before.items():
            self.assertEqual(self.by_name(ns, version), objects)

    @staticmethod
    def by_name(ns, version):
        items = {item["metadata"]["name"]: item for item in listed(path(ns.name, version))}
        assert len(items) == STORED, len(items)
        return items


class WebhookAway(unittest.TestCase):
    def test_crash_and_return(self):
        ns = cluster.namespace()
        name = unique()
        request = beta(name)
        request["metadata"]["finalizers"] = ["nvidia.com/test"]
        ns.create(request)
        cluster.webhook.kill()
        try:
            done = ns.kubectl("create", "-f", "-", input=beta())
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("failed calling webhook", done.stderr)
            self.assertEqual(ns.get(name)["metadata"]["name"], name)
            self.assertNotEqual(ns.kubectl("get", ALPHA, name).returncode, 0)
            # Writes that need no validation succeed: status, and removing a finalizer.
            ns.set_status(name, {"phase": "Pending"})
            self.assertEqual(ns.kubectl("delete", "--wait=false", BETA, name).returncode, 0)
            self.assertEqual(ns.patch(name, {"metadata": {"finalizers": None}}).returncode, 0)
        finally:
            cluster.webhook.start(cluster.port)
        again = unique()
        ns.create(beta(again))
        self.assertEqual(ns.get(again, ALPHA)["metadata"]["name"], again)


if __name__ == "__main__":
    unittest.main()
