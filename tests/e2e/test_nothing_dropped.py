"""No request is dropped while certificates rotate and webhooks are replaced. One test uses plain clients with kept and with
fresh connections, the other a real API server while manifests are applied.

DYNAMO_REQUESTS is the number of requests of each test.
"""

import concurrent.futures
import contextlib
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests/bench")]

import reviews  # noqa: E402
from requests import PLURAL, Cluster, Webhook, alpha, beta, unique  # noqa: E402

LOADER = ROOT / "build/release/bin/bench_loader"
GRAPH = ROOT / "deploy/samples/graph.yaml"
REQUESTS = int(os.environ.get("DYNAMO_REQUESTS", "20000"))
ROTATIONS = 20
REPLACED_AFTER = (6, 13)  # rotations after which another process takes over
SHUTDOWN_DELAY = "2s"
# Requests per second that two cores can answer beside the other load of the test.
RATE = 800 if REQUESTS <= 20000 else 1500
# Loads of plain clients: (name, path, connections, fresh, share of the requests).
LOADS = (("admission, kept", reviews.VALIDATE_PATH, 16, False, 0.4), ("admission, fresh", reviews.MUTATE_PATH, 4, True, 0.1),
         ("conversion, kept", reviews.CONVERT_PATH, 16, False, 0.4), ("conversion, fresh", reviews.CONVERT_PATH, 4, True, 0.1))
BATCHES = 5
WRITERS = 6
CALLED = re.compile(r"^apiserver_(?:admission_webhook_admission|crd_conversion_webhook)_duration_seconds_count\{(.*)\} (\d+)$", re.M)
BROKEN = re.compile(r'^(?:apiserver_admission_webhook_(?:fail_open|rejection)_count\{.*error_type="calling_webhook_error".*|'
                    r'apiserver_crd_conversion_webhook_duration_seconds_count\{.*failure_type="(?!").*) (\d+)$', re.M)


MIGRATE = pathlib.Path("/proc/sys/net/ipv4/tcp_migrate_req")


@contextlib.contextmanager
def migrated_connections():
    """A listener that closes passes its connections that no process has accepted to another listener of the port. Without this
    setting of the kernel, they are reset: no server can prevent that. In a cluster, a Service sends no new connections to a pod
    that is stopping, so no two processes share a port."""
    before = MIGRATE.read_text(encoding="ascii")
    MIGRATE.write_text("1", encoding="ascii")
    try:
        yield
    finally:
        MIGRATE.write_text(before, encoding="ascii")


class Fleet:
    """A webhook and its replacements on a shared port: a rolling update without a cluster."""

    def __init__(self, directory, first):
        self.directory, self.current, self.port = directory, first, first.port
        self.replacements = itertools.count(1)
        self.rotations = 0

    def rotate(self):
        """Writes another certificate and returns when the webhook has loaded it."""
        before = self._loaded()
        self.current.make_certificate("--force")
        deadline = time.monotonic() + 60
        while self._loaded() == before and time.monotonic() < deadline:
            time.sleep(0.02)
        self.rotations += self._loaded() > before

    def replace(self):
        folder = self.directory / f"replacement-{next(self.replacements)}"
        folder.mkdir()
        (folder / "webhook-certs").symlink_to(self.current.directory / "webhook-certs")
        successor = Webhook(folder, shutdown_delay=SHUTDOWN_DELAY)
        successor.start(self.port)
        status = self.current.stop()
        self.current = successor
        return status

    def _loaded(self):
        return self.current.log.read_text(encoding="utf-8").count('"certificate loaded"')

    def live(self, seconds):
        """Runs all rotations and replacements over at least `seconds`. Returns an error text, or an empty one."""
        began = time.monotonic()
        for done in range(1, ROTATIONS + 1):
            due = began + seconds * done / (ROTATIONS + 1)
            time.sleep(max(0, due - time.monotonic()))
            self.rotate()
            if done in REPLACED_AFTER and (status := self.replace()) != 0:
                return f"a webhook that was replaced ended with {status}"
        return "" if self.rotations == ROTATIONS else f"{self.rotations} of {ROTATIONS} certificates were loaded"


def load(port, body, path, connections, fresh, requests, rate):
    argv = [LOADER, "--port", port, "--path", path, "--body", body, "--connections", connections, "--expect", reviews.UID,
            "--requests", requests, "--rate", rate, "--seconds", 600] + (["--fresh"] if fresh else [])
    return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


class OnTheWire(unittest.TestCase):
    def test_nothing_dropped(self):
        with migrated_connections(), tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            first = Webhook(directory, shutdown_delay=SHUTDOWN_DELAY)
            first.start()
            fleet = Fleet(directory, first)
            bodies = {}
            for path, body in ((reviews.VALIDATE_PATH, reviews.admission(False)), (reviews.MUTATE_PATH, reviews.admission(False)),
                               (reviews.CONVERT_PATH, reviews.conversion("v1alpha1", False))):
                bodies[path] = directory / f"body-{len(bodies)}.json"
                bodies[path].write_bytes(body)
            total = dict.fromkeys(("answered", "opened", "closed_idle"), 0)
            with concurrent.futures.ThreadPoolExecutor(1) as pool:
                try:
                    events = pool.submit(fleet.live, 0.6 * REQUESTS / RATE)
                    while not events.done() or total["answered"] < REQUESTS:
                        self.batch(fleet.port, bodies, total)
                    self.assertEqual(events.result(), "")
                finally:
                    fleet.current.stop()
        print(f"{total['answered']} requests over {total['opened']} connections through {ROTATIONS} rotations and "
              f"{len(REPLACED_AFTER)} replacements, 0 failed; {total['closed_idle']} connections closed between requests")

    def batch(self, port, bodies, total):
        """Runs all loads in parallel."""
        count = REQUESTS / BATCHES
        loads = [load(port, bodies[path], path, connections, fresh, round(count * share), RATE * share)
                 for _, path, connections, fresh, share in LOADS]
        try:
            told = [each.communicate(timeout=300) for each in loads]
        finally:
            for each in loads:
                each.kill()
        for (name, *_), (out, err) in zip(LOADS, told):
            self.assertEqual(err, "", name)
            result = json.loads(out)
            self.assertEqual(result["error_kinds"], {}, name)
            for key in total:
                total[key] += result[key]


class Writer(threading.Thread):
    """Creates a request in one version, reads it in the other and deletes it, repeatedly until it is stopped."""

    def __init__(self, plane, namespace):
        super().__init__(daemon=True)
        self.plane, self.namespace = plane, namespace
        self.failures = []
        self.stopped = threading.Event()

    def run(self):
        for make, here, there in itertools.cycle(((alpha, "v1alpha1", "v1beta1"), (beta, "v1beta1", "v1alpha1"))):
            if self.stopped.is_set():
                return
            name = unique("w")
            base = f"/namespaces/{self.namespace}/{PLURAL}"
            for method, path, body in (("POST", f"/apis/nvidia.com/{here}{base}", make(name)),
                                       ("GET", f"/apis/nvidia.com/{there}{base}/{name}", None),
                                       ("DELETE", f"/apis/nvidia.com/{here}{base}/{name}", None)):
                try:
                    self.plane.api(method, path, body)
                except Exception as error:  # any failure counts
                    self.failures.append(f"{method} {path}: {error}")


class Applier(threading.Thread):
    """Repeats kubectl apply of a graph, each time with another number of replicas."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        self.namespace = namespace
        self.applied = 0
        self.failures = []
        self.stopped = threading.Event()

    def run(self):
        text = GRAPH.read_text(encoding="utf-8")
        while not self.stopped.is_set():
            manifest = re.sub(r"replicas: \d+", f"replicas: {self.applied % 3 + 1}", text)
            done = self.namespace.kubectl("apply", "-f", "-", input=manifest)
            self.applied += 1
            if done.returncode != 0:
                self.failures.append(done.stderr)


class ThroughTheApiServer(unittest.TestCase):
    def setUp(self):
        self.enterContext(migrated_connections())

    def test_nothing_dropped(self):
        cluster = Cluster(components=("etcd", "apiserver"))
        cluster.start()
        fleet = Fleet(cluster.plane.directory, cluster.webhook)
        try:
            self.assertEqual(fleet.replace(), 0)  # the replaced one continues to serve for a while after SIGTERM
            ns = cluster.namespace()
            clients = [*(Writer(cluster.plane, ns.name) for _ in range(WRITERS)), Applier(ns)]
            for client in clients:
                client.start()
            self.assertEqual(fleet.live(20), "")
            deadline = time.monotonic() + 900
            while self.calls(cluster.plane) < REQUESTS and time.monotonic() < deadline:
                time.sleep(0.5)
            for client in clients:
                client.stopped.set()
            for client in clients:
                client.join(30)
            self.assertEqual([failure for client in clients for failure in client.failures], [])
            calls = self.calls(cluster.plane)
            self.assertGreaterEqual(calls, REQUESTS)
            broken = BROKEN.findall(self.metrics(cluster.plane))
            self.assertEqual(sum(map(int, broken)), 0)
            print(f"{calls} calls of the API server through {ROTATIONS} rotations and {len(REPLACED_AFTER)} "
                  f"replacements, 0 failed; {clients[-1].applied} times kubectl apply")
        finally:
            fleet.current.stop()
            cluster.plane.stop()

    @staticmethod
    def metrics(plane):
        return plane.api("GET", "/metrics")

    def calls(self, plane):
        """The API server's count of webhook calls."""
        return sum(int(count) for _, count in CALLED.findall(self.metrics(plane)))


if __name__ == "__main__":
    unittest.main()
