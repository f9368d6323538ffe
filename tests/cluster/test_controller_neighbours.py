#!/usr/bin/env python3
"""Graphs of one namespace do not delay those of another. Run: python3 tests/cluster/test_controller_neighbours.py

A proxy delays the writes of one namespace, as a slow admission webhook for it would. Decision ctl-Q60.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import statistics
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from operator_plane import OperatorPlane, graph, is_ready, path_of  # noqa: E402

SLOW, QUICK = "slow-tenant", "quick-tenant"
SLOW_GRAPHS = 6
WRITE_SECONDS = 2
ROUNDS = 5
DEPLOYMENTS = 3  # of each graph

plane = controller = proxy = None


def setUpModule():
    global plane, controller, proxy
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    for namespace in (SLOW, QUICK):
        plane.cluster.create_namespace(namespace)
    controller = plane.proxied_controller()
    proxy = controller.proxy
    controller.start()
    controller.wait_until_ready()


def deployments(namespace):
    return plane.cluster.api("GET", path_of("Deployment", namespace))["items"]


def seconds_to_apply(name):
    """The time from the creation of a graph until all of its Deployments exist and it is ready."""
    began = time.monotonic()
    plane.apply(graph(name, QUICK))
    plane.cluster.wait(lambda: len(deployments(QUICK)) == DEPLOYMENTS, 120, "the Deployments exist")
    applied = time.monotonic() - began
    plane.cluster.wait(lambda: is_ready(plane.get("DynamoGraphDeployment", QUICK, name)), 120, "the graph is ready")
    ready = time.monotonic() - began
    plane.delete("DynamoGraphDeployment", QUICK, name)
    plane.cluster.wait(lambda: not deployments(QUICK), 60, "the Deployments are deleted")
    return applied, ready


def times(prefix):
    rounds = [seconds_to_apply(f"{prefix}-{number}") for number in range(ROUNDS)]
    return [statistics.median(column) for column in zip(*rounds)]


def change_again_and_again(ended):
    """The slow graphs always have something to write."""
    number = 0
    while not ended.wait(1):
        number += 1
        image = {"extraPodSpec": {"mainContainer": {"image": f"runtime:{number}"}}}
        for slow in range(SLOW_GRAPHS):
            patch = {"spec": {"services": {"Frontend": image, "Processor": image}}}
            plane.patch("DynamoGraphDeployment", SLOW, f"g{slow}", patch)


class Neighbours(unittest.TestCase):
    def test_slow_writes_in_one_namespace_do_not_delay_a_graph_in_another(self):
        seconds_to_apply("first")
        alone = times("alone")
        proxy.slow[SLOW] = WRITE_SECONDS
        for number in range(SLOW_GRAPHS):
            plane.apply(graph(f"g{number}", SLOW))
        plane.cluster.wait(lambda: proxy.writes_of(SLOW), 60, "the controller writes for the slow graphs")
        ended = threading.Event()
        changes = threading.Thread(target=change_again_and_again, args=(ended,))
        changes.start()
        try:
            before = len(proxy.writes_of(SLOW))
            beside = times("beside")
            writes = len(proxy.writes_of(SLOW)) - before
        finally:
            ended.set()
            changes.join()
        print(f"  applied after {alone[0]:.2f} s alone, {beside[0]:.2f} s beside {SLOW_GRAPHS} slow graphs; "
              f"ready after {alone[1]:.2f} s and {beside[1]:.2f} s", file=sys.stderr)
        self.assertLess(beside[0], 2 * alone[0])
        self.assertLess(beside[1], 2 * alone[1])
        self.assertGreater(writes, 0, "the slow graphs wrote nothing meanwhile")
        plane.cluster.wait(lambda: len(deployments(SLOW)) == SLOW_GRAPHS * DEPLOYMENTS, 180, "the slow graphs are applied")


if __name__ == "__main__":
    unittest.main(verbosity=2)
