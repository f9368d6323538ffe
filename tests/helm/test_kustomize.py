"""deploy/kustomize: it is what the chart renders, up to date, and a real API server takes it."""

import copy
import json
import shutil
import tempfile
import unittest
from pathlib import Path

import charts
import kustomized
import plane
import programs
import render

RELEASE, NAMESPACE, TEAM = "dynamo-operator", "dynamo-system", "team-a"
RESTRICTED = {"namespaceRestriction": {"enabled": True}}
# component -> values of the chart that make the same
COMPONENTS = {
    "cert-manager": {"webhook": {"certManager": {"enabled": True}}},
    "monitoring": {
        "metricsService": {"enabled": True},
        "dynamo": {"metrics": {"podMonitors": {"enabled": True}}},
        "monitoring": {"alerts": {"enabled": True}, "dashboards": {"enabled": True}},
    },
    "network-policy": {"networkPolicy": {"enabled": True}},
}
OF_HELM = ("app.kubernetes.io/managed-by", "helm.sh/chart")
DASHBOARD = "grafana_dashboard"


def setUpModule():
    global cluster
    cluster = unittest.enterModuleContext(plane.api_server())
    plane.add_kinds(cluster)
    for name in (NAMESPACE, TEAM):
        cluster.create_namespace(name)


def without(mapping, *names):
    return {name: value for name, value in mapping.items() if name not in names}


def normal(item):
    """An object of the chart without what only Helm reads. A kustomization does not say the version of dashboards."""
    item = copy.deepcopy(item)
    metadata = item["metadata"]
    metadata["labels"] = without(metadata["labels"], *OF_HELM)
    if DASHBOARD in metadata["labels"]:
        metadata["labels"] = {DASHBOARD: metadata["labels"][DASHBOARD]}
    if item["kind"] == "Deployment":
        inner = item["spec"]["template"]["metadata"]
        inner["annotations"] = without(inner["annotations"], "checksum/config")
        if not inner["annotations"]:
            del inner["annotations"]
    return item


class Scratch(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        cls.chart = charts.lay(folder, charts.OPERATOR, notes=False)

    def rendered(self, values, namespace=NAMESPACE):
        """What the chart renders for a cluster, without hooks and what they need."""
        made = render.template("helm3", self.chart, values, RELEASE, namespace)
        self.assertEqual(made.refusal, "")
        kept = [normal(item) for item in made.objects if item["metadata"]["labels"]["app.kubernetes.io/component"] != "smoke"]
        self.assertEqual(len(made.objects) - len(kept), 4)  # Job, account, Role and RoleBinding
        return {kustomized.key(item): item for item in kept}

    def overlay(self, base, *components, **more):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-overlay-")))
        return kustomized.overlay(folder, base, [f"components/{name}" for name in components], **more)

    def assert_same(self, built, rendered):
        self.assertEqual(sorted(built), sorted(rendered))
        for key, item in rendered.items():
            with self.subTest(key):
                found = copy.deepcopy(built[key])
                if DASHBOARD in item["metadata"]["labels"]:
                    found["metadata"]["labels"] = {DASHBOARD: found["metadata"]["labels"][DASHBOARD]}
                self.assertEqual(found, item)

    def base(self, folder):
        """A build of the base, without its Namespace, which Helm makes itself."""
        found = kustomized.built(cluster, folder)
        self.assertEqual(found.pop(("Namespace", "", NAMESPACE))["metadata"], {"name": NAMESPACE})
        return found


class Chart(Scratch):
    """What kustomize builds is what the chart renders."""

    def test_base(self):
        self.assert_same(self.base(kustomized.KUSTOMIZE / "base"), self.rendered({}))

    def test_restricted(self):
        built = kustomized.built(cluster, kustomized.KUSTOMIZE / "restricted")
        self.assert_same(built, self.rendered(RESTRICTED, TEAM))

    def test_restricted_in_another_namespace(self):
        """As its comment says: a copy of the folder with another name in all files."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory())) / "restricted"
        shutil.copytree(kustomized.KUSTOMIZE / "restricted", folder)
        for file in folder.iterdir():
            file.write_text(file.read_text(encoding="utf-8").replace(TEAM, "other-team"), encoding="utf-8")
        self.assert_same(kustomized.built(cluster, folder), self.rendered(RESTRICTED, "other-team"))

    def test_components(self):
        for name, values in COMPONENTS.items():
            with self.subTest(name):
                self.assert_same(self.base(self.overlay("base", name)), self.rendered(values))

    def test_all_components_together(self):
        values = {key: value for each in COMPONENTS.values() for key, value in each.items()}
        self.assertEqual(len(values), sum(map(len, COMPONENTS.values())))
        self.assert_same(self.base(self.overlay("base", *COMPONENTS)), self.rendered(values))

    def test_policies_of_one_namespace(self):
        built = kustomized.built(cluster, self.overlay("restricted", "network-policy", namespace=TEAM))
        self.assert_same(built, self.rendered({**RESTRICTED, **COMPONENTS["network-policy"]}, TEAM))

    def test_crds(self):
        built = kustomized.built(cluster, kustomized.KUSTOMIZE / "crds")
        self.assertEqual(len(built), 7)
        self.assertEqual(built, kustomized.built(cluster, plane.CRDS))


class Server(Scratch):
    def folders(self):
        yield from (kustomized.KUSTOMIZE / name for name in ("base", "restricted"))
        yield self.overlay("base", *COMPONENTS)
        yield self.overlay("restricted", "network-policy", namespace=TEAM)

    def test_the_server_takes_every_object(self):
        for folder in self.folders():
            with self.subTest(folder):
                items = list(kustomized.built(cluster, folder).values())
                text = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
                done = cluster.kubectl("apply", "--dry-run=server", "--server-side", "--force-conflicts", "--validate=strict", "-f", "-", input=text, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_plain_manifest(self):
        """The file of the README, which is applied as it is."""
        text = cluster.kubectl("kustomize", kustomized.KUSTOMIZE / "base").stdout
        file = Path(self.enterContext(tempfile.TemporaryDirectory())) / "dynamo-operator.yaml"
        file.write_text(text, encoding="utf-8")
        self.assertLess(len(text), 60_000)
        done = cluster.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", file)
        self.assertEqual(len(done.stdout.splitlines()), len(kustomized.built(cluster, kustomized.KUSTOMIZE / "base")))


class Fresh(unittest.TestCase):
    def test_files_are_up_to_date(self):
        generate = kustomized.generator()
        for helm in render.HELMS:
            with self.subTest(helm):
                self.assertEqual(list(generate.problems(generate.generated(programs.built(helm)))), [])

    def test_what_is_not_up_to_date_is_found(self):
        generate = kustomized.generator()
        expected = generate.generated(programs.built("helm3"))
        generate.HERE = Path(self.enterContext(tempfile.TemporaryDirectory())) / "kustomize"
        shutil.copytree(kustomized.KUSTOMIZE, generate.HERE)
        self.assertEqual(list(generate.problems(expected)), [])
        (generate.HERE / "base/services.yaml").unlink()
        with open(generate.HERE / "components/monitoring/pod-monitors.yaml", "a", encoding="utf-8") as file:
            file.write("# changed\n")
        (generate.HERE / "restricted/old.yaml").write_text("", encoding="utf-8")
        found = {str(path): what for path, what in generate.problems(expected)}
        stale = "is not up to date"
        self.assertEqual(found, {"base/services.yaml": stale, "components/monitoring/pod-monitors.yaml": stale, "restricted/old.yaml": "is no longer made"})

    def test_a_text_that_would_change_its_meaning_is_refused(self):
        generate = kustomized.generator()
        text = "---\n# Source: chart/templates/a.yaml\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  text: |\n    helm.sh/chart: x\n"
        with self.assertRaisesRegex(generate.GenerateError, "another meaning"):
            list(generate.documents(text))


if __name__ == "__main__":
    unittest.main()
