"""The overlays of deploy/kustomize, and its folder for one namespace: each builds, makes only the documented changes, and is accepted by
the API server."""

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
        names = ("dynamo-operator-webhook", "dynamo-operator-controller-manager")
        text = (KUSTOMIZE / "components/network-policy/network-policies.yaml").read_text(encoding="utf-8")
        policies = {("NetworkPolicy", one["metadata"]["name"]): one for one in yaml.safe_load_all(text)}
        self.assertEqual(policies.keys(), {("NetworkPolicy", name) for name in names})
        base.update(policies)
        self.assertEqual(base.keys(), overlay.keys())
        policy = ("NetworkPolicy", names[0])
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
    """The base and the folder are compared by kind and name; `team-a` is the namespace of the folder."""

    @classmethod
    def setUpClass(cls):
        cls.base, cls.restricted = built("base"), built("restricted")

    def test_everything_is_in_the_namespace_or_has_its_name(self):
        for (kind, name), item in self.restricted.items():
            with self.subTest(kind=kind, name=name):
                if item["metadata"].get("namespace") != "team-a":
                    self.assertIn("team-a", name)
                self.assertNotIn("dynamo-system", yaml.safe_dump(item))

    def test_every_webhook_serves_only_the_namespace(self):
        for kind in ("Mutating", "Validating"):
            kind, name = f"{kind}WebhookConfiguration", f"dynamo-operator-{kind.lower()}"
            base, own = self.base[kind, name]["webhooks"], self.restricted[kind, f"{name}-team-a"]["webhooks"]
            self.assertEqual([entry["name"] for entry in base], [entry["name"] for entry in own])
            for entry in own:
                with self.subTest(webhook=entry["name"]):
                    self.assertEqual(entry["namespaceSelector"], {"matchLabels": {"kubernetes.io/metadata.name": "team-a"}})

    def test_the_manager_has_the_rules_of_the_base_in_a_role(self):
        """Without what concerns several namespaces, and with its own Leases."""
        name = "dynamo-operator-manager-role"
        base, own = self.base["ClusterRole", name]["rules"], self.restricted["Role", name]["rules"]
        self.assertEqual([rule["resources"] for rule in own if rule not in base], [["leases"]] * 2)
        self.assertEqual([rule["resources"] for rule in base if rule not in own], [["leases"], ["namespaces"], ["clusterroles"], ["clusterroles"]])
        binding = self.restricted["RoleBinding", "dynamo-operator-manager-rolebinding"]
        self.assertEqual((binding["roleRef"]["kind"], binding["roleRef"]["name"]), ("Role", name))

    def test_cluster_wide_rules_concern_only_the_webhooks_queues_nodes_and_readers_of_metrics(self):
        roles = {name: item for (kind, name), item in self.restricted.items() if kind == "ClusterRole"}
        bound = {item["roleRef"]["name"] for (kind, _), item in self.restricted.items() if kind == "ClusterRoleBinding"}
        # For users.
        self.assertEqual(roles.keys() - bound, {f"dynamo-operator-team-a-{end}" for end in ("view", "edit", "admin", "metrics-reader")})
        roles = {name: roles[name] for name in bound}
        reviews = roles.pop("dynamo-operator-team-a-metrics-auth")["rules"]
        self.assertEqual([(rule["resources"], rule["verbs"]) for rule in reviews], [(["tokenreviews"], ["create"]), (["subjectaccessreviews"], ["create"])])
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
            self.assertEqual(self.restricted["Role", name]["rules"], kept)

    def test_the_api_server_accepts_it(self):
        plane.create_namespace("team-a")
        text = yaml.safe_dump_all(self.restricted.values())
        plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=text)


class Sharded(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.base, cls.overlay = built("base"), built("overlays/sharded")

    def test_only_the_controller_its_leases_and_its_budget_change(self):
        name = "dynamo-operator-controller-manager"
        self.assertEqual(self.base.keys() - self.overlay.keys(), {("Deployment", name)})
        self.assertEqual(self.overlay.keys() - self.base.keys(), {("StatefulSet", name), ("PodDisruptionBudget", name)})
        changed = {key for key in self.base.keys() & self.overlay.keys() if self.base[key] != self.overlay[key]}
        self.assertEqual(changed, {("Role", "dynamo-operator-leader-election-role")})

    def test_services_and_budget_select_the_pods(self):
        name = "dynamo-operator-controller-manager"
        spec = self.overlay["StatefulSet", name]["spec"]
        labels = spec["template"]["metadata"]["labels"]
        selectors = [self.overlay["Service", spec["serviceName"]]["spec"]["selector"], spec["selector"]["matchLabels"]]
        selectors.append(self.overlay["PodDisruptionBudget", name]["spec"]["selector"]["matchLabels"])
        for selector in selectors:
            self.assertLessEqual(selector.items(), labels.items())
            self.assertIn("control-plane", selector)

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


class NoWildcard(unittest.TestCase):
    def test_no_role_has_a_wildcard(self):
        for folder in ("base", "restricted", "overlays/sharded"):
            for (kind, name), item in built(folder).items():
                with self.subTest(folder=folder, kind=kind, name=name):
                    for rule in item.get("rules", []) if kind in ("Role", "ClusterRole") else []:
                        self.assertNotIn("*", sum(rule.values(), []))


if __name__ == "__main__":
    unittest.main()
