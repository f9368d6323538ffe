"""The charts as parts of another chart, under their names or an alias: the same objects, and messages with the paths that the user of
the other chart writes."""

import tempfile
import unittest
from pathlib import Path

import yaml

import charts
import render


def parent_of(folder, chart, alias=None):
    """A chart in `folder` that has nothing but a copy of one of ours. Returns its path."""
    parent = folder / "parent"
    (parent / "charts").mkdir(parents=True)
    charts.lay(parent / "charts", chart)
    version = charts.metadata(chart)["version"]
    dependency = {"name": chart, "version": version, "repository": f"file://charts/{chart}"} | ({"alias": alias} if alias else {})
    about = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [dependency]}
    (parent / "Chart.yaml").write_text(yaml.safe_dump(about), encoding="utf-8")
    return parent


def without_stubs(objects):
    """The objects that are not of third-party charts, by kind and name. Helm sorts them by the path of their templates."""
    ours = [one for one in objects if "test.example.com/stub" not in one["metadata"].get("labels", {})]
    return {(one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"]): one for one in ours}


class Parent(unittest.TestCase):
    maxDiff = None
    # (chart, alias, path of the values of the operator)
    CASES = (
        (charts.PLATFORM, "dynamo", ("dynamo", "dynamo-operator")),
        (charts.PLATFORM, None, ("dynamo-platform", "dynamo-operator")),
        (charts.PLATFORM, "dynamo-operator", ("dynamo-operator", "dynamo-operator")),
        (charts.OPERATOR, "inference", ("inference",)),
        (charts.OPERATOR, None, ("dynamo-operator",)),
    )

    def each(self, check):
        """Calls `check` with a Helm, a parent, the path of the operator's values, and a function that puts such values there."""
        for helm in render.HELMS:
            for chart, alias, path in self.CASES:

                def placed(values, path=path):
                    for name in reversed(path):
                        values = {name: values}
                    return values

                with self.subTest(helm=helm, chart=chart, alias=alias), tempfile.TemporaryDirectory(prefix="dynamo-charts-") as folder:
                    check(helm, parent_of(Path(folder), chart, alias), path, placed)

    def test_the_objects_are_the_same(self):
        """An alias of the operator's own chart is a part of its names, as in all charts."""
        values = {"controllerManager": {"replicas": 1}, "dynamo": {"mpiRun": {"secretName": "ssh"}}}
        alone = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        expected = {}
        for chart, own in ((charts.OPERATOR, values), (charts.PLATFORM, {charts.OPERATOR: values})):
            rendered = render.template("helm3", charts.lay(alone, chart), own, "dynamo-operator")
            self.assertEqual(rendered.refusal, "")
            expected[chart] = without_stubs(rendered.objects)

        def check(helm, parent, path, placed):
            rendered = render.template(helm, parent, placed(values), "dynamo-operator")
            self.assertEqual(rendered.refusal, "")
            if path == ("inference",):
                self.assertTrue(rendered.find("Deployment", "dynamo-operator-inference-webhook"))
                return
            self.assertEqual(without_stubs(rendered.objects), expected[charts.OPERATOR if len(path) == 1 else charts.PLATFORM])

        self.each(check)

    def test_refusals_name_the_values_as_the_user_writes_them(self):
        def check(helm, parent, path, placed):
            own = ".".join(path)
            refused = render.template(helm, parent, placed({"discoveryBackend": "dns", "webhook": {"port": 8080}})).refusal
            for name in ("discoveryBackend", "webhook.port"):
                self.assertIn(f"  {own}.{name}: ", refused)
            refused = render.template(helm, parent, placed({"manager": {"image": "x"}})).refusal
            self.assertIn(f"  {own}.manager", refused)
            if len(path) == 1:
                refused = render.template(helm, parent, {"global": {"nats": {"install": True}}}).refusal
                self.assertIn("  global.nats.install: ", refused)

        self.each(check)

    def test_notes_and_annotation_name_them_too(self):
        def check(helm, parent, path, placed):
            values = {"namespaceRestriction": {"enabled": True}, "rbac": {"clusterScoped": False}, "webhook": {"certGenerator": {"a": "b"}}}
            rendered = render.template(helm, parent, placed(values), "dynamo-operator")
            self.assertEqual(rendered.refusal, "")
            own = ".".join(path)
            (config,) = [one for one in rendered.of_kind("ConfigMap") if "config.yaml" in one["data"]]
            self.assertEqual(config["metadata"]["annotations"]["dynamo.nvidia.com/ignored-values"], f"{own}.webhook.certGenerator")
            folder = "".join(f"charts/{name}/" for name in path)
            for text in (f"--set {own}.rbac.clusterScoped=true", f"--show-only '{folder}templates/cluster/*.yaml'"):
                self.assertIn(text, rendered.notes)

        self.each(check)


if __name__ == "__main__":
    unittest.main()
