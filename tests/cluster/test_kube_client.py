#!/usr/bin/env python3
"""The controller's Kubernetes client against a real API server. Run: python3 tests/cluster/test_kube_client.py

Needs `cmake --build build/release --target kube_probe`; KUBE_PROBE names another build of it."""

import os
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ControlPlane  # noqa: E402

PROBE = Path(os.environ.get("KUBE_PROBE") or HERE.parents[1] / "build/release/bin/kube_probe")
NAMESPACE = "kube-probe"

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.probe.example.com"},
    "spec": {
        "group": "probe.example.com",
        "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "subresources": {"status": {}},
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {"size": {"type": "integer", "maximum": 9}},
                            },
                            "status": {"type": "object", "properties": {"phase": {"type": "string"}}},
                        },
                    }
                },
            }
        ],
    },
}


def is_served(cluster):
    try:
        return cluster.api("GET", "/apis/probe.example.com/v1/widgets")
    except Exception:  # noqa: BLE001  (404 until the API server has read the definition)
        return None


class KubeClient(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = ControlPlane(components={"etcd", "apiserver"}, users={"nobody": []})
        cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        cls.cluster.create_namespace(NAMESPACE)
        cls.cluster.api("POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
        cls.cluster.wait(lambda: is_served(cls.cluster), what="widgets")
        cls.environment = {
            **cls.cluster.environment(),
            "DYNAMO_PROBE_NOBODY": str(cls.cluster.user_kubeconfig("nobody")),
            "DYNAMO_PROBE_NAMESPACE": NAMESPACE,
        }

    def test_every_call_against_a_real_api_server(self):
        ran = subprocess.run([PROBE], env=self.environment, capture_output=True, text=True, timeout=300)
        print(ran.stdout.strip().rpartition("\n")[2], file=sys.stderr)
        self.assertEqual(ran.returncode, 0, f"{ran.stdout}\n{ran.stderr}")

    def test_a_restart_of_the_api_server(self):
        command = [PROBE, "[restart]"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen(command, env=self.environment, **pipes) as probe:
            self.addCleanup(probe.kill)
            lines = iter(probe.stdout.readline, "")  # Catch2's own come first
            self.assertIn("ready\n", lines)
            self.cluster.restart_apiserver()
            out, _ = probe.communicate("\n", timeout=120)
        self.assertEqual(probe.returncode, 0, out)


if __name__ == "__main__":
    unittest.main(verbosity=2)
