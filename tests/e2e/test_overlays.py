"""The overlays of deploy/kustomize: each builds, makes only the documented changes, and is accepted by the API server."""

import copy
import pathlib
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from control_plane import ControlPlane  # noqa: E402

KUSTOMIZE = pathlib.Path(__file__).resolve().parents[2] / "deploy/kustomize"

plane = None


def setUpModule():
    global plane
    plane = ControlPlane(components=("etcd", "apiserver"))
    plane.start()
    plane.create_namespace("dynamo-system")


def tearDownModule():
    plane.stop()


def built(folder):
    text = plane.kubectl("kustomize", KUSTOMIZE / folder).stdout
    objects = yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {(item["kind"], item["metadata"]["name"]): item for item in objects if item}


class ControlPlaneOnly(unittest.TestCase):
    def test_only_access_to_the_webhook_port_changes(self):
        base, overlay = built("base"), built("overlays/control-plane-only")
        policy = ("NetworkPolicy", "dynamo-operator-webhook")
        self.assertEqual(base.keys(), overlay.keys())
        self.assertEqual([key for key in base if base[key] != overlay[key]], [policy])
        before, after = (objects[policy]["spec"] for objects in (base, overlay))
        self.assertEqual({**before, "ingress": None}, {**after, "ingress": None})
        webhook, *others = after["ingress"]
        self.assertEqual(webhook, {"from": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "ports": [{"port": "webhook"}]})
        self.assertEqual(before["ingress"], [{"ports": [{"port": "webhook"}, *others[0]["ports"]]}, *others[1:]])

    def test_the_api_server_accepts_it(self):
        policy = built("overlays/control-plane-only")["NetworkPolicy", "dynamo-operator-webhook"]
        done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=yaml.safe_dump(policy))
        self.assertIn("networkpolicy.networking.k8s.io/dynamo-operator-webhook created (server dry run)", done.stdout)


class Restricted(unittest.TestCase):
    """Base and overlay are compared by kind and name; `team-a` is the namespace of the overlay."""

    @classmethod
    def setUpClass(cls):
        cls.base, cls.overlay = built("base"), built("overlays/restricted")

    def test_everything_is_in_the_namespace_or_has_its_name(self):
        for (kind, name), item in self.overlay.items():
            with self.subTest(kind=kind, name=name):
                if item["metadata"].get("namespace") != "team-a":
                    self.assertIn("team-a", name)
                self.assertNotIn("dynamo-system", yaml.safe_dump(item))

    def test_every_webhook_serves_only_the_namespace(self):
        for kind in ("Mutating", "Validating"):
            kind, name = f"{kind}WebhookConfiguration", f"dynamo-operator-{kind.lower()}"
            base, overlay = self.base[kind, name]["webhooks"], self.overlay[kind, f"{name}-team-a"]["webhooks"]
            self.assertEqual([entry["name"] for entry in base], [entry["name"] for entry in overlay])
            for entry in overlay:
                with self.subTest(webhook=entry["name"]):
                    self.assertEqual(entry["namespaceSelector"], {"matchLabels": {"kubernetes.io/metadata.name": "team-a"}})

    def test_the_manager_has_the_rules_of_the_base_in_a_role(self):
        name = "dynamo-operator-manager-role"
        self.assertEqual(self.base["ClusterRole", name]["rules"], self.overlay["Role", name]["rules"])
        binding = self.overlay["RoleBinding", "dynamo-operator-manager-rolebinding"]
        self.assertEqual((binding["roleRef"]["kind"], binding["roleRef"]["name"]), ("Role", name))

    def test_cluster_wide_rules_concern_only_the_webhooks_queues_and_nodes(self):
        roles = {name: item for (kind, name), item in self.overlay.items() if kind == "ClusterRole"}
        queues = roles.pop("dynamo-operator-team-a-queue-reader")["rules"]
        self.assertEqual(queues, [{"apiGroups": ["scheduling.run.ai"], "resources": ["queues"], "verbs": ["list", "watch"]}])
        nodes = roles.pop("dynamo-operator-team-a-gpu-discovery")["rules"]
        self.assertEqual(nodes, [{"apiGroups": [""], "resources": ["nodes"], "verbs": ["list"]}])
        self.assertEqual(list(roles), ["dynamo-operator-team-a-webhook-injector"])
        rules = roles["dynamo-operator-team-a-webhook-injector"]["rules"]
        names = [name for rule in rules for name in rule.get("resourceNames", [])]
        own = ["dynamo-operator-mutating-team-a", "dynamo-operator-validating-team-a"]
        self.assertEqual(names, [*own, "dynamographdeploymentrequests.nvidia.com"])
        self.assertEqual(rules[-1], {"apiGroups": [""], "resources": ["services"], "verbs": ["get"]})

    def test_roles_of_pods_have_no_rules_about_the_cluster(self):
        for name, wide in (("planner-role", "planner"), ("epp-role", "epp"), ("dgdr-profiling-job", "dgdr-profiling")):
            base = self.base["ClusterRole", f"dynamo-operator-{wide}"]["rules"]
            kept = [rule for rule in base if not {"nodes", "tokenreviews", "subjectaccessreviews"} & set(rule["resources"])]
            self.assertEqual(self.overlay["Role", name]["rules"], kept)

    def test_the_api_server_accepts_it(self):
        plane.create_namespace("team-a")
        text = yaml.safe_dump_all(self.overlay.values())
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base, cls.overlay = built("base"), built("overlays/sharded")

    def test_only_the_controller_its_leases_and_its_budget_change(self):
        name = "dynamo-operator-controller-manager"
        self.assertEqual(self.base.keys() - self.overlay.keys(), {("Deployment", name)})
        self.assertEqual(self.overlay.keys() - self.base.keys(), {("StatefulSet", name)})
        changed = {key for key in self.base.keys() & self.overlay.keys() if self.base[key] != self.overlay[key]}
        self.assertEqual(changed, {("Role", "dynamo-operator-leader-election-role"), ("PodDisruptionBudget", name)})

    def test_there_is_a_lease_for_each_shard(self):
        spec = self.overlay["StatefulSet", "dynamo-operator-controller-manager"]["spec"]
        count = spec["replicas"] // 2  # each has a standby
        self.assertIn(f"--shard=$(SHARD)/{count}", spec["template"]["spec"]["containers"][0]["args"])
        rule = self.overlay["Role", "dynamo-operator-leader-election-role"]["rules"][0]
        self.assertEqual(rule["resourceNames"], [f"dynamo.nvidia.com-shard-{i}-of-{count}" for i in range(count)])

    def test_the_api_server_accepts_it(self):
        items = [self.overlay[key] for key in self.overlay if key not in self.base]
        text = yaml.safe_dump_all(items)
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


class CertManager(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base, cls.overlay = built("base"), built("overlays/cert-manager")

    def test_only_the_mode_and_annotations_change(self):
        config = ("ConfigMap", "dynamo-operator-config")
        texts = [each[config]["data"]["config.yaml"] for each in (self.base, self.overlay)]
        self.assertEqual(texts[0].replace("certProvisionMode: auto", "certProvisionMode: manual"), texts[1])
        annotated = {
            ("MutatingWebhookConfiguration", "dynamo-operator-mutating"),
            ("ValidatingWebhookConfiguration", "dynamo-operator-validating"),
            ("CustomResourceDefinition", "dynamographdeploymentrequests.nvidia.com"),
        }
        self.assertEqual({key for key in self.base if self.base[key] != self.overlay[key]}, {config, *annotated})
        for key in annotated:
            made = copy.deepcopy(self.overlay[key])
            source = made["metadata"]["annotations"].pop("cert-manager.io/inject-ca-from")
            self.assertEqual(source, "dynamo-system/dynamo-operator-serving-cert")
            before = self.base[key]["metadata"]
            self.assertEqual(made["metadata"], {**before, "annotations": before.get("annotations", {})})

    def test_the_certificate_is_the_one_that_the_webhook_serves(self):
        serving = self.overlay["Certificate", "dynamo-operator-serving-cert"]["spec"]
        pod = self.base["Deployment", "dynamo-operator-webhook"]["spec"]["template"]["spec"]
        self.assertIn(serving["secretName"], [one["secret"]["secretName"] for one in pod["volumes"] if "secret" in one])
        hooks = self.base["ValidatingWebhookConfiguration", "dynamo-operator-validating"]["webhooks"]
        service = hooks[0]["clientConfig"]["service"]
        self.assertIn(f"{service['name']}.{service['namespace']}.svc", serving["dnsNames"])
        issuer = self.overlay["Issuer", serving["issuerRef"]["name"]]["spec"]
        root = self.overlay["Certificate", "dynamo-operator-root-ca"]["spec"]
        self.assertEqual((issuer["ca"]["secretName"], root["isCA"]), (root["secretName"], True))

    def test_the_api_server_accepts_it(self):
        changed = [each for key, each in self.overlay.items() if key in self.base and each != self.base[key]]
        text = yaml.safe_dump_all(changed)
        plane.kubectl("apply", "--server-side", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


class NoWildcard(unittest.TestCase):
    def test_no_role_has_a_wildcard(self):
        for folder in ("base", "overlays/restricted", "overlays/sharded"):
            for (kind, name), item in built(folder).items():
                with self.subTest(folder=folder, kind=kind, name=name):
                    for rule in item.get("rules", []) if kind in ("Role", "ClusterRole") else []:
                        self.assertNotIn("*", sum(rule.values(), []))


if __name__ == "__main__":
    unittest.main()
