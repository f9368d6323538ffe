#!/usr/bin/env python3
"""Why a graph is not ready: the reason of its condition Ready, and the Events. Run: python3 tests/cluster/test_controller_causes.py

A quota, also for the pods of a LeaderWorkerSet, a cluster without room, an image that cannot be pulled, a container that
crashes, an update that waits for its pods, an update of workers whose old generation is refused a child, and claims that do not
exist or are deleted (child-Q25, dec-1, ctl-Q36, ctl-Q49, ctl-Q65, ctl-Q72).
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import contextlib
import copy
import sys
import time
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from client import ApiError  # noqa: E402
from every_child import MERGE, NODES  # noqa: E402
from operator_plane import OperatorPlane, condition_of, is_ready, path_of  # noqa: E402

NAMESPACE = "causes"
MADE = {"name": "ours", "create": True, "size": "1Gi", "storageClass": "fast", "volumeAccessMode": "ReadWriteOnce"}

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane(nodes=1, gpus=8, kwok_config=HERE / "pods.kwok.yaml", child_crds=True)
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def graph(name, **pod):
    """A graph with one frontend; `pod`: fields of its extraPodSpec."""
    frontend = {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "runtime:1"}, **pod}}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"services": {"Frontend": frontend}},
    }


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def ready_condition(name):
    return condition_of(plane.get("DynamoGraphDeployment", NAMESPACE, name), "Ready")


def wait_for(name, reason, text, timeout=60):
    """Waits for a reason and a part of the message."""

    def found():
        condition = ready_condition(name)
        return condition.get("reason") == reason and text in condition["message"]

    try:
        plane.cluster.wait(found, timeout, f"{name}: {reason}")
    except Exception as error:
        raise AssertionError(f"{name} has {ready_condition(name)}") from error


def wait_until_ready(name):
    plane.cluster.wait(lambda: is_ready(plane.get("DynamoGraphDeployment", NAMESPACE, name)), 60, f"{name} is ready")


def reasons_of_warnings(name):
    """The reasons of warnings, by the kind of the object."""
    events = plane.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    return {
        (one["involvedObject"]["kind"], one["reason"])
        for one in events
        if one["type"] == "Warning" and one["involvedObject"]["name"].startswith(name)
        and one["involvedObject"]["kind"].startswith("Dynamo")
    }


def two_nodes(name):
    """A graph with one worker on two nodes, which runs as a LeaderWorkerSet."""
    made = graph(name)
    worker = {**yaml.safe_load(NODES), "replicas": 1}
    made["spec"]["services"] = {"Worker": worker}
    return made


def leader_worker_sets(name):
    path = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{NAMESPACE}/leaderworkersets"
    return [one for one in plane.cluster.api("GET", path)["items"] if one["metadata"]["name"].startswith(name)]


def quota_of_no_pods():
    """A quota that allows no pods in the namespace."""
    return plane.quota(NAMESPACE, "pods", {"pods": "0"})


class Causes(unittest.TestCase):
    def apply(self, manifest):
        name = manifest["metadata"]["name"]
        plane.apply(manifest)
        self.addCleanup(plane.delete, "DynamoGraphDeployment", NAMESPACE, name)
        return name

    def assert_warns(self, name, reason):
        wanted = {("DynamoGraphDeployment", reason), ("DynamoComponentDeployment", reason)}
        plane.cluster.wait(lambda: wanted <= reasons_of_warnings(name), 30, f"Events {reason}")
        self.assertEqual(reasons_of_warnings(name), wanted)

    def test_a_quota(self):
        with quota_of_no_pods():
            name = self.apply(graph("quota"))
            wait_for(name, "insufficient_capacity", "exceeded quota: pods")
            self.assert_warns(name, "QuotaExceeded")
        wait_until_ready(name)

    def test_a_quota_for_the_pods_of_a_leader_worker_set(self):
        """The operator of LeaderWorkerSets is not there. The test creates the StatefulSet that it would create."""
        with quota_of_no_pods():
            name = self.apply(two_nodes("sets"))
            plane.cluster.wait(lambda: leader_worker_sets(name), 60, "a LeaderWorkerSet")
            stateful_set = self.run_leaders(leader_worker_sets(name)[0])
            wait_for(name, "insufficient_capacity", "pods cannot be created: exceeded quota: pods")
            self.assert_warns(name, "QuotaExceeded")
        # Kubernetes tries again after a change at once.
        plane.cluster.api("PATCH", stateful_set, {"metadata": {"annotations": {"try": "again"}}}, MERGE)
        wait_for(name, "some_resources_are_not_ready", "")
        self.assertNotIn("quota", ready_condition(name)["message"])

    def run_leaders(self, leader_worker_set):
        """Creates the StatefulSet of the leaders. Returns its path."""
        name = leader_worker_set["metadata"]["name"]
        labels = {"leaders-of": name}
        template = copy.deepcopy(leader_worker_set["spec"]["leaderWorkerTemplate"]["leaderTemplate"])
        template["metadata"]["labels"].update(labels)
        template["spec"]["nodeName"] = "gpu-node-0"
        spec = {"replicas": 1, "serviceName": name, "selector": {"matchLabels": labels}, "template": template}
        path = f"/apis/apps/v1/namespaces/{NAMESPACE}/statefulsets"
        plane.cluster.api("POST", path, {"metadata": {"name": name}, "spec": spec})
        self.addCleanup(plane.cluster.api, "DELETE", f"{path}/{name}")
        return f"{path}/{name}"

    def test_no_node_has_room(self):
        manifest = graph("room")
        manifest["spec"]["services"]["Frontend"]["resources"] = {"limits": {"gpu": "100"}}
        name = self.apply(manifest)
        wait_for(name, "some_resources_are_not_ready", "0 of 1 replicas available")
        wait_for(name, "insufficient_capacity", "Insufficient nvidia.com/gpu")
        self.assert_warns(name, "PodUnschedulable")
        smaller = copy.deepcopy(manifest)
        smaller["spec"]["services"]["Frontend"]["resources"]["limits"]["gpu"] = "1"
        plane.apply(smaller)
        wait_until_ready(name)

    def test_an_image_that_cannot_be_pulled(self):
        name = self.apply(graph("image", mainContainer={"image": "runtime:missing"}))
        wait_for(name, "some_resources_are_not_ready", 'cannot pull image "runtime:missing"')
        self.assert_warns(name, "ImagePullFailed")

    def test_a_container_that_crashes_after_it_was_ready(self):
        """One message and one Event while kubelet restarts it; the statuses are those that a kubelet writes."""
        name = self.apply(graph("crash"))
        wait_until_ready(name)
        pod = self.pods_of(name)[0]["metadata"]["name"]
        once = f'container "main" has terminated: exit code 1: no model (see kubectl logs --previous {pod} -c main)'
        often = once.replace("has terminated", "keeps terminating")
        ended = {"terminated": {"exitCode": 1, "reason": "Error", "message": "Traceback\nno model\n"}}
        waits = {"waiting": {"reason": "CrashLoopBackOff", "message": f"back-off 10s restarting failed container=main pod={pod}"}}
        runs = {"running": {"startedAt": now()}}
        for restarts, state, last, text in [
            (0, ended, {}, once), (1, runs, ended, once), (1, ended, ended, once), (1, waits, ended, often),
            (2, runs, ended, often), (2, ended, ended, often), (2, waits, ended, often),
        ]:  # fmt: skip
            self.write_status(pod, {"ready": False, "started": False, "restartCount": restarts, "state": state, "lastState": last})
            wait_for(name, "some_resources_are_not_ready", "0 of 1 replicas available; " + text)
        self.assert_warns(name, "CrashLoop")
        self.write_status(pod, {"ready": True, "started": True, "restartCount": 3, "state": runs, "lastState": ended})
        wait_until_ready(name)
        self.assertEqual(ready_condition(name)["message"], "All resources are ready")

    @staticmethod
    def pods_of(name):
        path = path_of("Pod", NAMESPACE) + f"?labelSelector=nvidia.com/dynamo-graph-deployment-name={name}"
        return plane.cluster.api("GET", path)["items"]

    @staticmethod
    def write_status(pod, container):
        """Writes the status of the only container of a pod, and the conditions that follow from it."""
        container = {"name": "main", "image": "runtime:1", "imageID": "", **container}
        ready = str(container["ready"])
        conditions = [{"type": kind, "status": ready, "lastTransitionTime": now()} for kind in ("Ready", "ContainersReady")]
        patch = {"status": {"containerStatuses": [container], "conditions": conditions}}
        path = path_of("Pod", NAMESPACE, pod, "status")
        plane.cluster.api("PATCH", path, patch, content_type="application/strategic-merge-patch+json")

    def test_an_update_that_waits_for_its_pods(self):
        name = self.apply(graph("update"))
        wait_until_ready(name)
        plane.apply(graph("update", schedulingGates=[{"name": "example.com/later"}]))
        wait_for(name, "rolling_update_in_progress", "2 replicas, 1 desired")
        self.assertEqual(ready_condition(name)["status"], "False")
        plane.apply(graph("update"))
        wait_until_ready(name)

    def test_a_claim_that_does_not_exist(self):
        """No pods start or are replaced before the claim exists."""
        manifest = graph("claim")
        manifest["spec"]["pvcs"] = [MADE, {"name": "theirs", "create": False}]
        name = self.apply(manifest)
        for image in ("runtime:1", "runtime:2"):
            manifest = copy.deepcopy(manifest)
            manifest["spec"]["services"]["Frontend"]["extraPodSpec"]["mainContainer"]["image"] = image
            plane.apply(manifest)
            wait_for(name, "failed_to_reconcile_the_resources", 'PersistentVolumeClaim "theirs" does not exist')
            self.assertIsNotNone(plane.get("PersistentVolumeClaim", NAMESPACE, "ours"))
            self.assert_withheld(name, image)
            self.provide_claim("theirs")
            wait_until_ready(name)
            self.assertEqual(self.image_of(f"{name}-frontend"), image)
            plane.delete("PersistentVolumeClaim", NAMESPACE, "theirs")
            wait_for(name, "failed_to_reconcile_the_resources", "")

    def test_a_claim_that_is_deleted(self):
        """The graph that made it makes it again, and a graph that waits for it goes on."""
        maker, user = graph("maker"), graph("user")
        maker["spec"]["pvcs"] = [{**MADE, "name": "shared"}]
        user["spec"]["pvcs"] = [{"name": "shared", "create": False}]
        names = [self.apply(maker), self.apply(user)]
        for name in names:
            wait_until_ready(name)
        before = plane.get("PersistentVolumeClaim", NAMESPACE, "shared")["metadata"]["uid"]
        plane.delete("PersistentVolumeClaim", NAMESPACE, "shared")

        def made_again():
            claim = plane.get("PersistentVolumeClaim", NAMESPACE, "shared")
            return claim is not None and claim["metadata"]["uid"] != before

        plane.cluster.wait(made_again, 30, "the claim is made again")
        for name in names:
            wait_until_ready(name)

    def test_an_old_generation_that_is_refused_a_child(self):
        """The update of the workers ends although a stranger owns the Service of the old ones."""
        name, old = self.apply_workers("refused")
        self.give_away("Service", old)

        def refused():
            component = plane.get("DynamoComponentDeployment", NAMESPACE, old)
            return condition_of(component, "Available")["reason"] == "Reconciling"

        plane.cluster.wait(refused, 30, "the Service is refused")
        self.update_workers(name)
        self.wait_for_one_generation(name, old)

    def test_a_scale_down_that_is_refused(self):
        """The update of the workers says so, and does not end before the old ones are gone."""
        name, old = self.apply_workers("stays")
        with self.scale_down_denied(old):
            self.update_workers(name)
            wait_for(name, "rolling_update_in_progress", f"{old}: Failed to reconcile DynamoComponentDeployment: it is not scaled "
                     "down from 1 to 0 replicas: Deployment")
            self.assert_warns(name, "ReconcileError")
            self.assertEqual(plane.get("Deployment", NAMESPACE, old)["status"]["readyReplicas"], 1)
        self.wait_for_one_generation(name, old)

    def apply_workers(self, name):
        """A graph with one worker. Returns its name, and the name of the component of the worker."""
        manifest = graph(name)
        manifest["spec"]["services"] = {"Worker": {**manifest["spec"]["services"]["Frontend"], "componentType": "worker"}}
        self.manifest = manifest
        self.apply(manifest)
        wait_until_ready(name)
        return name, self.generations(name)[0]

    def update_workers(self, name):
        manifest = copy.deepcopy(self.manifest)
        manifest["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]["image"] = "runtime:2"
        plane.apply(manifest)

    @staticmethod
    def generations(name):
        items = plane.cluster.api("GET", path_of("DynamoComponentDeployment", NAMESPACE))["items"]
        return [one["metadata"]["name"] for one in items if one["metadata"]["name"].startswith(name + "-")]

    def wait_for_one_generation(self, name, old):
        def ended():
            status = plane.get("DynamoGraphDeployment", NAMESPACE, name)["status"]
            return status.get("rollingUpdate", {}).get("phase") == "Completed"

        plane.cluster.wait(ended, 90, "the end of the update")
        wait_until_ready(name)
        self.assertEqual([one for one in self.generations(name) if one == old], [])

    @staticmethod
    def give_away(kind, name):
        """Another controller owns the object."""
        configs = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
        owner = plane.cluster.api("POST", configs, {"metadata": {"name": f"owner-of-{name}"}})["metadata"]
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": owner["name"], "uid": owner["uid"], "controller": True}
        patch = {"metadata": {"ownerReferences": [reference]}}
        plane.cluster.api("PATCH", path_of(kind, NAMESPACE, name), patch, content_type=MERGE)

    @contextlib.contextmanager
    def scale_down_denied(self, name):
        """A policy that denies fewer replicas of a Deployment."""
        policies = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
        bindings = policies.replace("policies", "policybindings")
        rule = {"apiGroups": ["apps"], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": ["deployments"]}
        expression = f"object.metadata.name != '{name}' || object.spec.replicas >= oldObject.spec.replicas"
        spec = {
            "matchConstraints": {"resourceRules": [rule]},
            "validations": [{"expression": expression, "message": "no fewer replicas"}],
        }
        plane.cluster.api("POST", policies, {"metadata": {"name": "keep"}, "spec": spec})
        binding = {"policyName": "keep", "validationActions": ["Deny"]}
        plane.cluster.api("POST", bindings, {"metadata": {"name": "keep"}, "spec": binding})
        try:
            plane.cluster.wait(lambda: self.is_denied(name), 30, "the policy")
            yield
        finally:
            plane.cluster.api("DELETE", bindings + "/keep")
            plane.cluster.api("DELETE", policies + "/keep")

    @staticmethod
    def is_denied(name):
        path = path_of("Deployment", NAMESPACE, name) + "?dryRun=All"
        try:
            plane.cluster.api("PATCH", path, {"spec": {"replicas": 0}}, content_type=MERGE)
        except ApiError as error:
            return error.status == 422
        return False

    def test_a_mounted_claim_that_is_not_listed(self):
        """A claim made outside the graph: spec.pvcs need not list it (dec-1)."""
        manifest = graph("mount")
        manifest["spec"]["services"]["Frontend"]["volumeMounts"] = [{"name": "weights", "mountPoint": "/weights"}]
        name = self.apply(manifest)
        wait_for(name, "failed_to_reconcile_the_resources", 'service Frontend mounts PersistentVolumeClaim "weights"')
        self.assertIsNone(plane.get("DynamoComponentDeployment", NAMESPACE, f"{name}-frontend"))
        self.provide_claim("weights")
        # No volume is bound to the claim, so the pod waits for one.
        wait_for(name, "insufficient_capacity", "unbound immediate PersistentVolumeClaims")

    def assert_withheld(self, name, image):
        """The component has been told nothing of the image."""
        component = plane.get("DynamoComponentDeployment", NAMESPACE, f"{name}-frontend")
        self.assertTrue(component is None or image not in str(component["spec"]), component)

    @staticmethod
    def image_of(name):
        return plane.get("Deployment", NAMESPACE, name)["spec"]["template"]["spec"]["containers"][0]["image"]

    @staticmethod
    def provide_claim(name):
        spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
        path = path_of("PersistentVolumeClaim", NAMESPACE)
        plane.cluster.api("POST", path, {"metadata": {"name": name}, "spec": spec})


if __name__ == "__main__":
    unittest.main(verbosity=2)
