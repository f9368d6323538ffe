"""How many ready pods are behind a Service, all the time."""

import threading
import time

SAMPLE_SECONDS = 0.05


class Backends:
    """Samples how many ready pods are behind a Service, until the end of a `with` block. `fewest`: the minimum. `gap`: the longest time
    in seconds in which there was none. A connection that is open outlives such a gap."""

    def __init__(self, cluster, namespace, service):
        self._cluster = cluster
        selector = f"labelSelector=kubernetes.io/service-name={service}"
        self._path = f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices?{selector}"
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample)
        self.fewest = self.now()
        self.samples = 0
        self.gap = 0.0

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def now(self):
        found = [one for part in self._cluster.api("GET", self._path)["items"] for one in part["endpoints"] or ()]
        return sum(one["conditions"]["ready"] for one in found)

    def _sample(self):
        last = time.monotonic()
        while not self._end.wait(SAMPLE_SECONDS):
            ready, now = self.now(), time.monotonic()
            last = now if ready else last
            self.gap = max(self.gap, now - last)
            self.fewest = min(self.fewest, ready)
            self.samples += 1
