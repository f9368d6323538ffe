"""An image that needs credentials, from a registry on the loopback address of the node (decision pod-Q28)."""

import base64

from base import PodsTest, condition, main_status
from graphs import SERVER, graph, served, server_image
from node.registry import Registry
from places import GRAPHS, NAMESPACE
from scenarios import delete

SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
REPOSITORY = "private/pod-server"
DISCOVERY = "nvidia.com/disable-image-pull-secret-discovery"


class Pulls(PodsTest):
    @classmethod
    def setUpClass(cls):
        log = cls.timeline.logs / "registry"
        cls.registry = Registry(cls.plane.cluster.node, {REPOSITORY: server_image()}, log)
        cls.addClassCleanup(cls.registry.close)

    def private(self, tag, **fields):
        """A service whose image is asked for at each start."""
        main = {"image": self.registry.image(REPOSITORY, tag), "imagePullPolicy": "Always"}
        return served("worker", main=main, replicas=1, **fields)

    def add_secret(self, name, config):
        data = {".dockerconfigjson": base64.b64encode(config.encode()).decode()}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson"}
        self.plane.cluster.api("POST", SECRETS, {**secret, "data": data})
        self.addCleanup(self.plane.cluster.api, "DELETE", f"{SECRETS}/{name}")

    def create_here(self, manifest):
        self.plane.cluster.api("POST", GRAPHS, manifest)
        self.addCleanup(delete, self.plane, manifest["metadata"]["name"])

    def ready_condition(self, name):
        return condition(self.plane.get(name))

    def wait_for_failure(self, name):
        """Waits until the only pod of a graph cannot pull, and the graph says so. Returns the pod."""

        def waits():
            pods = self.plane.pods(name)
            reasons = [main_status(pod).get("state", {}).get("waiting", {}).get("reason") for pod in pods]
            return pods[0] if reasons == ["ImagePullBackOff"] else None

        pod = self.plane.cluster.wait(waits, 60, f"{name} has ImagePullBackOff")
        says = lambda: "cannot pull image" in self.ready_condition(name).get("message", "")  # noqa: E731
        self.plane.cluster.wait(says, 30, "the graph names the cause")
        return pod

    def test_1_a_secret_that_comes_later_is_found(self):
        self.create_here(graph("late", {"Worker": self.private("late")}))
        pod = self.wait_for_failure("late")
        self.assertNotIn("imagePullSecrets", pod["spec"])
        found = self.ready_condition("late")
        self.assertEqual((found["status"], found["reason"]), ("False", "some_resources_are_not_ready"))
        self.assertIn(self.registry.image(REPOSITORY, "late"), found["message"])
        self.measured.append(("pull without a secret", "ImagePullBackOff", found["message"]))
        self.assertEqual(set(self.registry.requests(REPOSITORY)), {(401, "")})
        self.add_secret("other", self.registry.docker_config().replace("127.0.0.1:5000", "registry.example.com"))
        self.add_secret("registry", self.registry.docker_config())
        self.plane.wait_until_settled("late", {"Worker": 1}, 90, 0)
        (pod,) = self.plane.pods("late")
        self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "registry"}])
        self.assertIn((200, self.registry.user), self.registry.requests(REPOSITORY))
        self.assertEqual(self.ready_condition("late")["status"], "True")

    def test_2_a_secret_that_is_there_is_used_at_once_unless_discovery_is_off(self):
        self.add_secret("registry", self.registry.docker_config())
        self.create_here(graph("off", {"Worker": self.private("off", annotations={DISCOVERY: "true"})}))
        waiting = {"command": ["python3", "-c", "import signal; signal.pause()"]}
        at_once = {"terminationGracePeriodSeconds": 1}
        sidecar = {"image": self.registry.image(REPOSITORY, "sidecar"), "args": ["-B", SERVER]}
        beside = served(main=waiting, pod=at_once, replicas=1, frontendSidecar=sidecar)
        services = {"Worker": self.private("early"), "Sidecar": beside}
        self.create_here(graph("early", services))
        self.plane.wait_until_settled("early", dict.fromkeys(services, 1), 90, 0)
        for pod in self.plane.pods("early"):
            self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "registry"}])
        self.assertNotIn("imagePullSecrets", self.wait_for_failure("off")["spec"])

    def test_3_wrong_credentials(self):
        self.add_secret("registry", self.registry.docker_config("wrong"))
        self.create_here(graph("wrong", {"Worker": self.private("wrong")}))
        pod = self.wait_for_failure("wrong")
        self.assertEqual(pod["spec"]["imagePullSecrets"], [{"name": "registry"}])
        self.assertIn((401, self.registry.user), self.registry.requests(REPOSITORY))
        self.measured.append(("pull with wrong credentials", "ImagePullBackOff", self.ready_condition("wrong")["message"]))
