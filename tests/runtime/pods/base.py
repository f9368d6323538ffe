"""What the tests of pods have in common: one plane, the table of what was measured, and looks at pods."""

import json
import time
import unittest

from graphs import probe_of
from places import GRAPHS, NAMESPACE, PODS
from serving import http_get
from scenarios import delete

POLL_SECONDS = 0.2
# Of the machine, which may be busy, beyond what the rendered times allow. The kubelet works in steps of about a second.
SLACK_SECONDS = 10.0


def condition(found, kind="Ready"):
    """A condition of an object; {} if it is missing."""
    return next((one for one in found.get("status", {}).get("conditions", []) if one["type"] == kind), {})


def is_ready(pod):
    return condition(pod).get("status") == "True"


def main_container(pod):
    return next(one for one in pod["spec"]["containers"] if one["name"] == "main")


def main_status(pod):
    return next((one for one in pod["status"].get("containerStatuses", []) if one["name"] == "main"), {})


def restarts(pod):
    return main_status(pod).get("restartCount", 0)


def probes(container):
    """Liveness, readiness and startup probe of a container."""
    return [probe_of(container.get(f"{what}Probe")) for what in ("liveness", "readiness", "startup")]


class PodsTest(unittest.TestCase):
    """`plane` and `timeline` are set before the tests run. `measured`: rows of what, how long it may take, how long it took."""

    plane = timeline = None
    measured = []

    @classmethod
    def measure(cls, what, least, most, seconds):
        cls.measured.append((what, f"{least:.0f} to {most:.0f} s", f"{seconds:.1f} s"))

    def assert_within(self, what, least, most, seconds):
        """`least` and `most` follow from the manifest alone."""
        self.measure(what, least, most, seconds)
        self.assertGreaterEqual(seconds, least - 1.5, what)
        self.assertLessEqual(seconds, most + SLACK_SECONDS, what)

    @classmethod
    def create(cls, manifest):
        """Creates a graph that goes with the class."""
        name = manifest["metadata"]["name"]
        cls.plane.cluster.api("POST", GRAPHS, manifest)
        cls.addClassCleanup(delete, cls.plane, name)
        return name

    @classmethod
    def create_and_settle(cls, manifest, seconds=180):
        name = cls.create(manifest)
        counts = {service: spec.get("replicas", 1) for service, spec in manifest["spec"]["services"].items()}
        cls.plane.wait_until_settled(name, counts, seconds, 0)
        return name

    def pods(self, graph, service):
        """Sorted by name."""
        return sorted(self.plane.pods(graph, service), key=lambda pod: pod["metadata"]["name"])

    def tell(self, pod, path):
        """Sends a request to server.py in a pod."""
        status, text = http_get(self.plane.cluster.node, pod["status"]["podIP"], 9090, path)
        self.assertEqual(status, 200, text)

    def inside(self, pod, code):
        """What a program in the main container prints, as JSON."""
        argv = ["exec", "-n", NAMESPACE, pod["metadata"]["name"], "-c", "main", "--", "/usr/bin/python3", "-c", code]
        return json.loads(self.plane.cluster.kubectl(*argv).stdout)

    def delete_pod(self, pod):
        """Begins to delete a pod. Returns it as it is then."""
        return self.plane.cluster.api("DELETE", f"{PODS}/{pod['metadata']['name']}")

    def exit_code(self, pod):
        """That of the main container, as the kubelet has reported it."""
        texts = [text for _, kind, name, text in self.timeline.entries if (kind, name) == ("pods", pod)]
        codes = [word.split()[-1] for text in texts for word in text.split(", ") if word.startswith("terminated ")]
        return int(codes[0]) if codes else None

    def endpoints(self, graph):
        """The names of pods that get requests through Services."""
        path = f"/apis/discovery.k8s.io/v1/namespaces/{NAMESPACE}/endpointslices"
        slices = [one for one in self.plane.cluster.api("GET", path)["items"] if one["metadata"]["name"].startswith(f"{graph}-")]
        found = [end for one in slices for end in one.get("endpoints") or [] if end.get("conditions", {}).get("ready")]
        return {end["targetRef"]["name"] for end in found if "targetRef" in end}

    def first_times(self, graph, wanted, seconds):
        """The seconds until each of `wanted` became true: key -> function of the pods by name and the endpoints. What stays
        false has no entry."""
        begin, found = time.monotonic(), {}
        while len(found) < len(wanted) and time.monotonic() - begin < seconds:
            pods = {pod["metadata"]["name"]: pod for pod in self.plane.pods(graph)}
            ends = self.endpoints(graph)
            at = time.monotonic() - begin
            found |= {key: at for key, holds in wanted.items() if key not in found and holds(pods, ends)}
            time.sleep(POLL_SECONDS)
        return found
