"""What happens when a part goes away: the API server restarts with many requests stored, the webhook crashes or is
replaced, the certificate is rotated."""

import concurrent.futures
import json
import pathlib
import sys
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from requests import ALPHA, BETA, PLURAL, Cluster, Webhook, beta, rich_alpha, rich_beta, unique  # noqa: E402

STORED = 2000

cluster = None


def setUpModule():
    global cluster
    cluster = Cluster(components=("etcd", "apiserver")).start()


def tearDownModule():
    cluster.stop()


def path(namespace, version, name=""):
    return f"/apis/nvidia.com/{version}/namespaces/{namespace}/{PLURAL}" + (f"/{name}" if name else "")


class Writer(threading.Thread):
    """Writes requests through the API server until it is stopped; counts successes and keeps failures."""

    def __init__(self, namespace):
        super().__init__(daemon=True)
        self.namespace = namespace
        self.written = 0
        self.failures = []
        self._stop_asked = threading.Event()

    def run(self):
        while not self._stop_asked.is_set():
            request = beta(unique("w")) if self.written % 2 else rich_alpha(unique("w"))
            version = request["apiVersion"].split("/")[1]
            try:
                cluster.plane.api("POST", path(self.namespace, version), request)
                self.written += 1
            except Exception as error:  # any failure counts
                self.failures.append(str(error))

    def finish(self):
        self._stop_asked.set()
        self.join(30)


class ApiServerRestart(unittest.TestCase):
    def test_everything_is_readable_in_the_other_version_again(self):
        ns = cluster.namespace()
        requests = [rich_alpha(f"s-{i}") if i % 2 else rich_beta(f"s-{i}") for i in range(STORED)]

        def store(request):
            cluster.plane.api("POST", path(ns.name, request["apiVersion"].split("/")[1]), request)

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            list(pool.map(store, requests))
        stop = threading.Event()
        reads = []

        def read_on():
            while not stop.is_set():
                try:
                    items = cluster.plane.api("GET", path(ns.name, "v1alpha1"))["items"]
                    reads.append(len(items))
                except Exception:
                    time.sleep(0.05)  # the API server is away

        readers = [threading.Thread(target=read_on, daemon=True) for _ in range(3)]
        for reader in readers:
            reader.start()
        cluster.plane.restart_apiserver()
        started = time.monotonic()
        items = cluster.plane.wait(lambda: self.listed(ns.name), 60, "the list in v1alpha1")
        seconds = time.monotonic() - started
        stop.set()
        for reader in readers:
            reader.join(60)
        self.assertEqual(len(items), STORED)
        self.assertEqual(set(reads), {STORED}, "a list was incomplete")
        by_name = {item["metadata"]["name"]: item for item in items}
        for request in requests[1::2]:
            self.assertEqual(by_name[request["metadata"]["name"]]["spec"], request["spec"])
        betas = {i["metadata"]["name"]: i for i in cluster.plane.api("GET", path(ns.name, "v1beta1"))["items"]}
        for request in requests[0::2]:
            stored = betas[request["metadata"]["name"]]["spec"]
            self.assertEqual({key: stored[key] for key in ("hardware", "overrides", "searchStrategy")},
                             {key: request["spec"][key] for key in ("hardware", "overrides", "searchStrategy")})
        print(f"{STORED} requests listed in v1alpha1 {seconds:.1f} s after the API server was back, "
              f"{len(reads)} lists meanwhile")

    @staticmethod
    def listed(namespace):
        try:
            return cluster.plane.api("GET", path(namespace, "v1alpha1"), timeout=60)["items"]
        except Exception:
            return None


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
            # Writes that need no judgement go on: status, and a finalizer that goes.
            ns.set_status(name, {"phase": "Pending"})
            self.assertEqual(ns.kubectl("delete", "--wait=false", BETA, name).returncode, 0)
            self.assertEqual(ns.patch(name, {"metadata": {"finalizers": None}}).returncode, 0)
        finally:
            cluster.webhook.start(cluster.port)
        again = unique()
        ns.create(beta(again))
        self.assertEqual(ns.get(again, ALPHA)["metadata"]["name"], again)


class WebhookReplaced(unittest.TestCase):
    def test_no_write_fails_while_another_takes_over(self):
        ns = cluster.namespace()
        # A webhook that serves on for a while after SIGTERM, as in a rolling update.
        cluster.webhook.stop()
        cluster.webhook.shutdown_delay = "3s"
        cluster.webhook.start(cluster.port)
        writers = [Writer(ns.name) for _ in range(4)]
        for writer in writers:
            writer.start()
        time.sleep(1)
        # Two processes share the port; the old one drains as it would in a rolling update.
        folder = cluster.plane.directory / "second"
        folder.mkdir(exist_ok=True)
        (folder / "webhook-certs").symlink_to(cluster.webhook.directory / "webhook-certs")
        second = Webhook(folder)
        second.start(cluster.port)
        time.sleep(1)
        self.assertEqual(cluster.webhook.stop(), 0)
        time.sleep(1)
        for writer in writers:
            writer.finish()
        cluster.webhook = second
        failures = [failure for writer in writers for failure in writer.failures]
        self.assertEqual(failures, [])
        written = sum(writer.written for writer in writers)
        self.assertGreater(written, 100)
        print(f"{written} writes through a replacement, 0 failed")


class CertificateRotated(unittest.TestCase):
    def test_no_write_fails(self):
        ns = cluster.namespace()
        writers = [Writer(ns.name) for _ in range(4)]
        for writer in writers:
            writer.start()
        for _ in range(5):
            time.sleep(0.5)
            cluster.webhook.make_certificate("--force")
        time.sleep(1)
        for writer in writers:
            writer.finish()
        failures = [failure for writer in writers for failure in writer.failures]
        self.assertEqual(failures, [])
        written = sum(writer.written for writer in writers)
        self.assertGreater(written, 100)
        log = cluster.webhook.log.read_text(encoding="utf-8")
        loaded = [line for line in log.splitlines() if '"certificate loaded"' in line]
        self.assertGreater(len(loaded), 2, log[-2000:])
        print(f"{written} writes through {len(loaded) - 1} certificate rotations, 0 failed")


if __name__ == "__main__":
    unittest.main()
