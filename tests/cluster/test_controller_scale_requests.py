#!/usr/bin/env python3
"""Many requests at once. Run: python3 tests/cluster/test_controller_scale_requests.py

50 requests, with DYNAMO_FULL=1 1,000, are created at once and profiled to their ends. The controller makes the same few writes for
each of them, and its memory stays small.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import concurrent.futures
import os
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from operator_plane import CONTROLLER_USER, OperatorPlane, path_of, wait_for_rest  # noqa: E402
from request_samples import REQUEST, Samples  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
REQUESTS = 1000 if FULL else 50
NAMESPACE = "scale"
AT_ONCE = 8
SECONDS = 900
# Of each request: its Job, the generated graph as an annotation, and the statuses Pending, Profiling and Ready.
WRITES = {"create jobs": 1, "patch dynamographdeploymentrequests": 1, "patch dynamographdeploymentrequests/status": 3}
EVENTS = 3  # Initialized, ProfilingJobCreated, SpecGenerated
SHARED_WRITES = 12  # the ServiceAccount and the RoleBinding of all Jobs of a namespace: workers that begin at once create them
BASE_MB, MB_PER_REQUEST = 50, 0.05

plane = controller = samples = None


def setUpModule():
    global plane, controller, samples
    plane = OperatorPlane(nodes=8, gpus=2048)  # pods of Jobs end at once
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    samples = Samples(plane, NAMESPACE)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def memory(name):
    """Megabytes of the controller: VmRSS now, or VmHWM at most."""
    lines = Path(f"/proc/{controller.pid}/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name)) / 1024


def processor_seconds():
    fields = Path(f"/proc/{controller.pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def requests_sent():
    """How many requests the controller has sent, by method."""
    counts = collections.Counter()
    for line in controller.metrics().splitlines():
        if line.startswith("rest_client_requests_total{"):
            counts[line.split('method="')[1].split('"')[0]] += int(float(line.split()[-1]))
    return counts


class Profilers:
    """Writes the output for each Job that appears, as the output copiers do."""

    def __init__(self):
        self._ended, self._served = threading.Event(), set()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self):
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            while not self._ended.wait(1):
                jobs = {one["metadata"]["name"] for one in plane.cluster.api("GET", path_of("Job", NAMESPACE))["items"]}
                list(pool.map(samples.write_output, (name.removeprefix("profile-") for name in jobs - self._served)))
                self._served |= jobs

    def end(self):
        self._ended.set()
        self._thread.join()


def phases():
    items = plane.cluster.api("GET", path_of(REQUEST, NAMESPACE))["items"]
    return collections.Counter(one.get("status", {}).get("phase") for one in items)


class Scale(unittest.TestCase):
    def test_many_requests_at_once(self):
        names = [f"r{number}" for number in range(REQUESTS)]
        before, processor, sent = memory("VmRSS"), processor_seconds(), requests_sent()
        profilers = Profilers()
        self.addCleanup(profilers.end)
        began = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(lambda name: plane.apply(samples.request(name, autoApply=False)), names))
        created = time.monotonic() - began
        seen = {}

        def is_done():
            now = phases()
            for phase in now:
                seen.setdefault(phase, time.monotonic() - began)
            time.sleep(REQUESTS / 500)
            return now == {"Ready": REQUESTS}

        plane.cluster.wait(is_done, SECONDS, "all requests are ready")
        took = time.monotonic() - began
        wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER), 5)
        kinds, per_request = self.writes_of(names)
        sent = requests_sent() - sent
        print(
            f"  {REQUESTS} requests: created in {created:.1f} s, ready after {took:.1f} s; controller: "
            f"{processor_seconds() - processor:.1f} processor seconds, {before:.0f} MB before, {memory('VmHWM'):.0f} at most, "
            f"{memory('VmRSS'):.0f} after; requests {dict(sent)}\n  writes {dict(kinds)}",
            file=sys.stderr,
        )
        different = {name: dict(per_request[name]) for name in names if per_request[name] != WRITES}
        self.assertEqual(different, {})
        self.assertLessEqual(kinds["create events"], EVENTS * REQUESTS)
        others = sum(kinds.values()) - kinds["create events"] - sum(WRITES.values()) * REQUESTS
        self.assertLessEqual(others, SHARED_WRITES)
        self.assertLess(memory("VmHWM"), BASE_MB + MB_PER_REQUEST * REQUESTS)

    @staticmethod
    def writes_of(names):
        """The number of writes by kind, and name -> the same of one request."""
        kinds, per_request = collections.Counter(), {name: collections.Counter() for name in names}
        for entry in plane.audit.entries(CONTROLLER_USER):
            about = entry["objectRef"]
            if about.get("namespace") != NAMESPACE:
                continue
            kind = f"{entry['verb']} {'/'.join(filter(None, (about['resource'], about.get('subresource'))))}"
            kinds[kind] += 1
            name = about.get("name", "").removeprefix("profile-")
            if about["resource"] != "events" and name in per_request:
                per_request[name][kind] += 1
        return kinds, per_request


if __name__ == "__main__":
    unittest.main(verbosity=2)
