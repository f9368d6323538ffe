#!/usr/bin/env python3
"""Graphs, components, requests, models and checkpoints in Git: neither Flux nor Argo CD sees a difference after webhook and
controller have run, and both see what a user has changed.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import json
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import engines  # noqa: E402
import request_samples  # noqa: E402,F401  (registers the kind DynamoModel)
from manifests import TEAM, examples, is_accepted  # noqa: E402
from operator_plane import CONTROLLER_USER, OperatorPlane, path_of, wait_for_rest  # noqa: E402

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
LEAST = 25  # manifests
REST_SECONDS = 300
FLUX, CLIENT, SERVER = "flux", "argo-client", "argo-server"  # namespaces, and who applies there
# Argo CD's server-side diff reads numbers into doubles, which cannot hold this one. The page says so.
TOO_LARGE = {"DynamoGraphDeploymentRequest/llama-70b-sla": [".spec.profilingConfig.config.run_id"]}
BY_DRY_RUN = ("server", "webhooks")
# Flux compares with everything that a dry run would store, so also with what admission notes about its defaults. Argo CD does the
# same with IncludeMutationWebhook=true.
NOTED_BY_ADMISSION = [".metadata.annotations.nvidia.com/dynamo-defaulted", ".metadata.generation"]
KINDS = {
    "DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentRequest", "DynamoModel", "DynamoCheckpoint",
    "DynamoGraphDeploymentScalingAdapter",
}  # fmt: skip
CHILDREN = (
    "DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter", "DynamoCheckpoint",
    "Deployment", "Service", "Job", "ConfigMap", "ServiceAccount", "Role", "RoleBinding", "PersistentVolumeClaim", "Ingress",
)  # fmt: skip

plane = None
applied = {}  # namespace -> manifests


def setUpModule():
    global plane
    plane = OperatorPlane(child_crds=True, config=CONFIG)
    unittest.addModuleCleanup(plane.close)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    for namespace in (FLUX, CLIENT, SERVER):
        plane.cluster.create_namespace(namespace)
        applied[namespace] = [one for one in examples(namespace) if is_accepted(plane, one)]
    engines.flux_apply(plane.cluster, applied[FLUX])
    rest()
    kubectl_apply(CLIENT)
    rest()
    kubectl_apply(SERVER, "--server-side", "--field-manager", engines.MANAGER)
    rest()


def rest():
    wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER), timeout=REST_SECONDS)


def kubectl_apply(namespace, *flags):
    applied[namespace] = engines.tracked(applied[namespace])
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": applied[namespace]})
    plane.cluster.kubectl("apply", *flags, "-f", "-", input=text)


def drift(namespace):
    """How it is compared -> what differs, without the number that is too large for Argo CD."""
    if namespace == FLUX:
        return {"flux": engines.flux_drift(plane.cluster, applied[FLUX])}
    if namespace == CLIENT:
        return {"client": engines.argo_drift(plane.cluster, "client", applied[CLIENT])}
    found = {how: engines.argo_drift(plane.cluster, how, applied[SERVER]) for how in ("merge", *BY_DRY_RUN)}
    ((name, paths),) = TOO_LARGE.items()
    for how in BY_DRY_RUN:
        if not set(paths) <= set(found[how].get(name, ())):
            raise AssertionError(f"Argo CD, {how}, sees no difference at {name} {paths}")
        found[how][name] = [path for path in found[how][name] if path not in paths]
        if not found[how][name]:
            del found[how][name]
    return found


def edit(manifest, patch):
    metadata = manifest["metadata"]
    plane.patch(manifest["kind"], metadata["namespace"], metadata["name"], patch)


class Drift(unittest.TestCase):
    maxDiff = None

    def test_the_manifests_are_of_every_kind(self):
        for namespace, found in applied.items():
            with self.subTest(namespace):
                self.assertEqual({one["kind"] for one in found}, KINDS)
                self.assertGreaterEqual(len(found), LEAST)

    def test_the_controller_has_seen_them(self):
        for one in applied[FLUX] + applied[CLIENT] + applied[SERVER]:
            found = plane.get(one["kind"], one["metadata"]["namespace"], one["metadata"]["name"])
            with self.subTest(one["kind"], name=one["metadata"]["name"]):
                self.assertTrue(found.get("status"))

    def test_no_drift_and_what_a_user_changes_is_drift(self):
        for namespace, manifests in applied.items():
            with self.subTest(namespace):
                self.assertEqual([found for found in drift(namespace).values() if found], [], "before any edit")
                for one in manifests:
                    edit(one, {"metadata": {"labels": {TEAM: "b"}}})
                names = {f"{one['kind']}/{one['metadata']['name']}" for one in manifests}
                for how, found in drift(namespace).items():
                    self.assertEqual(found.keys(), names, how)
                    self.assertEqual({path for paths in found.values() for path in paths}, {f".metadata.labels.{TEAM}"}, how)
                self.restore(namespace)

    def restore(self, namespace):
        for one in applied[namespace]:
            edit(one, {"metadata": {"labels": {TEAM: "a"}}})
        self.assertEqual([found for found in drift(namespace).values() if found], [], "after the edits are taken back")

    def test_an_image_that_a_user_changes_is_drift(self):
        for namespace, manifests in applied.items():
            graph = next(one for one in manifests if one["kind"] == "DynamoGraphDeployment" and one["metadata"]["name"] == "qwen")
            edit(graph, image_of_frontend("other:1"))
            before = graph["spec"]["services"]["Frontend"]["extraPodSpec"]["mainContainer"]["image"]
            self.addCleanup(edit, graph, image_of_frontend(before))
            with self.subTest(namespace):
                path = ".spec.services.Frontend.extraPodSpec.mainContainer.image"
                for how, found in drift(namespace).items():
                    also = NOTED_BY_ADMISSION if how in ("flux", "webhooks") else []
                    # Without the schema of a service, Argo CD takes the edit for one of a webhook. The page says so.
                    expected = {} if how == "server" else {"DynamoGraphDeployment/qwen": [*also, path]}
                    self.assertEqual(found, expected, how)

    def test_argo_cd_prunes_no_child(self):
        """It prunes what has its annotation or label, has no owner, and is not in Git."""
        for namespace in (CLIENT, SERVER):
            with self.subTest(namespace):
                wanted = {f"{one['kind']}/{one['metadata']['name']}" for one in applied[namespace]}
                self.assertEqual(engines.argo_managed(plane.cluster, namespace), wanted)
                stray = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "stray", "namespace": namespace}}
                plane.cluster.api("POST", path_of("ConfigMap", namespace), *engines.tracked([stray]))
                self.addCleanup(plane.delete, "ConfigMap", namespace, "stray")
                self.assertEqual(engines.argo_managed(plane.cluster, namespace), wanted | {"ConfigMap/stray"})

    def test_which_children_have_the_labels_of_git(self):
        """Those of a component deployment without a graph have its labels, and it as their owner. No child has its annotations."""
        alone = {one["metadata"]["name"] for one in applied[FLUX] if one["kind"] == "DynamoComponentDeployment"}
        for namespace, label in ((FLUX, "kustomize.toolkit.fluxcd.io/name"), (SERVER, "app.kubernetes.io/instance")):
            owners = set()
            for one in self.children(namespace):
                metadata = one["metadata"]
                with self.subTest(namespace, kind=one["kind"], name=metadata["name"]):
                    self.assertNotIn("argocd.argoproj.io/tracking-id", metadata.get("annotations", {}))
                    if label in metadata.get("labels", {}):
                        owner = metadata["ownerReferences"][0]
                        self.assertTrue(owner["controller"] and owner["blockOwnerDeletion"])
                        owners.add((owner["kind"], owner["name"]))
            self.assertEqual(owners, {("DynamoComponentDeployment", name) for name in alone})

    @staticmethod
    def children(namespace):
        names = {(one["kind"], one["metadata"]["name"]) for one in applied[namespace]}
        for kind in CHILDREN:
            for one in plane.cluster.api("GET", path_of(kind, namespace))["items"]:
                if (kind, one["metadata"]["name"]) not in names:
                    yield {**one, "kind": kind}


def image_of_frontend(image):
    return {"spec": {"services": {"Frontend": {"extraPodSpec": {"mainContainer": {"image": image}}}}}}


if __name__ == "__main__":
    unittest.main()
