#!/usr/bin/env python3
"""A restore of etcd beside a running controller (quirk ctl-Q61). Run: python3 tests/cluster/test_controller_restore.py

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from control_plane import ApiError, ControlPlaneError  # noqa: E402
from operator_plane import OperatorPlane, difference, graph, is_ready, objects_of, snapshot  # noqa: E402
from operator_config import wait_until_served  # noqa: E402

NAMESPACE = "restored"


class Restore(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = OperatorPlane()
        cls.addClassCleanup(cls.plane.close)
        cls.cluster = cls.plane.cluster
        wait_until_served(cls.cluster)
        cls.cluster.create_namespace(NAMESPACE)
        cls.controller = cls.plane.controller()
        cls.controller.start()
        cls.addClassCleanup(cls.controller.stop)
        cls.controller.wait_until_ready()

    def snapshot(self):
        return snapshot(objects_of(self.cluster, NAMESPACE))

    def is_restored(self, before):
        try:
            return self.snapshot() == before
        except ApiError as error:
            if error.status != 429:  # the API server fills its cache of a kind
                raise
            return False

    def ready(self, name):
        found = self.plane.get("DynamoGraphDeployment", NAMESPACE, name)
        return found is not None and is_ready(found)

    def wait_until_ready(self, name):
        self.cluster.wait(lambda: self.ready(name), 120, f"graph {name} is ready")

    def images(self):
        return {pod["spec"]["containers"][0]["image"]
                for pod in self.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/pods")["items"]}

    def set_image(self, name, image):
        services = graph(name, NAMESPACE, image)["spec"]["services"]
        self.plane.patch("DynamoGraphDeployment", NAMESPACE, name, {"spec": {"services": services}})

    def test_the_cache_goes_back_with_the_api_server(self):
        self.plane.apply(graph("kept", NAMESPACE))
        self.wait_until_ready("kept")
        backup = self.cluster.back_up_etcd()
        self.cluster.wait(lambda: self.ready("kept"), 60, "the API server serves")
        before = self.snapshot()
        # What happens from now on is lost. The controller has seen it all.
        self.set_image("kept", "runtime:2")
        self.plane.apply(graph("lost", NAMESPACE))
        self.wait_until_ready("lost")
        self.cluster.wait(lambda: self.ready("kept") and self.images() == {"runtime:1", "runtime:2"}, 120, "the update ends")
        self.cluster.restore_etcd(backup)
        self.cluster.wait(lambda: self.ready("kept"), 120, "the API server serves what was backed up")
        with self.subTest("nothing of the lost time returns"):
            try:
                self.cluster.wait(lambda: self.is_restored(before), 120, "the objects are those of the backup")
            except ControlPlaneError as error:
                raise AssertionError(difference(before, self.snapshot())) from error
        with self.subTest("changes are followed"):
            self.set_image("kept", "runtime:3")
            self.cluster.wait(lambda: self.ready("kept") and self.images() == {"runtime:3"}, 180, "the update ends")
            self.plane.apply(graph("lost", NAMESPACE))
            self.wait_until_ready("lost")
            self.plane.delete("DynamoGraphDeployment", NAMESPACE, "lost")
            self.cluster.wait(lambda: self.images() == {"runtime:3"}, 120, "the graph is gone with its pods")
        self.assertIsNone(self.controller.exit_status(), "the controller has ended")


if __name__ == "__main__":
    unittest.main(verbosity=2)
