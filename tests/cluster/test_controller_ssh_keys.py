#!/usr/bin/env python3
"""The SSH keys of TensorRT-LLM on several nodes (child-Q29). Run: python3 tests/cluster/test_controller_ssh_keys.py

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import base64
import copy
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import OperatorPlane, graph  # noqa: E402
from child_crds import install_child_crds  # noqa: E402
from operator_config import wait_until_served  # noqa: E402

TENANTS = ("tenant-a", "tenant-b", "tenant-c")
KEY = "mpi-run-ssh-secret"
MEMBERS = {"private.key", "private.key.pub"}

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    install_child_crds(plane.cluster)
    wait_until_served(plane.cluster)
    for name in TENANTS:
        plane.cluster.create_namespace(name)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def secrets(namespace):
    return f"/api/v1/namespaces/{namespace}/secrets"


def key_of(namespace):
    found = [one for one in plane.cluster.api("GET", secrets(namespace))["items"] if one["metadata"]["name"] == KEY]
    return found[0] if found else None


def tensorrt(namespace):
    made = graph("nodes", namespace)
    made["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
    made["spec"]["services"] = {"Worker": copy.deepcopy(made["spec"]["services"]["Worker"])}
    worker = made["spec"]["services"]["Worker"]
    worker["multinode"] = {"nodeCount": 2}
    main = worker["extraPodSpec"]["mainContainer"]
    main.update(command=["python3", "-m", "dynamo.trtllm"], args=["--model-path", "m", "--tensor-parallel-size", "2"])
    return made


class SshKeys(unittest.TestCase):
    def test_each_namespace_has_a_key_of_its_own_and_a_secret_that_exists_stays(self):
        own = {member: base64.b64encode(b"of the tenant").decode() for member in MEMBERS}
        plane.cluster.api("POST", secrets("tenant-c"), {"metadata": {"name": KEY}, "data": own})
        before = key_of("tenant-c")["metadata"]["resourceVersion"]
        for namespace in TENANTS:
            plane.apply(tensorrt(namespace))
        sets = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/leaderworkersets"
        for namespace in TENANTS:
            plane.cluster.wait(lambda namespace=namespace: plane.cluster.api("GET", sets.format(namespace))["items"], 60,
                               f"the workers of {namespace} have a LeaderWorkerSet")
        plane.cluster.wait(lambda: key_of("tenant-a") and key_of("tenant-b"), 30, "the keys exist")
        first, second = key_of("tenant-a")["data"], key_of("tenant-b")["data"]
        self.assertEqual((set(first), set(second)), (MEMBERS, MEMBERS))
        for member in MEMBERS:
            self.assertNotEqual(first[member], second[member])
        kept = key_of("tenant-c")
        self.assertEqual((kept["data"], kept["metadata"]["resourceVersion"]), (own, before))
        # Nothing is kept in the operator's own namespace.
        self.assertIsNone(key_of("dynamo-system"))


if __name__ == "__main__":
    unittest.main()
