"""Plausible graphs on a real API server: no child of an admitted one is refused, and every refusal has a reason.

DYNAMO_PLAUSIBLE graphs (80 unless given) of DYNAMO_SEED (1). The pods inside children are created as plain pods, for
the API server does not look at pods inside other kinds. DYNAMO_SHOW=1 prints the refusals.
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

COUNT = int(os.environ.get("DYNAMO_PLAUSIBLE") or 80)
SEED = int(os.environ.get("DYNAMO_SEED") or 1)
CONTROLLER = os.environ.get("DYNAMO_CONTROLLER") or ROOT / "build/release/bin/dynamo-controller"
CONFIG = installation.CONFIG + "checkpoint: {{enabled: true}}\ningress: {{virtualServiceGateway: istio-system/default}}\n"

# Refusals that the API server would not make of any child: why each is right.
OPERATOR_RULES = {
    "dgd.grove-name-length": "Grove's own webhook refuses longer names of its pods",
    "dgd.restart-id": "without an id the controller cannot tell one restart from the next",
    "dgd.restart-order": "a restart with an order that is no permutation of the services never ends",
    "dgd.restart-parallel": "an order of a restart in parallel has no effect",
    "dgd.origin-version": "decides the executor of vLLM: a text that is no version would do so silently",
    "dgd.vllm-executor": "any other executor is silently replaced by the default one",
    "service.vllm-executor": "any other executor is silently replaced by the default one",
    "dgd.services-required": "a graph of nothing makes nothing",
    "dgd.pvc-name": "a claim that no API server can have is never found",
    "dgd.pvc-repeated": "two claims of one name: which counts?",
    "service.mount-claim": "pods wait forever for a claim that nobody declared",
    "service.mount-point": "without a path nothing can be rendered",
    "service.env-from-secret": "pods wait forever for a Secret whose name cannot exist",
    "service.sidecar-image": "a container without an image is refused",
    "service.shared-memory-size": "a size of zero would mean the default, not none",
    "service.epp-config": "an endpoint picker does not start without a configuration",
    "service.epp-config-map": "its volume has no source otherwise",
    "service.epp-replicas": "the InferencePool refers to one picker; two would not share their view",
    "service.epp-multinode": "a picker is one process",
    "service.trtllm-gpus": "mpirun counts processes by the GPUs of a node",
    "service.ingress-host": "an Ingress without host would take the traffic of all hosts",
    "service.model-ref": "a model without name has no Service",
    "service.checkpoint-multinode": "one container's state is not that of several nodes",
    "service.checkpoint-source": "which checkpoint to restore is unknown",
    "service.checkpoint-main": "the pod that is checkpointed would have two containers of this name",
    "service.mount-own-name": "the pod would have no volume of checkpoints",
    "service.quantity": "what is no quantity cannot be rendered",
    "service.rolling-update": "what is no number or percentage would silently be the default",
    "pod.object-name": "pods wait forever for a ConfigMap, Secret or claim whose name cannot exist",
    "pod.volume-medium": "no kubelet mounts such a medium",
    "render.framework": "the command starts one engine, its flags would be those of another",
    "render.trtllm-nodes": "the command line of mpirun would be too long to start",
    "render.lws-replicas": "each replica is an object of its own",
}


def defects(result):
    """Refused children of an admitted graph, less what admission warned of: the user chose the other pathway."""
    warned = {way: any(f"{way} Grove: " in warning for warning in result.warnings) for way in ("with", "without")}
    return [each for each in result.refused if not warned["with" if each[0] == "grove" else "without"]]


def holds(result, rules):
    """Whether the refusal has a reason outside of our rules, or one that was thought about."""
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
        cls.results = check.Checker(api, CONTROLLER, config).run(generate(SEED, COUNT))
        cls.rules = {id(r): check.findings(installation.WEBHOOK, config, r.graph) for r in cls.results if r.refusal}

    def test_children_of_admitted_graphs_are_accepted(self):
        admitted = [r for r in self.results if not r.refusal]
        self.assertGreater(len(admitted), COUNT // 2)
        print(f"{len(admitted)} of {COUNT} admitted, {sum(r.created for r in admitted)} children and pods created")
        for result in admitted:
            with self.subTest(result.graph["metadata"]["namespace"], seed=SEED, mistake=result.mistake):
                self.assertFalse(defects(result), "\n".join(map(str, defects(result))))

    def test_refusals_have_a_reason(self):
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
