#!/usr/bin/env python3
"""Replicas and other fields of children that people and other controllers change.
Run: python3 tests/cluster/test_controller_hands.py

Decisions ctl-Q45 and ctl-Q67. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook kubectl-dynamo`."""

import subprocess
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]
from built import PLUGIN  # noqa: E402
from ownership import ADAPTER, COMPONENT, GRAPH, Namespace, path_of  # noqa: E402

RECORD = "nvidia.com/dynamo-rendered-replicas"


def setUpModule():
    Namespace.start()


class Hands(Namespace):
    def wait_for_replicas(self, number):
        self.wait(lambda: self.worker()["spec"]["replicas"] == number, f"{number} replicas")

    def start_again(self):
        """Starts the controller after it was killed."""
        self.controller.start()
        self.controller.wait_until_ready()

    def check_that_replicas_stay(self, number, seconds=3):
        """The number of the Deployment."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.assertEqual(self.worker()["spec"]["replicas"], number)
            time.sleep(0.1)

    def test_the_last_change_of_replicas_wins(self):
        name = self.worker()["metadata"]["name"]
        self.assertEqual(self.worker()["metadata"]["annotations"][RECORD], "2")
        self.scale(name, 5)
        message = f"kubectl scales Deployment.apps {self.namespace}/{name}: 5 replicas instead of 2"
        self.wait(lambda: message in self.ready()["message"], "the graph tells who scaled")
        self.assertEqual(self.worker()["spec"]["replicas"], 5)
        # Another number of the same writer is no other Event.
        self.scale(name, 4)
        self.wait(lambda: ": 4 replicas instead of 2" in self.ready()["message"], "the graph tells the number")
        self.assertEqual(len(self.warnings("ReplicasOverridden")), 1)
        # The spec changes while no controller runs.
        self.controller.kill()
        self.change("Worker", replicas=3)
        self.start_again()
        self.wait_for_replicas(3)
        self.wait_until_ready()
        self.assertNotIn("scales", self.ready()["message"])
        # A hand's 0 is not ready, and the next number of the graph ends it.
        self.scale(name, 0)
        self.wait(lambda: self.ready()["status"] == "False", "the graph is not ready")
        # The API server does not tell who has set a 0.
        message = f"somebody scales Deployment.apps {self.namespace}/{name}: 0 replicas instead of 3"
        self.wait(lambda: message in self.ready()["message"], "the graph tells that it was scaled")
        self.wait(lambda: not self.worker()["status"].get("replicas"), "the pods have ended")
        time.sleep(2)
        self.assertEqual(self.worker()["spec"]["replicas"], 0)
        self.change("Worker", replicas=2)
        self.wait_for_replicas(2)
        self.wait_until_ready()

    def test_the_plugin_scales_and_restarts(self):
        """`kubectl dynamo scale` and `restart`, and what the controller makes of them."""
        self.plugin("scale", "g", "Worker", "3")
        self.wait_for_replicas(3)
        self.plugin("scale", "g", "Processor", "2")
        replicas = lambda service: [one["spec"]["replicas"] for one in self.items("Deployment") if f"g-{service}" in one["metadata"]["name"]]  # noqa: E731
        self.wait(lambda: replicas("processor") == [2], "the adapter has scaled the other service")
        self.wait_until_ready()
        before = self.pods()
        self.assertEqual(len(before), 1 + 3 + 2)
        self.plugin("restart", "g")
        restarted = lambda: self.get(GRAPH, "g").get("status", {}).get("restart", {}).get("phase") == "Completed"  # noqa: E731
        self.wait(restarted, "the restart is complete", 120)
        self.wait(lambda: len(self.pods()) == 6 and not before & self.pods(), "all pods are new")
        self.wait_until_ready()
        before = self.pods()
        self.plugin("restart", "g", "Frontend")
        self.wait(lambda: len(self.pods()) == 6 and len(before & self.pods()) == 5, "one pod is new")
        (old,) = before - self.pods()
        self.assertIn("frontend", old)

    def plugin(self, *arguments):
        command = [PLUGIN, *arguments, "-n", self.namespace]
        ran = subprocess.run(command, env=self.plane.cluster.environment(), capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)

    def pods(self):
        """The names of the pods that are not about to end."""
        found = self.plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return {one["metadata"]["name"] for one in found if "deletionTimestamp" not in one["metadata"]}

    def test_an_adapter_takes_the_replicas_of_a_worker_back(self):
        self.change("Worker", scalingAdapter={"enabled": True})
        self.wait(lambda: self.get(ADAPTER, "g-worker"), "the adapter exists")
        self.wait_until_ready()
        name = self.worker()["metadata"]["name"]
        self.scale(name, 5)
        self.wait(lambda: "5 replicas instead of 2" in self.ready()["message"], "the graph tells who scaled")
        # Each value of the adapter has an effect.
        for number in (3, 4):
            self.scale("g-worker", number, ADAPTER)
            self.wait_for_replicas(number)
            self.wait_until_ready()
            self.assertNotIn("scales", self.ready()["message"])
            self.wait(lambda number=number: self.adapter_counts(number), "the adapter counts the replicas")
            self.assertEqual(self.get(COMPONENT, name)["spec"]["replicas"], number)
            self.assertEqual(self.service("Worker")["replicas"], number)
            self.check_that_replicas_stay(number)
            self.assertEqual(self.get(COMPONENT, name)["spec"]["replicas"], number)
        self.assertEqual(len(self.warnings("ReplicasOverridden")), 1)

    def adapter_counts(self, number):
        return self.get(ADAPTER, "g-worker")["status"].get("replicas") == number

    def test_an_autoscaler_of_a_child_keeps_working(self):
        name = self.worker()["metadata"]["name"]
        # There are no metrics, so only its minimum takes effect.
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}
        spec = {"scaleTargetRef": target, "minReplicas": 4, "maxReplicas": 9}
        about = {"name": "user", "namespace": self.namespace}
        kind = "HorizontalPodAutoscaler"
        self.create({"apiVersion": "autoscaling/v2", "kind": kind, "metadata": about, "spec": spec})
        self.wait_for_replicas(4)
        message = f"kube-controller-manager scales Deployment.apps {self.namespace}/{name}: 4 replicas instead of 2"
        self.wait(lambda: message in self.ready()["message"], "the graph tells who scales")
        # A field of the operator is changed, and repaired.
        path = path_of("Deployment", self.namespace, name) + "?fieldManager=kubectl-edit"
        edit = {"spec": {"template": {"spec": {"terminationGracePeriodSeconds": 7}}}}
        self.plane.cluster.api("PATCH", path, edit, "application/merge-patch+json")
        self.wait(lambda: self.grace_period() != 7, "the edit is undone")
        self.check_that_replicas_stay(4)
        self.controller.kill()
        self.start_again()
        generation = self.worker()["metadata"]["generation"]
        self.check_that_replicas_stay(4)
        self.assertEqual(self.worker()["metadata"]["generation"], generation)
        told = self.warnings("ReplicasOverridden")
        self.assertEqual(told, [(told[0][0], 1)])
        self.assertIn(message, told[0][0])
        # The number of the spec is written once, then it is the autoscaler's turn again.
        self.change("Worker", replicas=3)
        self.wait(lambda: self.worker()["metadata"]["annotations"][RECORD] == "3", "the number of the spec is written")
        self.wait_for_replicas(4)
        self.check_that_replicas_stay(4, 5)
        self.assertEqual(self.worker()["metadata"]["generation"], generation + 2)
        self.assertIn(": 4 replicas instead of 3", self.ready()["message"])
        self.wait_until_ready()

    def grace_period(self):
        return self.worker()["spec"]["template"]["spec"]["terminationGracePeriodSeconds"]


class Fights(Namespace):
    def test_a_field_that_is_changed_back_again_and_again(self):
        name = self.worker()["metadata"]["name"]
        path = path_of("Deployment", self.namespace, name) + "?fieldManager=rival"
        self.assertEqual(self.worker()["spec"]["strategy"]["type"], "RollingUpdate")
        patch = {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": "33%"}}}}
        message = f"rival keeps changing spec.strategy.rollingUpdate.maxUnavailable of Deployment.apps {self.namespace}/{name}"
        ended = threading.Event()

        def undo():
            while not ended.is_set():
                self.plane.cluster.api("PATCH", path, patch, "application/merge-patch+json")
                time.sleep(0.05)

        rival = threading.Thread(target=undo)
        generation = self.worker()["metadata"]["generation"]
        rival.start()
        try:
            time.sleep(10)
            self.wait(lambda: message in self.ready()["message"], f"{message} in {self.ready()}", 20)
        finally:
            ended.set()
            rival.join()
        # Each change and each repair is a generation. 10 s allow repairs at 0, 0, 1, 3 and 7 s, and one more until the end.
        changes = self.worker()["metadata"]["generation"] - generation
        self.assertLess(changes, 20)
        told = self.warnings("FieldContested")
        self.assertEqual(len(told), 1, told)
        self.assertIn(message, told[0][0])


if __name__ == "__main__":
    unittest.main(verbosity=2)
