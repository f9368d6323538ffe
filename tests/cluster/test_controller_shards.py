#!/usr/bin/env python3
"""Controllers that divide the namespaces among them, as deploy/kustomize/overlays/sharded runs them.
Run: python3 tests/cluster/test_controller_shards.py

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import json
import re
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import OperatorPlane, ProxiedController, graph, is_ready  # noqa: E402
import install as installation  # noqa: E402

OVERLAY = installation.KUSTOMIZE / "overlays/sharded"
NAMESPACES = [f"shards-{number}" for number in range(12)]
PLANE_OBJECTS = "dynamo-system"  # facts and certificates, which every controller may write

plane = None
shards = []


def setUpModule():
    global plane
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    for name in NAMESPACES:
        plane.cluster.create_namespace(name)
    objects = {(one["kind"], one["metadata"]["name"]): one for one in installation.rendered(plane.cluster, OVERLAY)}
    role = objects["Role", "dynamo-operator-leader-election-role"]
    plane.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=json.dumps(role))
    spec = objects["StatefulSet", "dynamo-operator-controller-manager"]["spec"]
    flag = next(one for one in spec["template"]["spec"]["containers"][0]["args"] if one.startswith("--shard="))
    for number in range(spec["replicas"] // 2):  # the others are standbys
        one = ProxiedController(
            plane.cluster, plane.config(leader_election=True), name=f"shard-{number}", flags=(flag.replace("$(SHARD)", str(number)),)
        )
        unittest.addModuleCleanup(one.stop)
        shards.append(one)
        one.start()
    for one in shards:
        one.wait_until_ready()


def all_ready():
    found = [plane.get("DynamoGraphDeployment", name, "g") for name in NAMESPACES]
    return all(one is not None and is_ready(one) for one in found)


def writers():
    """Namespace -> the controllers that have written there."""
    found = {name: set() for name in NAMESPACES}
    for entry in plane.audit.entries():
        ids = entry["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id", [])
        for shard in shards:
            if shard.credential() in ids and entry["objectRef"].get("namespace") != PLANE_OBJECTS:
                found.setdefault(entry["objectRef"].get("namespace"), set()).add(shard.name)
    return found


def counted(shard):
    """The namespaces whose graphs a controller counts, and so has in its cache."""
    lines = [line for line in shard.metrics().splitlines() if line.startswith("dynamo_operator_resources_total{")]
    return {re.search(r'namespace="([^"]*)"', line)[1] for line in lines if 'resource_type="DynamoGraphDeployment"' in line}


class Shards(unittest.TestCase):
    def test_each_namespace_has_one_controller(self):
        self.assertEqual(len(shards), 4)
        for name in NAMESPACES:
            plane.apply(graph("g", name))
        plane.cluster.wait(all_ready, 120, "all graphs are ready")
        found = writers()
        self.assertEqual(found.keys(), set(NAMESPACES))
        for name, by in found.items():
            self.assertEqual(len(by), 1, f"{name} was written by {by}")
        self.assertEqual({next(iter(by)) for by in found.values()}, {one.name for one in shards}, "each has namespaces")
        for shard in shards:
            own = {name for name, by in found.items() if by == {shard.name}}
            plane.cluster.wait(lambda shard=shard, own=own: counted(shard) == own, 10, f"{shard.name} counts {own}")

        # The others go on without one of them, and it continues when it returns.
        stopped = shards[0]
        own = [name for name, by in found.items() if by == {stopped.name}]
        self.assertEqual(stopped.stop(), 0)
        for name in NAMESPACES:
            plane.apply(graph("g", name, image="runtime:2"))
        others = [name for name in NAMESPACES if name not in own]
        plane.cluster.wait(
            lambda: all(is_ready(plane.get("DynamoGraphDeployment", name, "g")) for name in others), 120, "the others are ready"
        )
        for name in own:
            self.assertFalse(is_ready(plane.get("DynamoGraphDeployment", name, "g")), f"nobody reconciles {name}")
        stopped.start()
        plane.cluster.wait(all_ready, 120, "all graphs are ready again")


if __name__ == "__main__":
    unittest.main(verbosity=2)
