"""Resources of services as control groups and quality of service, and the size of /dev/shm."""

import json

from base import PodsTest, main_container
from graphs import graph, served

MIB = 1 << 20
DEFAULT_SHM = 64  # of the container runtime
# Reads both versions of control groups. Limits are in bytes, in microseconds of CPU time each 100 ms, and in shares.
FACTS = """
import json, os
def read(*names):
    for name in names:
        path = "/sys/fs/cgroup/" + name
        if os.path.exists(path):
            return open(path).read().split()
memory, = read("memory/memory.limit_in_bytes", "memory.max")
quota = read("cpu/cpu.cfs_quota_us", "cpu.max")[0]
weight, = read("cpu/cpu.shares", "cpu.weight")
size = os.statvfs("/dev/shm")
print(json.dumps({
    "memory": None if memory == "max" or int(memory) >= 1 << 60 else int(memory),
    "quota": None if quota in ("max", "-1") else int(quota),
    "weight": int(weight),
    "v2": os.path.exists("/sys/fs/cgroup/cgroup.controllers"),
    "shm": size.f_blocks * size.f_frsize,
}))
"""


def weight(shares, v2):
    """How runc converts shares to the weights of control groups of version 2."""
    return 1 + (shares - 2) * 9999 // 262142 if v2 else shares


def needs(**kinds):
    return {"resources": kinds}


# title, fields of the service, expected: quality of service, memory limit in MiB, quota in us, shares, /dev/shm in MiB
CASES = [
    ("nothing given", {}, "BestEffort", None, None, 2, 8192),
    ("limits and requests", {**needs(requests={"cpu": "100m", "memory": "64Mi"}, limits={"cpu": "500m", "memory": "256Mi"}),
                             "sharedMemory": {"size": "96Mi"}}, "Burstable", 256, 50000, 102, 96),
    ("limits only", {**needs(limits={"cpu": "1", "memory": "192Mi"}), "sharedMemory": {"disabled": True}},
     "Guaranteed", 192, 100000, 1024, DEFAULT_SHM),
    ("requests only", {**needs(requests={"cpu": "250m", "memory": "32Mi"}), "sharedMemory": {"size": "1Gi"}},
     "Burstable", None, None, 256, 1024),
    # The kubelet makes the file system no larger than the memory that the pod may use.
    ("memory below the default size", needs(limits={"memory": "512Mi"}), "Burstable", 512, None, 2, 512),
    ("devices", needs(requests={"cpu": "50m"}, limits={"gpu": "2", "custom": {"example.com/nic": "1"}}),
     "Burstable", None, None, 51, 8192),
    ("in the container", {"main": {"resources": {"limits": {"memory": "300Mi"}}}, **needs(limits={"cpu": "200m"}),
                          "sharedMemory": {"size": "16Mi"}}, "Guaranteed", 300, 20000, 204, 16),
]  # fmt: skip
DEVICES = {"nvidia.com/gpu": "4", "example.com/nic": "2"}


class Limits(PodsTest):
    @classmethod
    def setUpClass(cls):
        node = f"/api/v1/nodes/{cls.plane.cluster.node.name}"
        devices = {"status": {"capacity": DEVICES, "allocatable": DEVICES}}
        found = cls.plane.cluster.api("PATCH", f"{node}/status", devices, "application/merge-patch+json")
        cls.memory = int(found["status"]["allocatable"]["memory"].removesuffix("Ki")) >> 10
        services = {f"Case{number}": served("worker", **case[1]) for number, case in enumerate(CASES)}
        cls.name = cls.create_and_settle(graph("limits", services))

    def test_control_groups_quality_and_shared_memory(self):
        for number, (title, _, quality, memory, quota, shares, shm) in enumerate(CASES):
            with self.subTest(title):
                (pod,) = self.pods(self.name, f"Case{number}")
                found = self.inside(pod, FACTS)
                v2 = found.pop("v2")
                shown = {name: value >> 20 if name in ("memory", "shm") and value else value for name, value in found.items()}
                self.measured.append((f"resources, {title}", f"{quality}, /dev/shm {shm} MiB", json.dumps(shown)))
                self.assertEqual(pod["status"]["qosClass"], quality)
                expected = {"memory": memory and memory * MIB, "quota": quota, "weight": weight(shares, v2)}
                self.assertEqual(found, {**expected, "shm": min(shm, self.memory) * MIB})

    def test_devices_are_those_of_the_node(self):
        (number,) = [number for number, case in enumerate(CASES) if case[0] == "devices"]
        (pod,) = self.pods(self.name, f"Case{number}")
        resources = main_container(pod)["resources"]
        devices = {"nvidia.com/gpu": "2", "example.com/nic": "1"}
        self.assertEqual(resources, {"limits": devices, "requests": {"cpu": "50m", **devices}})
        self.assertEqual(pod["spec"]["nodeName"], self.plane.cluster.node.name)
