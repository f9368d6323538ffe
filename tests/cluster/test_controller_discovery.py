#!/usr/bin/env python3
"""APIs that are installed while the controller runs. Run: python3 tests/cluster/test_controller_discovery.py

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import copy
import datetime
import sys
import unittest
import urllib.error
import urllib.request
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import OperatorPlane, condition_of, graph, is_ready, path_of  # noqa: E402
from child_crds import install_child_crds, install_queues  # noqa: E402
from operator_config import wait_until_served  # noqa: E402

NAMESPACE = "discovery"
NOTICED_SECONDS = 30  # a discovery takes place every 10 s
NO_GROVE = {"nvidia.com/enable-grove": "false"}

plane = controller = None


def setUpModule():
    global plane, controller
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    controller = plane.controller()
    controller.config = controller.config.replace("grove: {enabled: false, ", "grove: {")
    controller.config = controller.config.replace("kaiScheduler: {enabled: false}, ", "")
    controller.start()
    controller.wait_until_ready()


def multinode(name):
    made = graph(name, NAMESPACE)
    made["metadata"]["annotations"] = copy.copy(NO_GROVE)
    worker = made["spec"]["services"]["Worker"]
    worker["multinode"] = {"nodeCount": 2}
    worker["extraPodSpec"]["mainContainer"]["args"] += ["--tensor-parallel-size", "2"]
    made["spec"]["backendFramework"] = "vllm"
    return made


def ready_condition(name):
    return condition_of(plane.get("DynamoGraphDeployment", NAMESPACE, name), "Ready") or {"message": ""}


def listed(path):
    return [one["metadata"]["name"] for one in plane.cluster.api("GET", path)["items"]]


def facts():
    return plane.cluster.api("GET", "/api/v1/namespaces/dynamo-system/configmaps/dynamo-operator-facts")["data"]["facts.yaml"]


def report_refused_pod(leader_worker_set):
    """The Event of kube-controller-manager about a leader that it cannot create."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    message = f"create Pod {leader_worker_set}-0 in StatefulSet {leader_worker_set} failed error: denied by a policy"
    event = {
        "metadata": {"name": f"{leader_worker_set}.refused"},
        "involvedObject": {"apiVersion": "apps/v1", "kind": "StatefulSet", "namespace": NAMESPACE, "name": leader_worker_set},
        "reason": "FailedCreate",
        "message": message,
        "type": "Warning",
        "firstTimestamp": now,
        "lastTimestamp": now,
    }
    plane.cluster.api("POST", f"/api/v1/namespaces/{NAMESPACE}/events", event)


class Discovery(unittest.TestCase):
    def test_an_api_that_is_installed_later_is_used_without_a_restart(self):
        self.assertNotIn("grove: {enabled", controller.config)
        self.assertNotIn("kaiScheduler", controller.config)
        plane.apply(graph("single", NAMESPACE))
        plane.cluster.wait(lambda: is_ready(plane.get("DynamoGraphDeployment", NAMESPACE, "single")), 60, "a graph is ready")
        plane.apply(multinode("multi"))
        plane.cluster.wait(lambda: "needs Grove or LeaderWorkerSet" in ready_condition("multi")["message"], 20, "the missing API is reported")
        self.assertEqual(ready_condition("multi")["status"], "False")
        self.assertEqual(plane.get("DynamoGraphDeployment", NAMESPACE, "multi")["status"]["state"], "failed")
        self.assertIn("grove: false", facts())
        pid = controller.pid

        install_child_crds(plane.cluster)
        wait_until_served(plane.cluster)
        sets = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAMESPACE}/leaderworkersets"
        plane.cluster.wait(lambda: len(listed(sets)) == 2, NOTICED_SECONDS, "the workers have LeaderWorkerSets")
        plane.cluster.wait(lambda: "needs Grove" not in ready_condition("multi")["message"], 20, "the failure is gone")
        plane.cluster.wait(lambda: "grove: true" in facts(), 20, "the webhook is told")
        report_refused_pod(listed(sets)[0])
        plane.cluster.wait(lambda: "denied by a policy" in ready_condition("multi")["message"], 20, "the Event is seen")

        # A graph keeps its pathway, and new graphs use Grove.
        plane.apply(graph("later", NAMESPACE))
        clique_sets = f"/apis/grove.io/v1alpha1/namespaces/{NAMESPACE}/podcliquesets"
        plane.cluster.wait(lambda: listed(clique_sets) == ["later"], 20, "the new graph runs on Grove")
        self.assertTrue(is_ready(plane.get("DynamoGraphDeployment", NAMESPACE, "single")))
        deployments = listed(path_of("Deployment", NAMESPACE))
        self.assertIn("single-frontend", deployments)
        self.assertNotIn("later-frontend", deployments)

        # With the KAI scheduler, a PodCliqueSet is written only if its queue exists (dec-7).
        install_queues(plane.cluster, "another")
        plane.cluster.wait(lambda: "kaiScheduler: true" in facts(), NOTICED_SECONDS, "the scheduler is noticed")
        # Its default queue and the parent of this one are created (inst-Q20), also again, and never changed.
        queues = "/apis/scheduling.run.ai/v2/queues"
        plane.cluster.wait(lambda: {"dynamo", "dynamo-default"} <= set(listed(queues)), 20, "the default queues are created")
        self.assertEqual(plane.cluster.api("GET", f"{queues}/dynamo")["spec"]["parentQueue"], "dynamo-default")
        plane.cluster.api("DELETE", f"{queues}/dynamo")
        plane.cluster.wait(lambda: "dynamo" in listed(queues), 20, "the default queue is created again")
        queued = graph("queued", NAMESPACE)
        queued["metadata"]["annotations"] = {"nvidia.com/kai-scheduler-queue": "team"}
        plane.apply(queued)
        missing = 'metadata.annotations[nvidia.com/kai-scheduler-queue]: Not found: "team"'
        plane.cluster.wait(lambda: missing in ready_condition("queued")["message"], 20, "the missing queue is reported")
        self.assertEqual(ready_condition("queued")["reason"], "failed_to_reconcile_the_resources")
        self.assertNotIn("queued", listed(clique_sets))
        team = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": "team"}}
        plane.cluster.api("POST", "/apis/scheduling.run.ai/v2/queues", team)
        plane.cluster.wait(lambda: "queued" in listed(clique_sets), 20, "the graph runs in its queue")
        cliques = plane.cluster.api("GET", f"{clique_sets}/queued")["spec"]["template"]["cliques"]
        self.assertEqual({each["labels"]["kai.scheduler/queue"] for each in cliques}, {"team"})
        plane.cluster.api("DELETE", "/apis/scheduling.run.ai/v2/queues/team")
        plane.cluster.wait(lambda: missing in ready_condition("queued")["message"], 20, "the lost queue is reported")
        self.assertIn("queued", listed(clique_sets))
        self.assertIsNone(controller.exit_status())
        self.assertEqual(controller.pid, pid)


class Readiness(unittest.TestCase):
    def test_a_controller_that_provisions_certificates_is_ready_when_they_are(self):
        """In mode auto. The role of the manifests allows changes of their Secret alone. So another Secret without certificates
        stays as it is, and readiness reports it."""
        config = plane.config().replace("certProvisionMode: manual", "certProvisionMode: auto, secretName: {}")
        secrets = "/api/v1/namespaces/dynamo-system/secrets"
        plane.cluster.api("POST", secrets, {"metadata": {"name": "other-cert"}})
        for secret, ready in (("webhook-server-cert", True), ("other-cert", False)):
            with self.subTest(secret):
                one = plane.controller(f"auto-{secret}")
                one.config = config.replace("secretName: {}", f"secretName: {secret}")
                one.start()
                try:
                    if ready:
                        one.wait_until_ready()
                        self.assertIn("tls.crt", plane.cluster.api("GET", f"{secrets}/{secret}")["data"])
                    else:
                        plane.cluster.wait(lambda one=one: "write failed" in one.log_tail(50), 30, "the API server refuses the write")
                        reported = "Secret dynamo-system/other-cert: "
                        plane.cluster.wait(lambda one=one: problem(one).startswith(reported), 10, "readiness reports the Secret")
                        self.assertNotIn("data", plane.cluster.api("GET", f"{secrets}/{secret}"))
                finally:
                    one.stop()


def problem(one):
    """What the probe says of a controller that is not ready."""
    try:
        urllib.request.urlopen(f"http://127.0.0.1:{one.health_port}/readyz", timeout=5).close()
        return ""
    except urllib.error.HTTPError as error:
        return error.read().decode()


if __name__ == "__main__":
    unittest.main(verbosity=2)
