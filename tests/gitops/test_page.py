#!/usr/bin/env python3
"""Plays the commands of deploy/gitops/README.md on a local control plane. The command `flux` is reconcile.py; all others are real.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook kubectl-dynamo`."""

import re
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster"), str(ROOT / "deploy/lib")]

import engines  # noqa: E402
import install as installation  # noqa: E402
import page  # noqa: E402
from operator_plane import OperatorPlane, is_ready  # noqa: E402

GRAPH, NAMESPACE = "DynamoGraphDeployment", "demo"
SECONDS = 180

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


class Page(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        remote, environment = page.remote(plane.cluster, self.folder)
        programs = self.folder / "bin"
        programs.mkdir()
        flux = programs / "flux"
        arguments = f"{HERE / 'reconcile.py'} {remote} {plane.cluster.kubeconfig} {NAMESPACE}"
        wanted = "reconcile kustomization dynamo-graphs --with-source --timeout=30m"
        flux.write_text(f'#!/bin/sh\n[ "$*" = "{wanted}" ] && exec {sys.executable} {arguments}\n', encoding="utf-8")
        flux.chmod(0o755)
        path = f"{programs}:{Path(installation.WEBHOOK).parent}:{environment['PATH']}"
        self.environment = {**environment, "PATH": path}
        self.repository = self.folder

    def run_block(self, text):
        output = page.run(text, self.repository, self.environment, SECONDS)
        self.repository = self.folder / page.CLONE
        return output

    def images(self):
        path = "/apis/apps/v1/namespaces/demo/deployments"
        containers = [one["spec"]["template"]["spec"]["containers"][0] for one in plane.cluster.api("GET", path)["items"]]
        return {one["image"].rpartition(":")[2] for one in containers}

    def test_the_commands_of_the_page(self):
        into_git, applied, reviewed, merged, back = page.blocks()
        self.run_block(into_git)
        operator = plane.cluster.kubectl("kustomize", self.repository / "operator").stdout
        self.assertIn("image: registry.example.com/dynamo-operator:0.1.0", operator)
        self.assertIn("qwen-decode", self.run_block(applied))
        self.assertEqual(self.images(), {"1.0.0"})
        self.assertIn("qwen configured (server dry run)", self.run_block(reviewed))
        self.assertEqual(self.images(), {"1.0.0"})
        self.assertIn("condition met", self.run_block(merged))
        self.assertEqual(self.images(), {"1.0.1"})
        self.assertIn(f"{GRAPH}/qwen configured", self.run_block(back))
        self.assertTrue(is_ready(plane.get(GRAPH, NAMESPACE, "qwen")))
        self.assertEqual(self.images(), {"1.0.0"})
        self.assertEqual(engines.flux_drift(plane.cluster, self.in_git()), {})

    def in_git(self):
        (found,) = yaml.safe_load_all((self.repository / "graphs/qwen.yaml").read_text(encoding="utf-8"))
        found["metadata"]["namespace"] = NAMESPACE
        return [found]


class Rules(unittest.TestCase):
    def test_the_rules_of_the_page_are_those_of_the_file(self):
        (printed,) = re.findall(r"^```yaml\n(.*?)^```$", page.PAGE.read_text(encoding="utf-8"), re.M | re.S)
        data = yaml.safe_load(engines.ARGOCD_CM.read_text(encoding="utf-8"))["data"]
        rules = {key: text for key, text in data.items() if ".ignoreDifferences." in key}
        self.assertEqual(yaml.safe_load(printed), rules)


class Scaling(unittest.TestCase):
    """A service that an adapter scales: its replicas belong to the adapter, so the manifest has none."""

    def test_what_an_adapter_scales_is_no_drift_without_replicas_in_git(self):
        plane.cluster.create_namespace("scaled")
        worker = {"componentType": "worker", "scalingAdapter": {"enabled": True}, "extraPodSpec": {"mainContainer": {
            "image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}}}
        metadata = {"name": "g", "namespace": "scaled"}
        graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": metadata, "spec": {"services": {"Worker": worker}}}
        engines.flux_apply(plane.cluster, [graph])
        ready = lambda: is_ready(plane.get(GRAPH, "scaled", "g"))  # noqa: E731
        plane.cluster.wait(ready, 60, "the graph is ready")
        plane.patch("DynamoGraphDeploymentScalingAdapter", "scaled", "g-worker", {"spec": {"replicas": 3}})
        replicas = lambda: plane.get(GRAPH, "scaled", "g")["spec"]["services"]["Worker"].get("replicas")  # noqa: E731
        plane.cluster.wait(lambda: replicas() == 3, 60, "the adapter scales the graph")
        self.assertEqual(engines.flux_drift(plane.cluster, [graph]), {})
        self.assertEqual(engines.argo_drift(plane.cluster, "merge", [graph]), {})
        worker["replicas"] = 1
        self.assertEqual(engines.argo_drift(plane.cluster, "merge", [graph]), {f"{GRAPH}/g": [".spec.services.Worker.replicas"]})


if __name__ == "__main__":
    unittest.main()
