"""The charts as packages: lint, schema, default values, README. Whatever is in one of them is in the others."""

import json
import re
import tempfile
import unittest
from pathlib import Path

import yaml

import charts
import render
import table
from variants import VARIANTS

OURS = (charts.OPERATOR, charts.PLATFORM)
ROW = re.compile(r"^\| *`([^`]+)` *\|", re.M)
# Values of which Kubernetes decides what they may hold.
FREE = re.compile(r"affinity|annotations|labels|selector|resources|securityContext|tolerations|env|volume|container", re.I)


def default_values(chart):
    return yaml.safe_load((charts.CHARTS / chart / "values.yaml").read_text(encoding="utf-8"))


def levels(values, path=()):
    """The paths of all maps of default values that have members, except those of third-party charts."""
    yield path
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from levels(value, (*path, name))


def leaves(values, path=()):
    for name, value in values.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, (*path, name))
        else:
            yield (*path, name), value


def scalars(value, path=""):
    """(path, value) of all members that are no maps or lists."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from scalars(member, f"{path}.{name}")
    elif isinstance(value, list):
        for member in value:
            yield from scalars(member, f"{path}[]")
    else:
        yield path, value


def placed(path, value):
    for name in reversed(path):
        value = {name: value}
    return value


def of_another_type(value):
    return {"of another": "type"} if not isinstance(value, dict) else "of another type"


class Charts(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        cls.charts = {name: charts.lay(folder, name, notes=False) for name in OURS}

    def render(self, helm, values, chart=charts.OPERATOR):
        place = self.charts[chart]
        return render.template(helm, place, values)

    def test_names_of_digits_stay_texts(self):
        """YAML reads them as numbers unless they are quoted."""
        values = {
            "nameOverride": "5011", "kubernetesClusterDomain": "5012", "commonLabels": {"a": "5013"},
            "controllerManager": {"priorityClassName": "5014", "leaderElection": {"namespace": "5015"}, "manager": {"image": {"tag": "5016"}}},
            "webhook": {"certificateSecret": {"name": "5017"}}, "dynamo": {"mpiRun": {"secretName": "5018"}, "dockerRegistry": {"server": "5019"}},
            "namespaceRestriction": {"enabled": True, "targetNamespace": "5020"},
        }  # fmt: skip
        names = {"5021", "5022", *(text for _, text in leaves(values) if isinstance(text, str))}
        for restricted in (True, False):
            values["namespaceRestriction"]["enabled"] = restricted
            rendered = render.template("helm3", self.charts[charts.OPERATOR], values, "5021", "5022", (*render.MONITORING,))
            self.assertEqual(rendered.refusal, "")
            (config,) = [yaml.safe_load(one["data"]["config.yaml"]) for one in rendered.of_kind("ConfigMap") if "config.yaml" in one["data"]]
            for one in (*rendered.objects, config):
                numbers = [(path, found) for path, found in scalars(one) if not isinstance(found, str) and str(found) in names]
                self.assertEqual(numbers, [], one["kind"])

    def test_lint(self):
        for helm in render.HELMS:
            for chart in OURS:
                with self.subTest(helm=helm, chart=chart):
                    done = render.run(helm, "lint", "--strict", self.charts[chart])
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for name, (chart, _, namespace, values) in VARIANTS.items():
                with self.subTest(helm=helm, values=name):
                    arguments = ("lint", "--strict", self.charts[chart], "--namespace", namespace, "--values", "-")
                    done = render.run(helm, *arguments, text=json.dumps(values))
                    self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_a_package_can_be_installed(self):
        """What `helm package` makes renders as the folder does."""
        with tempfile.TemporaryDirectory(prefix="dynamo-charts-") as folder:
            for helm in render.HELMS:
                for chart in OURS:
                    with self.subTest(helm=helm, chart=chart):
                        done = render.run(helm, "package", self.charts[chart], "--destination", f"{folder}/{helm}")
                        self.assertEqual(done.returncode, 0, done.stderr)
                        (archive,) = Path(folder, helm).glob(f"{chart}-*.tgz")
                        self.assertLess(archive.stat().st_size, 200_000)
                        packed = render.template(helm, archive, {})
                        self.assertEqual(packed.refusal, "")
                        self.assertEqual(packed.objects, self.render(helm, {}, chart).objects)

    def test_every_level_is_strict(self):
        """An unknown key is refused wherever it is. One message names all of them."""
        defaults = default_values(charts.OPERATOR)
        wrong, names = {}, []
        for number, path in enumerate(levels(defaults)):
            if not any(FREE.search(name) for name in path):
                names.append(f"unknown{number}x")
                wrong = table.merged(wrong, placed((*path, names[-1]), 1))
        self.assertGreater(len(names), 15)
        for helm in render.HELMS:
            with self.subTest(helm):
                refusal = self.render(helm, wrong).refusal
                self.assertEqual([name for name in names if name not in refusal], [], refusal)

    def test_every_value_has_a_type(self):
        """A value of another type is refused, with its path."""
        paths = [path for path, _ in leaves(default_values(charts.OPERATOR)) if path != ("enabled",)]
        self.assertGreater(len(paths), 60)
        wrong = {}
        for path, value in leaves(default_values(charts.OPERATOR)):
            wrong = table.merged(wrong, placed(path, of_another_type(value)))
        for helm in render.HELMS:
            with self.subTest(helm):
                refusal = self.render(helm, wrong).refusal
                self.assertEqual([".".join(path) for path in paths if not table.says(refusal, ".".join(path))], [], refusal[:4000])

    def test_defaults_may_be_said(self):
        """The whole of values.yaml is accepted as the user's, and changes nothing."""
        for helm in render.HELMS:
            for chart in OURS:
                with self.subTest(helm=helm, chart=chart):
                    said = self.render(helm, default_values(chart), chart)
                    self.assertEqual(said.refusal, "")
                    self.assertEqual(said.objects, self.render(helm, {}, chart).objects)

    def test_the_readme_has_every_value_with_its_default(self):
        for chart in OURS:
            with self.subTest(chart):
                text = (charts.CHARTS / chart / "README.md").read_text(encoding="utf-8")
                documented = [path.replace('"', "") for path in ROW.findall(text)]
                self.assertEqual(len(documented), len(set(documented)), "rows of the same value")
                values = default_values(chart)
                lacking = [".".join(path) for path, _ in leaves(values) if not {".".join(path[:n]) for n in range(2, 9)} & set(documented)]
                foreign = ("etcd.", "nats.") if chart == charts.PLATFORM else ()
                self.assertEqual([path for path in lacking if not path.startswith(foreign or "?") and "." in path], [], "not in the README")
                known = {".".join(path) for path in levels(values)} | {".".join(path) for path, _ in leaves(values)}
                # The switches of NATS and etcd have no default, so that a value of another chart counts.
                unset = {"global.nats.install", "global.etcd.install"} if chart == charts.PLATFORM else set()
                self.assertEqual(sorted(set(documented) - known - unset), [], "not in values.yaml")

    def test_versions_belong_together(self):
        operator, platform = (charts.metadata(chart) for chart in OURS)
        (dependency,) = [one for one in platform["dependencies"] if one["name"] == charts.OPERATOR]
        self.assertEqual(dependency["version"], operator["version"])
        self.assertEqual(operator["appVersion"], platform["appVersion"])
        self.assertEqual(charts.third_party()["nats"], "1.3.2")
        self.assertEqual(charts.third_party()["etcd"], "12.0.18")
        for one in platform["dependencies"]:
            self.assertTrue(one["condition"], one["name"])
        for chart in (operator, platform):
            self.assertRegex(chart["kubeVersion"], r"^>= ?1\.30")
            self.assertTrue(chart["description"])

    def test_older_clusters_are_refused(self):
        """They do not know the conditions by which webhooks are called."""
        for helm in render.HELMS:
            refused = render.template(helm, self.charts[charts.OPERATOR], {}, flags=("--kube-version", "1.29.4"))
            self.assertIn("1.29.4", refused.refusal)
            accepted = render.template(helm, self.charts[charts.OPERATOR], {}, flags=("--kube-version", "1.30.0-gke.1"))
            self.assertEqual(accepted.refusal, "")

    def test_an_upgrade_tells_that_the_digest_counts(self):
        """`helm upgrade --reset-then-reuse-values --set ...tag=NEW` keeps the digest of the image before."""
        digest = "sha256:" + "a" * 64
        with tempfile.TemporaryDirectory(prefix="dynamo-charts-") as folder:
            for chart in OURS:
                place = charts.lay(folder, chart)
                for image, upgrade, told in (
                    ({"tag": "2", "digest": digest}, True, "the digest counts, and not the tag 2. If only the tag is new,"),
                    ({"tag": "2", "digest": digest}, False, ""),
                    ({"digest": digest}, True, "the digest counts, and not the version of the chart. If only the chart is new,"),
                    ({"digest": digest}, False, ""),
                    ({"tag": "2"}, True, ""),
                    ({"tag": "2", "digest": digest, "repository": "nvcr.io/nvidia/ai-dynamo/kubernetes-operator"}, True, ""),
                ):
                    with self.subTest(chart=chart, image=image, upgrade=upgrade):
                        values = placed(("controllerManager", "manager", "image"), image)
                        values = values if chart == charts.OPERATOR else {charts.OPERATOR: values}
                        flags = ("--is-upgrade",) if upgrade else ()
                        rendered = render.template("helm3", place, values, flags=flags)
                        self.assertEqual(rendered.refusal, "")
                        self.assertEqual(table.says(rendered.notes, "the digest counts"), bool(told), rendered.notes)
                        if told:
                            self.assertTrue(table.says(rendered.notes, told), rendered.notes)

    def test_settings_that_are_refused_exist(self):
        """They have the defaults of the sample, and the answers name values of this chart."""
        entries = yaml.safe_load((charts.CHARTS / charts.OPERATOR / "files/settled-settings.yaml").read_text(encoding="utf-8"))
        sample = yaml.safe_load((charts.CHARTS.parent / "samples/operator-config.yaml").read_text(encoding="utf-8"))
        self.assertGreater(len(entries), 10)
        for entry in entries:
            with self.subTest(entry["path"]):
                value = sample
                for name in entry["path"].split("."):
                    value = value[name]
                if "default" in entry:
                    self.assertEqual(entry["default"], value)
                for named in re.findall(r"\b[a-zA-Z]+(?:\.[a-zA-Z]+)+\b", entry["answer"]):
                    value = default_values(charts.OPERATOR)
                    for name in named.split("."):
                        self.assertIn(name, value)
                        value = value[name]

    def test_nothing_is_looked_up(self):
        for chart in OURS:
            for file in (charts.CHARTS / chart / "templates").rglob("*"):
                if file.is_file():
                    self.assertNotRegex(file.read_text(encoding="utf-8"), r"\blookup\b", file.name)

    def test_names_of_every_length(self):
        """Whatever the release is called, no name is too long, and two names stay two."""
        few = render.template("helm3", self.charts[charts.OPERATOR], {}, release="r").objects
        for length in (1, 20, 30, 31, 32, 40, 53):
            release = ("release-" * 7)[:length].rstrip("-")
            for values in ({}, {"namespaceRestriction": {"enabled": True}}):
                with self.subTest(release=release, values=values):
                    rendered = render.template("helm3", self.charts[charts.OPERATOR], values, release, "n" * 40)
                    self.assertEqual(rendered.refusal, "")
                    short = {"Service", "Job"}  # other names have 253 characters
                    names = [(o["kind"], o["metadata"]["name"]) for o in rendered.objects]
                    self.assertEqual([name for kind, name in names if kind in short and len(name) > 63], [])
                    self.assertEqual(len(names), len(set(names)))
                    if not values:
                        self.assertEqual(len(names), len(few))

    def test_every_object_has_the_common_labels(self):
        for name, (chart, release, namespace, values) in VARIANTS.items():
            rendered = render.template("helm3", self.charts[chart], values, release, namespace)
            for one in rendered.objects:
                labels = one["metadata"].get("labels", {})
                if "test.example.com/stub" in labels:
                    continue
                with self.subTest(values=name, object=f"{one['kind']} {one['metadata']['name']}"):
                    self.assertEqual(labels.get("app.kubernetes.io/instance"), release)
                    self.assertEqual(labels.get("app.kubernetes.io/managed-by"), "Helm")
                    self.assertTrue(labels.get("app.kubernetes.io/name"))
                    self.assertTrue(labels.get("helm.sh/chart"))


if __name__ == "__main__":
    unittest.main()
