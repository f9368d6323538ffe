#!/usr/bin/env python3
"""Requests, models and checkpoints of the reference operator, in every phase, when our controller starts in its place.
Run: python3 tests/cluster/test_controller_takeover_requests.py

What the reference has written stays as it is, nothing gets a second Job, and everything goes on to its end. The generated graphs and
the workers of the models are made by our controller before: test_controller_takeover.py shows how graphs are taken over.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]
import worker_plane  # noqa: E402
from operator_plane import CONTROLLER_USER, condition_of, is_ready, path_of, wait_for_rest  # noqa: E402
from request_samples import Samples  # noqa: E402
from built import PLUGIN  # noqa: E402
from old_requests import OldRequests  # noqa: E402
from reference_requests import CHECKPOINT_HASH, REQUEST, identity_hash  # noqa: E402
from reference_state import ADAPTER, BASE, CHECKPOINT, DEPLOYMENT, GRAPH, MODEL, Reference, graph  # noqa: E402

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
NAMESPACE = "taken-over"
OLDER = "older"  # of a release before 1.0
OWN_KINDS = (REQUEST, MODEL, CHECKPOINT)
SECONDS = 120

# Writes of our controller before anything else happens: (verb, resource) by the name of the object that they are about.
STATUS = ("patch", "dynamographdeploymentrequests/status")
JOB = ("create", "jobs")
FORGETS = ("patch", "dynamographdeploymentrequests")  # the annotation with the graph
FINALIZER = ("patch", "dynamographdeploymentrequests")
LABEL = ("patch", "dynamocheckpoints")
REQUEST_WRITES = {
    "new": {STATUS, JOB},
    "checked": {STATUS, JOB},
    "with-job": {STATUS},
    "discovering": {STATUS},
    "profiling": set(),
    "done": {STATUS, ("patch", "dynamographdeploymentrequests"), ("create", "dynamographdeployments")},
    "job-failed": {STATUS},
    "ready": set(),
    "generated": {STATUS, FORGETS, ("create", "dynamographdeployments")},
    "created": {STATUS, FORGETS},
    "deploying": {STATUS},
    "deployed": set(),
    "failed": set(),
    "invalid": set(),
    "leaving": {FINALIZER},
}
CHECKPOINT_STATUS = ("patch", "dynamocheckpoints/status")
CHECKPOINT_WRITES = {
    "ck-new": {LABEL, CHECKPOINT_STATUS, JOB},
    "ck-with-job": {LABEL, CHECKPOINT_STATUS},
    "ck-creating": {LABEL, CHECKPOINT_STATUS},  # the generation in a condition, which the reference does not write
    "ck-done": {LABEL, CHECKPOINT_STATUS},
    "ck-ready": {LABEL},
    "ck-failed": {LABEL},
}
MODEL_STATUS = ("patch", "dynamomodels/status")
MODEL_WRITES = {
    "tuned": set(),
    "base": set(),
    "late": {MODEL_STATUS},
    "partial": {MODEL_STATUS},
    "unloaded": {("patch", "dynamomodels")},
}
# The cause that `kubectl dynamo why` tells of what is not ready, while the objects are those of the reference.
NO_STATUS = "its controller has not reported a status"
TOLD = {
    "new": NO_STATUS,
    "checked": "DiscoveringHardware: Hardware is being discovered",
    "with-job": "DiscoveringHardware: Hardware is being discovered",
    "discovering": "DiscoveringHardware: Hardware is being discovered",
    "profiling": "ProfilingRunning: Profiling is in progress",
    "done": "ProfilingRunning: Profiling is in progress",
    "job-failed": "container profiler ended with exit code 1",
    "generated": "DynamoGraphDeployment generated-graph",
    "created": "Deploying: Deployment is in progress",
    "deploying": "DeploymentInProgress: DGD deploying-graph is in pending state",
    "failed": "ProfilingFailed: profiling job failed: Job has reached the specified backoff limit",
    "invalid": "ValidationFailed: model cache PVC absent not found in namespace taken-over",
    "leaving": "is being deleted",
    "late": NO_STATUS,
    "partial": "endpoint http://",
    "unloaded": "is being deleted",
    "ck-new": NO_STATUS,
    "ck-with-job": NO_STATUS,
    "ck-creating": "JobCreated: Checkpoint job checkpoint-ck-creating created",
    "ck-done": "JobCreated: Checkpoint job checkpoint-ck-done created",
    "ck-failed": "JobFailed: Checkpoint job failed",
}
PROFILED = ("new", "checked", "with-job", "discovering", "profiling")  # whose Jobs run after the takeover

plane = controller = workers = samples = None
before, after, written = {}, {}, {}  # (kind, name) -> object, the same, name -> writes
told, listed = {}, []  # what the plugin says while the objects are those of the reference: (kind, name) -> answer; answers
SHORT = {REQUEST: "dgdr", MODEL: "dm", CHECKPOINT: "dckpt", GRAPH: "dgd"}


def setUpModule():
    global plane, controller, workers, samples
    workers, plane = worker_plane.start(config=CONFIG)
    plane.cluster.create_namespace(NAMESPACE)
    plane.cluster.create_namespace(OLDER)
    samples = Samples(plane, NAMESPACE)
    controller = plane.controller()
    make_graphs()
    OldRequests(plane, OLDER).write(graph)
    Reference(plane, NAMESPACE, samples, workers).write()
    before.update(everything())
    for kind, name in before:
        if kind in SHORT:
            told[kind, name] = ask("why", f"{SHORT[kind]}/{name}")
    listed.append(ask("status"))
    writes = lambda: plane.audit.entries(CONTROLLER_USER)  # noqa: E731
    count = len(writes())
    start()
    plane.cluster.wait(arrived, SECONDS, "the controller has seen everything")
    wait_for_rest(writes, 8, 240)
    after.update(everything())
    for entry in writes()[count:]:
        about = entry["objectRef"]
        if about["resource"] != "events":
            resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
            written.setdefault(about.get("name"), []).append((entry["verb"], resource))


def ask(*arguments):
    """What `kubectl dynamo` says. Returns its exit status and its output."""
    command = [PLUGIN, *arguments, "-n", NAMESPACE]
    ran = subprocess.run(command, env=plane.cluster.environment(), capture_output=True, text=True, timeout=60)
    return ran.returncode, ran.stdout + ran.stderr


def start():
    controller.start()
    controller.wait_until_ready()


def arrived():
    """Whether the last things that the takeover changes are changed."""
    deployed = all(phase(name) == "Deployed" for name in ("done", "generated", "created", "deploying"))
    profiling = all(phase(name) == "Profiling" for name in PROFILED) and phase("job-failed") == "Failed"
    taken = all(status(CHECKPOINT, name).get("phase") == "Creating" for name in ("ck-new", "ck-with-job"))
    loaded = all(status(MODEL, name).get("readyEndpoints") == 2 for name in ("tuned", "late", "partial"))
    gone = get(REQUEST, "leaving") is None and get(MODEL, "unloaded") is None
    return deployed and profiling and taken and loaded and gone


def everything():
    return {
        (kind, one["metadata"]["name"]): one
        for kind in (*OWN_KINDS, GRAPH, "Job", "ServiceAccount", "RoleBinding", "ConfigMap")
        for one in plane.cluster.api("GET", path_of(kind, NAMESPACE))["items"]
    }


def get(kind, name):
    return plane.get(kind, NAMESPACE, name)


def status(kind, name):
    return (get(kind, name) or {}).get("status", {})


def phase(name):
    return status(REQUEST, name).get("phase")


def wait(what, condition, *about):
    try:
        plane.cluster.wait(condition, SECONDS, what)
    except Exception as error:
        found = {name: status(kind, name) for kind, name in about}
        raise AssertionError(f"{what}: {found}\n{workers.calls}\n{controller.log_tail()}") from error


def wait_for_phase(name, wanted, kind=REQUEST):
    wait(f"{name} is {wanted}", lambda: status(kind, name).get("phase") == wanted, (kind, name))


def tracked(name, namespace):
    """The graph of a request as the reference creates it."""
    made = graph(name)
    labels = {"dgdr.nvidia.com/name": name, "dgdr.nvidia.com/namespace": namespace, "nvidia.com/managed-by": "dynamo-operator"}
    return {**made, "metadata": {**made["metadata"], "namespace": namespace, "labels": labels}}


def make_graphs():
    start()
    plane.apply(samples.workers("served", BASE))
    for name in ("created", "deploying", "deployed"):
        plane.apply(tracked(name, NAMESPACE))
    plane.apply(tracked("old-deployed", OLDER))
    graphs = lambda: [one for each in (NAMESPACE, OLDER) for one in plane.cluster.api("GET", path_of(GRAPH, each))["items"]]  # noqa: E731
    plane.cluster.wait(lambda: all(map(is_ready, graphs())), SECONDS, "the graphs are ready")
    plane.cluster.wait(lambda: len(samples.addresses("served")) == 2, SECONDS, "the workers have addresses")
    wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER))
    controller.stop()


class Takeover(unittest.TestCase):
    maxDiff = None

    def test_the_plugin_reads_what_the_reference_has_written(self):
        for (kind, name), (status, text) in told.items():
            with self.subTest(name):
                cause = TOLD.get(name)
                self.assertEqual(status, 1 if cause else 0)
                self.assertIn(f"{name} is {'not ready' if cause else 'ready'}\n", text)
                self.assertIn(cause or "", text)
        (status, text), *_ = listed
        self.assertEqual(status, 1)
        for kind, name in told:
            rows = [line for line in text.splitlines() if line.split()[:1] == [name]]
            self.assertEqual([row.split()[1] for row in rows], ["False" if name in TOLD else "True"], name)

    def assert_unchanged(self, *keys):
        for key in keys:
            self.assertEqual(after.get(key), before[key])

    def assert_job_is_kept(self, name, was):
        now = get("Job", name)
        for part in ("uid", "generation", "labels", "annotations", "ownerReferences"):
            self.assertEqual(now["metadata"].get(part), was["metadata"].get(part), part)
        self.assertEqual(now["spec"], was["spec"])

    def test_only_what_is_wrong_is_written(self):
        for name, expected in REQUEST_WRITES.items():
            with self.subTest(name):
                found = [each for prefix in ("", "profile-", "dgdr-output-") for each in written.get(prefix + name, [])]
                found += [each for each in written.get(f"{name}-graph", []) if each[0] in ("create", "delete")]
                self.assertEqual(set(found), expected)
        for table, job in ((CHECKPOINT_WRITES, "checkpoint-{}"), (MODEL_WRITES, "{}")):
            for name, expected in table.items():
                with self.subTest(name):
                    found = [each for about in {name, job.format(name)} for each in written.get(about, [])]
                    self.assertEqual(set(found), expected)
                    self.assertLessEqual(len(found), len(expected) + 1)

    def assert_no_second_job(self):
        """Our controller has created the Jobs that were missing, each once, and has written to no other."""
        entries = [one for one in plane.audit.entries(CONTROLLER_USER) if one["objectRef"]["resource"] == "jobs"]
        made = sorted((one["verb"], one["objectRef"].get("name")) for one in entries)
        self.assertEqual(made, [("create", name) for name in ("checkpoint-ck-new", "profile-checked", "profile-new")])

    def test_the_account_of_the_profiler_is_used_as_it_is(self):
        """It is applied once, so that its fields have an owner (child-Q4)."""

        def content(found):
            metadata = {key: value for key, value in found["metadata"].items() if key not in ("managedFields", "resourceVersion")}
            return {**found, "metadata": metadata}

        for key in (("ServiceAccount", "dgdr-profiling-job"), ("RoleBinding", "dgdr-profiling-job-binding")):
            with self.subTest(key[0]):
                self.assertEqual(content(after[key]), content(before[key]))
                self.assertEqual([verb for verb, _ in written.get(key[1], [])], ["patch"])

    def test_what_rests_stays_as_it_is(self):
        names = [name for name, expected in REQUEST_WRITES.items() if not expected]
        self.assert_unchanged(*((REQUEST, name) for name in names))
        self.assert_unchanged((MODEL, "tuned"), (MODEL, "base"))
        self.assert_unchanged(*((GRAPH, name) for name in ("deployed-graph", "deploying-graph", "served")))
        creating = after[CHECKPOINT, "ck-creating"]["status"]
        for each in creating["conditions"]:
            self.assertEqual(each.pop("observedGeneration"), 1)
        for name in ("ck-creating", "ck-ready", "ck-failed"):
            with self.subTest(name):
                self.assertEqual(after[CHECKPOINT, name]["status"], before[CHECKPOINT, name]["status"])
                self.assertEqual(after[CHECKPOINT, name]["spec"], before[CHECKPOINT, name]["spec"])

    def test_jobs_are_adopted_as_they_are(self):
        for kind, name in before:
            if kind == "Job" and name != "profile-leaving":
                with self.subTest(name):
                    self.assert_job_is_kept(name, before[kind, name])

    def test_requests_go_on_to_their_end(self):
        jobs = {name: get("Job", f"profile-{name}")["metadata"]["uid"] for name in PROFILED}
        for name in PROFILED:
            self.assertEqual(after[REQUEST, name]["status"]["profilingJobName"], f"profile-{name}")
            self.assertEqual(condition_of(after[REQUEST, name], "Profiling")["reason"], "ProfilingRunning")
            samples.write_output(name)
            samples.end_pod(f"profile-{name}", "profiler", "Succeeded")
        for name in (*PROFILED, "done", "generated", "created", "deploying", "deployed"):
            with self.subTest(name):
                wait_for_phase(name, "Deployed")
                found = get(REQUEST, name)
                self.assertEqual(found["status"]["dgdName"], f"{name}-graph")
                self.assertEqual(found["status"]["deploymentInfo"], DEPLOYMENT)
                self.assertNotIn("nvidia.com/generated-dgd-spec", found["metadata"].get("annotations", {}))
                self.assertEqual(found["metadata"]["generation"], 1)
                labels = get(GRAPH, f"{name}-graph")["metadata"]["labels"]
                self.assertEqual(labels["dgdr.nvidia.com/name"], name)
                for each in ("Succeeded", "Profiling", "SpecGenerated", "DeploymentReady"):
                    self.assertEqual(condition_of(found, each)["status"], "True", each)
        for name, uid in jobs.items():
            self.assertEqual(get("Job", f"profile-{name}")["metadata"]["uid"], uid)
        self.assert_no_second_job()
        self.assertEqual(phase("job-failed"), "Failed")
        message = condition_of(get(REQUEST, "job-failed"), "Succeeded")["message"]
        self.assertIn("container profiler ended with exit code 1", message)
        plane.delete(GRAPH, NAMESPACE, "deployed-graph")
        wait_for_phase("deployed", "Failed")
        self.assertEqual(condition_of(get(REQUEST, "deployed"), "Succeeded")["reason"], "DeploymentDeleted")
        # The finalizer of the reference keeps no request. Jobs go along, graphs stay.
        for name in REQUEST_WRITES:
            if name != "leaving":
                plane.delete(REQUEST, NAMESPACE, name)
        left = lambda: [name for name in REQUEST_WRITES if get(REQUEST, name) or get("Job", f"profile-{name}")]  # noqa: E731
        wait("requests and Jobs are gone", lambda: not left())
        for name in (*PROFILED, "done", "generated", "created", "deploying"):
            self.assertIsNotNone(get(GRAPH, f"{name}-graph"))

    def test_adapters_stay_loaded_and_are_unloaded_at_the_end(self):
        names = (ADAPTER, "org/late", "org/partial")
        posts = [call for call in workers.calls if call[0] == "POST"]
        self.assertEqual(len(posts), 6)  # a process that starts asks each pod once for each adapter (ctl-Q81)
        for address in samples.addresses("served").values():
            self.assertEqual(workers.adapters[address], set(names))
        self.assertEqual({call[2] for call in workers.calls if call[0] == "DELETE"}, {"/v1/loras/org/unloaded"})
        plane.patch(GRAPH, NAMESPACE, "served", {"spec": {"services": {"Worker": {"replicas": 3}}}})
        models = (MODEL, "tuned"), (MODEL, "late"), (MODEL, "partial")
        wait("the third pod has the adapters", lambda: all(status(*key).get("readyEndpoints") == 3 for key in models), *models)
        wait("the base model has it", lambda: status(MODEL, "base").get("totalEndpoints") == 3, (MODEL, "base"))
        for name in MODEL_WRITES:
            if name != "unloaded":
                plane.delete(MODEL, NAMESPACE, name)
        wait("the models are gone", lambda: not any(get(MODEL, name) for name in MODEL_WRITES))
        self.assertEqual([workers.adapters[address] for address in samples.addresses("served").values()], [set()] * 3)

    def test_checkpoints_go_on_to_their_end(self):
        for name in CHECKPOINT_WRITES:
            labels = get(CHECKPOINT, name)["metadata"]["labels"]
            self.assertEqual(labels, {CHECKPOINT_HASH: identity_hash({"model": name, "backendFramework": "vllm"})})
        for name in ("ck-new", "ck-with-job", "ck-creating"):
            uid = get("Job", f"checkpoint-{name}")["metadata"]["uid"]
            samples.end_pod(f"checkpoint-{name}", "main", "Succeeded")
            wait_for_phase(name, "Ready", CHECKPOINT)
            self.assertEqual(get("Job", f"checkpoint-{name}")["metadata"]["uid"], uid)
        self.assert_no_second_job()
        done = status(CHECKPOINT, "ck-done")
        self.assertEqual((done["phase"], done["storageType"]), ("Ready", "s3"))
        self.assertEqual(status(CHECKPOINT, "ck-ready"), before[CHECKPOINT, "ck-ready"]["status"])
        # A status of the reference does not say which spec has failed, so this checkpoint stays Failed (ctl-Q74).
        plane.patch(CHECKPOINT, NAMESPACE, "ck-failed", {"spec": {"job": {"backoffLimit": 1}}})
        wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER))
        self.assertEqual(status(CHECKPOINT, "ck-failed"), before[CHECKPOINT, "ck-failed"]["status"])


class OlderRelease(unittest.TestCase):
    """Requests of a release before 1.0 (life-Q37)."""

    FOUND = {
        "old-new": ("Failed", "ValidationFailed", "spec.model: Required value"),
        "old-pending": ("Failed", "ValidationFailed", "spec.model: Required value"),
        "old-profiling": ("Failed", "ProfilingFailed", "profile-old-profiling does not exist any more"),
        "old-ready": ("Ready", None, None),
        "old-deploying": ("Deployed", "Deployed", "Deployment is healthy"),
        "old-deployed": ("Deployed", None, None),
        "old-deleted": ("Ready", None, None),
        "old-failed": ("Failed", None, None),
    }
    STATES = {"old-ready": "Ready", "old-deploying": "Ready", "old-deleted": "DeploymentDeleted", "old-failed": "Failed"}

    def get(self, name):
        return plane.get(REQUEST, OLDER, name)

    def test_what_becomes_of_them(self):
        for name, (wanted, reason, message) in self.FOUND.items():
            with self.subTest(name):
                is_there = lambda: self.get(name)["status"]["phase"] == wanted  # noqa: E731
                plane.cluster.wait(is_there, SECONDS, f"{name} is {wanted}")  # noqa: B023
                if reason:
                    succeeded = condition_of(self.get(name), "Succeeded")
                    self.assertEqual(succeeded["reason"], reason)
                    self.assertIn(message, succeeded["message"])
                elif name != "old-deployed":
                    self.assertNotIn(name, written)
        self.assertEqual(plane.cluster.api("GET", path_of("Job", OLDER))["items"], [])
        chosen = plane.get(GRAPH, OLDER, "chosen")
        self.assertEqual(chosen["metadata"]["labels"]["team"], "a")
        self.assertEqual(self.get("old-deploying")["status"]["dgdName"], "chosen")
        self.assertEqual(self.get("old-deployed")["status"]["deploymentInfo"], DEPLOYMENT)
        results = self.get("old-ready")["status"]["profilingResults"]["selectedConfig"]
        self.assertEqual(results["metadata"]["name"], "old-ready-graph")
        path = path_of(REQUEST, OLDER).replace("v1beta1", "v1alpha1")
        for name, state in self.STATES.items():
            self.assertEqual(plane.cluster.api("GET", f"{path}/{name}")["status"]["state"], state, name)
        plane.delete(GRAPH, OLDER, "old-deployed-graph")
        plane.cluster.wait(lambda: self.get("old-deployed")["status"]["phase"] == "Failed", SECONDS, "the loss is told")
        # The finalizer of that release keeps none of them.
        for name in self.FOUND:
            plane.delete(REQUEST, OLDER, name)
        plane.cluster.wait(lambda: not any(map(self.get, self.FOUND)), SECONDS, "all are gone")


if __name__ == "__main__":
    unittest.main(verbosity=2)
