#!/usr/bin/env python3
"""The operator's own manifests in Git: neither Flux nor Argo CD sees a difference after the controller has put its CA into them,
and both see what a user has changed. For all folders of deploy/kustomize, and for the chart of the operator.

Needs `cmake --build build/release --target dynamo-controller`."""

import base64
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import NamedTuple

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster"), str(HERE.parent / "helm"), str(ROOT / "deploy/lib")]

import charts  # noqa: E402
import engines  # noqa: E402
import install as installation  # noqa: E402
import render  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

KUSTOMIZE = ROOT / "deploy/kustomize"
WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/{}webhookconfigurations"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CONVERTED = "dynamographdeploymentrequests.nvidia.com"
WRITTEN = ("Mutating", "Validating")
PATCH = "application/strategic-merge-patch+json"


class Manifests(NamedTuple):
    """A folder of deploy/kustomize, components that an overlay adds to it, and flags of its controller. Without a folder: the chart with
    its default values."""

    folder: str
    components: tuple = ()
    flags: tuple = ()


# In the order of the tests. With cert-manager, the test writes what its ca-injector would write.
CERT_MANAGER = "cert-manager"
ALL = {
    "base": Manifests("base"),
    "components": Manifests("base", ("network-policy", "monitoring")),
    "control-plane-only": Manifests("overlays/control-plane-only"),
    "restricted": Manifests("restricted"),
    "sharded": Manifests("overlays/sharded", flags=("--shard=0/4",)),
    CERT_MANAGER: Manifests("base", (CERT_MANAGER,)),
    "chart": Manifests(""),
}
# Where the chart is installed.
RELEASE, RELEASE_NAMESPACE = "dynamo-operator", "inference-system"
# Kinds of others without their schemas.
OTHERS = [
    ("cert-manager.io", "Issuer"),
    ("cert-manager.io", "Certificate"),
    ("monitoring.coreos.com", "ServiceMonitor"),
    ("monitoring.coreos.com", "PodMonitor"),
    ("monitoring.coreos.com", "PrometheusRule"),
]

cluster = None


def setUpModule():
    global cluster
    cluster = ControlPlane(components=("etcd", "apiserver", "controller-manager"))
    cluster.start()
    unittest.addModuleCleanup(cluster.stop)
    for name in ("team-a", RELEASE_NAMESPACE):
        cluster.create_namespace(name)
    for group, kind in OTHERS:
        plural = f"{kind.lower()}s"
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
        names = {"plural": plural, "kind": kind, "singular": kind.lower(), "listKind": f"{kind}List"}
        spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
        body = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
        cluster.api("POST", CRD, {**body, "metadata": {"name": f"{plural}.{group}"}})
    cluster.wait_for_crds()


def rendered(manifests):
    """With the CRDs, which Git may hold, too. Their conversion names the Service of this operator."""
    objects = folder_of(manifests)
    crds = installation.rendered(cluster, installation.CRDS)
    for service in (one["spec"]["conversion"]["webhook"]["clientConfig"]["service"] for one in crds if "conversion" in one["spec"]):
        service["namespace"] = account_of(objects)[0]
    return crds + objects


def account_of(objects):
    """(namespace, name) of the controller's account."""
    found = [one["metadata"] for one in objects if one["kind"] == "ServiceAccount"]
    return next((one["namespace"], one["name"]) for one in found if one["name"].endswith("controller-manager"))


def folder_of(manifests):
    if not manifests.folder:
        return chart_of("--no-hooks")
    if not manifests.components:
        return installation.rendered(cluster, KUSTOMIZE / manifests.folder)
    with tempfile.TemporaryDirectory() as folder:
        relative = lambda path: os.path.relpath(KUSTOMIZE / path, Path(folder).resolve())  # noqa: E731
        overlay = {
            "resources": [relative(manifests.folder)],
            "components": [relative(f"components/{name}") for name in manifests.components],
        }
        Path(folder, "kustomization.yaml").write_text(yaml.safe_dump(overlay), encoding="utf-8")
        return installation.rendered(cluster, folder)


def chart_of(*flags):
    """What Helm renders of the chart, with these flags."""
    with tempfile.TemporaryDirectory() as folder:
        chart = charts.lay(folder, charts.OPERATOR, notes=False)
        made = render.template("helm3", chart, {}, RELEASE, RELEASE_NAMESPACE, flags)
    assert not made.refusal, made.refusal
    return made.objects


def is_crd(one):
    return one["kind"] == "CustomResourceDefinition"


def apply(objects, *flags):
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", *flags, "-f", "-", input=text)


def server_side_apply(objects):
    apply(objects, "--server-side", "--force-conflicts", "--field-manager", engines.MANAGER)


def remove(objects):
    """Without the namespaces, which take long, and the CRDs."""
    left = [one for one in objects if one["kind"] != "Namespace" and not is_crd(one)]
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": left})
    cluster.kubectl("delete", "--ignore-not-found", "-f", "-", input=text)


def path_of(one):
    """Of a Deployment, a webhook configuration or a CRD."""
    name = one["metadata"]["name"]
    if one["kind"] == "Deployment":
        return f"/apis/apps/v1/namespaces/{one['metadata']['namespace']}/deployments/{name}"
    if is_crd(one):
        return f"{CRD}/{name}"
    return WEBHOOKS.format(one["kind"].removesuffix("WebhookConfiguration").lower()) + f"/{name}"


def client_configs(objects):
    """The clientConfigs of these webhook configurations, and of the conversion, as they are stored."""
    for one in objects:
        if one["kind"].endswith("WebhookConfiguration"):
            yield from (each["clientConfig"] for each in cluster.api("GET", path_of(one))["webhooks"])
    yield cluster.api("GET", f"{CRD}/{CONVERTED}")["spec"]["conversion"]["webhook"]["clientConfig"]


class Order(unittest.TestCase):
    """In which order Argo CD applies things. No cluster is asked."""

    def test_the_operator_comes_before_graphs(self):
        applications = list(yaml.safe_load_all((engines.DEPLOY / "argocd.yaml").read_text(encoding="utf-8")))
        orders = dict(zip((one["metadata"]["name"] for one in applications), engines.argo_order(applications), strict=True))
        self.assertEqual(orders, {"dynamo-operator": ([], -1), "dynamo-graphs": ([], 0)})
        for one in applications:
            self.assertEqual((one["apiVersion"], one["kind"]), ("argoproj.io/v1alpha1", "Application"))
        options = applications[0]["spec"]["syncPolicy"]["syncOptions"]
        self.assertLessEqual({"ServerSideApply=true", "RespectIgnoreDifferences=true"}, set(options))

    def test_the_check_of_the_chart_comes_after_everything(self):
        """In the chart it is a hook of Helm, together with what it needs."""
        objects = chart_of()
        orders = engines.argo_order(objects)
        hooks = {one["kind"]: set(phases) for one, (phases, _) in zip(objects, orders, strict=True) if phases}
        self.assertIn("Job", hooks)
        self.assertTrue(all(phases == {"PostSync"} for phases in hooks.values()), hooks)


class Drift(unittest.TestCase):
    maxDiff = None

    def test_every_folder_and_the_chart(self):
        there = {str(path.parent.relative_to(KUSTOMIZE)) for path in KUSTOMIZE.rglob("kustomization.yaml")}
        used = {one.folder for one in ALL.values() if one.folder}
        used |= {f"components/{name}" for one in ALL.values() for name in one.components}
        self.assertEqual(there, used | {"crds"})
        for name, manifests in ALL.items():
            with self.subTest(name):
                objects = rendered(manifests)
                try:
                    self.check(name, objects)
                finally:
                    remove(objects)

    def check(self, name, objects):
        engines.flux_apply(cluster, objects)
        self.inject(name, objects)
        self.assertEqual(engines.flux_drift(cluster, objects), {}, "Flux")
        without_crds = engines.tracked([one for one in objects if not is_crd(one)])
        apply(without_crds)
        self.assertEqual(engines.argo_drift(cluster, "client", without_crds), {}, "Argo CD, client-side")
        all_tracked = engines.tracked(objects)
        server_side_apply(all_tracked)
        for how in ("merge", "server", "webhooks"):
            self.assertEqual(engines.argo_drift(cluster, how, all_tracked), {}, f"Argo CD, {how}")
        self.assert_edits_are_found(objects)

    def inject(self, name, objects):
        """The controller, or cert-manager, writes the CA into webhooks and conversion."""
        if name == CERT_MANAGER:
            return self.inject_as_cert_manager(objects)
        controller = installation.Controller(cluster, flags=ALL[name].flags, account="/".join(account_of(objects)))
        controller.start()
        try:
            has_all = lambda: all(each.get("caBundle") for each in client_configs(objects))  # noqa: E731
            cluster.wait(has_all, 60, f"the controller of {name} injects its CA")
        finally:
            controller.stop()

    def inject_as_cert_manager(self, objects):
        bundle = base64.b64encode(cluster.ca.encode()).decode()
        chosen = [one for one in objects if "cert-manager.io/inject-ca-from" in one["metadata"].get("annotations", {})]
        self.assertEqual({one["kind"] for one in chosen if not is_crd(one)}, {f"{kind}WebhookConfiguration" for kind in WRITTEN})
        for one in chosen:
            path = path_of(one)
            stored = cluster.api("GET", path)
            for each in stored.get("webhooks", [stored["spec"]["conversion"]["webhook"]] if is_crd(one) else []):
                each["clientConfig"]["caBundle"] = bundle
            cluster.api("PUT", path + "?fieldManager=cert-manager-cainjector", stored)

    def assert_edits_are_found(self, objects):
        """A user changes the Deployments and a webhook."""
        edits = [one for one in objects if one["kind"] in ("Deployment", "ValidatingWebhookConfiguration")]
        for one in edits:
            change = {"spec": {"replicas": 7}}
            if one["kind"] != "Deployment":
                change = {"webhooks": [{"name": one["webhooks"][0]["name"], "failurePolicy": "Ignore"}]}
            cluster.api("PATCH", path_of(one) + "?fieldManager=user", change, content_type=PATCH)
        names = {f"{one['kind']}/{one['metadata']['name']}" for one in edits}
        all_tracked = engines.tracked(objects)
        without_crds = [one for one in all_tracked if not is_crd(one)]
        self.assertEqual(engines.flux_drift(cluster, objects).keys(), names, "Flux")
        self.assertEqual(engines.argo_drift(cluster, "client", without_crds).keys(), names, "Argo CD, client-side")
        for how in ("merge", "server", "webhooks"):
            self.assertEqual(engines.argo_drift(cluster, how, all_tracked).keys(), names, f"Argo CD, {how}")


class Rules(unittest.TestCase):
    """What the ignored differences of argocd-cm.yaml are for: manifests with a caBundle or a selector of their own, or another
    conversion."""

    def test_a_bundle_a_selector_and_a_conversion_in_the_manifest(self):
        objects = engines.tracked(installation.complete(cluster))
        server_side_apply(objects)
        chosen = [one for one in objects if one["kind"].endswith("WebhookConfiguration") or one["metadata"]["name"] == CONVERTED]
        for one in chosen:
            for each in one.get("webhooks", []):
                each["clientConfig"]["caBundle"] = "Cg=="
                each["namespaceSelector"] = {"matchLabels": {"graphs": "allowed"}}
            if is_crd(one):
                one["spec"]["conversion"]["webhook"]["clientConfig"]["service"]["namespace"] = "elsewhere"
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as none:
            none.write("data: {}")
            none.flush()
            for how in ("merge", "server", "webhooks"):
                with self.subTest(how):
                    self.assertEqual(len(engines.argo_drift(cluster, how, chosen, none.name)), 3)
                    self.assertEqual(engines.argo_drift(cluster, how, chosen), {})


if __name__ == "__main__":
    unittest.main()
