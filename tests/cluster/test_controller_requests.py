#!/usr/bin/env python3
"""Requests: profiling Job, output, generated graph, and their status. Run: python3 tests/cluster/test_controller_requests.py

The transitions of a DynamoGraphDeploymentRequest with the real Job controller; the pods of its Job end as the tests say, and the
tests write the output as the output copier does.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import contextlib
import json
import os
import subprocess
import sys
import time
import tempfile
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ApiError  # noqa: E402
from operator_plane import CONTROLLER_USER, OperatorPlane, condition_of, path_of, wait_for_rest  # noqa: E402

WORKLOAD_ROLES = HERE.parents[1] / "deploy/kustomize/base/rbac-workloads.yaml"
CONTROLLER = os.environ.get("DYNAMO_CONTROLLER") or HERE.parents[1] / "build/release/bin/dynamo-controller"
NAMESPACE = "requests"
REQUEST = "DynamoGraphDeploymentRequest"
GRAPH = "DynamoGraphDeployment"
GENERATED = "nvidia.com/generated-dgd-spec"
ADDITIONAL = "dgdr.nvidia.com/additional-resources"
CONFIG = """
kind: ConfigMap
metadata: {name: NAME-config}
data: {a: b}
---
"""
INVALID_JOB = {"profilingJob": {"activeDeadlineSeconds": -5, "template": {"spec": {"containers": []}}}}
MADE = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: NAME-graph, labels: {team: a}}
spec:
  services:
    Frontend: {componentType: frontend, replicas: 1, extraPodSpec: {mainContainer: {image: "runtime:1", command: null}}}
"""

plane = None
controller = None


def setUpModule():
    global plane, controller
    config = "requests: {allowOtherNamespaces: true}"
    plane = OperatorPlane(nodes=1, gpus=8, kwok_config=HERE / "pods.kwok.yaml", config=config)
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def request(name, annotations=None, **spec):
    hardware = {"gpuSku": "h200_sxm", "vramMb": 141000, "numGpusPerNode": 8, "totalGpus": 8}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": REQUEST,
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations or {}},
        "spec": {"model": "m", "backend": "vllm", "image": "runtime:1", "hardware": hardware, **spec},
    }


def get(name):
    return plane.get(REQUEST, NAMESPACE, name)


def status(name):
    return (get(name) or {}).get("status", {})


def condition(name, kind):
    return condition_of(get(name), kind) or {}


def wait_for_phase(name, phase, seconds=60):
    try:
        plane.cluster.wait(lambda: status(name).get("phase") == phase, seconds, f"{name} is {phase}")
    except Exception as error:
        raise AssertionError(f"{name} has {status(name)}") from error


def wait_for_text(name, kind, text):
    """Waits until the message of a condition has a text."""
    try:
        plane.cluster.wait(lambda: text in condition(name, kind).get("message", ""), 60, f"{name} says {text}")
    except Exception as error:
        raise AssertionError(f"{name} has {status(name)}") from error


def pods_of_job(name):
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=job-name%3Dprofile-{name}"
    return plane.cluster.api("GET", path)["items"]


def running_pod(name):
    running = lambda: [one for one in pods_of_job(name) if one["status"].get("phase") == "Running"]  # noqa: E731
    plane.cluster.wait(running, 60, "a pod runs")
    (pod,) = running()
    return pod


def end_pod(name, phase, exit_code=0):
    pod = running_pod(name)
    ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
    containers = [
        {**one, "ready": False, "state": {"terminated": ended if one["name"] == "profiler" else {"exitCode": 0, "reason": "Completed"}}}
        for one in pod["status"]["containerStatuses"]
    ]
    plane.patch("Pod", NAMESPACE, pod["metadata"]["name"], {"status": {"phase": phase, "containerStatuses": containers}}, "status")


def write_output(name, text, key="final_config.yaml"):
    labels = {"dgdr.nvidia.com/name": name, "nvidia.com/managed-by": "dynamo-operator"}
    body = {"metadata": {"name": f"dgdr-output-{name}", "labels": labels}, "data": {key: text}}
    plane.cluster.api("POST", path_of("ConfigMap", NAMESPACE), body)


def events(name):
    """(type, reason) of the Events about the request."""
    found = plane.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    about = [one for one in found if one["involvedObject"]["kind"] == REQUEST and one["involvedObject"]["name"] == name]
    return {(one["type"], one["reason"]) for one in about}


def wait_for_event(name, reason):
    """Events are written after the status that they are about."""
    plane.cluster.wait(lambda: ("Warning", reason) in events(name), 60, f"an Event {reason} of {name}")


HOLD = "example.com/hold"  # a finalizer of somebody else


def hold(kind, name):
    finalizers = plane.get(kind, NAMESPACE, name)["metadata"].get("finalizers", [])
    plane.patch(kind, NAMESPACE, name, {"metadata": {"finalizers": [*finalizers, HOLD]}})


def release(kind, name):
    finalizers = plane.get(kind, NAMESPACE, name)["metadata"]["finalizers"]
    plane.patch(kind, NAMESPACE, name, {"metadata": {"finalizers": [one for one in finalizers if one != HOLD]}})


def gone(kind, name):
    plane.cluster.wait(lambda: plane.get(kind, NAMESPACE, name) is None, 60, f"{kind} {name} is gone")


@contextlib.contextmanager
def unvalidated():
    """While the context lasts, the API server does not ask the webhook whether an object is valid."""
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/dynamo-operator-validating"
    found = plane.cluster.api("GET", path)
    probe = request("probe", overrides=INVALID_JOB)

    def is_asked():
        try:
            plane.cluster.api("POST", path_of(REQUEST, NAMESPACE) + "?dryRun=All", probe)
        except ApiError as error:
            return error.status == 422
        return False

    plane.cluster.api("DELETE", path)
    try:
        plane.cluster.wait(lambda: not is_asked(), 30, "the webhook is not asked")
        yield
    finally:
        del found["metadata"]["resourceVersion"], found["metadata"]["uid"]
        plane.cluster.api("POST", path.rsplit("/", 1)[0], found)
        plane.cluster.wait(is_asked, 30, "the webhook is asked")


class Requests(unittest.TestCase):
    def apply(self, manifest):
        plane.apply(manifest)
        name = manifest["metadata"]["name"]
        self.addCleanup(lambda: get(name) and plane.delete(REQUEST, NAMESPACE, name))
        return name

    def profiled(self, manifest, output):
        """Applies a request; its Job succeeds with an output."""
        name = self.apply(manifest)
        wait_for_phase(name, "Profiling")
        if output is not None:
            write_output(name, output.replace("NAME", name))
        end_pod(name, "Succeeded")
        return name

    def edit_unseen(self, name, phase):
        """Changes the spec while the webhook takes the request for one whose spec is not locked. The controller finds it in `phase`."""
        controller.stop()
        plane.patch(REQUEST, NAMESPACE, name, {"status": {"phase": "Pending"}}, "status")
        plane.patch(REQUEST, NAMESPACE, name, {"spec": {"image": "runtime:2"}})
        plane.patch(REQUEST, NAMESPACE, name, {"status": {"phase": phase}}, "status")
        controller.start()
        controller.wait_until_ready()

    def test_a_request_becomes_a_graph(self):
        name = self.profiled(request("auto"), CONFIG + MADE)
        wait_for_phase(name, "Deployed")
        self.assertEqual(status(name)["profilingJobName"], "profile-auto")
        made = plane.get(GRAPH, NAMESPACE, "auto-graph")
        self.assertEqual(made["metadata"]["labels"]["dgdr.nvidia.com/name"], name)
        self.assertEqual(made["metadata"]["labels"]["team"], "a")
        self.assertNotIn("ownerReferences", made["metadata"])
        config = plane.get("ConfigMap", NAMESPACE, "auto-config")
        self.assertEqual(config["metadata"]["ownerReferences"][0]["uid"], made["metadata"]["uid"])
        annotations = get(name)["metadata"]["annotations"]
        self.assertNotIn(GENERATED, annotations)
        self.assertIn("auto-config", annotations[ADDITIONAL])
        self.assertEqual(status(name)["deploymentInfo"], {"replicas": 1, "availableReplicas": 1})
        self.assertEqual(get(name)["metadata"]["generation"], 1)
        told = {"Initialized", "ProfilingJobCreated", "SpecGenerated", "DeploymentCreated", "DeploymentReady"}
        plane.cluster.wait(lambda: events(name) == {("Normal", reason) for reason in told}, 60, "all Events")
        wait_for_rest(plane.audit.entries)
        # The graph is degraded, and recovers.
        plane.patch(GRAPH, NAMESPACE, "auto-graph", {"spec": {"services": {"Frontend": {"replicas": 20, "resources": {"requests": {"gpu": "8"}}}}}})
        wait_for_phase(name, "Deploying")
        wait_for_event(name, "DeploymentDegraded")
        plane.patch(GRAPH, NAMESPACE, "auto-graph", {"spec": {"services": {"Frontend": {"replicas": 1, "resources": None}}}})
        wait_for_phase(name, "Deployed")
        plane.delete(GRAPH, NAMESPACE, "auto-graph")
        wait_for_phase(name, "Failed")
        self.assertEqual(condition(name, "Succeeded")["reason"], "DeploymentDeleted")
        self.assertNotIn("dgdName", status(name))
        self.assertIn("profilingResults", status(name))
        gone("ConfigMap", "auto-config")

    def test_what_is_late_or_never_comes(self):
        """An output may be 60 s late, a Job that is gone too (life-Q5, life-Q1). These requests wait at the same time."""
        late = self.profiled(request("late"), None)
        never = self.profiled(request("never"), None)
        lost = self.apply(request("lost"))
        wait_for_phase(lost, "Profiling")
        plane.delete("Job", NAMESPACE, f"profile-{lost}")
        for name in (late, never, lost):
            self.assertEqual(status(name)["phase"], "Profiling")
        write_output(late, MADE.replace("NAME", late))
        wait_for_phase(late, "Deployed")
        for name, told in ((never, "output ConfigMap"), (lost, "profile-lost")):
            with self.subTest(name):
                wait_for_phase(name, "Failed", 90)
                self.assertIn(told, condition(name, "Succeeded")["message"])

    def test_a_spec_that_is_edited_when_its_job_exists(self):
        """The status that told of the Job was lost, so that the spec was not locked."""
        name = self.apply(request("edited"))
        wait_for_phase(name, "Profiling")
        before = plane.get("Job", NAMESPACE, f"profile-{name}")["metadata"]["uid"]
        self.edit_unseen(name, "Pending")
        another = lambda: (plane.get("Job", NAMESPACE, f"profile-{name}") or {"metadata": {"uid": before}})["metadata"]["uid"] != before  # noqa: E731
        plane.cluster.wait(another, 60, "another Job")
        wait_for_phase(name, "Profiling")
        containers = plane.get("Job", NAMESPACE, f"profile-{name}")["spec"]["template"]["spec"]["containers"]
        self.assertIn("runtime:2", {one["image"] for one in containers})

    def test_a_graph_that_is_deleted_before_it_is_ready(self):
        name = self.profiled(request("unready"), MADE.replace("runtime:1", "runtime:missing"))
        wait_for_phase(name, "Deploying")
        plane.cluster.wait(lambda: plane.get(GRAPH, NAMESPACE, "unready-graph"), 60, "the graph exists")
        wait_for_text(name, "DeploymentReady", "runtime:missing")
        plane.delete(GRAPH, NAMESPACE, "unready-graph")
        wait_for_text(name, "Succeeded", "deleted")
        self.assertEqual(status(name)["phase"], "Failed")

    def test_a_request_that_is_not_applied(self):
        name = self.profiled(request("manual", autoApply=False), CONFIG + MADE)
        wait_for_phase(name, "Ready")
        self.assertIsNone(plane.get(GRAPH, NAMESPACE, "manual-graph"))
        self.assertNotIn("ownerReferences", plane.get("ConfigMap", NAMESPACE, "manual-config")["metadata"])
        self.assertLessEqual({GENERATED, ADDITIONAL}, set(get(name)["metadata"]["annotations"]))
        # What ended stays told when the Job is collected.
        ended = status(name)
        plane.delete("Job", NAMESPACE, "profile-manual")
        gone("Job", "profile-manual")
        wait_for_rest(plane.audit.entries)
        self.assertEqual(status(name), ended)

    def test_a_job_that_is_collected_at_once(self):
        """`ttlSecondsAfterFinished: 0` (life-Q51)."""
        brief = {"profilingJob": {"ttlSecondsAfterFinished": 0, "backoffLimit": 0, "template": {"spec": {"containers": []}}}}
        name = self.profiled(request("brief", overrides=brief), MADE)
        wait_for_phase(name, "Deployed")
        gone("Job", f"profile-{name}")
        with self.subTest("it fails"):
            name = self.apply(request("brief-failure", overrides=brief))
            wait_for_phase(name, "Profiling")
            end_pod(name, "Failed", 3)
            wait_for_phase(name, "Failed")
            self.assertIn("has reached the specified backoff limit", condition(name, "Profiling")["message"])
        with self.subTest("while the controller is away"):
            name = self.apply(request("unseen", overrides=brief))
            wait_for_phase(name, "Profiling")
            controller.stop()
            write_output(name, MADE.replace("NAME", name))
            end_pod(name, "Succeeded")
            gone("Job", f"profile-{name}")
            controller.start()
            controller.wait_until_ready()
            wait_for_phase(name, "Deployed")

    def test_annotations_of_users_leave_no_room(self):
        """The graph is then only in the status (life-Q18)."""
        name = self.profiled(request("crowded", {"note": "x" * 261_950}), CONFIG + MADE)
        wait_for_phase(name, "Deployed")
        self.assertEqual(set(get(name)["metadata"]["annotations"]) & {GENERATED, ADDITIONAL}, set())
        self.assertEqual(status(name)["dgdName"], "crowded-graph")
        # Without an annotation that names it, the ConfigMap has no owner.
        self.assertEqual(plane.get("ConfigMap", NAMESPACE, "crowded-config")["data"], {"a": "b"})

    def test_an_output_that_a_quota_keeps_back(self):
        """It is told, and tried again every 20 s (life-Q53)."""
        name = self.apply(request("held"))
        wait_for_phase(name, "Profiling")
        write_output(name, (CONFIG + MADE).replace("NAME", name))
        with plane.quota(NAMESPACE, "maps", {"configmaps": "0"}):
            end_pod(name, "Succeeded")
            wait_for_text(name, "SpecGenerated", "exceeded quota: maps")
            wait_for_event(name, "GenerationFailed")
            self.assertEqual(status(name)["phase"], "Profiling")
        wait_for_phase(name, "Deployed", 120)

    def test_outputs_without_a_graph(self):
        no_graph = "final_config.yaml has no DynamoGraphDeployment"
        for name, output, message in (
            ("broken", "{{{", "line 1"),
            ("other", CONFIG, no_graph),
            ("nameless", MADE.replace("name: NAME-graph, ", ""), "the DynamoGraphDeployment has no name"),
            ("wrong", MADE.replace("replicas: 1", "replicas: many"), "spec.services.Frontend.replicas: Invalid value"),
        ):
            with self.subTest(name):
                self.profiled(request(name), output)
                wait_for_phase(name, "Failed")
                self.assertIn(message, condition(name, "SpecGenerated")["message"])
                self.assertEqual(condition(name, "Succeeded")["reason"], "GenerationFailed")

    def test_the_last_graph_counts(self):
        name = self.profiled(request("last", autoApply=False), MADE.replace("NAME-graph", "first") + "---" + MADE)
        wait_for_phase(name, "Ready")
        self.assertEqual(status(name)["dgdName"], "last-graph")

    def test_a_profiler_that_fails_is_not_repeated(self):
        name = self.apply(request("unmet"))
        wait_for_phase(name, "Profiling")
        write_output(name, "the profiler has ended before it was done", "output_copier_error.txt")
        end_pod(name, "Failed", 1)
        wait_for_phase(name, "Failed")
        message = condition(name, "Profiling")["message"]
        self.assertIn("profiling job failed: the profiler has ended before it was done: ", message)
        self.assertIn("container profiler ended with exit code 1", message)
        self.assertEqual(condition(name, "Succeeded")["message"], message)
        self.assertEqual(plane.get("Job", NAMESPACE, "profile-unmet")["status"]["failed"], 1)

    def test_a_pod_that_is_lost_is_repeated(self):
        name = self.apply(request("lost"))
        wait_for_phase(name, "Profiling")
        end_pod(name, "Failed", 137)
        plane.cluster.wait(lambda: len(pods_of_job(name)) == 2, 60, "a second pod")
        self.assertEqual(status(name)["phase"], "Profiling")
        write_output(name, MADE.replace("NAME", name))
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Deployed")

    def give_profiling_its_rules(self):
        """The ClusterRole that is bound to the pods of profiling Jobs gets the rules of deploy/kustomize."""
        text = WORKLOAD_ROLES.read_text(encoding="utf-8")
        (role,) = [one for one in yaml.safe_load_all(text) if one["metadata"]["name"] == "dynamo-operator-dgdr-profiling"]
        path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/dynamo-dynamo-operator-dgdr-profiling"
        plane.cluster.api("PATCH", path, {"rules": role["rules"]}, "application/merge-patch+json")
        self.addCleanup(plane.cluster.api, "PATCH", path, {"rules": []}, "application/merge-patch+json")

    def test_the_program_that_copies_the_output(self):
        """`dynamo-controller copy-output`, with the rights of the profiling Job (life-Q35)."""
        name = self.apply(request("copied"))
        wait_for_phase(name, "Profiling")
        self.give_profiling_its_rules()
        pod = running_pod(name)
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        kubeconfig = plane.cluster.service_account_kubeconfig(NAMESPACE, "dgdr-profiling-job")
        where = ("-n", NAMESPACE, "--pod", pod["metadata"]["name"], "--folder", folder, "--kubeconfig", kubeconfig)
        with subprocess.Popen([CONTROLLER, "copy-output", "--request", name, *where], stdout=subprocess.PIPE, text=True) as copier:
            self.addCleanup(copier.kill)
            self.assertEqual(copier.stdout.readline(), "output-copier: waiting for the profiler to end\n")
            (folder / "final_config.yaml").write_text(MADE.replace("NAME", name), encoding="utf-8")
            (folder / "profiler_status.yaml").write_text("status: success\n", encoding="utf-8")
            states = pod["status"]["containerStatuses"]
            ended = [{**one, "ready": False, "state": {"terminated": {"exitCode": 0}}} if one["name"] == "profiler" else one for one in states]
            plane.patch("Pod", NAMESPACE, pod["metadata"]["name"], {"status": {"containerStatuses": ended}}, "status")
            self.assertEqual(copier.stdout.readline(), f"output-copier: wrote ConfigMap dgdr-output-{name}\n")
            self.assertEqual(copier.wait(60), 0)
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Deployed")

    def test_a_missing_claim(self):
        name = self.apply(request("claimless", modelCache={"pvcName": "absent"}))
        wait_for_phase(name, "Failed")
        message = condition(name, "Validation")["message"]
        self.assertEqual(message, "model cache PVC absent not found in namespace requests")
        self.assertNotIn("observedGeneration", status(name))
        self.assertIsNone(plane.get("Job", NAMESPACE, "profile-claimless"))

    def test_a_job_that_waits_for_quota_takes_the_edited_spec(self):
        with plane.quota(NAMESPACE, "jobs", {"count/jobs.batch": "0"}):
            name = self.apply(request("quota"))
            wait_for_text(name, "Profiling", "exceeded quota")
            self.assertEqual(status(name)["phase"], "Pending")
            plane.patch(REQUEST, NAMESPACE, name, {"spec": {"model": "another"}})
            plane.cluster.wait(lambda: status(name).get("observedGeneration") == 2, 60, "the edit is seen")
        # The API server remembers a quota for 30 s.
        wait_for_phase(name, "Profiling", 180)
        profiler = plane.get("Job", NAMESPACE, "profile-quota")["spec"]["template"]["spec"]["containers"][0]
        self.assertIn('"model":"another"', profiler["args"][1])

    def test_a_job_that_is_invalid(self):
        """The webhook refuses what the API server would refuse; here it was not asked."""
        with unvalidated():
            name = self.apply(request("invalid-job", overrides=INVALID_JOB))
            wait_for_phase(name, "Failed")
        message = condition(name, "Profiling")["message"]
        self.assertIn("activeDeadlineSeconds", message)
        self.assertIn("must be greater than or equal to 0", message)
        self.assertIsNone(plane.get("Job", NAMESPACE, "profile-invalid-job"))
        self.assertNotIn("profilingJobName", status(name))

    def test_a_job_of_somebody_else(self):
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "runtime:1"}]}
        foreign = {"metadata": {"name": "profile-taken", "namespace": NAMESPACE}, "spec": {"template": {"spec": pod}}}
        plane.cluster.api("POST", path_of("Job", NAMESPACE), foreign)
        name = self.apply(request("taken"))
        wait_for_text(name, "Profiling", "profile-taken")
        self.assertEqual(status(name)["phase"], "Pending")
        plane.delete("Job", NAMESPACE, "profile-taken")
        wait_for_phase(name, "Profiling")

    def test_a_pod_that_waits(self):
        name = self.apply(request("waits", overrides={"profilingJob": {"template": {"spec": {"containers": [], "nodeSelector": {"no": "where"}}}}}))
        wait_for_text(name, "Profiling", "nodes are available")
        self.assertEqual(status(name)["phase"], "Profiling")

    def test_an_image_of_the_output_copier_that_cannot_be_had(self):
        name = self.apply(request("copier"))
        pod = running_pod(name)
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "bitnami/kubectl:latest"'}}
        containers = [
            {**one, "ready": False, "started": False, "state": waiting} if one["name"] == "output-copier" else one
            for one in pod["status"]["containerStatuses"]
        ]
        conditions = [{**one, "status": "False"} if one["type"] in ("Ready", "ContainersReady") else one for one in pod["status"]["conditions"]]
        change = {"status": {"containerStatuses": containers, "conditions": conditions}}
        plane.patch("Pod", NAMESPACE, pod["metadata"]["name"], change, "status")
        wait_for_text(name, "Profiling", "bitnami/kubectl:latest")
        self.assertEqual(status(name)["phase"], "Profiling")

    def test_an_edit_that_the_webhook_did_not_see_is_not_adopted(self):
        """It is refused in this phase; here the request was in another one when the webhook looked (life-Q6)."""
        name = self.apply(request("bypassed"))
        wait_for_phase(name, "Profiling")
        uid = plane.get("Job", NAMESPACE, f"profile-{name}")["metadata"]["uid"]
        self.edit_unseen(name, "Profiling")
        wait_for_event(name, "SpecChangeRejected")
        self.assertEqual(plane.get("Job", NAMESPACE, f"profile-{name}")["metadata"]["uid"], uid)
        write_output(name, MADE.replace("NAME", name))
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Deployed")

    def test_names_of_others(self):
        stranger = {"metadata": {"name": "names-config", "namespace": NAMESPACE}, "data": {"mine": "yes"}}
        plane.cluster.api("POST", path_of("ConfigMap", NAMESPACE), stranger)
        mine = {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": {"name": "names-graph", "namespace": NAMESPACE}}
        mine["spec"] = {"services": {"Frontend": {"componentType": "frontend", "replicas": 0}}}
        mine["spec"]["services"]["Frontend"]["extraPodSpec"] = {"mainContainer": {"image": "mine:1"}}
        plane.apply(mine)
        name = self.profiled(request("names"), CONFIG + MADE)
        wait_for_phase(name, "Failed")
        self.assertEqual(condition(name, "Succeeded")["reason"], "DeploymentCreationFailed")
        self.assertIn("names-graph", condition(name, "Succeeded")["message"])
        self.assertNotIn("team", plane.get(GRAPH, NAMESPACE, "names-graph")["metadata"].get("labels", {}))
        self.assertEqual(plane.get("ConfigMap", NAMESPACE, "names-config")["data"], {"mine": "yes"})
        wait_for_event(name, "ConfigMapCreationFailed")

    def test_a_graph_that_admission_refuses(self):
        name = self.profiled(request("refused"), MADE.replace("replicas: 1", "replicas: 1, ingress: {enabled: true}"))
        wait_for_text(name, "DeploymentReady", "spec.services[Frontend].ingress.host")
        self.assertEqual(status(name)["phase"], "Deploying")
        self.assertEqual(condition(name, "DeploymentReady")["reason"], "DeploymentCreationFailed")
        wait_for_event(name, "DeploymentCreationFailed")

    def test_overrides_of_the_deployment(self):
        overrides = {"name": "chosen", "labels": {"team": "b"}, "annotations": {"note": "c"}}
        name = self.profiled(request("overridden", {"nvidia.com/dgdr-deployment-overrides": json.dumps(overrides)}), MADE)
        wait_for_phase(name, "Deployed")
        metadata = plane.get(GRAPH, NAMESPACE, "chosen")["metadata"]
        self.assertEqual((metadata["labels"]["team"], metadata["annotations"]["note"]), ("b", "c"))
        self.assertEqual(status(name)["dgdName"], "chosen")

    def test_a_graph_in_another_namespace(self):
        """conv-Q2: the configuration allows it."""
        other = "elsewhere"
        plane.cluster.create_namespace(other)
        overrides = {"nvidia.com/dgdr-deployment-overrides": json.dumps({"namespace": other})}
        name = self.profiled(request("abroad", overrides), CONFIG + MADE)
        wait_for_phase(name, "Deployed")
        graph = plane.get(GRAPH, other, "abroad-graph")
        self.assertEqual(graph["metadata"]["labels"]["dgdr.nvidia.com/namespace"], NAMESPACE)
        config = plane.get("ConfigMap", other, "abroad-config")
        self.assertEqual(config["metadata"]["ownerReferences"][0]["uid"], graph["metadata"]["uid"])
        for kind, rest in ((GRAPH, "graph"), ("ConfigMap", "config")):
            self.assertIsNone(plane.get(kind, NAMESPACE, f"abroad-{rest}"))
        with self.subTest("it is found by its labels when the annotation is gone"):
            plane.patch(REQUEST, NAMESPACE, name, {"metadata": {"annotations": dict.fromkeys(overrides)}})
            wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER))
            self.assertEqual(status(name)["phase"], "Deployed")
        plane.delete(GRAPH, other, "abroad-graph")
        wait_for_text(name, "Succeeded", "deleted")
        self.assertEqual(status(name)["phase"], "Failed")

    def test_a_graph_that_an_earlier_operator_has_created_beside_its_request(self):
        """It did not look at the namespace (conv-Q2)."""
        name = self.profiled(request("beside"), MADE)
        wait_for_phase(name, "Deployed")
        overrides = {"nvidia.com/dgdr-deployment-overrides": json.dumps({"namespace": "nowhere"})}
        plane.patch(REQUEST, NAMESPACE, name, {"metadata": {"annotations": overrides}})
        wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER))
        self.assertEqual(status(name)["phase"], "Deployed")

    def test_a_namespace_that_does_not_exist_is_told(self):
        overrides = {"nvidia.com/dgdr-deployment-overrides": json.dumps({"namespace": "later"})}
        name = self.profiled(request("homeless", overrides), MADE)
        wait_for_text(name, "DeploymentReady", "later")
        plane.cluster.create_namespace("later")
        wait_for_phase(name, "Deployed", 90)

    def test_deletion_in_each_phase(self):
        with plane.quota(NAMESPACE, "jobs", {"count/jobs.batch": "0"}):
            pending = self.apply(request("pending"))
            wait_for_text(pending, "Profiling", "exceeded quota")
            plane.delete(REQUEST, NAMESPACE, pending)
            gone(REQUEST, pending)
        profiling = self.apply(request("profiling"))
        wait_for_phase(profiling, "Profiling")
        self.assertNotIn("finalizers", get(profiling)["metadata"])
        plane.delete(REQUEST, NAMESPACE, profiling)
        gone(REQUEST, profiling)
        gone("Job", "profile-profiling")
        deployed = self.profiled(request("deployed"), MADE)
        wait_for_phase(deployed, "Deployed")
        plane.delete(REQUEST, NAMESPACE, deployed)
        gone("Job", "profile-deployed")
        self.assertIsNotNone(plane.get(GRAPH, NAMESPACE, "deployed-graph"))

    def test_a_request_of_the_same_name_starts_anew(self):
        name = self.profiled(request("again", autoApply=False), MADE)
        wait_for_phase(name, "Ready")
        plane.delete(REQUEST, NAMESPACE, name)
        self.apply(request("again", autoApply=False))
        wait_for_phase(name, "Profiling")
        self.assertIsNone(plane.get("ConfigMap", NAMESPACE, "dgdr-output-again"))

    def leave_graph(self, name):
        """A request is deployed and deleted. Its graph and ConfigMap are left."""
        self.profiled(request(name), CONFIG + MADE)
        wait_for_phase(name, "Deployed")
        plane.delete(REQUEST, NAMESPACE, name)
        gone("Job", f"profile-{name}")
        gone(REQUEST, name)
        plane.delete("ConfigMap", NAMESPACE, f"dgdr-output-{name}")
        return name

    def check_found_again(self, name, change=lambda: None):
        """A second request of the name finds the graph and the ConfigMap of the first one, and leaves them as they are. `change`: acts
        in between."""
        self.leave_graph(name)
        change()
        both = lambda: [plane.get(kind, NAMESPACE, f"{name}-{rest}") for kind, rest in (("ConfigMap", "config"), (GRAPH, "graph"))]  # noqa: E731
        before = both()
        time.sleep(1.1)  # the times of creation have seconds
        self.profiled(request(name), CONFIG.replace("a: b", "a: c") + MADE.replace("team: a", "team: b"))
        wait_for_phase(name, "Deployed")
        wait_for_event(name, "DeploymentExists")
        for one, now in zip(before, both()):
            self.assertEqual(now["metadata"]["uid"], one["metadata"]["uid"])
            self.assertEqual((now["metadata"]["labels"], now["metadata"].get("ownerReferences"), now.get("data")),
                             (one["metadata"]["labels"], one["metadata"].get("ownerReferences"), one.get("data")))  # fmt: skip

    def test_a_request_of_the_same_name_finds_the_graph_of_the_earlier_one(self):
        self.check_found_again("twice")

    def test_a_request_of_the_same_name_finds_a_graph_of_the_reference(self):
        """Its ConfigMaps have no owner."""
        name = "inherited"
        self.check_found_again(name, lambda: plane.patch("ConfigMap", NAMESPACE, f"{name}-config", {"metadata": {"ownerReferences": None}}))
        wait_for_event(name, "ConfigMapCreationFailed")

    def test_a_config_map_of_a_deleted_graph_is_awaited(self):
        """It is about to be collected, also if it would do for the new graph of the same name."""
        name = self.leave_graph("collected")
        hold("ConfigMap", f"{name}-config")
        plane.delete(GRAPH, NAMESPACE, f"{name}-graph")
        gone(GRAPH, f"{name}-graph")
        self.profiled(request("collected"), CONFIG.replace("a: b", "a: c") + MADE)
        wait_for_text(name, "DeploymentReady", f"{name}-config belongs to a graph that was deleted")
        release("ConfigMap", f"{name}-config")
        wait_for_phase(name, "Deployed")
        found = plane.get("ConfigMap", NAMESPACE, f"{name}-config")
        self.assertEqual(found["data"], {"a": "c"})
        self.assertEqual(found["metadata"]["ownerReferences"][0]["uid"], plane.get(GRAPH, NAMESPACE, f"{name}-graph")["metadata"]["uid"])

    def test_a_graph_of_an_earlier_request_that_is_being_deleted(self):
        """It is not adopted: the request would fail when it is gone. A graph of somebody else is waited for, too. A ConfigMap without an
        owner is that of the next graph."""
        name = self.leave_graph("leaving")
        plane.patch("ConfigMap", NAMESPACE, f"{name}-config", {"metadata": {"ownerReferences": None}})
        hold(GRAPH, f"{name}-graph")
        plane.delete(GRAPH, NAMESPACE, f"{name}-graph")
        before = plane.get(GRAPH, NAMESPACE, f"{name}-graph")["metadata"]["uid"]
        time.sleep(1.1)  # the times of creation have seconds
        self.profiled(request("leaving"), CONFIG.replace("a: b", "a: c") + MADE)
        wait_for_text(name, "DeploymentReady", f"{NAMESPACE}/{name}-graph is being deleted")
        self.assertEqual(status(name)["phase"], "Deploying")
        release(GRAPH, f"{name}-graph")
        wait_for_phase(name, "Deployed")
        after, config = (plane.get(kind, NAMESPACE, f"{name}-{rest}") for kind, rest in ((GRAPH, "graph"), ("ConfigMap", "config")))
        self.assertNotEqual(after["metadata"]["uid"], before)
        self.assertEqual((config["data"], config["metadata"]["ownerReferences"][0]["uid"]), ({"a": "c"}, after["metadata"]["uid"]))

    def test_an_output_of_an_earlier_request_that_cannot_be_deleted(self):
        """A finalizer of somebody else keeps it. The request says so."""
        name = "kept"
        write_output(name, "{}")
        hold("ConfigMap", f"dgdr-output-{name}")
        self.apply(request(name))
        wait_for_text(name, "Profiling", f"dgdr-output-{name} is being deleted")
        self.assertEqual(status(name)["phase"], "Pending")
        release("ConfigMap", f"dgdr-output-{name}")
        wait_for_phase(name, "Profiling")

    def test_a_job_without_its_label(self):
        """The controller does not see its end in the watch, and looks again."""
        name = self.apply(request("unlabelled"))
        wait_for_phase(name, "Profiling")
        labels = plane.get("Job", NAMESPACE, f"profile-{name}")["metadata"]["labels"]
        plane.patch("Job", NAMESPACE, f"profile-{name}", {"metadata": {"labels": dict.fromkeys(labels)}})
        write_output(name, MADE.replace("NAME", name))
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Deployed", 120)

    def test_a_graph_that_loses_its_labels(self):
        name = self.profiled(request("bare"), MADE)
        wait_for_phase(name, "Deployed")
        plane.patch(GRAPH, NAMESPACE, "bare-graph", {"metadata": {"labels": None}})
        wait_for_rest(plane.audit.entries, 3)
        plane.delete(GRAPH, NAMESPACE, "bare-graph")
        wait_for_phase(name, "Failed")
        self.assertEqual(condition(name, "Succeeded")["reason"], "DeploymentDeleted")

    def test_edits_are_refused_once_profiling_has_begun(self):
        name = self.apply(request("locked"))
        wait_for_phase(name, "Profiling")
        with self.assertRaisesRegex(Exception, "spec"):
            plane.patch(REQUEST, NAMESPACE, name, {"spec": {"model": "another"}})


if __name__ == "__main__":
    unittest.main()
