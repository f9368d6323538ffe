#!/usr/bin/env python3
"""Who owns what: objects of other namespaces, children whose owner is deleted without them, and services with the same children.
Run: python3 tests/cluster/test_controller_ownership.py

Decisions ctl-Q66 and ctl-Q69. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import copy
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from control_plane import ApiError  # noqa: E402
from operator_plane import condition_of, graph, is_ready  # noqa: E402
from ownership import ADAPTER, COMPONENT, EVERY_KIND, GRAPH, Namespace  # noqa: E402

FINALIZER = "example.com/keep"  # the garbage collector would delete what belongs to an owner of another namespace
GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"
SHARED = ("ServiceAccount", "Role", "RoleBinding")


def setUpModule():
    Namespace.start()


class OtherNamespaces(Namespace):
    def attacker(self, kind, api_version, name, owner, labels=None, spec=None, uid=None):
        """An object in another namespace whose owner reference names an object of this one. `uid`: another uid in it."""
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": uid or owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            "name": name,
            "namespace": self.other,
            "labels": labels or {},
            "ownerReferences": [reference],
            "finalizers": [FINALIZER],
        }
        return self.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}})

    def test_attackers_change_nothing(self):
        self.other = self.namespace + "-other"
        self.plane.cluster.create_namespace(self.other)
        found = self.get(GRAPH, "g")
        component = next(one for one in self.items(COMPONENT) if HASH_LABEL in one["metadata"]["labels"])
        # A component that looks like an older generation of workers, with the labels and the owner of the victim's.
        old = copy.deepcopy(component["spec"])
        old["replicas"] = 2
        self.attacker(
            "DynamoComponentDeployment", "nvidia.com/v1alpha1", "g-worker-deadbeef", found,
            {**component["metadata"]["labels"], HASH_LABEL: "deadbeef"}, old,
        )  # fmt: skip
        self.attacker(
            "DynamoGraphDeploymentScalingAdapter", "nvidia.com/v1alpha1", "g-processor", found,
            {GRAPH_LABEL: "g"}, {"replicas": 7, "dgdRef": {"name": "g", "serviceName": "Processor"}},
        )  # fmt: skip
        # Uids that look like terms of the index of the controller's cache.
        for number, text in enumerate(self.terms(found)):
            about = ("DynamoComponentDeployment", "nvidia.com/v1alpha1", f"g-worker-term{number}")
            self.attacker(*about, found, {HASH_LABEL: "deadbeef"}, old, text)
        pod = {"containers": [{"name": "main", "image": "runtime:1"}], "nodeSelector": {"none": "here"}}
        self.attacker("Pod", "v1", "sticky", component, component["metadata"]["labels"], pod)
        event = {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": {"name": "failed", "namespace": self.other},
            "involvedObject": {"kind": "StatefulSet", "namespace": self.other, "name": component["metadata"]["name"] + "-0"},
            "type": "Warning",
            "reason": "FailedCreate",
            "message": "create Pod in StatefulSet failed error: exceeded quota",
        }
        self.plane.cluster.api("POST", f"/api/v1/namespaces/{self.other}/events", event)
        # Updates with both strategies end, and all replicas run.
        for image, strategy in (("runtime:2", "RollingUpdate"), ("runtime:3", "Recreate")):
            annotations = {"nvidia.com/deployment-strategy": strategy}
            worker = self.service("Worker")
            worker["extraPodSpec"]["mainContainer"]["image"] = image
            self.change("Worker", annotations=annotations, extraPodSpec=worker["extraPodSpec"])

            def updated():
                workers = [one for one in self.items("Deployment") if "-worker-" in one["metadata"]["name"]]
                return len(workers) == 1 and self.image_of(workers[0]) == image and is_ready(self.get(GRAPH, "g"))

            self.wait(updated, f"the workers run {image}", 90)
            self.assertEqual(self.worker()["status"]["readyReplicas"], 2)
        self.assertEqual(self.service("Processor")["replicas"], 1)
        left = [one["metadata"]["name"] for one in self.items(COMPONENT)]
        self.assertEqual(len(left), 3, left)

    def terms(self, found):
        """The label of the victim's children and the owner of its graph, as they are indexed, with and without the kind of the
        term."""
        label = f"{self.namespace}\0{GRAPH_LABEL}\0g"
        owner = f"{self.namespace}\0{found['metadata']['uid']}"
        return (label, "l" + label, owner, "o" + owner, f"\0{label}")

    @staticmethod
    def image_of(deployment):
        return deployment["spec"]["template"]["spec"]["containers"][0]["image"]


class Orphans(Namespace):
    def orphan(self, kind, name):
        """What `kubectl delete --cascade=orphan` sends. The watch of the kind is late, so the reconciles of the children's changes
        see an owner that is deleted already."""
        self.proxy.event_delays[EVERY_KIND[kind][1]] = 6
        self.delete(kind, name, "Orphan")
        time.sleep(8)

    def check_orphans(self, owner, before):
        """Accounts and roles have the components as their owners, which still use them."""
        for one in before:
            metadata = one["metadata"]
            with self.subTest(f"{one['kind']} {metadata['name']}"):
                now = (self.get(one["kind"], metadata["name"]) or {"metadata": {}})["metadata"]
                self.assertEqual(now.get("uid"), metadata["uid"])
                kinds = {each["kind"] for each in now.get("ownerReferences", [])}
                self.assertEqual(kinds, {COMPONENT} if one["kind"] in SHARED and owner["kind"] == GRAPH else set())
                self.assertNotIn("deletionTimestamp", now)

    def of_owner(self, owner, kinds):
        """The objects that it controls."""
        uid = owner["metadata"]["uid"]
        return [
            {**one, "kind": kind}
            for kind in kinds
            for one in self.items(kind)
            if any(each["uid"] == uid for each in one["metadata"].get("ownerReferences", []))
        ]

    def test_a_graph_deleted_without_its_children(self):
        owner = self.get(GRAPH, "g")
        before = self.of_owner(owner, (COMPONENT, ADAPTER, *SHARED))
        self.assertEqual([one["kind"] for one in before], [COMPONENT] * 3 + [ADAPTER, *SHARED])
        self.orphan(GRAPH, "g")
        self.check_orphans(owner, before)

    def test_a_component_deleted_without_its_children(self):
        made = graph("g", self.namespace)["spec"]["services"]["Frontend"]
        about = {"apiVersion": "nvidia.com/v1alpha1", "kind": COMPONENT, "metadata": {"name": "alone", "namespace": self.namespace}}
        owner = self.create({**about, "spec": made})
        kinds = ("Deployment", "Service")
        self.wait(lambda: len(self.of_owner(owner, kinds)) == len(kinds), "the children exist")
        available = lambda: condition_of(self.get(COMPONENT, "alone"), "Available").get("status") == "True"  # noqa: E731
        self.wait(available, "the component is available")
        before = self.of_owner(owner, kinds)
        self.orphan(COMPONENT, "alone")
        self.check_orphans(owner, before)


class SameKeys(Namespace):
    WITHOUT_GRAPH = True

    def test_services_that_differ_only_in_case(self):
        made = graph("g", self.namespace)
        made["spec"]["services"]["worker"] = copy.deepcopy(made["spec"]["services"]["Worker"])
        with self.assertRaises(ApiError):
            self.plane.apply(made)
        # Stored while validation was off.
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        saved = self.plane.cluster.api("GET", path)["items"]
        for one in saved:
            self.plane.cluster.api("DELETE", f"{path}/{one['metadata']['name']}")
        try:
            self.wait(lambda: self.stored(made), "the graph is stored")
        finally:
            for one in saved:
                for member in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
                    one["metadata"].pop(member, None)
                self.plane.cluster.api("POST", path, one)
        named = 'services "Worker", "worker" have the same child'
        self.wait(lambda: named in self.ready().get("message", ""), "the condition names both")
        time.sleep(2)
        names = [one["metadata"]["name"] for one in self.items("DynamoComponentDeployment")]
        self.assertFalse([name for name in names if "worker" in name], names)

    def stored(self, made):
        try:
            self.plane.apply(made)
        except ApiError:
            return False  # the API server still calls the webhook
        return True


if __name__ == "__main__":
    unittest.main(verbosity=2)
