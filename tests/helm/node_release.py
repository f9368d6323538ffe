"""What the tests with a release on a real node share: the image of the operator, a stream of admissions, and Helm."""

import copy
import ssl
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import yaml

import plane
import render
from control_plane import ApiError, ControlPlane
from node import requirements
from node.operator_pods import load_image, load_shipped_image

GRAPHS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments"
OLD_REQUESTS = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeploymentrequests"
SAMPLES = plane.ROOT / "deploy/samples"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
SECONDS = 240
PAUSE = 0.02  # between two requests of a stream


def start_cluster(namespace, shipped, tags, apiserver_flags=()):
    """A control plane with a node, for the tests of a module. The node has the image of deploy/image/build with the tag `shipped`, and
    images of the same programs with each of `tags`. The namespace admits only pods of the level `restricted`."""
    requirements.require_node()
    cluster = ControlPlane(node=True, apiserver_flags=apiserver_flags)
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    cluster.create_namespace(namespace, {"pod-security.kubernetes.io/enforce": "restricted"})
    load_shipped_image(cluster, f"dynamo-operator:{shipped}")
    for tag in tags:
        load_image(cluster, f"dynamo-operator:{tag}")
    return cluster


def sample(file):
    (document,) = [one for one in yaml.safe_load_all((SAMPLES / file).read_text(encoding="utf-8")) if one]
    document["metadata"]["namespace"] = "default"
    return document


class Admission:
    """Creates a graph, and a request of v1alpha1, which is converted, again and again, with a dry run. Attributes after the block:
    calls, failures (texts), longest (seconds of the slowest call), and gap (seconds between the last answer before a failure and the
    first after it, or the end, at most)."""

    def __init__(self, cluster):
        self._cluster = cluster

    def __enter__(self):
        self.calls, self.failures, self.longest, self.gap = 0, [], 0.0, 0.0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def _run(self):
        made = [(GRAPHS, sample("graph.yaml")), (OLD_REQUESTS, sample("dgdr-v1alpha1.yaml"))]
        answered, failed = time.monotonic(), False
        while not self._ended.wait(PAUSE):
            path, document = copy.deepcopy(made[self.calls % len(made)])
            document["metadata"]["name"] = f"streamed-{self.calls}"
            began = time.monotonic()
            failure = self._failure(path, document)
            now = time.monotonic()
            self.longest = max(self.longest, now - began)
            self.calls += 1
            failed = failed or failure is not None
            if failure:
                self.failures.append(failure)
                continue
            if failed:
                self.gap = max(self.gap, now - answered)
            answered, failed = now, False
        if failed:
            self.gap = max(self.gap, time.monotonic() - answered)

    def _failure(self, path, document):
        """Why the API server does not admit the object as the webhook would; None if it does."""
        try:
            stored = self._cluster.api("POST", f"{path}?dryRun=All", document, timeout=60)
        except (ApiError, OSError) as error:
            return str(error)
        is_stamped = path != GRAPHS or ORIGIN in stored["metadata"].get("annotations", {})
        return None if is_stamped else "a graph has no defaults"

    def __exit__(self, *_):
        self._ended.set()
        self._thread.join()


class Releases(unittest.TestCase):
    """Runs Helm with the cluster of the module, in the variable `cluster`, and in the namespace `namespace`."""

    maxDiff = None
    namespace = None

    @classmethod
    def setUpClass(cls):
        cls.cluster = sys.modules[cls.__module__].cluster
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))

    def helm(self, helm, *arguments, text="", fails=False, user=None):
        """Returns the output, and how long it took, in seconds. Without a `user`, the administrator runs it."""
        kubeconfig = self.cluster.user_kubeconfig(user) if user else self.cluster.kubeconfig
        environment = render.with_cluster(helm, kubeconfig, self.folder)
        arguments = (*arguments, "--namespace", self.namespace)
        began = time.monotonic()
        done = render.run(helm, *arguments, text=text, environment=environment, timeout=SECONDS + 60)
        self.assertEqual(done.returncode != 0, fails, done.stdout + done.stderr)
        return done.stdout + done.stderr, time.monotonic() - began

    def tell(self, what, seconds, stream=None):
        more = ""
        if stream:
            more = f", {stream.calls} calls, {len(stream.failures)} failed, the slowest {stream.longest:.2f} s, gap {stream.gap:.2f} s"
        print(f"  {what}: {seconds:.1f} s{more}", file=sys.stderr, flush=True)

    def admits(self):
        with Admission(self.cluster) as stream:
            time.sleep(1)
        return stream.calls > 0 and not stream.failures

    def forbidden_requests(self):
        """The lines of the controller's metrics about requests that it had no right to."""
        selector = "control-plane%3Dcontroller-manager"
        pods = self.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/pods?labelSelector={selector}")["items"]
        context = ssl._create_unverified_context()
        texts = []
        for pod in pods:
            with self.cluster.node.connect(pod["status"]["podIP"], 8080) as plain, context.wrap_socket(plain) as connection:
                head = f"GET /metrics HTTP/1.0\r\nHost: metrics\r\nAuthorization: Bearer {self.cluster.admin_token}\r\n\r\n"
                connection.sendall(head.encode())
                with connection.makefile("r", encoding="utf-8") as reader:
                    texts.append(reader.read())
        self.assertTrue(texts and all('rest_client_requests_total{code="200"' in text for text in texts), texts)
        return [line for text in texts for line in text.splitlines() if 'rest_client_requests_total{code="403"' in line]

    def children(self):
        """Name -> (uid, generation) of the Deployments of graphs."""
        found = self.cluster.api("GET", "/apis/apps/v1/namespaces/default/deployments")["items"]
        return {one["metadata"]["name"]: (one["metadata"]["uid"], one["metadata"]["generation"]) for one in found}

    def make_graph(self):
        """Creates a graph whose children are Deployments, also if the operator uses Grove, and returns them."""
        document = sample("graph.yaml")
        document["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
        self.cluster.api("POST", GRAPHS, document)
        self.cluster.wait(lambda: len(self.children()) == len(document["spec"]["services"]), 60, "each service has a Deployment")
        return self.children()
