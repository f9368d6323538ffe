#!/usr/bin/env python3
"""Checkpoints: their Jobs and their status. Run: python3 tests/cluster/test_controller_checkpoints.py

Every transition of a DynamoCheckpoint with the real Job controller; the pods of its Job end as the tests say (ctl-Q9, ctl-Q12,
ctl-Q74, ctl-Q86). Graphs that take and restore a checkpoint.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from operator_plane import CONTROLLER_USER, OperatorPlane, condition_of, is_ready, path_of, wait_for_rest  # noqa: E402

CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'
NAMESPACE = "checkpoints"
GRAPH = "DynamoGraphDeployment"
RESTORE = ["sleep", "infinity"]
HASH = "nvidia.com/snapshot-checkpoint-hash"
IDENTITY = {"model": "meta-llama/Llama-2-7b-hf", "backendFramework": "vllm"}
IDENTITY_HASH = "96429b2725761a09"

plane = None
controller = None


def setUpModule():
    global plane, controller
    plane = OperatorPlane(nodes=1, gpus=8, kwok_config=HERE / "pods.kwok.yaml", config=CONFIG)
    unittest.addModuleCleanup(plane.close)
    plane.cluster.create_namespace(NAMESPACE)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def checkpoint(name, image="runtime:1", **job):
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image, "command": ["sleep"]}]}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoCheckpoint",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {"identity": {**IDENTITY, "model": name}, "job": {**job, "podTemplateSpec": {"spec": pod}}},
    }


def get(name):
    return plane.get("DynamoCheckpoint", NAMESPACE, name)


def status(name):
    return (get(name) or {}).get("status", {})


def job(name):
    return plane.get("Job", NAMESPACE, f"checkpoint-{name}")


def wait_for_phase(name, phase, seconds=60):
    try:
        plane.cluster.wait(lambda: status(name).get("phase") == phase, seconds, f"{name} is {phase}")
    except Exception as error:
        raise AssertionError(f"{name} has {status(name)}") from error


def wait_for_message(name, text):
    plane.cluster.wait(lambda: text in status(name).get("message", ""), 60, f"the message of {name} has {text}")


def pods_of_job(name):
    path = f"/api/v1/namespaces/{NAMESPACE}/pods?labelSelector=job-name%3Dcheckpoint-{name}"
    return plane.cluster.api("GET", path)["items"]


def end_pod(name, phase, exit_code=0, message=""):
    """The pod of the Job ends."""
    plane.cluster.wait(lambda: any(one["status"].get("phase") == "Running" for one in pods_of_job(name)), 60, "a pod runs")
    (pod,) = (one for one in pods_of_job(name) if one["status"].get("phase") == "Running")
    state = {"terminated": {"exitCode": exit_code, "reason": "Completed" if phase == "Succeeded" else "Error", "message": message}}
    container = {**pod["status"]["containerStatuses"][0], "ready": False, "state": state}
    change = {"status": {"phase": phase, "containerStatuses": [container]}}
    plane.patch("Pod", NAMESPACE, pod["metadata"]["name"], change, "status")


def events(name):
    """(type, reason) of the Events about the checkpoint."""
    found = plane.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]
    return sorted(
        {
            (one["type"], one["reason"])
            for one in found
            if one["involvedObject"]["kind"] == "DynamoCheckpoint" and one["involvedObject"]["name"] == name
        }
    )


def wait_for_another_job(name, before):
    """Waits until the checkpoint has a Job whose uid is not `before`."""
    plane.cluster.wait(lambda: (job(name) or {"metadata": {"uid": before}})["metadata"]["uid"] != before, 60, "another Job")


class Checkpoints(unittest.TestCase):
    def check_events(self, name, wanted):
        """An Event is written after the status that it tells."""
        plane.cluster.wait(lambda: events(name), 30, f"an Event of {name}")
        self.assertEqual(events(name), wanted)

    def apply(self, manifest):
        name = manifest["metadata"]["name"]
        plane.apply(manifest)
        self.addCleanup(lambda: get(name) and plane.delete("DynamoCheckpoint", NAMESPACE, name))
        return name

    def test_a_job_that_succeeds(self):
        name = self.apply(checkpoint("good"))
        wait_for_phase(name, "Creating")
        made = job(name)
        self.assertEqual(status(name)["jobName"], made["metadata"]["name"])
        self.assertEqual(condition_of(get(name), "JobCreated")["status"], "True")
        self.assertEqual(get(name)["metadata"]["labels"], {HASH: status(name)["identityHash"]})
        self.assertEqual(made["metadata"]["labels"][HASH], status(name)["identityHash"])
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")
        ready = status(name)
        self.assertEqual(ready["location"], f"s3://bucket/prefix/{ready['identityHash']}.tar")
        self.assertEqual(ready["storageType"], "s3")
        self.assertEqual(ready["createdAt"], job(name)["status"]["completionTime"])
        self.check_events(name, [("Normal", "CheckpointReady")])
        # What is over stays told when the Job is collected, and when somebody edits the spec.
        plane.delete("Job", NAMESPACE, f"checkpoint-{name}")
        plane.patch("DynamoCheckpoint", NAMESPACE, name, {"spec": {"job": {"backoffLimit": 7}}})
        plane.cluster.wait(lambda: job(name) is None, 30, "the Job is gone")
        wait_for_rest(plane.audit.entries)
        self.assertEqual(status(name), ready)
        self.assertIsNone(job(name))

    def test_a_job_that_is_collected_at_once(self):
        """`ttlSecondsAfterFinished: 0` (life-Q51)."""
        for name, phase, wanted in (("brief", "Succeeded", "Ready"), ("brief-failure", "Failed", "Failed")):
            with self.subTest(wanted):
                self.apply(checkpoint(name, ttlSecondsAfterFinished=0, backoffLimit=0))
                wait_for_phase(name, "Creating")
                end_pod(name, phase, 3 if phase == "Failed" else 0)
                wait_for_phase(name, wanted)
                plane.cluster.wait(lambda: job(name) is None, 30, "the Job is collected")  # noqa: B023
                wait_for_rest(plane.audit.entries)
                self.assertEqual(status(name)["phase"], wanted)
                self.assertIsNone(job(name))

    def test_a_failure_of_a_job_with_an_earlier_spec(self):
        """The spec was repaired while the Job ran (ctl-Q74)."""
        name = self.apply(checkpoint("repaired", backoffLimit=0))
        wait_for_phase(name, "Creating")
        first = job(name)["metadata"]["uid"]
        plane.apply(checkpoint(name, image="runtime:2", backoffLimit=0))
        end_pod(name, "Failed", 3)
        wait_for_another_job(name, first)
        self.assertEqual(job(name)["spec"]["template"]["spec"]["containers"][0]["image"], "runtime:2")
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")

    def test_a_job_that_fails_and_a_new_spec(self):
        name = self.apply(checkpoint("bad", backoffLimit=0))
        end_pod(name, "Failed", 3, "no GPU")
        wait_for_phase(name, "Failed")
        self.assertIn("container main ended with exit code 3 (Error): no GPU", status(name)["message"])
        self.assertEqual(condition_of(get(name), "JobCompleted")["reason"], "JobFailed")
        self.check_events(name, [("Warning", "CheckpointFailed")])
        failed = job(name)["metadata"]["uid"]
        wait_for_rest(plane.audit.entries)
        self.assertEqual(job(name)["metadata"]["uid"], failed)
        plane.patch("DynamoCheckpoint", NAMESPACE, name, {"spec": {"job": {"backoffLimit": 1}}})
        wait_for_another_job(name, failed)
        self.assertEqual(job(name)["spec"]["backoffLimit"], 1)
        wait_for_phase(name, "Creating")
        self.assertNotIn("message", status(name))
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")

    def test_a_change_while_the_job_runs_does_not_touch_it(self):
        name = self.apply(checkpoint("changed"))
        wait_for_phase(name, "Creating")
        before = job(name)["metadata"]["uid"]
        plane.patch("DynamoCheckpoint", NAMESPACE, name, {"spec": {"job": {"activeDeadlineSeconds": 60}}})
        wait_for_rest(plane.audit.entries)
        self.assertEqual(job(name)["metadata"]["uid"], before)
        self.assertEqual(job(name)["spec"]["activeDeadlineSeconds"], 3600)
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")

    def test_a_job_that_is_deleted_while_it_runs(self):
        name = self.apply(checkpoint("lost"))
        wait_for_phase(name, "Creating")
        before = job(name)["metadata"]["uid"]
        plane.delete("Job", NAMESPACE, f"checkpoint-{name}")
        wait_for_another_job(name, before)
        wait_for_phase(name, "Creating")

    def unlabel(self, name):
        labels = job(name)["metadata"]["labels"]
        plane.patch("Job", NAMESPACE, f"checkpoint-{name}", {"metadata": {"labels": dict.fromkeys(labels)}})

    def test_a_job_without_its_label(self):
        """The watch does not see it, so the controller reads it."""
        name = self.apply(checkpoint("unlabelled", image="runtime:missing", backoffLimit=0))
        wait_for_message(name, 'cannot pull image "runtime:missing"')
        first = job(name)["metadata"]["uid"]
        self.unlabel(name)
        wait_for_rest(plane.audit.entries)
        self.assertIn('cannot pull image "runtime:missing"', status(name)["message"])
        self.assertEqual([status(name)["phase"], job(name)["metadata"]["uid"]], ["Creating", first])
        (pod,) = pods_of_job(name)
        ended = {"name": "main", "image": "i", "imageID": "i", "ready": False, "restartCount": 0, "state": {"terminated": {"exitCode": 3}}}
        change = {"status": {"phase": "Failed", "containerStatuses": [ended]}}
        plane.patch("Pod", NAMESPACE, pod["metadata"]["name"], change, "status")
        wait_for_phase(name, "Failed")
        # It makes room for a Job with the new spec.
        plane.apply(checkpoint("unlabelled", backoffLimit=0))
        wait_for_another_job(name, first)
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")

    def test_a_job_without_its_label_that_the_status_does_not_name(self):
        """The status that told of the Job was lost."""
        name = self.apply(checkpoint("unnamed"))
        wait_for_phase(name, "Creating")
        before = job(name)["metadata"]["uid"]
        controller.stop()
        self.unlabel(name)
        plane.patch("DynamoCheckpoint", NAMESPACE, name, {"status": {"phase": "Pending", "jobName": None, "conditions": None}}, "status")
        controller.start()
        wait_for_phase(name, "Creating")
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")
        self.assertEqual(job(name)["metadata"]["uid"], before)

    def test_an_image_that_cannot_be_pulled(self):
        name = self.apply(checkpoint("image", image="runtime:missing"))
        wait_for_message(name, 'cannot pull image "runtime:missing"')
        self.assertEqual(status(name)["phase"], "Creating")
        self.check_events(name, [("Warning", "ImagePullFailed")])

    def test_a_job_that_is_refused(self):
        with plane.quota(NAMESPACE, "jobs", {"count/jobs.batch": "0"}):
            name = self.apply(checkpoint("quota"))
            plane.cluster.wait(lambda: "exceeded quota" in status(name).get("message", ""), 60, "the refusal")
            self.assertEqual(status(name)["phase"], "Pending")
            self.assertEqual(condition_of(get(name), "JobCreated")["reason"], "JobCreationFailed")
            self.check_events(name, [("Warning", "JobCreationFailed")])
        # The API server remembers a quota for 30 s, and the Job is tried again every 20 s (ctl-Q86).
        wait_for_phase(name, "Creating", 60)
        self.assertNotIn("message", status(name))

    def test_a_job_of_somebody_else(self):
        name = "taken"
        pod = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "runtime:1"}]}
        foreign = {"metadata": {"name": f"checkpoint-{name}", "namespace": NAMESPACE}, "spec": {"template": {"spec": pod}}}
        plane.cluster.api("POST", path_of("Job", NAMESPACE), foreign)
        self.apply(checkpoint(name))
        plane.cluster.wait(lambda: "checkpoint-taken" in status(name).get("message", ""), 60, "the refusal")
        self.assertEqual(status(name)["phase"], "Pending")
        self.assertNotIn("ownerReferences", job(name)["metadata"])
        plane.delete("Job", NAMESPACE, f"checkpoint-{name}")
        wait_for_phase(name, "Creating")

    def test_a_checkpoint_that_is_deleted_takes_its_job_along(self):
        name = self.apply(checkpoint("deleted"))
        wait_for_phase(name, "Creating")
        self.assertNotIn("finalizers", get(name)["metadata"])
        plane.delete("DynamoCheckpoint", NAMESPACE, name)
        plane.cluster.wait(lambda: job(name) is None and get(name) is None, 60, "both are gone")

    def test_a_checkpoint_of_the_reference_is_adopted_without_a_write_to_its_job(self):
        name = "adopted"
        controller.stop()
        self.apply(checkpoint(name))
        owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoCheckpoint", "name": name, "controller": True}
        owner.update(uid=get(name)["metadata"]["uid"], blockOwnerDeletion=True)
        pod = checkpoint(name)["spec"]["job"]["podTemplateSpec"]["spec"]
        made = {
            "metadata": {"name": f"checkpoint-{name}", "namespace": NAMESPACE, "ownerReferences": [owner], "labels": {HASH: "h"}},
            "spec": {"backoffLimit": 3, "template": {"metadata": {"labels": {HASH: "h"}}, "spec": pod}},
        }
        plane.cluster.api("POST", path_of("Job", NAMESPACE), made)
        created = {"type": "JobCreated", "status": "True", "reason": "JobCreated", "lastTransitionTime": "2026-01-01T00:00:00Z"}
        created["message"] = f"Checkpoint job checkpoint-{name} created"
        theirs = {"phase": "Creating", "identityHash": "h", "jobName": f"checkpoint-{name}", "conditions": [created]}
        plane.patch("DynamoCheckpoint", NAMESPACE, name, {"status": theirs}, "status")
        before = job(name)
        controller.start()
        controller.wait_until_ready()
        plane.cluster.wait(lambda: HASH in get(name)["metadata"].get("labels", {}), 60, "the label")
        wait_for_rest(plane.audit.entries)
        after = job(name)
        self.assertEqual(after["metadata"]["generation"], before["metadata"]["generation"])
        self.assertEqual(after["spec"], before["spec"])
        end_pod(name, "Succeeded")
        wait_for_phase(name, "Ready")


class Graphs(unittest.TestCase):
    def apply(self, name, **checkpoint):
        """A graph with a worker that has a checkpoint."""
        worker = {"componentType": "worker", "replicas": 1, "checkpoint": {"enabled": True, **checkpoint}}
        container = {"image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
        worker["extraPodSpec"] = {"mainContainer": container}
        manifest = {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": GRAPH,
            "metadata": {"name": name, "namespace": NAMESPACE},
            "spec": {"backendFramework": "vllm", "services": {"Worker": worker}},
        }
        plane.apply(manifest)
        self.addCleanup(self.delete, name)

    def delete(self, name):
        if plane.get(GRAPH, NAMESPACE, name):
            plane.delete(GRAPH, NAMESPACE, name)
        plane.cluster.wait(lambda: plane.get(GRAPH, NAMESPACE, name) is None and not self.commands(name), 60, f"{name} is gone")

    def wait_until_ready(self, name):
        plane.cluster.wait(lambda: is_ready(plane.get(GRAPH, NAMESPACE, name)), 60, f"the workers of {name} run")

    def told(self, name):
        """What the status of the graph says about the checkpoint of its workers."""
        return (plane.get(GRAPH, NAMESPACE, name).get("status", {}).get("checkpoints") or {}).get("Worker", {})

    def commands(self, name):
        """The commands of the workers of the graph."""
        found = plane.cluster.api("GET", path_of("Deployment", NAMESPACE))["items"]
        ours = [one for one in found if one["metadata"]["labels"].get("nvidia.com/dynamo-graph-deployment-name") == name]
        return [one["spec"]["template"]["spec"]["containers"][0].get("command") for one in ours]

    def wait_until_restoring(self, name):
        plane.cluster.wait(lambda: self.commands(name) == [RESTORE], 60, f"the workers of {name} wait for their restore")

    def test_a_graph_takes_a_checkpoint_and_its_workers_restore_it(self):
        self.apply("restored", mode="Auto", identity=IDENTITY)
        wait_for_phase(IDENTITY_HASH, "Creating")
        self.wait_until_ready("restored")
        # The pods of the Job have the labels of the graph, but are none of its own.
        self.assertEqual(plane.get(GRAPH, NAMESPACE, "restored")["status"]["services"]["Worker"]["readyReplicas"], 1)
        end_pod(IDENTITY_HASH, "Succeeded")
        wait_for_phase(IDENTITY_HASH, "Ready")
        plane.cluster.wait(lambda: self.told("restored").get("ready"), 60, "the graph sees the checkpoint")
        self.wait_until_restoring("restored")
        (worker,) = [one["spec"]["template"] for one in plane.cluster.api("GET", path_of("Deployment", NAMESPACE))["items"]]
        env = {one["name"]: one.get("value") for one in worker["spec"]["containers"][0]["env"]}
        self.assertEqual(env["DYN_CHECKPOINT_LOCATION"], f"s3://bucket/prefix/{IDENTITY_HASH}.tar")
        self.assertEqual(worker["metadata"]["labels"][HASH], IDENTITY_HASH)
        plane.delete("DynamoCheckpoint", NAMESPACE, IDENTITY_HASH)
        # Its graph takes another one.
        wait_for_phase_again = lambda: get(IDENTITY_HASH) and status(IDENTITY_HASH).get("phase") == "Creating"  # noqa: E731
        plane.cluster.wait(wait_for_phase_again, 60, "another checkpoint is taken")

    def test_two_graphs_share_a_checkpoint(self):
        identity = {**IDENTITY, "model": "shared"}
        self.apply("taking", mode="Auto", identity=identity)
        plane.cluster.wait(lambda: self.told("taking").get("identityHash"), 60, "the graph has a checkpoint")
        shared = self.told("taking")["identityHash"]
        end_pod(shared, "Succeeded")
        wait_for_phase(shared, "Ready")
        uid = get(shared)["metadata"]["uid"]
        self.apply("sharing", mode="Auto", identity=identity)
        for name in ("taking", "sharing"):
            self.wait_until_restoring(name)
        jobs = plane.cluster.api("GET", path_of("Job", NAMESPACE))["items"]
        self.assertEqual(len([one for one in jobs if one["metadata"]["labels"].get(HASH) == shared]), 1)
        # That of the graph which took it is deleted: the other one keeps its workers.
        self.delete("taking")
        wait_for_rest(lambda: plane.audit.entries(CONTROLLER_USER))
        self.assertEqual(get(shared)["metadata"]["uid"], uid)
        self.assertEqual(self.commands("sharing"), [RESTORE])

    def test_manual_mode_takes_none_and_restores_one_that_somebody_makes(self):
        identity = {**IDENTITY, "model": "by-hand"}
        self.apply("manual", mode="Manual", identity=identity)
        self.wait_until_ready("manual")
        told = self.told("manual")
        self.assertEqual((told.keys() - {"ready"}, told.get("ready", False)), ({"identityHash"}, False))
        self.assertEqual(self.commands("manual"), [["python3", "-m", "dynamo.vllm"]])
        self.assertIsNone(get(told["identityHash"]))
        plane.apply(checkpoint("by-hand"))
        self.addCleanup(plane.delete, "DynamoCheckpoint", NAMESPACE, "by-hand")
        end_pod("by-hand", "Succeeded")
        wait_for_phase("by-hand", "Ready")
        self.wait_until_restoring("manual")

    def test_a_checkpoint_that_is_deleted_while_it_is_used(self):
        plane.apply(checkpoint("used"))
        end_pod("used", "Succeeded")
        wait_for_phase("used", "Ready")
        self.apply("using", checkpointRef="used")
        self.wait_until_restoring("using")
        plane.delete("DynamoCheckpoint", NAMESPACE, "used")
        # The workers start without it.
        plane.cluster.wait(lambda: self.commands("using") == [["python3", "-m", "dynamo.vllm"]], 60, "the workers start anew")
        plane.cluster.wait(lambda: not self.told("using").get("ready", False), 60, "the status follows")
        self.assertIsNone(get("used"))


if __name__ == "__main__":
    unittest.main()
