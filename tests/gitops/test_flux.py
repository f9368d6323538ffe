#!/usr/bin/env python3
"""Flux's own kustomize-controller with the Kustomizations of deploy/gitops/flux.yaml: it waits until graphs are healthy, says which one
has failed, changes nothing at rest, heals what a user edits, and prunes what has left Git.

Only in a full run: kustomize-controller is built for it. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import os
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import request_samples  # noqa: E402,F401  (registers the kind DynamoModel)
from kustomize_controller import KUSTOMIZATIONS, KustomizeController, kustomizations  # noqa: E402
from manifests import TEAM, examples, is_accepted  # noqa: E402
from operator_plane import OperatorPlane, is_ready  # noqa: E402

OPERATOR, GRAPHS = "dynamo-operator", "dynamo-graphs"
TARGET = "demo"
GRAPH, MODEL = "DynamoGraphDeployment", "DynamoModel"
CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
# The operator runs as processes here. This stands for its manifests, which test_flux_node.py has.
STAND_IN = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "operator", "namespace": "default"}}
SECONDS = 120

plane = flux = None


def setUpModule():
    if os.environ.get("DYNAMO_FULL") != "1":
        raise unittest.SkipTest("kustomize-controller runs only in a full run")
    global plane, flux
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory(prefix="dynamo-flux-"))
    plane = OperatorPlane(child_crds=True, config=CONFIG)
    unittest.addModuleCleanup(plane.close)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    plane.cluster.create_namespace(TARGET)
    flux = KustomizeController(plane.cluster, folder)
    unittest.addModuleCleanup(flux.close)


def graph(name, image="runtime:1", **metadata):
    main = {"image": image, "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    service = {"componentType": "worker", "extraPodSpec": {"mainContainer": main}}
    made = {"name": name, **metadata}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": made, "spec": {"services": {"Worker": service}}}


def tree(*manifests):
    """The files of the repository."""
    files = {"operator/operator.yaml": yaml.safe_dump(STAND_IN)}
    for number, one in enumerate(manifests):
        files[f"graphs/{number}-{one['metadata']['name']}.yaml"] = yaml.safe_dump(one)
    return files


class Flux(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.addCleanup(self.delete)

    def delete(self):
        """Kustomizations prune what they have applied."""
        for one in plane.cluster.api("GET", KUSTOMIZATIONS)["items"]:
            plane.cluster.api("DELETE", f"{KUSTOMIZATIONS}/{one['metadata']['name']}")
        self.until("the Kustomizations are gone", lambda: not plane.cluster.api("GET", KUSTOMIZATIONS)["items"])
        plane.cluster.kubectl("delete", "dgdr,dgd,dcd,dgdsa,dm,dckpt", "--all", "-n", TARGET, "--timeout=60s")

    def until(self, what, condition, seconds=SECONDS):
        try:
            plane.cluster.wait(condition, seconds, what)
        except Exception as error:
            found = [(one["metadata"]["name"], one.get("status")) for one in plane.cluster.api("GET", KUSTOMIZATIONS)["items"]]
            raise AssertionError(f"{what}: {found}\n{flux.log_tail()}") from error

    def apply(self, **changes):
        """Both Kustomizations of the page. `changes`: to the spec of that of the graphs."""
        for name, one in kustomizations().items():
            spec = {**one["spec"], **(changes if name == GRAPHS else {})}
            plane.cluster.api("POST", KUSTOMIZATIONS, {**one, "spec": spec})

    def applied(self, revision):
        self.until("the graphs are applied and healthy", lambda: flux.has_applied(GRAPHS, revision))

    def test_it_waits_for_graphs_updates_and_prunes_them(self):
        base = {"apiVersion": "nvidia.com/v1alpha1", "kind": MODEL, "metadata": {"name": "base"},
                "spec": {"modelName": "m", "baseModelName": "m"}}  # fmt: skip
        revision = flux.push(tree(graph("first"), graph("second")))
        self.apply()
        self.applied(revision)
        for name in ("first", "second"):
            self.assertTrue(is_ready(plane.get(GRAPH, TARGET, name)))
        # A model without pods is not healthy, as the table of the page says.
        flux.push(tree(graph("first", image="runtime:2"), base))
        self.until("the second graph is pruned", lambda: plane.get(GRAPH, TARGET, "second") is None)
        self.until("the first one is updated", lambda: "runtime:2" in str(plane.get(GRAPH, TARGET, "first")["spec"]))
        self.until("its pods too", lambda: "runtime:2" in str(plane.cluster.api("GET", f"/apis/apps/v1/namespaces/{TARGET}/deployments")))
        self.assertNotEqual(flux.ready(GRAPHS).get("status"), "True")
        revision = flux.push(tree(graph("first", image="runtime:2")))
        self.applied(revision)
        self.until("the model is pruned", lambda: plane.get(MODEL, TARGET, "base") is None)

    def test_a_graph_that_fails_is_told(self):
        """It names a claim that does not exist."""
        failing = graph("failing")
        failing["spec"]["pvcs"] = [{"name": "absent", "create": False}]
        flux.push(tree(graph("fine"), failing))
        self.apply()
        self.until("it is told", lambda: flux.ready(GRAPHS).get("reason") == "HealthCheckFailed")
        self.assertIn(f"{GRAPH}/{TARGET}/failing", flux.ready(GRAPHS)["message"])
        self.assertNotIn(f"{GRAPH}/{TARGET}/fine", flux.ready(GRAPHS)["message"])

    def test_what_admission_refuses_is_told_with_its_path(self):
        refused = graph("refused")
        refused["spec"]["services"]["Worker"]["resources"] = {"limits": {"gpu": "many"}}
        flux.push(tree(graph("fine"), refused))
        self.apply()
        self.until("it is told", lambda: flux.ready(GRAPHS).get("reason") == "ReconciliationFailed")
        self.assertIn("spec.services[Worker].resources.limits.gpu", flux.ready(GRAPHS)["message"])

    def test_all_examples_are_at_rest_and_edits_are_healed(self):
        """Without waiting, because some of them never get ready."""
        found = [one for one in examples(TARGET) if is_accepted(plane, one)]
        revision = flux.push(tree(*found))
        self.apply(wait=False, healthCheckExprs=[])
        self.applied(revision)
        generations = self.generations(found)
        self.reconcile()
        self.assertEqual(self.generations(found), generations, "nothing is written")
        for one in found:
            plane.patch(one["kind"], TARGET, one["metadata"]["name"], {"metadata": {"labels": {TEAM: "b"}}})
        self.reconcile()
        for one in found:
            with self.subTest(one["kind"], name=one["metadata"]["name"]):
                self.assertEqual(plane.get(one["kind"], TARGET, one["metadata"]["name"])["metadata"]["labels"][TEAM], "a")

    def reconcile(self):
        at = flux.reconcile(GRAPHS)
        self.until("it is reconciled", lambda: flux.get(GRAPHS)["status"].get("lastHandledReconcileAt") == at)

    def generations(self, manifests):
        """What Flux writes into managedFields, and the generation, of each object."""
        seen = {}
        for one in manifests:
            metadata = plane.get(one["kind"], TARGET, one["metadata"]["name"])["metadata"]
            written = [entry.get("time") for entry in metadata["managedFields"] if entry["manager"] == "kustomize-controller"]
            seen[one["kind"], metadata["name"]] = (metadata["generation"], written)
        return seen


if __name__ == "__main__":
    unittest.main()
