"""The dashboards and alerts with real programs: API server, webhook and controller, which a Prometheus scrapes while a request is
denied, a reconcile fails, a rolling update does not get on, and a request is converted.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import base64
import contextlib
import copy
import datetime
import sys
import unittest
import urllib.request

import monitored

sys.path.insert(0, str(monitored.ROOT / "tests/cluster"))

from client import ApiError  # noqa: E402
from operator_plane import OperatorPlane, condition_of, graph, is_ready  # noqa: E402

DEMO = "monitored"
SECRET = "webhook-server-cert"
REQUESTS = "/apis/nvidia.com/{}/namespaces/" + DEMO + "/dynamographdeploymentrequests?dryRun=All"
# Series about one object or about the objects of one namespace. None of them means that there is no such object.
PER_OBJECT = {
    "dynamo_operator_graph_desired_replicas",
    "dynamo_operator_graph_missing_replicas",
    "dynamo_operator_graph_not_ready_since_timestamp_seconds",
    "dynamo_operator_graph_rolling_update_start_timestamp_seconds",
    "dynamo_operator_reconcile_duration_seconds_bucket",
    "dynamo_operator_reconcile_errors_total",
    "dynamo_operator_reconcile_total",
    "dynamo_operator_resources_total",
}
# The labels by which the reference's panels select and group.
REFERENCE_LABELS = {
    "dynamo_operator_reconcile_total": {"resource_type", "namespace", "result"},
    "dynamo_operator_reconcile_duration_seconds_bucket": {"resource_type", "namespace", "le"},
    "dynamo_operator_reconcile_errors_total": {"resource_type", "namespace", "error_type"},
    "dynamo_operator_webhook_requests_total": {"resource_type", "operation", "result"},
    "dynamo_operator_webhook_duration_seconds_bucket": {"resource_type", "operation", "le"},
    "dynamo_operator_webhook_denials_total": {"resource_type", "operation", "reason"},
    "dynamo_operator_resources_total": {"resource_type", "namespace", "status"},
}

plane = prometheus = controller = None


def setUpModule():
    global plane, prometheus, controller
    plane = OperatorPlane(nodes=1, gpus=8, kwok_config=monitored.ROOT / "tests/cluster/pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)
    controller = plane.controller(leader_election=True)
    # The Secret that its Role names.
    mode = "certProvisionMode: manual"
    controller.config = controller.config.replace(mode, f"{mode}, secretName: {SECRET}")
    controller.start()
    controller.wait_until_ready()
    plane.cluster.wait(controller.leads, 60, "the controller leads")
    # The webhook reports the result of the last probe, which the kubelet sends in a cluster.
    plane.cluster.wait(webhook_is_ready, 60, "the webhook is ready")
    targets = {"webhook": plane.webhook.metrics_port, "controller": controller.metrics_port}
    prometheus = monitored.Prometheus(plane.cluster.directory, targets)
    unittest.addModuleCleanup(prometheus.close)
    prometheus.start()
    plane.cluster.wait(lambda: len(prometheus.query("up == 1")) == 2, 60, "Prometheus scrapes both programs")


def webhook_is_ready():
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{plane.webhook.health_port}/readyz", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def scraped():
    """Metric -> label sets of both programs."""
    found = {}
    for port in (plane.webhook.metrics_port, controller.metrics_port):
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=30) as answer:
            for metric, labels in monitored.samples(answer.read().decode()).items():
                found.setdefault(metric, []).extend(labels)
    return found


def has(found, metric, labels):
    return any(labels.items() <= one.items() for one in found.get(metric, []))


class Scrape(unittest.TestCase):
    """The tests run in the order of their names: an idle operator first, then the scenario."""

    def wait_for(self, expression, what):
        return plane.cluster.wait(lambda: prometheus.query(expression), 90, what)

    def test_1_an_idle_operator_has_the_series_of_alerts_and_dashboards(self):
        found = scraped()
        queries = [(rule["alert"], rule["expr"]) for rule in monitored.alerts()]
        queries += [query for file in monitored.DASHBOARDS for query in monitored.expressions(file)]
        asked = set()
        for title, query in queries:
            selectors = monitored.selectors(query)
            self.assertNotEqual(selectors, [], query)
            for metric, labels in selectors:
                asked.add(metric)
                with self.subTest(title, metric=metric, labels=labels):
                    self.assertEqual(has(found, metric, labels), metric not in PER_OBJECT)
        self.assertEqual(PER_OBJECT - asked, set())
        rules = plane.cluster.wait(self.evaluated_rules, 60, "Prometheus evaluates the rules, and no alert is pending")
        self.assertEqual({rule["health"] for rule in rules}, {"ok"}, rules)
        # Denials count from 0.
        self.assertTrue(has(found, "dynamo_operator_webhook_denials_total", {"resource_type": "DynamoGraphDeployment"}))
        self.assertTrue(has(found, "dynamo_webhook_rule_denials_total", {"rule": "dgdr-thorough-backend"}))

    def evaluated_rules(self):
        """The rules, once they were evaluated with a scrape of both programs: no alert is pending."""
        rules = [rule for group in prometheus.get("rules")["groups"] for rule in group["rules"]]
        done = all(rule["health"] != "unknown" and rule["state"] == "inactive" for rule in rules)
        return rules if rules and done else None

    def test_2_the_scenario(self):
        plane.cluster.create_namespace(DEMO)
        plane.apply(graph("good", DEMO))
        plane.apply(graph("stuck", DEMO))
        for name in ("good", "stuck"):
            plane.cluster.wait(lambda name=name: is_ready(self.graph(name)), 90, f"{name} is ready")
        self.wait_for(f'dynamo_operator_graph_desired_replicas{{namespace="{DEMO}"}} == 8', "eight replicas")
        self.wait_for(f'dynamo_operator_graph_missing_replicas{{namespace="{DEMO}"}} == 0', "none is missing")
        self.deny()
        self.convert()
        # Its new workers cannot pull their image.
        broken = graph("stuck", DEMO)
        worker = broken["spec"]["services"]["Worker"]
        worker["extraPodSpec"]["mainContainer"]["image"] = "runtime:missing"
        plane.apply(broken)
        # The API server refuses its Services.
        lasting = contextlib.ExitStack()
        self.addClassCleanup(lasting.close)
        lasting.enter_context(plane.quota(DEMO, "services", {"services": "0"}))
        plane.apply(graph("refused", DEMO))
        self.wait_for(
            f'time() - dynamo_operator_graph_rolling_update_start_timestamp_seconds{{namespace="{DEMO}",name="stuck"}} > 3',
            "a rolling update",
        )
        self.wait_for(
            f'increase(dynamo_operator_reconcile_errors_total{{namespace="{DEMO}",error_type="forbidden"}}[1m]) > 0', "an error"
        )
        for name in ("stuck", "refused"):
            plane.cluster.wait(lambda name=name: self.tells_the_reason(name), 60, f"the reason of {name}")
        self.wait_for(f'dynamo_operator_graph_missing_replicas{{namespace="{DEMO}"}} > 0', "missing replicas")
        ready = prometheus.query(f'dynamo_operator_graph_not_ready_since_timestamp_seconds{{name="good",namespace="{DEMO}"}}')
        self.assertEqual(ready, [])
        self.store_certificate()

    def tells_the_reason(self, name):
        """Whether the series of the graph has the reason and the time of its condition Ready."""
        series = f'dynamo_operator_graph_not_ready_since_timestamp_seconds{{namespace="{DEMO}",name="{name}"}}'
        found = [(labels["reason"], since) for labels, since in prometheus.query(series)]
        condition = condition_of(self.graph(name), "Ready")
        if condition.get("status") != "False":
            return False
        since = datetime.datetime.fromisoformat(condition["lastTransitionTime"].replace("Z", "+00:00"))
        return found == [(condition["reason"], since.timestamp())]

    def graph(self, name):
        return plane.get("DynamoGraphDeployment", DEMO, name)

    def deny(self):
        request = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "denied"}}
        request["spec"] = {"model": "m", "backend": "auto", "searchStrategy": "thorough"}
        with self.assertRaises(ApiError) as refused:
            plane.cluster.api("POST", REQUESTS.format("v1beta1"), request)
        self.assertEqual(refused.exception.status, 422)
        # The first denial of a kind counts, because its series was 0 before.
        bad = copy.deepcopy(graph("bad", DEMO))
        bad["spec"]["services"] = {f"{'s' * 70}": bad["spec"]["services"]["Frontend"]}
        with self.assertRaises(ApiError) as refused:
            plane.apply(bad)
        self.assertEqual(refused.exception.status, 422)
        for kind in ("DynamoGraphDeploymentRequest", "DynamoGraphDeployment"):
            self.wait_for(f'increase(dynamo_operator_webhook_denials_total{{resource_type="{kind}"}}[1m]) > 0', "a denial")

    def convert(self):
        request = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest", "metadata": {"name": "old"}}
        request["spec"] = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i"}}
        plane.cluster.api("POST", REQUESTS.format("v1alpha1"), request)
        self.wait_for("increase(dynamo_webhook_conversion_objects_total[1m]) > 0", "a conversion")

    def store_certificate(self):
        """The Secret whose certificates the controller watches."""
        files = plane.cluster.directory / "webhook-certs"
        data = {key: base64.b64encode((files / key).read_bytes()).decode() for key in ("tls.crt", "tls.key", "ca.crt")}
        secret = {"metadata": {"name": SECRET}, "type": "Opaque", "data": data}
        plane.cluster.api("POST", f"/api/v1/namespaces/{monitored.NAMESPACE}/secrets", secret)
        self.wait_for('dynamo_operator_webhook_certificate_expiration_timestamp_seconds{certificate="serving"} > 0', "its end")

    def test_3_the_scrape_has_what_the_reference_selects(self):
        found = scraped()
        for metric, labels in REFERENCE_LABELS.items():
            with self.subTest(metric):
                self.assertTrue(found.get(metric))
                for one in found[metric]:
                    self.assertEqual(labels - one.keys(), set())
        # With honorLabels the namespace is that of the object.
        namespaces = {labels["namespace"] for labels, _ in prometheus.query("dynamo_operator_resources_total")}
        self.assertEqual(namespaces, {DEMO})

    def test_4_each_panel_has_data(self):
        for file in monitored.DASHBOARDS:
            for title, expression in monitored.expressions(file):
                with self.subTest(file, panel=title, query=expression):
                    found = prometheus.query(expression)
                    self.assertTrue(found)
                    labels, value = found[0]
                    text = ", ".join(f"{k}={v}" for k, v in sorted(labels.items()) if k not in ("__name__", "instance", "job"))
                    print(f"{title}: {expression}\n    {len(found)} series, the first: {{{text}}} {value:.6g}", flush=True)

    def test_5_the_variables_have_values(self):
        for file in monitored.DASHBOARDS:
            for variable in monitored.dashboard(file)["templating"]["list"][1:]:
                metric, label = variable["definition"].removeprefix("label_values(").rstrip(")").split(", ")
                with self.subTest(file, variable=variable["name"]):
                    self.assertTrue(prometheus.get(f"label/{label}/values", **{"match[]": metric}))

    def test_6_the_alerts_find_the_stuck_graphs(self):
        """The expressions of the alerts with times that a test can wait for."""
        for alert, expected in (
            ("DynamoGraphNotReady", {"stuck", "refused"}),
            ("DynamoGraphRollingUpdateStuck", {"stuck"}),
        ):
            (rule,) = [rule for rule in monitored.alerts() if rule["alert"] == alert]
            expression, _, seconds = rule["expr"].rpartition("> ")
            self.assertIn(seconds, ("1800", "3600"))
            with self.subTest(alert):
                text = f"{expression}> 2"

                def found(text=text, expected=expected):
                    return {labels["name"] for labels, _ in prometheus.query(text)} == expected

                plane.cluster.wait(found, 30, f"{text} finds {expected}")


if __name__ == "__main__":
    unittest.main()
