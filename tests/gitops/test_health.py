#!/usr/bin/env python3
"""How far an object is, in every phase of real runs: by kstatus alone, by Flux with the expressions of flux.yaml, by Argo CD with
the scripts of argocd-cm.yaml.

It needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import sys
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster")]

import worker_plane  # noqa: E402
import engines  # noqa: E402
import phases  # noqa: E402

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
# Moment -> what kstatus alone says, what Flux says with our expressions, what Argo CD says, and a part of Argo CD's message.
# Unknown: an expression about a status that is not there; Flux waits.
UNSEEN = "has not seen"
EXPECTED = {
    "graph created": ("Current", "Unknown", "Progressing", UNSEEN),
    "graph starting": ("InProgress", "InProgress", "Progressing", "Resources not ready: "),
    "graph ready": ("Current", "Current", "Healthy", "All resources are ready"),
    "graph not ready": ("InProgress", "InProgress", "Progressing", "Resources not ready: "),
    "graph ready again": ("Current", "Current", "Healthy", "All resources are ready"),
    "graph changed": ("InProgress", "InProgress", "Progressing", UNSEEN),
    "graph rolling": ("InProgress", "InProgress", "Progressing", "Rolling update in progress"),
    "graph rolled": ("Current", "Current", "Healthy", "All resources are ready"),
    "graph stuck": ("InProgress", "InProgress", "Progressing", "cannot pull image"),
    "graph ready after a way back": ("Current", "Current", "Healthy", "All resources are ready"),
    "graph scaled": ("Current", "Current", "Healthy", "All resources are ready"),
    "graph failed": ("InProgress", "Failed", "Degraded", 'PersistentVolumeClaim "theirs" does not exist'),
    "graph ready after a failure": ("Current", "Current", "Healthy", "All resources are ready"),
    # Its status.observedGeneration is that of the last reconcile without errors.
    "graph failed after a change": ("InProgress", "InProgress", "Degraded", 'PersistentVolumeClaim "absent" does not exist'),
    "graph scaled to nothing": ("Current", "Current", "Suspended", "scaled to 0 replicas"),
    "component created": ("Current", "Unknown", "Progressing", UNSEEN),
    "component starting": ("Current", "InProgress", "Progressing", "Deployment is not ready"),
    "component ready": ("Current", "Current", "Healthy", "Deployment is ready"),
    "component not ready": ("Current", "InProgress", "Progressing", "Deployment is not ready"),
    "component stuck": ("Current", "InProgress", "Degraded", "cannot pull image"),
    "adapter created": ("Current", "Unknown", "Progressing", UNSEEN),
    "adapter follows": ("Current", "Current", "Healthy", "service Worker follows spec.replicas"),
    "adapter changed": ("Current", "InProgress", "Progressing", UNSEEN),
    "adapter has scaled": ("Current", "Current", "Healthy", "service Worker follows spec.replicas"),
    "adapter without graph": ("Current", "InProgress", "Progressing", "does not exist"),
    "adapter refused": ("Current", "Failed", "Degraded", "does not enable scalingAdapter"),
    "request created": ("Current", "Unknown", "Progressing", UNSEEN),
    "request pending": ("Current", "InProgress", "Progressing", "Hardware is being discovered"),
    "request profiling": ("Current", "InProgress", "Progressing", ""),
    "request deploying": ("Current", "InProgress", "Progressing", ""),
    "request deployed": ("Current", "Current", "Healthy", "Deployment is healthy"),
    "request degraded": ("Current", "InProgress", "Progressing", "DGD auto-graph is in "),
    "request deployed again": ("Current", "Current", "Healthy", "Deployment is healthy"),
    "request without its graph": ("Current", "Failed", "Degraded", "Deployment was deleted"),
    "request for approval": ("Current", "Current", "Suspended", "apply it"),
    "request refused": ("Current", "Failed", "Degraded", "absent"),
    "request failed": ("Current", "Failed", "Degraded", "profiler"),
    "checkpoint created": ("Current", "Unknown", "Progressing", UNSEEN),
    "checkpoint pending": ("Current", "InProgress", "Progressing", ""),
    "checkpoint creating": ("Current", "InProgress", "Progressing", "checkpoint-c created"),
    "checkpoint failed": ("Current", "Failed", "Degraded", "Checkpoint job failed"),
    "checkpoint changed": ("Current", "InProgress", "Progressing", ""),
    "checkpoint creating again": ("Current", "InProgress", "Progressing", ""),
    "checkpoint ready": ("Current", "Current", "Healthy", "s3://bucket/prefix"),
    "checkpoint refused": ("Current", "InProgress", "Degraded", "Failed to create the checkpoint job"),
    "model created": ("Current", "Unknown", "Progressing", UNSEEN),
    "model without workers": ("Current", "InProgress", "Progressing", "No endpoint slices"),
    "model that is not loaded": ("Current", "InProgress", "Degraded", "told to fail"),
    "model loaded": ("Current", "Current", "Healthy", "All 2 endpoint(s) are ready"),
    "model changed": ("Current", "InProgress", "Progressing", UNSEEN),
    "base model found": ("Current", "Current", "Healthy", "for base model"),
}

moments, every_state = {}, []


def setUpModule():
    workers, plane = worker_plane.start(config=CONFIG)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    history = phases.watch(plane)
    unittest.addModuleCleanup(history.stop)
    moments.update(phases.play(plane, history, workers))
    for namespace in ("graphs", "requests", "checkpoints", "models"):
        changes = [one for one in history.changes(namespace) if one.kind in phases.KINDS and one.type != "DELETED"]
        every_state.extend(one.object for one in changes)


def describes_its_spec(one):
    """Whether the status is that of the stored generation."""
    status, generation = one.get("status", {}), one["metadata"]["generation"]
    seen = [each["observedGeneration"] for each in status.get("conditions", []) if "observedGeneration" in each]
    return generation in (status.get("observedGeneration"), *seen)


def serves(one):
    """Whether the status says that what the spec asks for is there. It looks at other members than the checks where the kind has
    others that say so."""
    status = one.get("status", {})
    kind = one["kind"]
    if kind == phases.GRAPH:
        return status.get("state") == "successful"
    if kind == phases.CHECKPOINT:
        return status.get("phase") == "Ready"
    if kind == phases.REQUEST:
        return status.get("phase") == "Deployed" or (status.get("phase") == "Ready" and not one["spec"].get("autoApply"))
    if kind == phases.MODEL:
        return 0 < status.get("totalEndpoints", 0) and (
            status["readyEndpoints"] == status["totalEndpoints"] or one["spec"].get("modelType", "base") == "base")
    if kind == phases.ADAPTER:
        return "selector" in status and status.get("replicas") == one["spec"]["replicas"]
    service = status.get("service", {})
    return service.get("readyReplicas", 0) == service.get("replicas") == one["spec"].get("replicas", 1)


class Health(unittest.TestCase):
    maxDiff = None

    def test_every_moment(self):
        self.assertEqual(moments.keys(), EXPECTED.keys())
        labels = sorted(moments)
        objects = [moments[label] for label in labels]
        found = zip(labels, engines.flux_status(objects), engines.argo_health(objects), strict=True)
        for label, flux, (health, message) in found:
            kstatus, with_expressions, argo, text = EXPECTED[label]
            with self.subTest(label, message=message):
                self.assertEqual((flux["kstatus"], flux["health"], health), (kstatus, with_expressions, argo))
                self.assertEqual(flux["upstream"], flux["kstatus"])
                self.assertIn(text, message)
                self.assertTrue(message)

    def test_nothing_is_well_before_it_is(self):
        """In every state that was stored."""
        self.assertEqual({one["kind"] for one in every_state}, set(phases.KINDS))
        alive = [one for one in every_state if "deletionTimestamp" not in one["metadata"]]
        well = 0
        for one, flux, (argo, message) in zip(alive, engines.flux_status(alive), engines.argo_health(alive), strict=True):
            is_current, is_healthy = flux["health"] == "Current", argo in ("Healthy", "Suspended")
            well += is_current and is_healthy
            with self.subTest(one["kind"], name=one["metadata"]["name"], version=one["metadata"]["resourceVersion"]):
                self.assertEqual(is_current, is_healthy, message)
                if is_current:
                    self.assertTrue(describes_its_spec(one) and serves(one), one.get("status"))
        self.assertGreater(well, len(phases.KINDS))

    def test_an_object_that_is_deleted_is_not_well(self):
        at = {"deletionTimestamp": "2026-01-01T00:00:00Z"}
        deleted = [{**one, "metadata": {**one["metadata"], **at}} for one in moments.values()]
        self.assertEqual({health for health, _ in engines.argo_health(deleted)}, {"Progressing"})
        self.assertEqual({line["kstatus"] for line in engines.flux_status(deleted)}, {"Terminating"})

    def test_requests_in_v1alpha1(self):
        """Their status has other members."""

        def request(status, auto_apply=True):
            metadata = {"name": "r", "namespace": "a", "generation": 1}
            spec = {"autoApply": auto_apply}
            return {"apiVersion": "nvidia.com/v1alpha1", "kind": phases.REQUEST, "metadata": metadata, "spec": spec, "status": status}

        deployed = {"created": True, "name": "g", "state": "successful"}
        rows = [
            ({"state": "Profiling"}, True, "InProgress", "Progressing"),
            ({"state": "Deploying"}, True, "InProgress", "Progressing"),
            ({"state": "Ready"}, True, "InProgress", "Progressing"),
            ({"state": "Ready"}, False, "Current", "Suspended"),
            ({"state": "Ready", "deployment": deployed}, True, "Current", "Healthy"),
            ({"state": "Failed"}, True, "Failed", "Degraded"),
            ({"state": "DeploymentDeleted"}, True, "Failed", "Degraded"),
        ]
        for status, auto_apply, flux, argo in rows:
            one = request(status, auto_apply)
            with self.subTest(status):
                self.assertEqual(engines.flux_status([one])[0]["health"], flux)
                self.assertEqual(engines.argo_health([one])[0][0], argo)

    def test_every_kind_has_a_check(self):
        """Except the data that workers write about themselves."""
        crds = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in (engines.DEPLOY.parent / "crds").glob("*.yaml")]
        kinds = {one["spec"]["names"]["kind"] for one in crds} - {"DynamoWorkerMetadata"}
        self.assertEqual(kinds, set(phases.KINDS))
        data = yaml.safe_load(engines.ARGOCD_CM.read_text(encoding="utf-8"))["data"]
        checks = {key.rpartition("_")[2] for key in data if key.startswith("resource.customizations.health.nvidia.com_")}
        self.assertEqual(checks, kinds)
        _, graphs = yaml.safe_load_all(engines.KUSTOMIZATIONS.read_text(encoding="utf-8"))
        self.assertEqual({one["kind"] for one in graphs["spec"]["healthCheckExprs"]}, kinds)


if __name__ == "__main__":
    unittest.main()
