#!/usr/bin/env python3
"""The controller at rest, and its repairs. Run: python3 tests/cluster/test_controller_steady.py

30 graphs are ready; then the controller writes nothing, according to the audit log of the API server, whatever its age. Edits of
its children are undone within 5 s. DYNAMO_FULL=1: 100 graphs, 10 minutes.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import base64
import json
import os
import re
import sys
import time
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import operator_plane  # noqa: E402
from operator_plane import (  # noqa: E402
    CONTROLLER_USER,
    OperatorPlane,
    ROOT,
    condition_of,
    described,
    difference,
    graph,
    is_ready,
    normalised,
    path_of,
)

FULL = os.environ.get("DYNAMO_FULL") == "1"
GRAPHS = 100 if FULL else 30
REST_SECONDS = 600 if FULL else 30
RESTART_REST_SECONDS = 60 if FULL else 8
REPAIR_SECONDS = 5
# The repair, and the statuses of the component and its graph while pods are replaced. Each has four steps at most: the child is
# missing, it is not observed, it has no available pod, it is ready. Two changes of the child may come within one step.
WRITES_PER_REPAIR = 12
NAMESPACES = ("steady-0", "steady-1", "steady-2")
NAMESPACE = NAMESPACES[0]

PICKER = {
    "apiVersion": "nvidia.com/v1alpha1",
    "kind": "DynamoGraphDeployment",
    "metadata": {"name": "pick", "namespace": NAMESPACE},
    "spec": {
        "services": {
            "Epp": {
                "componentType": "epp",
                "eppConfig": {
                    "config": {
                        "plugins": [{"type": "kv-aware-scorer"}],
                        "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "kv-aware-scorer"}]}],
                    }
                },
                "extraPodSpec": {"mainContainer": {"image": "epp:1"}},
            },
            "Worker": {
                "componentType": "worker",
                "frontendSidecar": {"image": "runtime:1"},
                "resources": {"limits": {"gpu": "1"}},
                "extraPodSpec": {"mainContainer": {"image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"]}},
            },
        }
    },
}

plane = controller = None


def setUpModule():
    global plane, controller
    plane = OperatorPlane(nodes=8, child_crds=True)
    unittest.addModuleCleanup(plane.close)
    for name in NAMESPACES:
        plane.cluster.create_namespace(name)
        create_pull_secret(name, "registry", {"auths": {"https://index.docker.io/v1/": {}}})
        create_pull_secret(name, "malformed", {"auths": 3})
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    began = time.monotonic()
    for number in range(GRAPHS):
        plane.apply(graph(f"g{number}", NAMESPACES[number % len(NAMESPACES)]))
    plane.apply(PICKER)
    plane.cluster.wait(lambda: len(unready()) == 0, 600, "all graphs are ready")
    took = time.monotonic() - began
    wait_for_rest()
    print(f"{GRAPHS + 1} graphs are ready after {took:.1f} s, {len(writes())} writes", file=sys.stderr)


def create_pull_secret(namespace, name, config):
    data = {".dockerconfigjson": base64.b64encode(json.dumps(config).encode()).decode()}
    secret = {"metadata": {"name": name}, "type": "kubernetes.io/dockerconfigjson", "data": data}
    plane.cluster.api("POST", f"/api/v1/namespaces/{namespace}/secrets", secret)


def pull_secrets(namespace, deployment):
    spec = plane.get("Deployment", namespace, deployment)["spec"]["template"]["spec"]
    return [each["name"] for each in spec.get("imagePullSecrets", [])]


def unready():
    graphs = [one for space in NAMESPACES for one in plane.cluster.api("GET", path_of("DynamoGraphDeployment", space))["items"]]
    return [one["metadata"]["name"] for one in graphs if not is_ready(one)]


def writes():
    return plane.audit.entries(CONTROLLER_USER)


def accepted(entries):
    """Without those that the API server refused. A retry tries to create its child by an apply request without force."""
    return [one for one in entries if one["responseStatus"]["code"] < 300]


def wait_for_rest(seconds=3.0):
    return operator_plane.wait_for_rest(writes, seconds)


class Steady(unittest.TestCase):
    def assert_no_writes(self, before, about):
        new = writes()[before:]
        self.assertEqual(new, [], f"{about}:\n" + "\n".join(map(described, new[:20])))

    def test_a_controller_at_rest_writes_nothing(self):
        before = wait_for_rest()
        time.sleep(REST_SECONDS)
        self.assert_no_writes(before, f"{REST_SECONDS} s of rest")

    def test_a_restarted_controller_writes_nothing(self):
        for how in ("stop", "kill"):
            with self.subTest(how):
                before = wait_for_rest()
                getattr(controller, how)()
                controller.start()
                controller.wait_until_ready()
                time.sleep(RESTART_REST_SECONDS)
                self.assert_no_writes(before, f"after {how} and start")

    def test_a_pull_secret_reaches_the_pods_and_leaves_them(self):
        """Decision pod-Q28. The other tests show that a restart does not change the pull secrets of pods."""
        self.assertEqual(pull_secrets(NAMESPACE, "g0-frontend"), ["registry"])
        create_pull_secret(NAMESPACE, "later", {"auths": {"docker.io": {}}})
        plane.cluster.wait(lambda: pull_secrets(NAMESPACE, "g0-frontend") == ["later", "registry"], 30, "pods have the secret")
        plane.cluster.api("DELETE", f"/api/v1/namespaces/{NAMESPACE}/secrets/later")
        plane.cluster.wait(lambda: pull_secrets(NAMESPACE, "g0-frontend") == ["registry"], 30, "pods no longer have it")
        plane.cluster.wait(lambda: not unready(), 120, "all graphs are ready")
        log = controller.log.read_text(encoding="utf-8")
        ignored = [json.loads(line)["name"] for line in log.splitlines() if "image pull secret is ignored" in line]
        self.assertEqual(set(ignored), {"malformed"})

    def test_a_changed_status_of_a_pod_is_not_written_twice(self):
        """A pod that somebody labels changes nothing in any status."""
        before = wait_for_rest()
        pod = plane.cluster.api("GET", path_of("Pod", NAMESPACE))["items"][0]["metadata"]["name"]
        plane.patch("Pod", NAMESPACE, pod, {"metadata": {"annotations": {"example.com/a": "b"}}})
        time.sleep(1)
        self.assert_no_writes(before, "after an annotation of a pod")


class Metrics(unittest.TestCase):
    def test_all_documented_metrics_are_served(self):
        readme = (ROOT / "controller/README.md").read_text(encoding="utf-8")
        rows = readme.split("## Metrics", 1)[1].split("## Dependencies", 1)[0]
        names = set()
        for row in rows.splitlines():
            prefix = ""
            for name in re.findall(r"`([a-z_]+)`", row.split("|")[1]) if row.startswith("| `") else []:
                if name.startswith("_"):
                    name = prefix + name
                else:
                    prefix = re.match(r"workqueue|controller_runtime|dynamo_operator", name)
                    prefix = prefix[0] if prefix else ""
                names.add(name)
        self.assertGreater(len(names), 20)
        text = controller.metrics()
        # Series that exist only after such an event, or with leader election.
        rare = {"dynamo_operator_excluded_namespaces", "dynamo_operator_reconcile_errors_total"}
        rare |= {"leader_election_master_status", "leader_election_slowpath_total"}
        # Series of graphs that are not ready, and of rolling updates that have not ended.
        rare |= {"dynamo_operator_graph_not_ready_since_timestamp_seconds"}
        rare |= {"dynamo_operator_graph_rolling_update_start_timestamp_seconds"}
        served = {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}
        self.assertEqual(names - rare - served, set())

    def test_graphs_are_counted_by_status(self):
        plane.cluster.wait(lambda: not unready(), 60, "all graphs are ready")

        def counted():
            total = 0
            for line in controller.metrics().splitlines():
                if line.startswith("dynamo_operator_resources_total{") and 'resource_type="DynamoGraphDeployment"' in line:
                    if 'status="successful"' not in line:
                        return None
                    total += int(float(line.rsplit(" ", 1)[1]))
            return total

        plane.cluster.wait(lambda: counted() == GRAPHS + 1, 10, "all graphs are counted as successful")


# What somebody does to a child: kind, name, then a patch; None deletes the object.
IMAGE = [{"op": "replace", "path": "/spec/template/spec/containers/0/image", "value": "stranger:1"}]
EDITS = {
    "image": ("Deployment", "g0-frontend", IMAGE),
    "replicas of the object": ("Deployment", "g0-frontend", {"spec": {"replicas": 5}}),
    "label changed": ("Deployment", "g0-frontend", {"metadata": {"labels": {"nvidia.com/dynamo-component": "x"}}}),
    "label removed": ("Deployment", "g0-frontend", {"metadata": {"labels": {"nvidia.com/dynamo-component": None}}}),
    "label of the pod template": (
        "Deployment",
        "g0-frontend",
        {"spec": {"template": {"metadata": {"labels": {"nvidia.com/metrics-enabled": "no"}}}}},
    ),
    "owner removed": ("Deployment", "g0-frontend", {"metadata": {"ownerReferences": None}}),
    "Deployment deleted": ("Deployment", "g0-frontend", None),
    "port": ("Service", "g0-frontend", [{"op": "replace", "path": "/spec/ports/0/port", "value": 1234}]),
    "selector": ("Service", "g0-frontend", {"spec": {"selector": {"nvidia.com/dynamo-component": "x"}}}),
    "Service deleted": ("Service", "g0-frontend", None),
    "rules emptied": ("Role", "g0-k8s-service-discovery-role", {"rules": []}),
    "Role deleted": ("Role", "g0-k8s-service-discovery-role", None),
    "subjects emptied": ("RoleBinding", "g0-k8s-service-discovery-binding", {"subjects": []}),
    "RoleBinding deleted": ("RoleBinding", "g0-k8s-service-discovery-binding", None),
    "ServiceAccount deleted": ("ServiceAccount", "g0-k8s-service-discovery", None),
    "ServiceAccount without its label": (
        "ServiceAccount",
        "g0-k8s-service-discovery",
        {"metadata": {"labels": {"app.kubernetes.io/managed-by": None}}},
    ),
    "spec of a component deployment": ("DynamoComponentDeployment", "g0-frontend", {"spec": {"replicas": 4}}),
    "component deployment deleted": ("DynamoComponentDeployment", "g0-frontend", None),
    "adapter deleted": ("DynamoGraphDeploymentScalingAdapter", "g0-processor", None),
    "data": ("ConfigMap", "pick-epp-config", {"data": {"epp-config-dynamo.yaml": "x"}}),
    "ConfigMap deleted": ("ConfigMap", "pick-epp-config", None),
}


def content(kind, name):
    """The parts of an object that the controller writes; None if there is no object."""
    found = plane.get(kind, NAMESPACE, name)
    if found is None or "deletionTimestamp" in found["metadata"]:
        return None
    found = normalised(found)
    found.pop("status", None)
    found["metadata"].pop("annotations", None)
    return found


class Repairs(unittest.TestCase):
    def test_edits_of_children_are_undone(self):
        for about, (kind, name, patch) in EDITS.items():
            with self.subTest(about):
                count = wait_for_rest(1.0)
                plane.cluster.wait(lambda: not unready(), 60, "all graphs are ready")
                wanted = content(kind, name)
                self.assertIsNotNone(wanted)
                if patch is None:
                    plane.delete(kind, NAMESPACE, name)
                else:
                    plane.patch(kind, NAMESPACE, name, patch)
                began = time.monotonic()
                while (found := content(kind, name)) != wanted:
                    took = time.monotonic() - began
                    self.assertLess(took, REPAIR_SECONDS, difference(wanted, found))
                    time.sleep(0.02)
                took = time.monotonic() - began
                wait_for_rest(1.0)
                plane.cluster.wait(lambda: not unready(), 60, "all graphs are ready again")
                new = writes()[count:]
                print(f"  {about}: {took:.2f} s, {len(new)} writes", file=sys.stderr)
                limit = WRITES_PER_REPAIR * (4 if "component deployment" in about else 1)
                self.assertLessEqual(len(new), limit, "\n".join(map(described, new)))
                self.assertEqual(content(kind, name), wanted)
                # A field that another request owns would stay when it is no longer applied. Adapters are created with replicas
                # that are not applied.
                if kind != "DynamoGraphDeploymentScalingAdapter":
                    self.assertEqual(self.operations(kind, name), {"Apply"})

    @staticmethod
    def operations(kind, name):
        """How our controller has written the object."""
        entries = plane.get(kind, NAMESPACE, name)["metadata"]["managedFields"]
        ours = [one for one in entries if one["manager"] == "dynamo-controller" and "subresource" not in one]
        return {one["operation"] for one in ours}

    def test_replicas_set_through_the_scale_subresource_are_kept(self):
        name = "g3-frontend"
        wait_for_rest(1.0)
        plane.patch("Deployment", NAMESPACE, name, {"spec": {"replicas": 3}}, "scale")
        plane.cluster.wait(lambda: self.replicas(name, "readyReplicas", "status") == 3, 30, "three replicas")
        # Another edit of the same object is undone without them.
        plane.patch("Deployment", NAMESPACE, name, IMAGE)
        plane.cluster.wait(lambda: self.image(name) == "runtime:1", REPAIR_SECONDS, "the image is restored")
        wait_for_rest(2.0)
        self.assertEqual(self.replicas(name), 3)
        controller.stop()
        controller.start()
        controller.wait_until_ready()
        wait_for_rest(2.0)
        self.assertEqual(self.replicas(name), 3)

    @staticmethod
    def replicas(name, member="replicas", part="spec"):
        return plane.get("Deployment", NAMESPACE, name)[part].get(member)

    @staticmethod
    def image(name):
        return plane.get("Deployment", NAMESPACE, name)["spec"]["template"]["spec"]["containers"][0]["image"]

    def test_a_stranger_s_deployment_is_never_touched(self):
        boss = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "boss", "namespace": NAMESPACE}}
        uid = plane.apply(boss)["metadata"]["uid"]
        stranger = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {
                "name": "late-frontend",
                "namespace": NAMESPACE,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "ConfigMap", "name": "boss", "uid": uid, "controller": True}
                ],
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": {"app": "x"}},
                "template": {
                    "metadata": {"labels": {"app": "x"}},
                    "spec": {"containers": [{"name": "c", "image": "stranger:1"}]},
                },
            },
        }
        plane.apply(stranger)
        plane.apply(graph("late", NAMESPACE))
        self.addCleanup(plane.delete, "DynamoGraphDeployment", NAMESPACE, "late")
        message = "Deployment.apps steady-0/late-frontend is controlled by ConfigMap boss"
        plane.cluster.wait(lambda: message in self.condition("DynamoComponentDeployment", "late-frontend", "Available"), 20, "a condition")
        plane.cluster.wait(lambda: self.events("late-frontend", message), 20, "an Event")
        plane.cluster.wait(lambda: message in self.condition("DynamoGraphDeployment", "late", "Ready"), 20, "the graph names the cause")
        count = wait_for_rest(3.0)
        time.sleep(5)
        self.assertEqual([described(one) for one in accepted(writes()[count:])], [], "failing retries write nothing")
        touched = [one for one in accepted(writes()) if one["objectRef"].get("name") == "late-frontend"]
        touched = [one for one in touched if one["objectRef"]["resource"] == "deployments"]
        self.assertEqual([described(one) for one in touched], [])
        # The stranger leaves: the next retry creates the child.
        plane.delete("Deployment", NAMESPACE, "late-frontend")
        plane.cluster.wait(lambda: not unready(), 60, "the graph is ready")

    def test_an_object_without_owner_is_adopted_only_if_the_operator_made_it(self):
        """Quirk ctl-Q51: an object of somebody else, and the children of a graph that was deleted without them."""
        spec = {"selector": {"app": "x"}, "ports": [{"name": "other", "port": 1}]}
        plane.apply({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "alone-frontend", "namespace": NAMESPACE}, "spec": spec})
        plane.apply(graph("alone", NAMESPACE))
        self.addCleanup(plane.delete, "DynamoGraphDeployment", NAMESPACE, "alone")
        message = "Service steady-0/alone-frontend exists, but this operator did not create it"
        plane.cluster.wait(lambda: message in self.condition("DynamoGraphDeployment", "alone", "Ready"), 20, "a condition")
        plane.cluster.wait(lambda: self.events("alone-frontend", message), 20, "an Event")
        self.assertEqual(plane.get("Service", NAMESPACE, "alone-frontend")["spec"]["selector"], {"app": "x"})
        plane.delete("Service", NAMESPACE, "alone-frontend")
        plane.cluster.wait(lambda: not unready(), 60, "the graph is ready")

        path = path_of("DynamoGraphDeployment", NAMESPACE, "alone")
        plane.cluster.api("DELETE", path, {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"})
        plane.cluster.wait(lambda: not plane.cluster.exists(path), 30, "the graph is gone")
        before = plane.get("DynamoComponentDeployment", NAMESPACE, "alone-frontend")["metadata"]
        self.assertEqual(before.get("ownerReferences", []), [])
        uid = plane.apply(graph("alone", NAMESPACE))["metadata"]["uid"]
        plane.cluster.wait(lambda: not unready(), 60, "the graph is ready again")
        after = plane.get("DynamoComponentDeployment", NAMESPACE, "alone-frontend")["metadata"]
        self.assertEqual((after["uid"], [one["uid"] for one in after["ownerReferences"]]), (before["uid"], [uid]))

    @staticmethod
    def condition(kind, name, condition_type):
        return condition_of(plane.get(kind, NAMESPACE, name) or {}, condition_type).get("message", "")

    @staticmethod
    def events(name, message):
        found = plane.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/events?fieldSelector=involvedObject.name={name}")
        return [one for one in found["items"] if one["type"] == "Warning" and message in one["message"]]


if __name__ == "__main__":
    unittest.main(verbosity=2)
