"""Two laws of admission with a real API server, for generated graphs and the golden manifests.

The intent of a stored object equals the manifest with the API server's own defaults. The children of the manifest, of the
output of `effective` and of the stored object are the same on every pathway.
DYNAMO_PLAUSIBLE is the number of graphs (60), DYNAMO_SEED their seed (3).
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import plausible_check as check  # noqa: E402
from plausible import generate  # noqa: E402
from plausible_parts import PRIORITY_CLASSES, RUNTIME_CLASSES  # noqa: E402
from requests import ROOT, ControlPlane  # noqa: E402

import install as installation  # noqa: E402
from built import PLUGIN  # noqa: E402

COUNT = int(os.environ.get("DYNAMO_PLAUSIBLE") or 60)
SEED = int(os.environ.get("DYNAMO_SEED") or 3)
CONFIG = installation.CONFIG + "checkpoint: {{enabled: true}}\nmpi: {{sshSecretName: mpi-ssh}}\n"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
# Fields that the API server sets differently at each creation.
SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
# Endings of renderings, which are not manifests.
RECORDED = (".grove", ".lws", ".deployment")


def golden():
    """The manifests of tests/golden, without requests, whose conversion has laws of its own."""
    for path in sorted((ROOT / "tests/golden").glob("*.yaml")):
        if path.stem in ("config", "facts") or path.stem.endswith(RECORDED):
            continue
        for document in yaml.safe_load_all(path.read_text(encoding="utf-8")):
            if document["kind"] != "DynamoGraphDeploymentRequest":
                yield document


def manifests():
    """All manifests, each in its own namespace."""
    found = [*golden(), *(graph for graph, _ in generate(SEED, COUNT))]
    for i, manifest in enumerate(found):
        manifest["metadata"]["namespace"] = f"law-{i}"
    return found


def plain(answer):
    """An object without the fields that differ between creations."""
    made = copy.deepcopy(answer)
    for field in SERVER_FIELDS:
        made["metadata"].pop(field, None)
    made.pop("status", None)
    return made


def stamped(manifest, stored):
    """The manifest with the changes of admission that appear in children: the origin version, and `replicas: 1` where
    admission set it. A Deployment without replicas is scaled by others, and the API server's default is also 1."""
    made = copy.deepcopy(manifest)
    version = stored["metadata"].get("annotations", {}).get(ORIGIN)
    if version:
        made["metadata"].setdefault("annotations", {})[ORIGIN] = version
    pairs = [(made["spec"], stored["spec"])]
    if "services" in made["spec"]:
        pairs = [(service, stored["spec"]["services"][name]) for name, service in made["spec"]["services"].items()]
    for service, admitted in pairs:
        if "replicas" in admitted:
            service.setdefault("replicas", admitted["replicas"])
    return made


def compared(child):
    """The part of a child to compare. The spec of a graph's component deployment is a copy of its service, so it is shorter
    before admission. Its own children are compared completely."""
    return child["metadata"] if child["kind"] == "DynamoComponentDeployment" else child


def command(*arguments, objects):
    """The output of a command of dynamo-webhook for `objects`."""
    text = "".join(f"---\n{json.dumps(each)}\n" for each in objects)
    run = [installation.WEBHOOK, *arguments, "-o", "json", "-f", "-"]
    done = subprocess.run(run, input=text, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


class Laws(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        plane = ControlPlane(components=("etcd", "apiserver"))
        plane.start()
        cls.addClassCleanup(plane.stop)
        api = check.Api(plane)
        api.prepare(priorityclasses=PRIORITY_CLASSES, runtimeclasses=RUNTIME_CLASSES)
        cls.manifests = manifests()
        for manifest in cls.manifests:
            name = manifest["metadata"]["namespace"]
            api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        # Only schema defaults are set, because no webhook is registered yet.
        plane.kubectl("apply", "--server-side", "-k", ROOT / "deploy/crds")
        plane.wait_for_crds(120)
        alone = [api.create(manifest, "?dryRun=All") for manifest in cls.manifests]
        webhook = installation.Webhook(plane.directory)
        with mock.patch.object(installation, "CONFIG", CONFIG):
            webhook.start()
        cls.addClassCleanup(webhook.stop)
        installation.install(plane, webhook)
        cls.config = plane.directory / "operator-config.yaml"
        # A graph that one pathway refuses is rendered all the same.
        cls.lenient = plane.directory / "lenient-config.yaml"
        cls.admitted = []  # (manifest, with schema defaults, as stored)
        for manifest, (_, defaulted) in zip(cls.manifests, alone):
            refusal, made = api.create(manifest)
            if refusal:
                continue
            path = "/apis/{apiVersion}/namespaces/{metadata[namespace]}/".format(**made)
            _, stored = api.call("GET", f"{path}{check.RESOURCES[made['kind']]}/{made['metadata']['name']}")
            cls.admitted.append((manifest, defaulted, stored))

    def test_the_intent_of_a_stored_object_is_the_manifest(self):
        self.assertGreater(len(self.admitted), len(self.manifests) // 2)
        print(f"{len(self.admitted)} of {len(self.manifests)} admitted")
        intents = command("intent", "--config", self.config, objects=[stored for *_, stored in self.admitted])
        self.assertEqual(len(intents), len(self.admitted))
        for (manifest, defaulted, stored), intent in zip(self.admitted, intents):
            with self.subTest(manifest["metadata"]["namespace"], kind=manifest["kind"], seed=SEED):
                self.assertEqual(plain(intent), plain(defaulted))
                if manifest["kind"] != "DynamoCheckpoint":
                    self.assertNotEqual(plain(stored), plain(defaulted), "nothing was defaulted")

    def test_effective_prints_what_is_stored(self):
        printed = command("effective", "--config", self.config, objects=[manifest for manifest, *_ in self.admitted])
        self.assertEqual(len(printed), len(self.admitted))
        for (manifest, _, stored), effective in zip(self.admitted, printed):
            with self.subTest(manifest["metadata"]["namespace"], kind=manifest["kind"], seed=SEED):
                self.assertEqual(plain(effective), plain(stored))

    def test_admission_does_not_change_the_children(self):
        text = self.config.read_text(encoding="utf-8")
        self.lenient.write_text(text + "validation: {mode: warn}\n", encoding="utf-8")
        # The stored object without its identity in this API server.
        stored = [plain(stored) for *_, stored in self.admitted]
        written = [stamped(manifest, after) for (manifest, *_), after in zip(self.admitted, stored)]
        effective = [plain(each) for each in command("effective", "--config", self.config, objects=written)]
        children = 0
        for pathway in check.PATHWAYS:
            wanted, errors = check.render(PLUGIN, self.lenient, stored, pathway)
            for what, objects in (("written", written), ("effective", effective)):
                got, others = check.render(PLUGIN, self.lenient, objects, pathway)
                self.assertEqual(sorted(others), sorted(errors), f"{what}, {pathway}")
                for manifest, of_stored, of_these in zip(stored, wanted, got):
                    with self.subTest(manifest["metadata"]["namespace"], what=what, pathway=pathway, seed=SEED):
                        self.assertEqual(list(map(compared, of_these)), list(map(compared, of_stored)))
            children += sum(map(len, wanted))
        print(f"{children} children of {len(stored)} objects on {len(check.PATHWAYS)} pathways")
        self.assertGreater(children, len(stored))


if __name__ == "__main__":
    unittest.main()
