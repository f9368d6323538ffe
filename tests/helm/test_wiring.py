"""The objects of a release find each other: Services and policies their pods, ports their containers, webhooks their Service, monitors
their Services, pods their accounts and configuration."""

import functools
import json
import re
import tempfile
import unittest
from pathlib import Path

import yaml

import charts
import render
from variants import VARIANTS

# Objects that the controller or cert-manager makes, by the end of their names.
# The controller makes both.
FACTS, CERTIFICATE = "-facts", "webhook-server-cert"
# Seconds for which a webhook serves after SIGTERM by default, and then has for requests in progress.
DEFAULT_DELAY, FOR_REQUESTS = 10, 15


def matches(selector, labels):
    return all(labels.get(key) == value for key, value in selector.items())


def sources(pod, kind):
    """What the volumes of the pod are made of, as `configMap` or `secret`."""
    volumes = pod.get("volumes", ())
    return [one[kind] for volume in volumes for one in (volume, *volume.get("projected", {}).get("sources", ())) if kind in one]


def golden_pods():
    """(labels, names of ports) of the pods of graphs in tests/golden."""
    for file in sorted((Path(__file__).resolve().parents[1] / "golden").glob("*.*.yaml")):
        for one in filter(None, yaml.safe_load_all(file.read_text(encoding="utf-8"))):
            found = []
            if one["kind"] == "Deployment":
                found = [(one["spec"]["template"]["metadata"]["labels"], one["spec"]["template"]["spec"])]
            elif one["kind"] == "PodCliqueSet":
                found = [(clique["labels"], clique["spec"]["podSpec"]) for clique in one["spec"]["template"]["cliques"]]
            for labels, pod in found:
                yield labels, {port.get("name") for container in pod["containers"] for port in container.get("ports", ())}


def rewriting(endpoint, target):
    """Pattern and replacement of the relabeling of an endpoint, as re.sub takes them."""
    (rule,) = [one for one in endpoint["relabelings"] if one["targetLabel"] == target]
    return f"^{rule['regex']}$", rule["replacement"].replace("$", "\\")


class Wiring(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        cls.charts = {name: charts.lay(folder, name) for name in (charts.OPERATOR, charts.PLATFORM)}

    @functools.lru_cache(maxsize=None)
    def variant(self, name):
        chart, release, namespace, values = VARIANTS[name]
        rendered = render.template("helm3", self.charts[chart], values, release, namespace)
        self.assertEqual(rendered.refusal, "")
        return rendered

    def each(self, *kinds):
        """All objects of these kinds, each with a title and with what is rendered beside it."""
        found = []
        for name in VARIANTS:
            rendered = self.variant(name)
            found += [(f"{name}: {one['kind']} {one['metadata']['name']}", rendered, one) for one in rendered.of_kind(*kinds)]
        self.assertNotEqual(found, [], kinds)
        return found

    @staticmethod
    def selected(rendered, selector, namespace):
        """The Deployments whose pods have the labels."""
        return [
            o for o in rendered.of_kind("Deployment")
            if o["metadata"]["namespace"] == namespace and matches(selector, o["spec"]["template"]["metadata"]["labels"])
        ]  # fmt: skip

    @staticmethod
    def ports(deployment):
        return {p["name"]: p["containerPort"] for c in deployment["spec"]["template"]["spec"]["containers"] for p in c.get("ports", ())}

    def test_services(self):
        """Each leads to the pods of one Deployment, and its ports are those of their containers."""
        for title, rendered, service in self.each("Service"):
            with self.subTest(title):
                (deployment,) = self.selected(rendered, service["spec"]["selector"], service["metadata"]["namespace"])
                for port in service["spec"]["ports"]:
                    self.assertIn(port["targetPort"], self.ports(deployment))

    def test_pods_of_the_webhook_are_not_those_of_the_controller(self):
        """Also not for the Service of the reference, which has these labels. Each Deployment selects its own pods only."""
        for title, rendered, deployment in self.each("Deployment"):
            with self.subTest(title):
                labels = deployment["spec"]["template"]["metadata"]["labels"]
                self.assertEqual(labels.get("control-plane") == "controller-manager", deployment["metadata"]["name"].endswith("-controller-manager"))
                selector = deployment["spec"]["selector"]["matchLabels"]
                self.assertEqual(self.selected(rendered, selector, deployment["metadata"]["namespace"]), [deployment])

    def test_the_selector_of_the_controller_is_that_of_the_reference(self):
        """A Deployment's selector cannot be changed by an upgrade."""
        for title, rendered, deployment in self.each("Deployment"):
            with self.subTest(title):
                if deployment["metadata"]["name"].endswith("-controller-manager"):
                    labels = deployment["metadata"]["labels"]
                    expected = {key: labels[key] for key in ("app.kubernetes.io/name", "app.kubernetes.io/instance")}
                    self.assertEqual(deployment["spec"]["selector"], {"matchLabels": {"control-plane": "controller-manager", **expected}})

    def test_webhooks(self):
        """They lead to the port `webhook` of the pods of the webhook, by a port of the Service that has this name."""
        for title, rendered, configuration in self.each("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            with self.subTest(title):
                for entry in configuration["webhooks"]:
                    client = entry["clientConfig"]["service"]
                    service = rendered.find("Service", client["name"])
                    self.assertEqual(service["metadata"]["namespace"], client["namespace"])
                    (port,) = [p for p in service["spec"]["ports"] if p["port"] == client.get("port", 443)]
                    self.assertEqual((port["name"], port["targetPort"]), ("webhook", "webhook"))

    def test_other_ports_and_the_network_of_the_node(self):
        """The ports of the pods are those at which the programs listen. The policy and the Services name them."""
        ports = {"port": 10260, "healthPort": 10261, "metricsPort": 10262}
        values = {"webhook": {**ports, "hostNetwork": True}, "networkPolicy": {"enabled": True}}
        rendered = render.template("helm3", self.charts[charts.OPERATOR], values, "dynamo-operator")
        self.assertEqual(rendered.refusal, "")
        webhook = rendered.find("Deployment", "dynamo-operator-webhook")
        found = self.ports(webhook)
        self.assertEqual(found, {"webhook": 10260, "health": 10261, "metrics": 10262})
        config = yaml.safe_load(rendered.find("ConfigMap", "dynamo-operator-config")["data"]["config.yaml"])
        self.assertEqual(config["server"]["webhook"]["port"], found["webhook"])
        # The controller has its own network, and the ports of its part of the same file.
        self.assertNotIn("port", config["server"]["metrics"])
        self.assertNotIn("healthProbe", config["server"])
        self.assertEqual(self.ports(rendered.find("Deployment", "dynamo-operator-controller-manager")), {"health": 8081, "metrics": 8080})
        arguments = webhook["spec"]["template"]["spec"]["containers"][0]["args"]
        self.assertIn("--health-listen=:10261", arguments)
        self.assertIn("--metrics-listen=:10262", arguments)
        for name in ("dynamo-operator-webhook-service", "dynamo-operator-webhook-metrics"):
            for port in rendered.find("Service", name)["spec"]["ports"]:
                self.assertIn(port["targetPort"], found)
        opened = rendered.find("NetworkPolicy", "dynamo-operator-webhook")["spec"]["ingress"]
        self.assertEqual({port["port"] for rule in opened for port in rule["ports"]}, set(found))

    def test_disruption_budgets(self):
        for title, rendered, budget in self.each("PodDisruptionBudget"):
            with self.subTest(title):
                (deployment,) = self.selected(rendered, budget["spec"]["selector"]["matchLabels"], budget["metadata"]["namespace"])
                self.assertGreater(deployment["spec"]["replicas"], 1)

    def test_network_policies(self):
        """Each is about one Deployment. All of its ports are open to somebody, and no others."""
        for title, rendered, policy in self.each("NetworkPolicy"):
            with self.subTest(title):
                (deployment,) = self.selected(rendered, policy["spec"]["podSelector"]["matchLabels"], policy["metadata"]["namespace"])
                ports = self.ports(deployment)
                opened = {p["port"] for rule in policy["spec"]["ingress"] for p in rule.get("ports", ())}
                self.assertEqual({port if isinstance(port, int) else ports[port] for port in opened}, set(ports.values()))
                if deployment["metadata"]["name"].endswith("-webhook"):
                    self.assertIn("Egress", policy["spec"]["policyTypes"])
                    self.assertFalse(policy["spec"].get("egress"))

    def test_monitors(self):
        """A ServiceMonitor selects one Service, and its ports are those of that Service."""
        for title, rendered, monitor in self.each("ServiceMonitor"):
            with self.subTest(title):
                selector = monitor["spec"]["selector"]["matchLabels"]
                (service,) = [o for o in rendered.of_kind("Service") if matches(selector, o["metadata"]["labels"])]
                names = {port["name"] for port in service["spec"]["ports"]}
                for endpoint in monitor["spec"]["endpoints"]:
                    self.assertIn(endpoint["port"], names)
                namespaces = monitor["spec"]["namespaceSelector"]
                self.assertTrue(namespaces.get("any") or service["metadata"]["namespace"] in namespaces["matchNames"])

    def test_monitors_of_graphs(self):
        """A PodMonitor selects pods as the controller renders them, in the namespaces of the operator, and its ports are those of their
        containers. Routers have no port for metrics."""
        pods = list(golden_pods())
        chosen = {"frontend": {"frontend"}, "worker": {"worker", "prefill", "decode"}, "planner": {"planner"}, "router": {"default"}}
        for title, rendered, monitor in self.each("PodMonitor"):
            with self.subTest(title):
                spec, about = monitor["spec"], monitor["metadata"]["name"].removeprefix("dynamo-")
                (expression,) = spec["selector"]["matchExpressions"]
                self.assertEqual((expression["key"], expression["operator"]), ("nvidia.com/dynamo-component-type", "In"))
                self.assertEqual(set(expression["values"]), chosen[about])
                selected = [
                    (labels, ports) for labels, ports in pods
                    if matches(spec["selector"]["matchLabels"], labels) and labels[expression["key"]] in expression["values"]
                ]  # fmt: skip
                self.assertTrue(selected or about == "router")
                for endpoint in spec["podMetricsEndpoints"]:
                    self.assertEqual(endpoint.get("port") is None, about == "router")
                    if about == "router":
                        self.assertEqual(re.sub(*rewriting(endpoint, "__address__"), "10.0.0.1:8000"), "10.0.0.1:9090")
                    for labels, ports in selected:
                        self.assertIn(endpoint["port"], ports)
                        self.assertIn("nvidia.com/dynamo-namespace", labels)
                    (named,) = [one for one in endpoint["relabelings"] if one["targetLabel"] == "dynamo_namespace"]
                    self.assertEqual(named["sourceLabels"], ["__meta_kubernetes_pod_label_nvidia_com_dynamo_namespace"])
                (config,) = [yaml.safe_load(o["data"]["config.yaml"]) for o in rendered.of_kind("ConfigMap") if "config.yaml" in o["data"]]
                restricted = (config.get("namespace") or {}).get("restricted")
                self.assertEqual(spec["namespaceSelector"], {"matchNames": [restricted]} if restricted else {"any": True})

    def test_alerts_and_dashboards(self):
        """What Prometheus and Grafana load is what deploy/monitoring has, unchanged by Helm."""
        folder = charts.CHARTS.parent / "monitoring"
        alerts = yaml.safe_load((folder / "alerts.yaml").read_text(encoding="utf-8"))
        for title, _, rule in self.each("PrometheusRule"):
            with self.subTest(title):
                self.assertEqual(rule["spec"], alerts)
                self.assertEqual(rule["metadata"]["labels"]["release"], "prometheus")
        dashboards = {f"dynamo-{name}.json": (folder / f"{name}-dashboard.json").read_text(encoding="utf-8")
                      for name in ("graphs", "operator")}
        rendered = self.variant("everything")
        found = [o for o in rendered.of_kind("ConfigMap") if o["metadata"]["labels"].get("grafana_dashboard") == "1"]
        loaded = {name: json.loads(text) for one in found for name, text in one["data"].items()}
        self.assertEqual(loaded, {name: json.loads(text) for name, text in dashboards.items()})
        for kind in ("PrometheusRule", "ConfigMap"):
            for one in self.variant("alone").of_kind(kind):
                self.assertNotIn("monitoring.coreos.com", one["apiVersion"])
                self.assertNotIn("grafana_dashboard", one["metadata"]["labels"])

    def test_the_check_at_the_start_knows_that_validation_only_warns(self):
        for mode, flags in ((None, []), ("strict", []), ("warn", ["--validation-mode=warn"])):
            with self.subTest(mode=mode):
                values = {"extraConfig": {"validation": {"mode": mode}}} if mode else {}
                rendered = render.template("helm3", self.charts[charts.OPERATOR], values)
                self.assertEqual(rendered.refusal, "")
                (job,) = rendered.of_kind("Job")
                arguments = job["spec"]["template"]["spec"]["containers"][0]["args"]
                self.assertEqual([one for one in arguments if one.startswith("--validation-mode")], flags)

    def test_pods(self):
        """The account exists, and the volumes are of objects that exist or that may be missing at first."""
        for title, rendered, owner in self.each("Deployment", "Job"):
            with self.subTest(title):
                pod, namespace = owner["spec"]["template"]["spec"], owner["metadata"]["namespace"]
                account = rendered.find("ServiceAccount", pod["serviceAccountName"])
                self.assertEqual(account["metadata"]["namespace"], namespace)
                for kind, key in (("ConfigMap", "configMap"), ("Secret", "secret")):
                    for used in sources(pod, key):
                        name = used.get("secretName") or used["name"]
                        late = name.endswith(FACTS) and used.get("optional") or name == CERTIFICATE
                        self.assertTrue(rendered.find(kind, name) or late, name)
                mounted = {m["name"] for c in (*pod["containers"], *pod.get("initContainers", ())) for m in c.get("volumeMounts", ())}
                self.assertEqual(mounted, {volume["name"] for volume in pod.get("volumes", ())})

    def test_the_private_key_of_the_authority_is_not_in_the_pods(self):
        for title, rendered, deployment in self.each("Deployment"):
            with self.subTest(title):
                for used in sources(deployment["spec"]["template"]["spec"], "secret"):
                    self.assertEqual({item["key"] for item in used["items"]}, {"tls.crt", "tls.key"})

    def test_the_webhook_starts_with_the_certificate_and_the_facts(self):
        """The kubelet looks for a Secret that a pod needs after seconds, and for one that it may have about once a minute."""
        for title, rendered, deployment in self.each("Deployment"):
            with self.subTest(title):
                if deployment["metadata"]["name"].endswith("-webhook"):
                    pod = deployment["spec"]["template"]["spec"]
                    (projected,) = [volume["projected"]["sources"] for volume in pod["volumes"] if "projected" in volume]
                    self.assertEqual([list(source) for source in projected], [["secret"], ["configMap"]])
                    self.assertNotIn("optional", projected[0]["secret"])
                    self.assertTrue(projected[1]["configMap"]["optional"])

    def test_a_new_configuration_restarts_the_pods(self):
        """They read it at their start only."""
        one, other = (
            render.template("helm3", self.charts[charts.OPERATOR], {"natsAddr": address}) for address in ("nats://a:1", "nats://b:2")
        )
        for deployment in one.of_kind("Deployment"):
            after = other.find("Deployment", deployment["metadata"]["name"])
            self.assertNotEqual(deployment["spec"]["template"]["metadata"], after["spec"]["template"]["metadata"])

    def test_a_pod_that_ends_serves_until_nobody_asks_it(self):
        """The time before SIGKILL is longer than the time in which it still serves and that for requests in progress."""
        for title, _, deployment in self.each("Deployment"):
            with self.subTest(title):
                if deployment["metadata"]["name"].endswith("-webhook"):
                    self.assert_has_time(deployment, DEFAULT_DELAY)
        for delay, seconds in (("0s", 0), ("120s", 120), ("1m59.5s", 119.5), ("2h", 7200)):
            with self.subTest(delay):
                values = {"extraConfig": {"server": {"webhook": {"shutdownDelay": delay}}}}
                rendered = render.template("helm3", self.charts[charts.OPERATOR], values, "dynamo-operator")
                self.assertEqual(rendered.refusal, "")
                self.assert_has_time(rendered.find("Deployment", "dynamo-operator-webhook"), seconds)

    def assert_has_time(self, deployment, delay):
        self.assertGreater(deployment["spec"]["template"]["spec"]["terminationGracePeriodSeconds"], delay + FOR_REQUESTS)

    def test_the_default_delay_is_that_of_the_program(self):
        sample = yaml.safe_load((charts.CHARTS.parent / "samples/operator-config.yaml").read_text(encoding="utf-8"))
        self.assertEqual(sample["server"]["webhook"]["shutdownDelay"], f"{DEFAULT_DELAY}s")


if __name__ == "__main__":
    unittest.main()
