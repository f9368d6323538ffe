"""Plausible graphs on a real API server: no child of an admitted graph is rejected, and every denial has a reason.

DYNAMO_PLAUSIBLE is the number of graphs (80), DYNAMO_SEED their seed (1). The pods in children are created as plain pods,
because the API server does not validate pod templates of custom resources. DYNAMO_SHOW=1 prints the denials.
"""

import collections
import os
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import plausible_check as check  # noqa: E402
from child_crds import install_child_crds  # noqa: E402
from plausible import generate  # noqa: E402
from plausible_parts import PRIORITY_CLASSES, RUNTIME_CLASSES  # noqa: E402
from requests import ROOT, Cluster  # noqa: E402

import install as installation  # noqa: E402
from built import PLUGIN  # noqa: E402

COUNT = int(os.environ.get("DYNAMO_PLAUSIBLE") or 80)
SEED = int(os.environ.get("DYNAMO_SEED") or 1)
CONFIG = installation.CONFIG + "checkpoint: {{enabled: true}}\ningress: {{virtualServiceGateway: istio-system/default}}\n"

# Rules without a corresponding error of the API server for a child, with the reason of each.
OPERATOR_RULES = {
    "dgd.grove-name-length": "Grove's own webhook rejects longer names of its pods",
    "dgd.restart-id": "without an id the controller cannot tell one restart from the next",
    "dgd.restart-order": "a restart with an order that is no permutation of the services never ends",
    "dgd.restart-parallel": "an order of a restart in parallel has no effect",
    "dgd.origin-version": "the version selects the executor of vLLM; an invalid version would do so silently",
    "dgd.vllm-executor": "any other executor is silently replaced by the default one",
    "service.vllm-executor": "any other executor is silently replaced by the default one",
    "dgd.services-required": "a graph without services has no children",
    "dgd.pvc-name": "a claim with an invalid name can never exist",
    "dgd.pvc-repeated": "two claims with one name are ambiguous",
    "service.mount-volume": "a claim with the name of another volume of the pod is not mounted",
    "service.mount-point": "without a path nothing can be rendered",
    "service.env-from-secret": "pods wait forever for a Secret whose name cannot exist",
    "service.sidecar-image": "a container without an image is rejected",
    "service.shared-memory-size": "a size of zero would mean the default size, not none",
    "service.epp-config": "an endpoint picker does not start without a configuration",
    "service.epp-config-map": "otherwise its volume has no source",
    "service.epp-replicas": "the InferencePool refers to one picker; two would not share their state",
    "service.epp-multinode": "a picker is one process",
    "service.trtllm-gpus": "mpirun counts processes by the GPUs of a node",
    "service.ingress-host": "an Ingress without host would take the traffic of all hosts",
    "service.model-ref": "a model without name has no Service",
    "service.checkpoint-multinode": "the state of one container is not the state of several nodes",
    "service.checkpoint-source": "the checkpoint to restore is unknown",
    "service.checkpoint-main": "the pod of the checkpoint would have two containers of this name",
    "service.mount-own-name": "the pod would have no volume of checkpoints",
    "service.quantity": "an invalid quantity cannot be rendered",
    "service.rolling-update": "an invalid number or percentage would silently become the default",
    "pod.object-name": "pods wait forever for a ConfigMap, Secret or claim whose name cannot exist",
    "pod.volume-medium": "no kubelet supports such a medium",
    "render.framework": "the command starts one engine with the flags of another",
    "render.trtllm-nodes": "the command line of mpirun would be too long to start",
    "render.lws-replicas": "each replica is an object of its own",
}


def defects(result):
    """Rejected children of an admitted graph, except on a pathway that admission has warned about."""
    warned = {way: any(f"{way} Grove: " in warning for warning in result.warnings) for way in ("with", "without")}
    return [each for each in result.refused if not warned["with" if each[0] == "grove" else "without"]]


def holds(result, rules):
    """Whether the denial is confirmed by the API server or by rendering, or has a documented reason."""
    others = [each for each in result.refused if not each[1].startswith("Dynamo") and each[1] != "render"]
    return bool(others) or all(rule.startswith("schema.") or rule in OPERATOR_RULES for rule, *_ in rules)


class Plausible(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cluster = Cluster(components=("etcd", "apiserver"))
        with mock.patch.object(installation, "CONFIG", CONFIG):
            cls.cluster.start()
        cls.addClassCleanup(cls.cluster.stop)
        plane = cls.cluster.plane
        install_child_crds(plane)
        config = plane.directory / "operator-config.yaml"
        api = check.Api(plane)
        api.prepare(priorityclasses=PRIORITY_CLASSES, runtimeclasses=RUNTIME_CLASSES)
        cls.results = check.Checker(api, PLUGIN, config).run(generate(SEED, COUNT))
        cls.rules = {id(r): check.findings(installation.WEBHOOK, config, r.graph) for r in cls.results if r.refusal}

    def test_children_of_admitted_graphs_are_accepted(self):
        admitted = [r for r in self.results if not r.refusal]
        self.assertGreater(len(admitted), COUNT // 2)
        print(f"{len(admitted)} of {COUNT} admitted, {sum(r.created for r in admitted)} children and pods created")
        for result in admitted:
            with self.subTest(result.graph["metadata"]["namespace"], seed=SEED, mistake=result.mistake):
                self.assertFalse(defects(result), "\n".join(map(str, defects(result))))

    def test_denials_have_a_reason(self):
        refused = [r for r in self.results if r.refusal]
        self.assertGreater(len(refused), 0)
        kept = collections.Counter(rule for r in refused for rule, *_ in self.rules[id(r)] if rule in OPERATOR_RULES)
        print(f"{len(refused)} of {COUNT} refused; by rules of the operator's own: {dict(kept)}")
        for result in refused:
            rules = self.rules[id(result)]
            if os.environ.get("DYNAMO_SHOW"):
                print(result.graph["metadata"]["namespace"], result.mistake or "GOOD", "|", rules, "|", result.refusal[:200], "|",
                      len(result.refused), str(result.refused[:1])[:300])
            with self.subTest(result.graph["metadata"]["namespace"], seed=SEED, mistake=result.mistake):
                self.assertTrue(holds(result, rules), f"{result.refusal}\n{rules}")


if __name__ == "__main__":
    unittest.main()
