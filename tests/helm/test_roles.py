"""RBAC objects of the rendered charts: no wildcard, nothing of the cluster where only a namespace may be touched, and for the
controller exactly what needed.yaml has."""

import functools
import re
import sys
import tempfile
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

import charts  # noqa: E402
import render  # noqa: E402
from permissions import Permission, permissions_of  # noqa: E402
from variants import CLUSTER_KINDS, VARIANTS  # noqa: E402

LINE = re.compile(r"(\S+) ([^:\[]+?)(?: \[([^\]]+)\])?: (.+)")
ROLES = ("Role", "ClusterRole")
# An operator that may grant these can become anybody.
FORBIDDEN = {
    ("", "pods/exec"), ("", "serviceaccounts/token"), ("rbac.authorization.k8s.io", "clusterrolebindings"),
    ("certificates.k8s.io", "certificatesigningrequests"),
}  # fmt: skip


def needed(section, namespace="", **names):
    """The permissions of a section of needed.yaml."""
    found = set()
    for line in yaml.safe_load((HERE / "needed.yaml").read_text(encoding="utf-8"))[section]:
        for name, replacement in names.items():
            line = line.replace(f"{{{name}}}", replacement)
        group, resources, objects, verbs = LINE.fullmatch(line).groups()
        group = "" if group == "core" else group
        for resource in resources.split():
            for name in (objects or "").split() or [""]:
                found |= {Permission(namespace, group, resource, name, verb) for verb in verbs.split()}
    return found


class Roles(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        cls.charts = {name: charts.lay(cls.folder, name) for name in (charts.OPERATOR, charts.PLATFORM)}

    @functools.lru_cache(maxsize=None)
    def variant(self, name, helm="helm3"):
        chart, release, namespace, values = VARIANTS[name]
        rendered = render.template(helm, self.charts[chart], values, release, namespace)
        self.assertEqual(rendered.refusal, "")
        return rendered

    def render(self, values, release="dynamo-operator", namespace="dynamo-system"):
        rendered = render.template("helm3", self.charts[charts.OPERATOR], values, release, namespace)
        self.assertEqual(rendered.refusal, "")
        return rendered.objects

    def test_both_helms_render_the_same(self):
        if not render.FULL:
            self.skipTest("Helm 4 only in a full run")
        for name in VARIANTS:
            with self.subTest(name):
                three, four = (sorted(self.variant(name, helm).objects, key=str) for helm in render.HELMS)
                self.assertEqual(four, three)

    def test_no_rule_has_a_wildcard_or_leads_to_other_accounts(self):
        for name in VARIANTS:
            roles = self.variant(name).of_kind(*ROLES)
            self.assertGreater(len(roles), 2)
            for role in roles:
                for rule in role["rules"]:
                    with self.subTest(variant=name, role=role["metadata"]["name"], rule=rule):
                        self.assertNotIn("*", sum(rule.values(), []))
                        pairs = {(g, r) for g in rule.get("apiGroups", ()) for r in rule.get("resources", ())}
                        self.assertEqual(pairs & FORBIDDEN, set())
                        self.assertFalse({"escalate", "impersonate"} & set(rule["verbs"]))

    def test_all_secrets_are_only_listed(self):
        """Nobody may read, change or delete any Secret by its name, except the one of the webhook."""
        for name in VARIANTS:
            for role in self.variant(name).of_kind(*ROLES):
                for rule in role["rules"]:
                    if "secrets" in rule.get("resources", ()) and not rule.get("resourceNames"):
                        with self.subTest(variant=name, role=role["metadata"]["name"]):
                            self.assertLessEqual(set(rule["verbs"]), {"list", "watch", "create"})

    def test_every_binding_has_its_role_and_account(self):
        for name in VARIANTS:
            rendered = self.variant(name)
            for binding in rendered.of_kind("RoleBinding", "ClusterRoleBinding"):
                with self.subTest(variant=name, binding=binding["metadata"]["name"]):
                    reference = binding["roleRef"]
                    role = rendered.find(reference["kind"], reference["name"])
                    self.assertIsNotNone(role)
                    self.assertEqual(role["metadata"].get("namespace", ""), self.place_of(reference["kind"], binding))
                    for subject in binding["subjects"]:
                        self.assertTrue(subject["namespace"])

    @staticmethod
    def place_of(kind, binding):
        return binding["metadata"].get("namespace", "") if kind == "Role" else ""

    def test_objects_of_the_cluster(self):
        """An operator without cluster scope renders none. A restricted one has no ClusterRole about what namespaces hold."""
        kinds = {o["kind"] for o in self.variant("without cluster scope").objects}
        self.assertEqual(kinds & CLUSTER_KINDS, set())
        self.assertIn("Deployment", kinds)
        permissions = needed("scope")
        held = {(p.group, p.resource) for p in permissions}
        for name in ("restricted", "restricted everything"):
            for role in self.variant(name).of_kind("ClusterRole"):
                if "rbac.authorization.k8s.io/aggregate-to-" in str(role["metadata"].get("labels", {})):
                    continue  # for users, whose bindings decide about the namespace
                for rule in role["rules"]:
                    with self.subTest(variant=name, role=role["metadata"]["name"], rule=rule):
                        pairs = {(g, r) for g in rule.get("apiGroups", ()) for r in rule.get("resources", ())}
                        self.assertLessEqual(pairs & held, {("", "services")})
                        self.assertTrue(("", "services") not in pairs or rule["verbs"] == ["get"])

    def test_namespaced_objects_name_their_namespace(self):
        for name, (_, _, namespace, values) in VARIANTS.items():
            restricted = values.get("namespaceRestriction", {})
            allowed = {namespace, restricted.get("targetNamespace") or namespace}
            if not restricted:
                allowed.add("kube-system")  # the Lease of the leader
            for one in self.variant(name).objects:
                if one["kind"] not in CLUSTER_KINDS:
                    with self.subTest(variant=name, object=f"{one['kind']} {one['metadata']['name']}"):
                        self.assertIn(one["metadata"].get("namespace"), allowed)

    def test_the_controller_cluster_wide(self):
        names = {"F": "dynamo-operator", "V": ""}
        expected = needed("scope") | needed("cluster", **names) | needed("cluster-wide", **names) | needed("crds")
        expected |= needed("own", "dynamo-system", **names) | needed("leader", "kube-system")
        self.same(expected, self.render({}), "dynamo-system", "dynamo-operator")

    def test_the_controller_in_a_namespace(self):
        names = {"F": "dynamo-operator", "V": "-team-a-system"}
        restricted = {"enabled": True, "targetNamespace": "team-a"}
        expected = needed("scope", "team-a") | needed("cluster", **names) | needed("restricted-cluster")
        expected |= needed("restricted", "team-a") | needed("own", "team-a-system", **names) | needed("leader", "team-a")
        found = self.render({"namespaceRestriction": restricted}, namespace="team-a-system")
        self.same(expected, found, "team-a-system", "dynamo-operator")

    def test_the_controller_with_an_account_that_exists(self):
        """It has the same rights, and the account that the chart would make has none. Nobody else gets any."""
        restricted = {"namespaceRestriction": {"enabled": True, "targetNamespace": "team-a"}}
        existing = {"controllerManager": {"serviceAccount": {"create": False, "name": "theirs"}}}
        for values in ({}, restricted):
            with self.subTest(values):
                before, after = self.render(values), self.render({**values, **existing})
                namespace = "dynamo-system"
                self.assertEqual(permissions_of(after, namespace, "theirs"), self.controller(before))
                self.assertEqual(self.controller(after), set())
                bound = {(o["kind"], o["metadata"]["name"]) for o in before if o["kind"].endswith("Binding")}
                self.assertEqual({(o["kind"], o["metadata"]["name"]) for o in after if o["kind"].endswith("Binding")}, bound)

    def test_without_the_init_container_no_crd_is_created(self):
        before = self.controller(self.render({}))
        creates = {p for p in before if p.resource == "customresourcedefinitions" and p.verb == "create"}
        self.assertEqual(len(creates), 1)
        after = self.controller(self.render({"upgradeCRD": False}))
        self.assertEqual(after - before, set())
        self.assertLessEqual(creates, before - after)

    def test_the_webhook_has_no_token_and_no_rights(self):
        for name in VARIANTS:
            rendered = self.variant(name)
            (deployment,) = [o for o in rendered.of_kind("Deployment") if o["metadata"]["name"].endswith("-webhook")]
            pod, namespace = deployment["spec"]["template"]["spec"], deployment["metadata"]["namespace"]
            with self.subTest(name):
                self.assertIs(pod["automountServiceAccountToken"], False)
                self.assertEqual(permissions_of(rendered.objects, namespace, pod["serviceAccountName"]), set())

    def test_the_check_at_the_start_may_only_create(self):
        for name in ("alone", "restricted"):
            rendered = self.variant(name)
            (job,) = rendered.of_kind("Job")
            account = job["spec"]["template"]["spec"]["serviceAccountName"]
            found = permissions_of(rendered.objects, job["metadata"]["namespace"], account)
            kinds = ("dynamographdeployments", "dynamographdeploymentrequests")
            place = next(iter(found)).namespace
            self.assertTrue(place)
            self.assertEqual(found, {Permission(place, "nvidia.com", kind, "", "create") for kind in kinds})

    def test_roles_for_users(self):
        """They are added to the roles of Kubernetes. None lets a user read Secrets."""
        roles = [o for o in self.variant("alone").of_kind("ClusterRole") if "aggregate-to" in str(o["metadata"].get("labels"))]
        labels = {label.rpartition("-")[2] for role in roles for label in role["metadata"]["labels"] if "aggregate-to" in label}
        self.assertEqual(labels, {"view", "edit", "admin"})
        for role in roles:
            for rule in role["rules"]:
                self.assertEqual(rule["apiGroups"], ["nvidia.com"])
                if "rbac.authorization.k8s.io/aggregate-to-view" in role["metadata"]["labels"]:
                    self.assertLessEqual(set(rule["verbs"]), {"get", "list", "watch"})

    def controller(self, objects, namespace="dynamo-system", prefix="dynamo-operator"):
        return permissions_of(objects, namespace, f"{prefix}-controller-manager")

    def same(self, expected, objects, namespace, prefix):
        found = self.controller(objects, namespace, prefix)
        self.assertEqual(sorted(map(str, found - expected)), [], "more than is needed")
        self.assertEqual(sorted(map(str, expected - found)), [], "missing")


if __name__ == "__main__":
    unittest.main()
