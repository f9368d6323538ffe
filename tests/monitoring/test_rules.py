"""The files of deploy/monitoring by themselves: the alerts with promtool, the dashboards, the runbooks. No cluster is needed."""

import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import monitored
import yaml

HERE = Path(__file__).resolve().parent
RUNBOOK_PARTS = ["Meaning", "Impact", "What to look at", "What to do"]
WANTED_ALERTS = {
    "DynamoGraphNotReady",
    "DynamoGraphRollingUpdateStuck",
    "DynamoOperatorCertificateExpiresSoon",
    "DynamoOperatorConversionFailing",
    "DynamoOperatorDenialsJump",
    "DynamoOperatorQueueStuck",
    "DynamoOperatorWebhookDown",
    "DynamoOperatorWebhookSlow",
    "DynamoOperatorWithoutLeader",
}
# The reference's dashboard: the series of each panel without the prefix, and the labels by which they are grouped.
REFERENCE_PANELS = [
    ("reconcile_total", {"resource_type", "result"}),
    ("reconcile_duration_seconds_bucket", {"resource_type", "le"}),
    ("reconcile_errors_total", {"resource_type", "error_type"}),
    ("webhook_requests_total", {"resource_type", "operation", "result"}),
    ("webhook_duration_seconds_bucket", {"resource_type", "le"}),
    ("webhook_denials_total", {"resource_type", "operation", "reason"}),
    ("resources_total", {"resource_type", "namespace", "status"}),
    ("resources_total", {"resource_type", "status"}),
    ("reconcile_total", set()),
    ("webhook_requests_total", set()),
]


def promtool(*args):
    ran = subprocess.run(["promtool", *map(str, args)], capture_output=True, text=True, timeout=120)
    return ran.returncode, ran.stdout + ran.stderr


def parses(expressions):
    """What promtool says about these expressions as recording rules; it accepts only what Prometheus can parse."""
    rules = [{"record": f"panel:{number}", "expr": text} for number, text in enumerate(expressions)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "panels.yaml")
        file.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}), encoding="utf-8")
        return promtool("check", "rules", file)


class Alerts(unittest.TestCase):
    def test_promtool_accepts_the_rules(self):
        status, output = promtool("check", "rules", monitored.MONITORING / "alerts.yaml")
        self.assertEqual(status, 0, output)
        self.assertIn(f"{len(monitored.alerts())} rules found", output)

    def test_promtool_accepts_the_spec_of_the_object(self):
        rule = yaml.safe_load((monitored.MONITORING / "prometheus-rule.yaml").read_text())
        self.assertEqual((rule["apiVersion"], rule["kind"]), ("monitoring.coreos.com/v1", "PrometheusRule"))
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(rule["spec"], file)
            file.flush()
            status, output = promtool("check", "rules", file.name)
        self.assertEqual(status, 0, output)

    def test_each_alert_fires_and_does_not_fire(self):
        status, output = promtool("test", "rules", HERE / "alerts_test.yaml")
        self.assertEqual(status, 0, output)
        fires, silent = set(), set()
        for test in yaml.safe_load((HERE / "alerts_test.yaml").read_text())["tests"]:
            for one in test["promql_expr_test"]:
                names = set(re.findall(r'alertname="(\w+)"', one["expr"]))
                (fires if one["exp_samples"] else silent).update(names)
        self.assertEqual((fires, silent), (WANTED_ALERTS, WANTED_ALERTS))

    def test_the_alerts_and_what_they_say(self):
        self.assertEqual({rule["alert"] for rule in monitored.alerts()}, WANTED_ALERTS)
        for rule in monitored.alerts():
            with self.subTest(rule["alert"]):
                self.assertIn(rule["labels"]["severity"], ("warning", "critical"))
                self.assertEqual(set(rule["annotations"]), {"summary", "description", "runbook_url"})
                self.assertEqual(rule["annotations"]["runbook_url"], f"deploy/monitoring/runbooks/{rule['alert']}.md")

    def test_each_alert_has_a_runbook(self):
        pages = {page.stem: page.read_text() for page in (monitored.MONITORING / "runbooks").glob("*.md")}
        self.assertEqual(set(pages), WANTED_ALERTS)
        for name, text in pages.items():
            with self.subTest(name):
                self.assertTrue(text.startswith(f"# {name}\n"))
                self.assertEqual(re.findall(r"^## (.*)$", text, re.M), RUNBOOK_PARTS)
                self.assertIn("```\nkubectl ", text)
                for link in re.findall(r"\]\(([^)]+)\)", text):
                    self.assertTrue((monitored.MONITORING / "runbooks" / link).is_file(), link)


class Dashboards(unittest.TestCase):
    def test_the_generated_files_are_fresh(self):
        for name, text in monitored.generator().contents().items():
            with self.subTest(name):
                self.assertEqual((monitored.MONITORING / name).read_text(), text, "run deploy/monitoring/generate")

    def test_each_query_parses(self):
        queries = [text for file in monitored.DASHBOARDS for _, text in monitored.expressions(file)]
        status, output = parses(queries)
        self.assertEqual(status, 0, output)
        self.assertIn(f"{len(queries)} rules found", output)
        self.assertNotEqual(parses([queries[0] + ")"])[0], 0)

    def test_grafana_can_import_them(self):
        for file in monitored.DASHBOARDS:
            made = monitored.dashboard(file)
            with self.subTest(file):
                self.assertGreaterEqual(made["schemaVersion"], 39)
                self.assertNotIn("id", made)  # of one Grafana
                self.assertEqual(made["templating"]["list"][0]["type"], "datasource")
                self.assertEqual(len({panel["id"] for panel in made["panels"]}), len(made["panels"]))
                known = {variable["name"] for variable in made["templating"]["list"]}
                text = (monitored.MONITORING / file).read_text()
                self.assertEqual(set(re.findall(r"\$\{?(?!__)([a-z_]+)", text)) - known, set())
                for panel in monitored.panels(file):
                    self.assertEqual(panel["datasource"], {"type": "prometheus", "uid": "${datasource}"})
                    self.assertTrue(panel["description"] and panel["targets"], panel["title"])
                cells = [
                    (x, y)
                    for place in (panel["gridPos"] for panel in made["panels"])
                    for x in range(place["x"], place["x"] + place["w"])
                    for y in range(place["y"], place["y"] + place["h"])
                ]
                self.assertEqual(len(cells), len(set(cells)), "panels overlap")
                self.assertLess(max(x for x, _ in cells), 24)

    def test_the_operator_dashboard_is_that_of_the_reference(self):
        made = monitored.dashboard("operator-dashboard.json")
        self.assertEqual((made["uid"], made["title"]), ("dynamo-operator", "Dynamo Operator"))
        variables = {one["name"]: one.get("definition") for one in made["templating"]["list"]}
        expected = {
            "datasource": None,
            "namespace": "label_values(dynamo_operator_reconcile_total, namespace)",
            "resource_type": "label_values(dynamo_operator_resources_total, resource_type)",
        }
        self.assertEqual(variables, expected)
        found = []
        for panel in monitored.panels("operator-dashboard.json"):
            (expression,) = [target["expr"] for target in panel["targets"]]
            metric = re.search(r"dynamo_operator_([a-z_]+)\{", expression)[1]
            grouped = re.search(r"sum by \(([^)]*)\)", expression)
            found.append((metric, set(grouped[1].split(", ")) if grouped else set()))
        self.assertEqual(found, REFERENCE_PANELS)


if __name__ == "__main__":
    unittest.main()
