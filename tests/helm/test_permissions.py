"""The service account of the chart, cluster-wide and restricted to one namespace: the controller runs with its token through graphs
with every kind of child, and all its requests are in the audit log. None is refused, and each permission is used. The tests are
those of tests/cluster/test_controller_rbac.py.

Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`."""

import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "cluster"), str(HERE.parents[1] / "deploy/lib")]

import charts  # noqa: E402
import render  # noqa: E402
import test_controller_rbac as kustomized  # noqa: E402

RELEASE = "dynamo-operator"
VALUES = {
    "checkpoint": {"enabled": True},
    "dynamo": {"istio": {"enabled": True, "gateway": "istio/gateway"}},
}


class Chart(kustomized.Mode):
    """With the objects of the chart. `values` are added to VALUES."""

    settings = "\ncompatibility: {autoscaling: true}\n"
    values = {}

    @classmethod
    def manifests(cls):
        with tempfile.TemporaryDirectory(prefix="dynamo-charts-") as folder:
            chart = charts.lay(folder, charts.OPERATOR, notes=False)
            rendered = render.template("helm3", chart, {**VALUES, **cls.values}, RELEASE, cls.namespace)
        if rendered.refusal:
            raise AssertionError(rendered.refusal)
        return [o for o in rendered.objects if o["kind"] != "Job"]


class ClusterWide(Chart, unittest.TestCase):
    namespace = "dynamo-system"
    graphs = "graphs"
    role = f"{kustomized.RBAC}/clusterroles/{kustomized.MANAGER}"
    applies_crds = True
    queues = ()


class Restricted(Chart, unittest.TestCase):
    namespace = graphs = "team-a"
    role = f"{kustomized.RBAC}/namespaces/team-a/roles/{kustomized.MANAGER}"
    values = {"namespaceRestriction": {"enabled": True}}


class RestrictedElsewhere(Chart, unittest.TestCase):
    """The operator of a namespace runs in another one."""

    namespace, graphs = "operators", "team-a"
    role = f"{kustomized.RBAC}/namespaces/team-a/roles/{kustomized.MANAGER}"
    values = {"namespaceRestriction": {"enabled": True, "targetNamespace": "team-a"}}


if __name__ == "__main__":
    unittest.main()
