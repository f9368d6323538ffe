#!/usr/bin/env python3
"""The roles of the controller in deploy/kustomize: nothing is missing and nothing is superfluous, cluster-wide and restricted
to one namespace. Webhook and controller run through graphs with every kind of child (every_child.py) under the account and
the roles of the manifests, and the audit log has all their requests. Run: python3 tests/cluster/test_controller_rbac.py

Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`."""

import datetime
import fnmatch
import itertools
import json
import re
import ssl
import subprocess
import sys
import tempfile
import unittest
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]

import install  # noqa: E402
from child_crds import install_child_crds, install_queues  # noqa: E402
from control_plane import ApiError, ControlPlane  # noqa: E402
from every_child import Player  # noqa: E402
from permissions import audit_flags, covers, permissions_of, requests_of  # noqa: E402

ACCOUNT = "dynamo-operator-controller-manager"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1"
CONVERTED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeploymentrequests.nvidia.com"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
MANAGER = "dynamo-operator-manager-role"
SCRAPER = "scraper"
# Off by default, all three.
SETTINGS = """
checkpoint: {enabled: true}
compatibility: {autoscaling: true}
ingress: {virtualServiceGateway: istio/gateway}
"""

# Permissions that the API server checks inside another request. test_permissions_that_other_requests_need has one request for
# each: without the permission it is refused.
CHECKED_INSIDE = (
    "update dynamographdeployments/finalizers.nvidia.com",
    "update dynamocomponentdeployments/finalizers.nvidia.com",
    "update dynamocheckpoints/finalizers.nvidia.com",
    "update dynamographdeploymentrequests/finalizers.nvidia.com",
    "delete serviceaccounts",
    "delete roles.rbac.authorization.k8s.io",
    "* endpoints",
    "get endpointslices.discovery.k8s.io",
    *(f"{verb} dynamoworkermetadatas.nvidia.com" for verb in ("get", "list", "watch", "create", "update", "patch", "delete")),
    "bind clusterroles.rbac.authorization.k8s.io dynamo-operator-*",
)
OWNERS = {
    "dynamographdeployments": "DynamoGraphDeployment",
    "dynamocomponentdeployments": "DynamoComponentDeployment",
    "dynamocheckpoints": "DynamoCheckpoint",
    "dynamographdeploymentrequests": "DynamoGraphDeploymentRequest",
}
# Permissions that nothing here needs: (permission, reason). A line for a permission that is used is an error.
NOT_PLAYED = (
    ("get secrets webhook-server-cert*", "reading again after a conflict: test_certificates.py"),
    ("patch secrets webhook-server-cert*", "renewal: test_certificates.py"),
    ("get *webhookconfigurations.admissionregistration.k8s.io *", "reading again after a conflict: test_certificates.py"),
    ("get dynamographdeploymentrequests.nvidia.com", "the RoleBinding of a request that somebody changes (life-Q26), cluster-wide"),
    ("* namespaces", "only with namespace.scope.leaseNamespaceLabels: test_scope.py"),
)
# The init container needs it, where there is one.
NOT_PLAYED_WITHOUT_CRDS = (("get customresourcedefinitions.apiextensions.k8s.io *", "reading again after a conflict: test_certificates.py"),)


def marker():
    """The Lease by which a restricted operator holds its namespace."""
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    spec = {"holderIdentity": "another", "leaseDurationSeconds": 3600, "acquireTime": now, "renewTime": now}
    return {"metadata": {"name": "dynamo-operator-namespace-scope"}, "spec": spec}


def matches(permission, patterns):
    text = str(permission)
    return any(fnmatch.fnmatchcase(text, pattern) or fnmatch.fnmatchcase(text, f"{pattern} in team-a") for pattern in patterns)


def narrowest(granted, request):
    """The permission that allows the request. If there are several, one of a namespace goes before one of all."""
    return max((g for g in granted if covers(g, request)), key=lambda g: (g.namespace, g.name), default=None)


def without(role, permission):
    """The role with one rule for each permission, except this one."""
    rules = []
    for rule in role["rules"]:
        for group, resource, name, verb in itertools.product(
            rule["apiGroups"], rule["resources"], rule.get("resourceNames", [""]), rule["verbs"]
        ):
            if (group, resource, name, verb) != permission[1:]:
                names = {"resourceNames": [name]} if name else {}
                rules.append({"apiGroups": [group], "resources": [resource], "verbs": [verb], **names})
    return {**role, "rules": rules, "metadata": {"name": role["metadata"]["name"]}}


class Mode:
    """The tests of a mode. `folder` has its manifests; `namespace` is that of the operator, `graphs` that of the graphs, and
    `role` the path of the manager's role. `applies_crds`: the init container writes the CRDs. tests/helm runs them with the objects
    of the chart and other values."""

    folder = namespace = graphs = role = None
    applies_crds = False
    queues = ("dynamo",)  # of the KAI scheduler, that others have made
    settings = SETTINGS
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        directory = Path(cls.enterClassContext(tempfile.TemporaryDirectory()))
        flags = [*audit_flags(directory), "--enable-admission-plugins=OwnerReferencesPermissionEnforcement"]
        cls.cluster = cls.enterClassContext(ControlPlane(apiserver_flags=flags))
        cls.cluster.add_nodes(2, gpus=16)
        cls.objects = cls.manifests()
        included = {o["metadata"]["name"] for o in cls.objects if o["kind"] == "Namespace"}
        for name in {cls.graphs, cls.namespace} - included:
            cls.cluster.create_namespace(name)
        cls.granted = permissions_of(cls.objects, cls.namespace, ACCOUNT)
        config = next(o for o in cls.objects if o["kind"] == "ConfigMap")["data"]["config.yaml"]
        cls.play(config + cls.settings)
        cls.requests = requests_of(directory, f"system:serviceaccount:{cls.namespace}:{ACCOUNT}")

    @classmethod
    def manifests(cls):
        """The objects of the operator, without CRDs if others apply them."""
        return install.rendered(cls.cluster, cls.folder)

    @classmethod
    def play(cls, config):
        account = f"{cls.namespace}/{ACCOUNT}"
        webhook = install.Webhook(cls.cluster.directory, config=config, account=account)
        controller = install.Controller(cls.cluster, config, account=account)
        try:
            webhook.start()
            install_child_crds(cls.cluster)
            install_queues(cls.cluster, *cls.queues)
            install.apply(cls.cluster, webhook, install.CRDS)
            install.apply_objects(cls.cluster, webhook, cls.objects)
            cls.play_installation()
            controller.start()
            controller.wait_until_ready()
            first = cls.renewals()
            Player(cls.cluster, cls.graphs).play()
            cls.play_webhooks()
            cls.cluster.wait(lambda: not first & cls.renewals(), 60, "the marker Lease is renewed")
            cls.metrics = cls.scrape(controller)
        except Exception as error:
            raise AssertionError(f"{error}; the end of the log:\n{controller.log_tail()}") from error
        finally:
            controller.stop()
            webhook.stop()
        cls.log = controller.log.read_text(encoding="utf-8")

    @classmethod
    def play_installation(cls):
        """The init container writes the CRDs, also one that is missing."""
        if not cls.applies_crds:
            return
        cls.cluster.kubectl("delete", "crd", "dynamomodels.nvidia.com")
        kubeconfig = cls.cluster.service_account_kubeconfig(cls.namespace, ACCOUNT)
        command = [install.CONTROLLER, "crds", "apply", f"--directory={install.CRDS}", "--operator-version=1.0.0"]
        done = subprocess.run([*command, "--kubeconfig", kubeconfig], capture_output=True, text=True, timeout=120, check=False)
        if done.returncode:
            raise AssertionError(done.stdout + done.stderr)

    @classmethod
    def scrape(cls, controller):
        """As Prometheus does it: with the token of an account that has the role of the manifests. Without it there is no answer."""
        roles = [one["metadata"]["name"] for one in cls.cluster.api("GET", f"{RBAC}/clusterroles")["items"]]
        (reader,) = [name for name in roles if name.endswith("-metrics-reader")]
        subject = {"kind": "ServiceAccount", "name": SCRAPER, "namespace": "default"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": reader}
        cls.cluster.api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": SCRAPER}})
        binding = {"metadata": {"name": SCRAPER}, "roleRef": reference, "subjects": [subject]}
        cls.cluster.api("POST", f"{RBAC}/clusterrolebindings", binding)
        path = f"/api/v1/namespaces/default/serviceaccounts/{SCRAPER}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        token = cls.cluster.api("POST", path, body)["status"]["token"]
        url = f"https://127.0.0.1:{controller.metrics_port}/metrics"
        trusting = ssl.create_default_context()
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
        with urllib.request.urlopen(request, timeout=30, context=trusting) as answer:
            return answer.read().decode()

    @classmethod
    def not_played(cls):
        return NOT_PLAYED if cls.applies_crds else NOT_PLAYED + NOT_PLAYED_WITHOUT_CRDS

    @classmethod
    def renewals(cls):
        """The times at which the Leases in the namespace of the graphs were renewed. A cluster-wide operator has none."""
        path = f"/apis/coordination.k8s.io/v1/namespaces/{cls.graphs}/leases"
        return {lease["spec"]["renewTime"] for lease in cls.cluster.api("GET", path)["items"]}

    @classmethod
    def play_webhooks(cls):
        """With the Services of the manifests instead of URLs, the controller adds the CA of its certificates, and selectors
        that leave out the namespaces of other operators. The API server does not reach the webhook then."""
        cls.cluster.create_namespace("held")
        cls.cluster.api("POST", "/apis/coordination.k8s.io/v1/namespaces/held/leases", marker())
        cls.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-k", install.CRDS)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": cls.objects})
        cls.cluster.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", input=text)
        cls.cluster.wait(cls.webhooks_are_complete, 60, "webhooks and conversion have a CA, and webhooks a selector")

    @classmethod
    def webhooks_are_complete(cls):
        entries = []
        for kind in ("mutating", "validating"):
            for item in cls.cluster.api("GET", f"{WEBHOOKS}/{kind}webhookconfigurations")["items"]:
                entries += item["webhooks"]
        clients = [entry["clientConfig"] for entry in entries]
        clients.append(cls.cluster.api("GET", CONVERTED)["spec"]["conversion"]["webhook"]["clientConfig"])
        # The manifests of a restricted operator have a selector.
        selected = all(entry.get("namespaceSelector") for entry in entries)
        return selected and all(client.get("caBundle") for client in clients)

    def test_no_request_is_refused(self):
        self.assertEqual([r for r in self.requests if r.status == 403], [])
        self.assertEqual(re.findall(r'rest_client_requests_total\{code="403".*', self.metrics), [])
        self.assertEqual([line for line in self.log.splitlines() if "forbidden" in line.lower()], [])

    def test_requests_use_only_what_the_manifests_grant(self):
        """No other role of the cluster helps, such as one for all authenticated users."""
        others = {str(r.permission) for r in self.requests if narrowest(self.granted, r.permission) is None}
        self.assertEqual(sorted(others), [])

    def test_every_permission_is_used(self):
        used = {narrowest(self.granted, r.permission) for r in self.requests} - {None}
        reasons = [*CHECKED_INSIDE, *(pattern for pattern, _ in self.not_played())]
        explained = {g for g in self.granted if matches(g, reasons)}
        self.assertEqual(sorted(map(str, self.granted - used - explained)), [], "permissions that nothing needs")
        self.assertEqual(sorted(map(str, used & explained)), [], "used after all: remove the line")

    def test_permissions_that_other_requests_need(self):
        """Each of them is removed from its role in turn. A dry run is then refused, which succeeds with the permission."""
        self.prepare()
        inside = sorted(g for g in self.granted if matches(g, CHECKED_INSIDE))
        self.assertGreaterEqual(len(inside), 16)
        for permission in inside:
            with self.subTest(permission=str(permission)):
                role = self.cluster.api("GET", self.role)
                self.cluster.wait(lambda: self.is_allowed(permission), 20, f"allowed with: {permission}")
                self.cluster.api("PUT", self.role, without(role, permission))
                self.cluster.wait(lambda: not self.is_allowed(permission), 20, f"refused without: {permission}")
                self.cluster.api("PUT", self.role, {**without(role, permission), "rules": role["rules"]})

    def prepare(self):
        """A token of the account, and objects without owners."""
        path = f"/api/v1/namespaces/{self.namespace}/serviceaccounts/{ACCOUNT}/token"
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        self.token = self.cluster.api("POST", path, body)["status"]["token"]
        for path in (f"/api/v1/namespaces/{self.graphs}/serviceaccounts", f"{RBAC}/namespaces/{self.graphs}/roles"):
            self.cluster.api("POST", path, {"metadata": {"name": "without-owner"}})

    def is_allowed(self, permission):
        method, path, body = self.request_that_needs(permission)
        content_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        try:
            self.cluster.api(method, f"{path}?dryRun=All", body, content_type, token=self.token)
        except ApiError as error:
            if error.status != 403:
                raise
            return False
        return True

    def request_that_needs(self, permission):
        core, rbac = f"/api/v1/namespaces/{self.graphs}", f"{RBAC}/namespaces/{self.graphs}"
        owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "name": "g", "uid": "u"}
        if permission.resource.endswith("/finalizers"):
            owner["kind"] = OWNERS[permission.resource.removesuffix("/finalizers")]
            owner["blockOwnerDeletion"] = True
            return "POST", f"{core}/configmaps", {"metadata": {"name": "owned", "ownerReferences": [owner]}}
        if permission.verb == "delete" and permission.resource in ("serviceaccounts", "roles"):
            base = core if permission.resource == "serviceaccounts" else rbac
            return "PATCH", f"{base}/{permission.resource}/without-owner", {"metadata": {"ownerReferences": [owner]}}
        if permission.verb == "bind":
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": permission.name}
            return "POST", f"{rbac}/rolebindings", {"metadata": {"name": "bound"}, "roleRef": reference}
        rule = {"apiGroups": [permission.group], "resources": [permission.resource], "verbs": [permission.verb]}
        return "POST", f"{rbac}/roles", {"metadata": {"name": "granted"}, "rules": [rule]}


class ClusterWide(Mode, unittest.TestCase):
    folder = install.BASE
    namespace = "dynamo-system"
    graphs = "graphs"
    applies_crds = True
    queues = ()
    role = f"{RBAC}/clusterroles/{MANAGER}"


class Restricted(Mode, unittest.TestCase):
    folder = install.RESTRICTED
    namespace = graphs = "team-a"
    role = f"{RBAC}/namespaces/team-a/roles/{MANAGER}"


if __name__ == "__main__":
    unittest.main()
