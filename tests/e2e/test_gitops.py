"""Manifests that are kept in Git (decision dec-14): what Argo CD and `kubectl apply` compare is what the user wrote."""

import json
import pathlib
import re
import subprocess
import sys
import unittest
from unittest import mock

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import install as installation  # noqa: E402
from requests import ROOT, start_cluster, unique  # noqa: E402

WEBHOOK = ROOT / "build/release/bin/dynamo-webhook"
LISTS = ROOT / "tests/unit/render/user-lists/manifests.yaml"
RECORDED = ROOT.parent / "shared/reference/input"
RECORD = "nvidia.com/dynamo-defaulted"
COMPLETE = installation.CONFIG + "defaults: {{userLists: complete}}\n"
cluster = None


def documents(path):
    return [made for made in yaml.safe_load_all(path.read_text(encoding="utf-8")) if made]


def merge_patch(old, new):
    """The JSON merge patch (RFC 7396) from `old` to `new`."""
    patch = {name: None for name in old if name not in new}
    for name, value in new.items():
        if name not in old:
            patch[name] = value
        elif isinstance(value, dict) and isinstance(old[name], dict):
            below = merge_patch(old[name], value)
            if below:
                patch[name] = below
        elif value != old[name]:
            patch[name] = value
    return patch


def without(patch, deletions):
    """`patch` with its deletions if `deletions`, else with everything else."""
    kept = {}
    for name, value in patch.items():
        if isinstance(value, dict):
            value = without(value, deletions)
            if value:
                kept[name] = value
        elif (value is None) == deletions:
            kept[name] = value
    return kept


def three_way_patch(applied, desired, live):
    """The patch that client-side apply sends, and that Argo CD takes for a difference."""
    return {**without(merge_patch(live, desired), False), **without(merge_patch(applied, desired), True)}


def with_keys(value):
    """`value` with the protocol of ports. It is a key of the list, so the API server must have a default for it, and adds it
    whatever webhooks do."""
    if isinstance(value, list):
        return [with_keys(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: with_keys(member) for name, member in value.items()}
    return {"protocol": "TCP", **made} if isinstance(made.get("containerPort"), int) else made


def identity(manifest):
    metadata = manifest["metadata"]
    return manifest["kind"], metadata.get("name"), metadata.get("generateName")


class Patches(unittest.TestCase):
    """What `effective` prints is what is stored."""

    def effective(self, path, *flags):
        done = subprocess.run([WEBHOOK, "effective", "-n", "demo", "-o", "json", *flags, "-f", path], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertIn(done.returncode, (0, 1), done.stderr)  # refused objects are told and not printed
        return [json.loads(line) for line in done.stdout.splitlines()]

    @staticmethod
    def examples():
        """The samples and the manifests of tests/golden."""
        golden = [path for path in (ROOT / "tests/golden").glob("*.yaml")
                  if path.name.count(".") == 1 and path.name not in ("config.yaml", "facts.yaml")]
        samples = [ROOT / "deploy/samples" / name for name in ("graph.yaml", "dgdr-v1alpha1.yaml", "dgdr-v1beta1.yaml")]
        return [LISTS, *samples, *golden]

    def check(self, paths, least):
        own = 0
        for path in sorted(paths):
            printed = {identity(live): live for live in self.effective(path)}
            for manifest in documents(path):
                live = printed.get(identity(manifest))
                if live is None:
                    continue
                with self.subTest(path.name, kind=manifest["kind"]):
                    desired = with_keys(manifest)
                    self.assertEqual(three_way_patch(desired, desired, live).get("spec", {}), {})
                    own += 1
        self.assertGreaterEqual(own, least)

    def test_samples_and_examples(self):
        self.check(self.examples(), 20)

    def test_manifests_of_the_reference(self):
        if not RECORDED.is_dir():
            self.skipTest(f"no example manifests of the reference in {RECORDED}")
        self.check(list(RECORDED.glob("*.yaml")), 50)

    def test_with_all_the_lists_are_those_of_pods(self):
        (drift, *_), (complete, *_) = self.effective(LISTS), self.effective(LISTS, "--all")
        # Only what is stored has the record of the defaults.
        self.assertIn(RECORD, drift["metadata"]["annotations"])
        del drift["metadata"]["annotations"][RECORD]
        self.assertEqual(drift["metadata"], complete["metadata"])
        stored, pod = (made["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"] for made in (drift, complete))
        self.assertEqual(stored["env"], [{"name": "HF_HOME", "value": "/cache"}])
        self.assertEqual(pod["env"][0], stored["env"][0])
        self.assertIn({"name": "DYN_NAMESPACE", "value": "demo-drift"}, pod["env"])
        self.assertEqual({**pod, "env": None}, {**stored, "env": None})


class Applied(unittest.TestCase):
    """With a real API server and kubectl."""

    @classmethod
    def setUpClass(cls):
        global cluster
        cluster = start_cluster()
        cls.addClassCleanup(cls.serve, installation.CONFIG)

    @staticmethod
    def serve(config):
        """Restarts the webhook at the same address with another configuration."""
        cluster.webhook.stop()
        with mock.patch.object(installation, "CONFIG", config):
            cluster.webhook.start(port=cluster.port)

    def setUp(self):
        self.ns = cluster.namespace()

    def apply(self, made, *flags):
        done = self.ns.kubectl("apply", *flags, "-f", "-", input=made)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()[-1]

    def get(self, made):
        return self.ns.get(made["metadata"]["name"], f"{made['kind'].lower()}.{made['apiVersion'].partition('/')[2]}.nvidia.com")

    def manifests(self):
        """Objects with lists of their own: graphs, a component deployment and a checkpoint."""
        job = {"podTemplateSpec": {"spec": {"containers": [{
            "name": "main", "image": "i:1", "env": [{"name": "HF_HOME", "value": "/cache"}],
            "volumeMounts": [{"name": "cache", "mountPath": "/cache"}]}], "volumes": [{"name": "cache", "emptyDir": {}}]}}}
        made = [*documents(LISTS), {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", "metadata": {}, "spec": {
            "identity": {"model": "small", "backendFramework": "vllm"}, "job": job}}]
        for manifest in made:
            manifest["metadata"].pop("namespace", None)
            manifest["metadata"]["name"] = unique("n")
        return made

    def test_a_second_apply_changes_nothing(self):
        for made in self.manifests():
            with self.subTest(made["kind"]):
                self.assertEqual(self.apply(made), "created")
                before = self.get(made)
                self.assertEqual(self.apply(made), "unchanged")
                self.assertEqual(self.get(made), before)

    def check_a_second_apply(self, paths, least):
        made = [with_keys(manifest) for path in sorted(paths) for manifest in documents(path)]
        for number, manifest in enumerate(made):
            manifest["metadata"] = {**manifest["metadata"], "name": f"n{number}", "namespace": self.ns.name}
            manifest["metadata"].pop("generateName", None)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": made})
        # Refused manifests are told and not created.
        created = set(re.findall("^(\\S+) created$", self.ns.kubectl("apply", "-f", "-", input=text).stdout, re.M))
        self.assertGreaterEqual(len(created), least)
        again = self.ns.kubectl("apply", "-f", "-", input=text).stdout
        self.assertEqual(set(re.findall("^(\\S+) unchanged$", again, re.M)), created, again)

    def test_a_second_apply_of_samples_and_examples(self):
        self.check_a_second_apply(Patches.examples(), 20)

    def test_a_second_apply_of_manifests_of_the_reference(self):
        if not RECORDED.is_dir():
            self.skipTest(f"no example manifests of the reference in {RECORDED}")
        self.check_a_second_apply(RECORDED.glob("*.yaml"), 50)

    def test_objects_of_the_release_before(self):
        self.serve(COMPLETE)
        manifests = self.manifests()
        for made in manifests:
            self.assertEqual(self.apply(made), "created")
        completed = [self.get(made) for made in manifests]
        self.serve(installation.CONFIG)
        for made, before in zip(manifests, completed, strict=True):
            with self.subTest(made["kind"]):
                grown = made["kind"] != "DynamoCheckpoint"
                self.assertEqual(self.apply(made), "configured" if grown else "unchanged")
                live = self.get(made)
                self.assertEqual(live["spec"] != before["spec"], grown)
                self.assertEqual(three_way_patch(made, made, live), {})
                self.assertEqual(self.apply(made), "unchanged")
                self.assertEqual(self.get(made), live)
                fresh = {**made, "metadata": {"name": unique("n")}}
                self.apply(fresh)
                # The names of the graphs are part of their defaults.
                wanted = json.loads(json.dumps(live["spec"]).replace(made["metadata"]["name"], fresh["metadata"]["name"]))
                self.assertEqual(self.get(fresh)["spec"], wanted)


if __name__ == "__main__":
    unittest.main()
