"""Tests of who owns what: a namespace with a graph for each test, and requests of users, strangers and other controllers."""

import unittest

from control_plane import ApiError
from operator_plane import KINDS, OperatorPlane, condition_of, graph, is_ready

GRAPH = "DynamoGraphDeployment"
COMPONENT = "DynamoComponentDeployment"
ADAPTER = "DynamoGraphDeploymentScalingAdapter"
EVERY_KIND = {
    **KINDS,
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "PodGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "PodCliqueSet": ("/apis/grove.io/v1alpha1", "podcliquesets"),
    "InferencePool": ("/apis/inference.networking.k8s.io/v1", "inferencepools"),
    "VirtualService": ("/apis/networking.istio.io/v1beta1", "virtualservices"),
}


def path_of(kind, namespace, name=None, subresource=None):
    base, plural = EVERY_KIND[kind]
    return "/".join(part for part in (base, "namespaces", namespace, plural, name, subresource) if part)


class Namespace(unittest.TestCase):
    """A test with a namespace of its own and, unless WITHOUT_GRAPH, a ready graph "g". start() first."""

    WITHOUT_GRAPH = False
    plane = controller = proxy = None

    @classmethod
    def start(cls, **arguments):
        """Starts a control plane with a controller behind a proxy, for all tests of a module. `arguments`: of OperatorPlane."""
        plane = OperatorPlane(**arguments)
        unittest.addModuleCleanup(plane.close)
        controller = plane.proxied_controller()
        controller.start()
        controller.wait_until_ready()
        Namespace.plane, Namespace.controller, Namespace.proxy = plane, controller, controller.proxy

    def setUp(self):
        self.namespace = self.id().rsplit(".", 1)[-1].replace("_", "-")[:50].strip("-")
        self.plane.cluster.create_namespace(self.namespace)
        self.proxy.reset()
        if not self.WITHOUT_GRAPH:
            self.plane.apply(graph("g", self.namespace))
            self.wait_until_ready()

    # Reading

    def get(self, kind, name):
        """The object; None if there is none."""
        try:
            return self.plane.cluster.api("GET", path_of(kind, self.namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def items(self, kind):
        return self.plane.cluster.api("GET", path_of(kind, self.namespace))["items"]

    def worker(self):
        """The Deployment of the workers."""
        return next(one for one in self.items("Deployment") if "-worker-" in one["metadata"]["name"])

    def service(self, name):
        return self.get(GRAPH, "g")["spec"]["services"][name]

    def ready(self, name="g"):
        """The condition Ready of a graph; empty if it has none."""
        return condition_of(self.get(GRAPH, name), "Ready")

    def told(self):
        """The messages of all conditions of graphs and components."""
        found = self.items(GRAPH) + self.items(COMPONENT)
        return "\n".join(one.get("message", "") for each in found for one in each.get("status", {}).get("conditions", []))

    def warnings(self, reason, name="g"):
        """The messages of the Events about a graph, with their counts."""
        events = self.plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [
            (one["message"], one.get("count", 1))
            for one in events
            if one["reason"] == reason and one["involvedObject"]["name"] == name and one["involvedObject"]["kind"] == GRAPH
        ]

    # Writing

    def create(self, manifest, manager="kubectl-create"):
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata["namespace"]) + f"?fieldManager={manager}"
        return self.plane.cluster.api("POST", path, manifest)

    def change(self, service, **fields):
        """Changes fields of a service of the graph; None removes one."""
        self.plane.patch(GRAPH, self.namespace, "g", {"spec": {"services": {service: fields}}})

    def scale(self, name, replicas, kind="Deployment"):
        """What `kubectl scale` sends."""
        path = path_of(kind, self.namespace, name, "scale") + "?fieldManager=kubectl"
        self.plane.cluster.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    def delete(self, kind, name, how="Background"):
        """Deletes an object and waits until it is gone. `how`: the propagation policy."""
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how}
        self.plane.cluster.api("DELETE", path_of(kind, self.namespace, name), options)
        self.wait(lambda: self.get(kind, name) is None, f"{name} is gone")

    # Waiting

    def wait(self, condition, what, timeout=60):
        self.plane.cluster.wait(condition, timeout, what)

    def wait_until_ready(self, name="g"):
        try:
            self.wait(lambda: is_ready(self.get(GRAPH, name)), f"{name} is ready", 90)
        except Exception as error:
            raise AssertionError(f"{name} has {self.ready(name)}") from error
