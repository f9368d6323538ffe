#!/usr/bin/env python3
"""What keeps the Jobs of requests and checkpoints from running is told at them. Run: python3 tests/cluster/test_controller_obstacles.py

Quotas, LimitRanges, policies, full nodes, missing accounts and roles; requests that are deleted, and namespaces. The Job controller,
the scheduler and admission are real. Decisions life-Q34, life-Q47 to life-Q50, ctl-Q74, ctl-Q89. Jobs that a quota refuses:
test_controller_requests.py, test_controller_checkpoints.py.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import collections
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from operator_plane import CONTROLLER_USER, RBAC, OperatorPlane, condition_of, described, path_of, received  # noqa: E402
from request_samples import CHECKPOINT, REQUEST, SECONDS, Samples  # noqa: E402

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
POLICIES = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"
ROLE = "dynamo-dynamo-operator-dgdr-profiling"
GPUS = "nvidia.com/gpu"
NAME = "blocked"

plane = controller = None


def setUpModule():
    global plane, controller
    plane = OperatorPlane(nodes=1, gpus=8, kwok_config=HERE / "pods.kwok.yaml", config=CONFIG)
    unittest.addModuleCleanup(plane.close)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def in_core(namespace, plural, name, **spec):
    """(path, object) of the core group"""
    return f"/api/v1/namespaces/{namespace}/{plural}", {"metadata": {"name": name}, **({"spec": spec} if spec else {})}


def quota(namespace):
    return [in_core(namespace, "resourcequotas", "pods", hard={"pods": "0"})]


def limits(namespace):
    return [in_core(namespace, "limitranges", "small", limits=[{"type": "Pod", "max": {"memory": "1Mi"}}])]


def policy(group, version, resource):
    """A ValidatingAdmissionPolicy that denies the creation of a resource in a namespace."""

    def made(namespace):
        name = f"no-{resource}-{namespace}"
        rule = {"apiGroups": [group], "apiVersions": [version], "operations": ["CREATE"], "resources": [resource]}
        selector = {"matchLabels": {"kubernetes.io/metadata.name": namespace}}
        spec = {
            "matchConstraints": {"resourceRules": [rule], "namespaceSelector": selector},
            "validations": [{"expression": "false", "message": f"{resource} need a ticket"}],
        }
        binding = {"policyName": name, "validationActions": ["Deny"]}
        return [
            (POLICIES, {"metadata": {"name": name}, "spec": spec}),
            (POLICIES.replace("policies", "policybindings"), {"metadata": {"name": name}, "spec": binding}),
        ]

    return made


class Obstacle:
    """`objects(namespace)`: what stands in the way. `removed`: what removes it, instead of its deletion. The namespace has a
    request and a checkpoint whose pods have the fields `pod`, and whose main containers have `main`."""

    def __init__(self, about, objects, phases, reason, text, pod=None, main=None, removed=None):
        self.namespace, self.objects, self.phases, self.reason, self.text = about, objects, phases, reason, text
        self.pod, self.main, self.removed = pod or {}, main or {}, removed
        self.samples = None

    def raise_it(self):
        plane.cluster.create_namespace(self.namespace)
        self.samples = Samples(plane, self.namespace)
        for path, body in self.objects(self.namespace):
            plane.cluster.api("POST", path, body)
        for path, body in self.objects(self.namespace):
            where = f"{path}/{body['metadata']['name']}"
            if "quota" in path:
                plane.cluster.wait(lambda: plane.cluster.api("GET", where).get("status", {}).get("hard"), 30, "the quota")  # noqa: B023

    def begin(self):
        container = [{"name": "profiler", **self.main}] if self.main else []
        job = {"profilingJob": {"template": {"spec": {"containers": container, **self.pod}}}}
        plane.apply(self.samples.request(NAME, **({"overrides": job} if self.main or self.pod else {})))
        checkpoint = self.samples.checkpoint(NAME)
        spec = checkpoint["spec"]["job"]["podTemplateSpec"]["spec"]
        spec.update(self.pod)
        spec["containers"][0].update(self.main)
        plane.apply(checkpoint)

    def remove(self):
        if self.removed is not None:
            return self.removed(self.namespace)
        for path, body in reversed(self.objects(self.namespace)):
            plane.cluster.api("DELETE", f"{path}/{body['metadata']['name']}")

    def said(self, kind):
        """What the object says of its Job."""
        found = self.samples.get(kind, NAME)
        if kind == REQUEST:
            return condition_of(found, "Profiling").get("message", "")
        return found.get("status", {}).get("message", "")

    def warnings(self, kind):
        events = plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return {one["reason"] for one in events if one["type"] == "Warning" and one["involvedObject"]["kind"] == kind}


def more_gpus(_):
    gpus = {GPUS: "64"}
    change = {"status": {"capacity": gpus, "allocatable": gpus}}
    for node in plane.cluster.api("GET", "/api/v1/nodes")["items"]:
        plane.cluster.api("PATCH", f"/api/v1/nodes/{node['metadata']['name']}/status", change, "application/merge-patch+json")


def account(namespace):
    plane.cluster.api("POST", *in_core(namespace, "serviceaccounts", "absent"))


RUNS = ("Profiling", "Creating")
WAITS = ("Pending", "Pending")
BINDING_WAITS = ("Pending", "Creating")  # of a checkpoint nothing is bound
NOT_MADE = "pods cannot be created: "
OBSTACLES = (
    Obstacle("quota", quota, RUNS, "QuotaExceeded", f"{NOT_MADE}exceeded quota: pods, requested: pods=1, used: pods=0"),
    Obstacle("limits", limits, RUNS, "PodsRefused", f"{NOT_MADE}maximum memory usage per Pod is 1Mi"),
    Obstacle("pod-policy", policy("", "v1", "pods"), RUNS, "PodsRefused", "pods need a ticket"),
    Obstacle("job-policy", policy("batch", "v1", "jobs"), WAITS, None, "jobs need a ticket"),
    Obstacle("binding-policy", policy("rbac.authorization.k8s.io", "v1", "rolebindings"), BINDING_WAITS, None, "rolebindings need a ticket"),
    Obstacle(
        "account", lambda _: [], RUNS, "PodsRefused", f'{NOT_MADE}error looking up service account account/absent',
        {"serviceAccountName": "absent"}, removed=account,
    ),
    Obstacle(
        "gpus", lambda _: [], RUNS, "PodUnschedulable", "pods cannot be scheduled: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.",
        main={"resources": {"limits": {GPUS: "16"}}}, removed=more_gpus,
    ),
)  # fmt: skip


def until(what, condition, seconds=SECONDS):
    """`what`: a text, or what returns it."""
    try:
        plane.cluster.wait(condition, seconds, "it is so")
    except Exception as error:
        raise AssertionError(f"not within {seconds} s: {what if isinstance(what, str) else what()}\n{controller.log_tail(3)}") from error


class Obstacles(unittest.TestCase):
    def test_obstacles_are_told_and_when_they_go_the_jobs_run(self):
        for one in OBSTACLES:
            one.raise_it()
        time.sleep(1)  # an API server takes a moment to follow a new policy
        for one in OBSTACLES:
            one.begin()
        for one in OBSTACLES:
            for kind, phase in zip((REQUEST, CHECKPOINT), one.phases):
                with self.subTest(f"{one.namespace}: {kind} tells it"):
                    if kind == CHECKPOINT and one.phases is BINDING_WAITS:
                        one.samples.wait_for_phase(kind, NAME, phase)
                        continue
                    until(lambda: f"{one.text} in {one.said(kind)!r}", lambda: one.text in one.said(kind))  # noqa: B023
                    self.assertEqual(one.samples.status(kind, NAME)["phase"], phase)
                    reason = one.reason or ("ProfilingJobFailed" if kind == REQUEST else "JobCreationFailed")
                    until(f"an Event {reason}", lambda: reason in one.warnings(kind))  # noqa: B023
        for one in OBSTACLES:
            one.remove()
        for one in OBSTACLES:
            for kind, phase in ((REQUEST, "Profiling"), (CHECKPOINT, "Creating")):
                with self.subTest(f"{one.namespace}: {kind} goes on"):
                    one.samples.wait_for_phase(kind, NAME, phase)
                    until(lambda: f"nothing of it in {one.said(kind)!r}", lambda: one.text not in one.said(kind))  # noqa: B023
            with self.subTest(f"{one.namespace}: both end"):
                self.assertIsNotNone(plane.get("RoleBinding", one.namespace, "dgdr-profiling-job-binding"))
                one.samples.write_output(NAME)
                one.samples.end_pod(f"profile-{NAME}", "profiler", "Succeeded")
                one.samples.wait_for_phase(REQUEST, NAME, "Deploying", "Deployed")
                one.samples.end_pod(f"checkpoint-{NAME}", "main", "Succeeded")
                one.samples.wait_for_phase(CHECKPOINT, NAME, "Ready")

    def test_a_request_that_is_deleted_while_its_job_runs(self):
        namespace = "deleted"
        plane.cluster.create_namespace(namespace)
        samples = Samples(plane, namespace)
        plane.cluster.api("POST", *in_core(namespace, "serviceaccounts", "mine"))
        job = {"profilingJob": {"template": {"spec": {"containers": [], "serviceAccountName": "mine"}}}}
        plane.apply(samples.request("gone", overrides=job))
        plane.apply(samples.checkpoint("gone"))
        pods = lambda: plane.cluster.api("GET", path_of("Pod", namespace))["items"]  # noqa: E731
        until("two pods run", lambda: [one["status"].get("phase") for one in pods()] == ["Running"] * 2)
        self.assertIsNotNone(plane.get("RoleBinding", namespace, "profile-gone"))
        for kind in (REQUEST, CHECKPOINT):
            plane.delete(kind, namespace, "gone")
        owned = (("Job", "profile-gone"), ("Job", "checkpoint-gone"), ("RoleBinding", "profile-gone"))
        until("Jobs, pods and the RoleBinding are gone", lambda: not pods() and not any(plane.get(kind, namespace, name) for kind, name in owned), 60)
        for kind in (REQUEST, CHECKPOINT):
            self.assertIsNone(samples.get(kind, "gone"))
        # What all requests of the namespace share stays for the next one.
        left = {(kind, one["metadata"]["name"]) for kind in ("ServiceAccount", "RoleBinding") for one in plane.cluster.api("GET", path_of(kind, namespace))["items"]}
        self.assertEqual(left, {("ServiceAccount", name) for name in ("default", "mine", "dgdr-profiling-job")} | {("RoleBinding", "dgdr-profiling-job-binding")})

    def test_a_namespace_that_is_deleted(self):
        """Requests in every phase that lasts, with one whose Job is refused. Finalizers of somebody else keep that one and the
        namespace for a while. The controller writes nothing in vain again and again, and the namespace goes."""
        namespace = "ending"
        plane.cluster.create_namespace(namespace)
        samples = Samples(plane, namespace)
        for name in ("profiling", "deployed"):
            plane.apply(samples.request(name))
        plane.apply(samples.request("ready", autoApply=False))
        plane.apply(samples.checkpoint("creating"))
        plane.apply(samples.adapter("adapter", "base/model"))
        for name in ("deployed", "ready"):
            samples.wait_for_phase(REQUEST, name, "Profiling")
            samples.write_output(name)
            samples.end_pod(f"profile-{name}", "profiler", "Succeeded")
        samples.wait_for_phase(REQUEST, "deployed", "Deployed")
        samples.wait_for_phase(REQUEST, "ready", "Ready")
        samples.wait_for_phase(CHECKPOINT, "creating", "Creating")
        held = {"metadata": {"finalizers": ["example.com/held"]}}
        plane.cluster.api("POST", path_of("ConfigMap", namespace), {"metadata": {"name": "held", **held["metadata"]}})
        plane.cluster.api("POST", *in_core(namespace, "resourcequotas", "jobs", hard={"count/jobs.batch": "4"}))
        until("the quota", lambda: plane.cluster.api("GET", f"/api/v1/namespaces/{namespace}/resourcequotas/jobs").get("status", {}).get("hard"))
        plane.apply(samples.request("pending"))
        until("a Job is refused", lambda: "exceeded quota" in condition_of(samples.get(REQUEST, "pending"), "Profiling").get("message", ""))
        plane.patch(REQUEST, namespace, "pending", held)
        began = len(plane.audit.entries(CONTROLLER_USER))
        plane.cluster.api("DELETE", f"/api/v1/namespaces/{namespace}")
        time.sleep(15)
        self.assertIsNotNone(samples.get(REQUEST, "pending"))
        for kind, name in ((REQUEST, "pending"), ("ConfigMap", "held")):
            plane.patch(kind, namespace, name, {"metadata": {"finalizers": None}})
        until("the namespace is gone", lambda: not self.exists(namespace), 90)
        writes = [one for one in plane.audit.entries(CONTROLLER_USER)[began:] if one["objectRef"].get("namespace") == namespace]
        lines = "\n".join(map(described, writes))
        # Retries of each object back off.
        of = collections.Counter((one["objectRef"]["resource"], one["objectRef"].get("name")) for one in writes)
        self.assertLess(max(of.values(), default=0), 16, lines)
        self.assertLess(len(writes), 120, lines)
        if writes:
            last = max(received(one) for one in writes)
            time.sleep(5)
            late = [one for one in plane.audit.entries(CONTROLLER_USER)[began:] if one["objectRef"].get("namespace") == namespace and received(one) > last]
            self.assertEqual([described(one) for one in late], [])

    @staticmethod
    def exists(namespace):
        names = {one["metadata"]["name"] for one in plane.cluster.api("GET", "/api/v1/namespaces")["items"]}
        return namespace in names

    def test_a_role_of_the_profiler_that_does_not_exist(self):
        """The API server binds it nevertheless; the output copier would wait for its rights for ever (life-Q49)."""
        namespace = "no-role"
        plane.cluster.create_namespace(namespace)
        samples = Samples(plane, namespace)
        self.may_read_the_role()
        plane.apply(samples.request("early"))
        samples.wait_for_phase(REQUEST, "early", "Profiling")
        role = plane.cluster.api("DELETE", f"{RBAC}/clusterroles/{ROLE}") and {"metadata": {"name": ROLE}, "rules": []}
        said = lambda name: condition_of(samples.get(REQUEST, name), "Profiling").get("message", "")  # noqa: E731
        plane.apply(samples.request("late"))
        until("it is told", lambda: said("late") == f"ClusterRole {ROLE} does not exist: without it the output of the profiler cannot be stored")
        self.assertEqual(samples.status(REQUEST, "late")["phase"], "Pending")
        self.assertIsNone(plane.get("Job", namespace, "profile-late"))
        # A profiler that runs meanwhile ends, and its copier waits.
        self.end_profiler(namespace, "profile-early")
        stored = "the profiler has ended, but its output is not stored"
        until("it is told", lambda: f"{stored}: ClusterRole {ROLE} does not exist (see kubectl logs profile-early-" in said("early"))
        plane.cluster.api("POST", f"{RBAC}/clusterroles", role)
        samples.wait_for_phase(REQUEST, "late", "Profiling")
        until("it is told no more", lambda: stored not in said("early"))

    @staticmethod
    def may_read_the_role():
        """As rbac-manager.yaml of deploy/kustomize/base says of the role with its usual name."""
        name = "reads-the-profiling-role"
        rule = {"apiGroups": ["rbac.authorization.k8s.io"], "resources": ["clusterroles"], "resourceNames": [ROLE], "verbs": ["get"]}
        plane.cluster.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": name}, "rules": [rule]})
        _, _, space, account = CONTROLLER_USER.split(":")
        subject = {"kind": "ServiceAccount", "namespace": space, "name": account}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name}
        plane.cluster.api("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]})

    @staticmethod
    def end_profiler(namespace, job):
        """The profiler of a pod ends; its output copier runs."""
        (pod,) = plane.cluster.api("GET", path_of("Pod", namespace) + f"?labelSelector=job-name%3D{job}")["items"]
        plane.cluster.wait(lambda: plane.get("Pod", namespace, pod["metadata"]["name"])["status"].get("phase") == "Running", 30, "the pod runs")
        pod = plane.get("Pod", namespace, pod["metadata"]["name"])
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        ended = {"terminated": {"exitCode": 0, "reason": "Completed", "finishedAt": now}}
        containers = [{**one, "ready": False, "state": ended} if one["name"] == "profiler" else one for one in pod["status"]["containerStatuses"]]
        conditions = [{**one, "status": "False"} if one["type"] in ("Ready", "ContainersReady") else one for one in pod["status"]["conditions"]]
        change = {"status": {"containerStatuses": containers, "conditions": conditions}}
        plane.patch("Pod", namespace, pod["metadata"]["name"], change, "status")


if __name__ == "__main__":
    unittest.main(verbosity=2)
