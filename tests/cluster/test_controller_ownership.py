#!/usr/bin/env python3
"""Who owns what: objects of other namespaces, of strangers and of administrators, and fields that others change.
Run: python3 tests/cluster/test_controller_ownership.py

Decisions ctl-Q45, ctl-Q51 and ctl-Q66 to ctl-Q69. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import copy
import sys
import threading
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from control_plane import ApiError  # noqa: E402
from operator_plane import OperatorPlane, condition_of, graph, is_ready, path_of  # noqa: E402

APPS = "/apis/apps/v1"
FINALIZER = "example.com/keep"  # the garbage collector would delete what belongs to an owner of another namespace
GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"
RECORD = "nvidia.com/dynamo-rendered-replicas"

plane = controller = proxy = None


def setUpModule():
    global plane, controller, proxy
    plane = OperatorPlane()
    unittest.addModuleCleanup(plane.close)
    controller = plane.proxied_controller()
    proxy = controller.proxy
    controller.start()
    controller.wait_until_ready()


def create(manifest):
    metadata = manifest["metadata"]
    return plane.cluster.api("POST", path_of(manifest["kind"], metadata["namespace"]), manifest)


def items(kind, namespace):
    return plane.cluster.api("GET", path_of(kind, namespace))["items"]


def wait(condition, what, timeout=60):
    plane.cluster.wait(condition, timeout, what)


def ready_of(namespace, name):
    return condition_of(plane.get("DynamoGraphDeployment", namespace, name), "Ready")


def wait_until_ready(namespace, name):
    try:
        wait(lambda: is_ready(plane.get("DynamoGraphDeployment", namespace, name)), f"{name} is ready", 90)
    except Exception as error:
        raise AssertionError(f"{name} has {ready_of(namespace, name)}") from error


def warnings(namespace, name, reason):
    """The messages of the Events about the graph, with their counts."""
    events = plane.cluster.api("GET", f"/api/v1/namespaces/{namespace}/events")["items"]
    return [
        (one["message"], one.get("count", 1))
        for one in events
        if one["reason"] == reason and one["involvedObject"]["name"] == name
        and one["involvedObject"]["kind"] == "DynamoGraphDeployment"
    ]


def worker_of(namespace):
    return next(one for one in items("Deployment", namespace) if "-worker-" in one["metadata"]["name"])


def scale(namespace, name, replicas):
    """What `kubectl scale deployment` sends."""
    path = path_of("Deployment", namespace, name, "scale") + "?fieldManager=kubectl"
    plane.cluster.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")


class Namespace(unittest.TestCase):
    """A test with a namespace of its own and a ready graph "g"."""

    GRAPH = True

    def setUp(self):
        self.namespace = self.id().rsplit(".", 1)[-1].replace("_", "-")[:50].strip("-")
        plane.cluster.create_namespace(self.namespace)
        proxy.reset()
        if self.GRAPH:
            plane.apply(graph("g", self.namespace))
            wait_until_ready(self.namespace, "g")

    def service(self, name):
        made = plane.get("DynamoGraphDeployment", self.namespace, "g")
        return made["spec"]["services"][name]

    def change(self, service, **fields):
        patch = {"spec": {"services": {service: fields}}}
        plane.patch("DynamoGraphDeployment", self.namespace, "g", patch)


class OtherNamespaces(Namespace):
    def attacker(self, kind, api_version, name, owner, labels=None, spec=None):
        """An object in another namespace whose owner reference names an object of this one."""
        reference = {
            "apiVersion": owner["apiVersion"],
            "kind": owner["kind"],
            "name": owner["metadata"]["name"],
            "uid": owner["metadata"]["uid"],
            "controller": True,
        }
        metadata = {
            "name": name,
            "namespace": self.other,
            "labels": labels or {},
            "ownerReferences": [reference],
            "finalizers": [FINALIZER],
        }
        return create({"apiVersion": api_version, "kind": kind, "metadata": metadata, "spec": spec or {}})

    def test_attackers_change_nothing(self):
        self.other = self.namespace + "-other"
        plane.cluster.create_namespace(self.other)
        found = plane.get("DynamoGraphDeployment", self.namespace, "g")
        component = next(
            one for one in items("DynamoComponentDeployment", self.namespace) if HASH_LABEL in one["metadata"]["labels"]
        )
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
        plane.cluster.api("POST", f"/api/v1/namespaces/{self.other}/events", event)
        # Updates with both strategies end, and all replicas run.
        for image, strategy in (("runtime:2", "RollingUpdate"), ("runtime:3", "Recreate")):
            annotations = {"nvidia.com/deployment-strategy": strategy}
            worker = self.service("Worker")
            worker["extraPodSpec"]["mainContainer"]["image"] = image
            self.change("Worker", annotations=annotations, extraPodSpec=worker["extraPodSpec"])

            def updated():
                workers = [one for one in items("Deployment", self.namespace) if "-worker-" in one["metadata"]["name"]]
                return len(workers) == 1 and self.image_of(workers[0]) == image and is_ready(
                    plane.get("DynamoGraphDeployment", self.namespace, "g")
                )

            wait(updated, f"the workers run {image}", 90)
            self.assertEqual(worker_of(self.namespace)["status"]["readyReplicas"], 2)
        self.assertEqual(self.service("Processor")["replicas"], 1)

    @staticmethod
    def image_of(deployment):
        return deployment["spec"]["template"]["spec"]["containers"][0]["image"]


class Orphans(Namespace):
    def test_a_graph_deleted_without_its_children(self):
        """The watch of graphs is late, so the reconciles of the children's changes see a graph that is deleted already."""
        before = {one["metadata"]["uid"] for one in items("DynamoComponentDeployment", self.namespace)}
        proxy.event_delays["dynamographdeployments"] = 6
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
        plane.cluster.api("DELETE", path_of("DynamoGraphDeployment", self.namespace, "g"), options)
        wait(lambda: plane.get("DynamoGraphDeployment", self.namespace, "g") is None, "the graph is gone")
        time.sleep(8)
        left = items("DynamoComponentDeployment", self.namespace)
        self.assertEqual({one["metadata"]["uid"] for one in left}, before)
        for one in left:
            self.assertFalse(one["metadata"].get("ownerReferences"), one["metadata"]["name"])
            self.assertNotIn("deletionTimestamp", one["metadata"])


class Strangers(Namespace):
    GRAPH = False

    def stranger(self, kind, api_version, name, **members):
        return create({"apiVersion": api_version, "kind": kind, "metadata": {"name": name, "namespace": self.namespace}, **members})

    def test_the_emptiest_objects_are_not_taken_over(self):
        rbac = "rbac.authorization.k8s.io/v1"
        account = "g-k8s-service-discovery"
        strangers = [
            self.stranger("Service", "v1", "g-frontend", spec={"type": "ExternalName", "externalName": "example.com"}),
            self.stranger("Role", rbac, account + "-role"),
            self.stranger("ServiceAccount", "v1", account),
        ]
        plane.apply(graph("g", self.namespace))
        wait(lambda: ready_of(self.namespace, "g").get("reason") == "failed_to_reconcile_the_resources", "the graph has failed")
        time.sleep(2)
        for one in strangers:
            now = plane.get(one["kind"], self.namespace, one["metadata"]["name"])
            self.assertEqual(now["metadata"]["resourceVersion"], one["metadata"]["resourceVersion"], one["kind"])
        self.assertIn(f"ServiceAccount {self.namespace}/{account} exists, but this operator did not create it",
                      ready_of(self.namespace, "g")["message"])  # fmt: skip
        plane.delete("DynamoGraphDeployment", self.namespace, "g")
        wait(lambda: plane.get("DynamoGraphDeployment", self.namespace, "g") is None, "the graph is gone")
        time.sleep(2)
        for one in strangers:
            self.assertIsNotNone(plane.get(one["kind"], self.namespace, one["metadata"]["name"]), one["kind"])

    def test_an_administrators_smaller_role_stays(self):
        name = "planner-serviceaccount-binding"
        rbac = "rbac.authorization.k8s.io/v1"
        subject = {"kind": "ServiceAccount", "name": "planner-serviceaccount", "namespace": self.namespace}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        made = self.stranger("RoleBinding", rbac, name, roleRef=role, subjects=[subject])
        wanted = graph("g", self.namespace)
        wanted["spec"]["services"]["Processor"]["extraPodSpec"]["serviceAccountName"] = "planner-serviceaccount"
        plane.apply(wanted)
        wait_until_ready(self.namespace, "g")
        now = plane.get("RoleBinding", self.namespace, name)
        self.assertEqual(now["metadata"]["resourceVersion"], made["metadata"]["resourceVersion"])
        wait(lambda: warnings(self.namespace, "g", "ForeignObjectUsed"), "an Event tells of the binding")
        told = warnings(self.namespace, "g", "ForeignObjectUsed")
        self.assertEqual(len(told), 1, told)
        self.assertIn(name, told[0][0])
        plane.patch("DynamoGraphDeployment", self.namespace, "g", {"metadata": {"annotations": {"touched": "1"}}})
        time.sleep(2)
        self.assertEqual(warnings(self.namespace, "g", "ForeignObjectUsed"), told)


class Hands(Namespace):
    def wait_for_replicas(self, number):
        wait(lambda: worker_of(self.namespace)["spec"]["replicas"] == number, f"{number} replicas")

    def test_the_last_change_of_replicas_wins(self):
        name = worker_of(self.namespace)["metadata"]["name"]
        self.assertEqual(worker_of(self.namespace)["metadata"]["annotations"][RECORD], "2")
        scale(self.namespace, name, 5)
        message = f"kubectl scales Deployment.apps {self.namespace}/{name}: 5 replicas instead of 2"
        wait(lambda: message in ready_of(self.namespace, "g")["message"], "the graph tells who scaled")
        self.assertEqual(worker_of(self.namespace)["spec"]["replicas"], 5)
        # Another number of the same writer is no other Event.
        scale(self.namespace, name, 4)
        wait(lambda: ": 4 replicas instead of 2" in ready_of(self.namespace, "g")["message"], "the graph tells the number")
        self.assertEqual(len(warnings(self.namespace, "g", "ReplicasOverridden")), 1)
        # The spec changes while no controller runs.
        controller.stop()
        self.change("Worker", replicas=3)
        controller.start()
        controller.wait_until_ready()
        self.wait_for_replicas(3)
        wait_until_ready(self.namespace, "g")
        self.assertNotIn("scales", ready_of(self.namespace, "g")["message"])
        # A hand's 0 is not ready, and the next number of the graph ends it.
        scale(self.namespace, name, 0)
        wait(lambda: ready_of(self.namespace, "g")["status"] == "False", "the graph is not ready")
        # The API server does not tell who has set a 0.
        message = f"somebody scales Deployment.apps {self.namespace}/{name}: 0 replicas instead of 3"
        wait(lambda: message in ready_of(self.namespace, "g")["message"], "the graph tells that it was scaled")
        wait(lambda: not worker_of(self.namespace)["status"].get("replicas"), "the pods have ended")
        time.sleep(2)
        self.assertEqual(worker_of(self.namespace)["spec"]["replicas"], 0)
        self.change("Worker", replicas=2)
        self.wait_for_replicas(2)
        wait_until_ready(self.namespace, "g")

    def test_an_adapter_takes_the_replicas_back(self):
        name = "g-processor"
        scale(self.namespace, name, 5)
        wait(lambda: "5 replicas instead of 1" in ready_of(self.namespace, "g")["message"], "the graph tells who scaled")
        path = path_of("DynamoGraphDeploymentScalingAdapter", self.namespace, name, "scale")
        plane.cluster.api("PATCH", path, {"spec": {"replicas": 3}}, "application/merge-patch+json")
        wait(lambda: plane.get("Deployment", self.namespace, name)["spec"]["replicas"] == 3, "the adapter's number")


class Fights(Namespace):
    def test_a_field_that_is_changed_back_again_and_again(self):
        name = worker_of(self.namespace)["metadata"]["name"]
        path = path_of("Deployment", self.namespace, name) + "?fieldManager=rival"
        self.assertEqual(worker_of(self.namespace)["spec"]["strategy"]["type"], "RollingUpdate")
        patch = {"spec": {"strategy": {"rollingUpdate": {"maxUnavailable": "33%"}}}}
        ended = threading.Event()

        def undo():
            while not ended.is_set():
                plane.cluster.api("PATCH", path, patch, "application/merge-patch+json")
                time.sleep(0.05)

        rival = threading.Thread(target=undo)
        generation = worker_of(self.namespace)["metadata"]["generation"]
        rival.start()
        try:
            time.sleep(10)
            wait(lambda: "rival keeps changing" in ready_of(self.namespace, "g")["message"], "the graph names the rival", 20)
        finally:
            ended.set()
            rival.join()
        # Each change and each repair is a generation. 10 s allow repairs at 0, 0, 1, 3 and 7 s, and one more until the end.
        changes = worker_of(self.namespace)["metadata"]["generation"] - generation
        self.assertLess(changes, 20)
        self.assertEqual(len(warnings(self.namespace, "g", "FieldContested")), 1)


class SameKeys(Namespace):
    GRAPH = False

    def test_services_that_differ_only_in_case(self):
        made = graph("g", self.namespace)
        made["spec"]["services"]["worker"] = copy.deepcopy(made["spec"]["services"]["Worker"])
        with self.assertRaises(ApiError):
            plane.apply(made)
        # Stored while validation was off.
        path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"
        saved = plane.cluster.api("GET", path)["items"]
        for one in saved:
            plane.cluster.api("DELETE", f"{path}/{one['metadata']['name']}")
        try:
            wait(lambda: self.stored(made), "the graph is stored")
        finally:
            for one in saved:
                for member in ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields"):
                    one["metadata"].pop(member, None)
                plane.cluster.api("POST", path, one)
        named = 'services "Worker", "worker" have the same child'
        wait(lambda: named in ready_of(self.namespace, "g").get("message", ""), "the condition names both")
        time.sleep(2)
        names = [one["metadata"]["name"] for one in items("DynamoComponentDeployment", self.namespace)]
        self.assertFalse([name for name in names if "worker" in name], names)

    @staticmethod
    def stored(made):
        try:
            plane.apply(made)
        except ApiError:
            return False  # the API server still calls the webhook
        return True


if __name__ == "__main__":
    unittest.main(verbosity=2)
