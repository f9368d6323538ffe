#!/usr/bin/env python3
"""Worker generations while they are replaced. Run: python3 tests/cluster/test_controller_generations.py

A cluster of an older release is taken over in the middle of a change of its workers (ctl-Q70), and workers change in the middle
of a restart in a cluster that has GPUs for exactly the wanted pods and one more (ctl-Q71).
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import copy
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from every_child import MERGE  # noqa: E402
from operator_plane import OperatorPlane, is_ready, path_of  # noqa: E402

WANTED = 2

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane(nodes=1, gpus=WANTED + 1, kwok_config=HERE / "pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)


class Generations(unittest.TestCase):
    def setUp(self):
        self.controller = plane.controller()
        self.controller.start()
        self.controller.wait_until_ready()
        self.addCleanup(self.controller.stop)

    def workers(self, name):
        """Applies a graph of two workers with one GPU each and waits for them. Returns the name of their component."""
        self.namespace = name
        plane.cluster.create_namespace(name)
        pod = {"mainContainer": {"image": "runtime:1"}}
        worker = {"componentType": "worker", "replicas": WANTED, "resources": {"limits": {"gpu": "1"}}, "extraPodSpec": pod}
        self.manifest = {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": "g", "namespace": name},
            "spec": {"services": {"Worker": worker}},
        }
        plane.apply(self.manifest)
        self.addCleanup(self.delete)
        self.wait(lambda: is_ready(self.graph()), "the graph is ready")
        return self.list("DynamoComponentDeployment")[0]["metadata"]["name"]

    def delete(self):
        plane.delete("DynamoGraphDeployment", self.namespace, "g")
        self.wait(lambda: not self.list("Pod"), "all pods are gone")

    def graph(self):
        return plane.get("DynamoGraphDeployment", self.namespace, "g")

    def list(self, kind):
        return plane.cluster.api("GET", path_of(kind, self.namespace))["items"]

    @staticmethod
    def wait(condition, about, timeout=180):
        plane.cluster.wait(condition, timeout, about)

    def serving(self):
        """The number of pods that are ready and not ending."""
        return sum(
            any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
            for pod in self.list("Pod")
            if "deletionTimestamp" not in pod["metadata"]
        )

    def change_image(self):
        changed = copy.deepcopy(self.manifest)
        changed["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]["image"] = "runtime:2"
        plane.apply(changed)

    def watch_update(self, check):
        """Calls `check` until the update is complete."""
        deadline = time.monotonic() + 240
        while self.graph()["status"].get("rollingUpdate", {}).get("phase") != "Completed":
            self.assertLess(time.monotonic(), deadline, self.graph()["status"])
            check()
            time.sleep(0.1)
        self.wait(lambda: is_ready(self.graph()), "the graph is ready again")

    def test_takeover_in_the_middle_of_a_change(self):
        """The old workers keep the pods of the older release, and serve until new ones do."""
        old = self.workers("takeover")
        self.controller.stop()
        template = {"spec": {"terminationGracePeriodSeconds": 61}}  # as an older release rendered it
        plane.cluster.api(
            "PATCH", path_of("Deployment", self.namespace, old), {"spec": {"template": template}}, content_type=MERGE
        )

        def rolled():
            deployment = plane.get("Deployment", self.namespace, old)
            status = deployment["status"]
            if status["observedGeneration"] < deployment["metadata"]["generation"]:
                return False
            return status.get("updatedReplicas") == status.get("replicas") == status.get("availableReplicas") == WANTED

        self.wait(rolled, "the pods of the older release")
        self.change_image()
        self.setUp()

        def check():
            self.assertGreaterEqual(self.serving(), WANTED)
            deployment = plane.get("Deployment", self.namespace, old)
            if deployment is not None:
                self.assertEqual(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], 61)

        self.watch_update(check)
        self.assertIsNone(plane.get("DynamoComponentDeployment", self.namespace, old))

    def test_a_change_in_the_middle_of_a_restart(self):
        """The update ends, although the pods that the restart replaces and those of the update need the same GPU."""
        self.workers("exact")
        self.manifest["spec"]["restart"] = {"id": "r1"}
        plane.apply(self.manifest)
        self.wait(lambda: len(self.list("Pod")) > WANTED, "the restart replaces pods")
        self.change_image()
        self.watch_update(lambda: self.assertGreaterEqual(self.serving(), WANTED - 1))
        pods = [one for one in self.list("Pod") if "deletionTimestamp" not in one["metadata"]]
        self.assertEqual([one["spec"]["containers"][0]["image"] for one in pods], ["runtime:2"] * WANTED)


if __name__ == "__main__":
    unittest.main(verbosity=2)
