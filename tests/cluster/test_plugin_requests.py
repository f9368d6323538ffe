#!/usr/bin/env python3
"""The commands `kubectl dynamo status` and `diff` of requests, models and checkpoints against a real API server.
Run: python3 tests/cluster/test_plugin_requests.py

No controller runs (plugin_cluster.py). Our webhook runs where requests are in v1alpha1.
Needs `cmake --build build/release --target kubectl-dynamo dynamo-webhook`; DYNAMO_PLUGIN and DYNAMO_WEBHOOK name
other builds of them."""

import json
import re
import subprocess
import sys
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]
import install as installation  # noqa: E402
from plugin_cluster import GROUP, NOTHING_INSTALLED, PLUGIN, Cluster, graph  # noqa: E402

PATH = "/apis/nvidia.com/v1beta1/namespaces/demo/dynamographdeploymentrequests/chat"


def condition(kind, status, reason, message):
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": "2026-01-01T00:00:00Z"}


def request(name="chat", **spec):
    hardware = {"gpuSku": "h200_sxm", "vramMb": 141000, "numGpusPerNode": 8, "totalGpus": 8}
    return {
        "apiVersion": "nvidia.com/v1beta1",
        "kind": "DynamoGraphDeploymentRequest",
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {"model": "org/model", "backend": "vllm", "image": "profiler:1", "hardware": hardware, **spec},
    }


def alpha_request(**config):
    profiling = {"profilerImage": "profiler:1", "config": {"sla": {"ttft": 200}, **config}}
    spec = {"model": "org/model", "backend": "vllm", "profilingConfig": profiling}
    return {**request(), "apiVersion": "nvidia.com/v1alpha1", "spec": spec}


def checkpoint(name="warm"):
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "runtime:1"}]}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoCheckpoint",
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {"identity": {"model": "org/model", "backendFramework": "vllm"}, "job": {"podTemplateSpec": {"spec": pod}}},
    }


def model(name="adapter"):
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoModel",
        "metadata": {"name": name, "namespace": "demo"},
        "spec": {"modelName": "adapter", "baseModelName": "org/model", "modelType": "lora", "source": {"uri": "hf://org/a"}},
    }


class StatusOfOtherKinds(Cluster):
    """Requests, models and checkpoints."""

    def make(self, manifest, status):
        """Creates the object and sets its status. Returns it."""
        made = json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(manifest)).stdout)
        plural = {"DynamoGraphDeploymentRequest": "dynamographdeploymentrequests", "DynamoModel": "dynamomodels",
                  "DynamoCheckpoint": "dynamocheckpoints", "DynamoGraphDeployment": "dynamographdeployments"}[manifest["kind"]]
        self.set_status(f"/apis/{made['apiVersion']}/namespaces/demo/{plural}/{made['metadata']['name']}", status)
        return made

    def make_job(self, name, owner):
        """A Job of `owner` with a pod that no node has room for."""
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "a"}]}}
        job = self.owned("batch/v1", "Job", name, owner, {"template": template})
        pod = self.owned("v1", "Pod", f"{name}-x", job, template["spec"])
        unschedulable = {**condition("PodScheduled", "False", "Unschedulable", "0/1 nodes are available: 1 Insufficient nvidia.com/gpu.")}
        path = f"/api/v1/namespaces/demo/pods/{pod['metadata']['name']}"
        self.set_status(path, {"phase": "Pending", "conditions": [unschedulable]})

    def owned(self, version, kind, name, owner, spec):
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"],
                     "uid": owner["metadata"]["uid"], "controller": True}
        metadata = {"name": name, "ownerReferences": [reference], "labels": {"dgdr": owner["metadata"]["name"]}}
        body = {"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec}
        made = self.plane.kubectl("create", "-n", "demo", "-f", "-", "-o", "json", input=json.dumps(body)).stdout
        return json.loads(made)

    def make_request(self):
        waits = "Profiling is in progress: pods cannot be scheduled"
        made = self.make(request(), {"phase": "Profiling", "profilingJobName": "profile-chat", "conditions": [
            condition("Succeeded", "False", "Profiling", "Profiling is in progress"),
            condition("Profiling", "False", "ProfilingRunning", waits)]})
        self.make_job("profile-chat", made)
        return made

    def lines(self, *args, status):
        before = self.versions()
        ran = self.run_command("status", *args)
        self.assertEqual((ran.returncode, ran.stderr), (status, ""), ran.stdout)
        self.assertEqual(self.versions(), before)
        return [" ".join(line.split()) for line in ran.stdout.splitlines()]

    def assert_has(self, lines, *expected):
        """Each of `expected` is a line; {age} stands for any text."""
        for text in expected:
            pattern = ".*".join(map(re.escape, text.split("{age}")))
            self.assertTrue(any(re.fullmatch(pattern, line) for line in lines), f"{text}\n" + "\n".join(lines))

    def test_a_request_that_is_profiled(self):
        self.make_request()
        for argument in ("chat", "dgdr/chat", "DynamoGraphDeploymentRequest/chat"):
            lines = self.lines(argument, "-n", "demo", status=1)
            self.assert_has(
                lines,
                "DynamoGraphDeploymentRequest demo/chat",
                "phase Profiling for {age}",
                "ready False, ProfilingRunning: Profiling is in progress: pods cannot be scheduled",
                "└─ Job profile-chat 0/1 {age} Pending",
                "└─ Pod profile-chat-x 0/1 {age} PodUnschedulable: pods cannot be scheduled: 0/1 nodes are available: "
                "1 Insufficient nvidia.com/gpu.")

    def test_the_graph_of_a_request_stands_below_it(self):
        deploying = {"phase": "Deploying", "dgdName": "llama", "conditions": [
            condition("Succeeded", "False", "Deploying", "Deployment is in progress"),
            condition("DeploymentReady", "False", "DeploymentInProgress", "DGD llama is in pending state")]}
        self.make(request(), deploying)
        lines = self.lines("dgdr/chat", "-n", "demo", status=1)
        self.assert_has(lines, "└─ DynamoGraphDeployment llama Missing: does not exist yet")
        manifest = graph()
        manifest["metadata"]["labels"] = {"dgdr.nvidia.com/name": "chat", "dgdr.nvidia.com/namespace": "demo"}
        self.apply(manifest)
        lines = self.lines("dgdr/chat", "-n", "demo", status=1)
        self.assert_has(lines, "└─ DynamoGraphDeployment llama 0/2 {age}", "├─ service Frontend 0/1 {age}",
                        "│ ├─ Deployment llama-frontend 0/1 {age}")
        ready = [condition("Succeeded", "True", "Deployed", "Deployment is healthy")]
        self.set_status(PATH,
                        {"phase": "Deployed", "conditions": ready})
        self.lines("chat", "-n", "demo", status=0)
        tree = json.loads(self.run_command("status", "dgdr/chat", "-n", "demo", "-o", "json").stdout)
        self.assertEqual((tree["kind"], tree["phase"], tree["ready"], tree["since"]),
                         ("DynamoGraphDeploymentRequest", "Deployed", True, "2026-01-01T00:00:00Z"))
        (below,) = tree["children"]
        self.assertEqual([(each["kind"], each["name"]) for each in below["children"][:2]],
                         [("service", "Frontend"), ("service", "Worker")])
        # Where a graph has the same name, it is meant.
        self.assert_has(self.lines("llama", "-n", "demo", status=1), "DynamoGraphDeployment demo/llama")

    def test_a_model(self):
        endpoints = [{"address": f"http://10.0.0.{i}:9090", "podName": f"worker-{i}", "ready": i == 1} for i in (1, 2)]
        self.make(model(), {"readyEndpoints": 1, "totalEndpoints": 2, "endpoints": endpoints, "conditions": [
            condition("ServicesFound", "True", "ServicesFound", "Found 1 service(s)"),
            condition("EndpointsReady", "False", "NotReady", "1 of 2 endpoints ready")]})
        for argument in ("adapter", "dm/adapter"):
            self.assert_has(
                self.lines(argument, "-n", "demo", status=1),
                "DynamoModel demo/adapter",
                "ready False, NotReady: 1 of 2 endpoints ready",
                "endpoints 1/2",
                "├─ endpoint http://10.0.0.1:9090 Ready: of pod worker-1",
                "└─ endpoint http://10.0.0.2:9090 NotReady: of pod worker-2")

    def test_a_checkpoint_and_who_uses_it(self):
        status = {"phase": "Creating", "identityHash": "1234567890abcdef", "jobName": "checkpoint-warm",
                  "conditions": [condition("JobCreated", "True", "JobCreated", "Checkpoint job checkpoint-warm created")]}
        made = self.make(checkpoint(), status)
        self.make_job("checkpoint-warm", made)
        manifest = graph()
        manifest["spec"]["services"]["Worker"]["checkpoint"] = {"enabled": True, "checkpointRef": "warm"}
        self.plane.kubectl("create", "-f", "-", input=json.dumps(manifest))
        for argument in ("warm", "dckpt/warm"):
            self.assert_has(
                self.lines(argument, "-n", "demo", status=1),
                "DynamoCheckpoint demo/warm",
                "phase Creating for {age}",
                "identity 1234567890abcdef",
                "used by llama",
                "├─ Job checkpoint-warm 0/1 {age} Pending",
                "│ └─ Pod checkpoint-warm-x 0/1 {age} PodUnschedulable: {age}",
                "└─ DynamoGraphDeployment llama 0/2 {age}",
                "└─ service Worker 0/1")

    def test_a_list_of_all_kinds(self):
        self.make_request()
        self.make(checkpoint(), {"phase": "Ready", "identityHash": "1234567890abcdef", "location": "/checkpoints/1234567890abcdef"})
        lines = self.lines("-n", "demo", status=1)
        self.assert_has(
            lines,
            "REQUEST READY PHASE SINCE PROFILING MODEL BACKEND GRAPH AGE MESSAGE",
            "chat False Profiling {age} - org/model vllm - {age} Profiling is in progress: pods cannot be scheduled",
            "CHECKPOINT READY PHASE SINCE IDENTITY MODEL BACKEND LOCATION USED BY AGE MESSAGE",
            "warm True Ready {age} 1234567890abcdef org/model vllm /checkpoints/1234567890abcdef - {age}")
        self.apply(graph())
        ran = self.run_command("status", "-A", "-o", "json")
        self.assertEqual([each["kind"] for each in json.loads(ran.stdout)],
                         ["DynamoGraphDeployment", "DynamoGraphDeploymentRequest", "DynamoCheckpoint"])
        self.plane.kubectl("delete", "dgd,dgdr", "--all", "-n", "demo")
        self.lines("-n", "demo", status=0)

    def test_what_does_not_exist(self):
        for argument, kind in (("dgdr/none", "DynamoGraphDeploymentRequest"), ("dm/none", "DynamoModel"),
                               ("dckpt/none", "DynamoCheckpoint"), ("dgd/none", "DynamoGraphDeployment")):
            ran = self.run_command("status", argument, "-n", "demo")
            self.assertEqual((ran.returncode, ran.stderr), (1, f"{kind} demo/none not found\n"))
        for argument in ("pods/none", "dgdr/"):
            ran = self.run_command("status", argument, "-n", "demo")
            self.assertEqual((ran.returncode, ran.stdout), (2, ""))
            self.assertIn(argument, ran.stderr)

    def test_a_watch_ends_when_the_request_is_deployed(self):
        self.make_request()
        command = [PLUGIN, "status", "dgdr/chat", "-n", "demo", "-w", "--timeout", "60s"]
        with subprocess.Popen(command, env=self.plane.environment(), stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), "DynamoGraphDeploymentRequest demo/chat\n")
            status = {"phase": "Deployed", "conditions": [condition("Succeeded", "True", "Deployed", "Deployment is healthy")]}
            self.set_status(PATH, status)
            out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertIn("True, Deployed: Deployment is healthy", out)


class JobDiff(Cluster):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.config = cls.facts_file.parent / "operator.yaml"
        cls.config.write_text("rbac: {dgdrProfilingClusterRoleName: profiling}\n")

    def diff(self, manifest):
        before = self.versions()
        ran = self.run_command("diff", "-f", "-", "--config", self.config, input=json.dumps(manifest))
        self.assertEqual(self.versions(), before, "a dry run changed the cluster")
        return ran

    def make(self, manifest):
        """Stores the object, and its Job as the controller creates it."""
        stored = json.loads(self.plane.kubectl("create", "-f", "-", "-o", "json", input=json.dumps(manifest)).stdout)
        (job,) = (child for child in self.render(json.dumps(stored)) if child["kind"] == "Job")
        job["metadata"]["ownerReferences"][0]["uid"] = stored["metadata"]["uid"]
        self.plane.kubectl("create", "-f", "-", input=json.dumps(job))

    def assert_is_new(self, ran, note=""):
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertEqual(ran.stdout.splitlines(), [
            "DynamoGraphDeploymentRequest demo/chat (new)",
            "+ ServiceAccount demo/dgdr-profiling-job",
            "+ RoleBinding demo/dgdr-profiling-job-binding",
            "+ Job demo/profile-chat" + note,
            "3 created"])

    def assert_has_its_job(self, ran):
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "DynamoGraphDeploymentRequest demo/chat (Profiling)\n1 unchanged\n")


class DiffOfOtherKinds(JobDiff):
    """Requests and checkpoints."""

    def test_a_new_request(self):
        self.assert_is_new(self.diff(request()))

    def test_a_request_in_v1alpha1(self):
        ran = self.diff(alpha_request())
        # Without its webhook, the API server cannot convert.
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("conversion webhook", ran.stderr)

    def test_a_request_that_has_its_job(self):
        self.make(request())
        self.set_status(PATH, {"phase": "Profiling", "observedGeneration": 1})
        self.assert_has_its_job(self.diff(request()))

    def test_a_request_that_cannot_be_profiled(self):
        ran = self.diff(request(modelCache={"pvcName": "absent"}))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("DynamoGraphDeploymentRequest demo/chat: model cache PVC absent not found in namespace demo", ran.stderr)
        self.assertIn("no children", ran.stdout)
        self.make(checkpoint("other"))
        job = json.loads(self.plane.kubectl("get", "job", "checkpoint-other", "-n", "demo", "-o", "json").stdout)
        foreign = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "profile-chat", "namespace": "demo"},
                   "spec": {"template": {"spec": job["spec"]["template"]["spec"]}}}
        self.plane.kubectl("create", "-f", "-", input=json.dumps(foreign))
        ran = self.diff(request())
        self.assertEqual(ran.returncode, 1)
        self.assertIn("Job.batch demo/profile-chat exists and does not belong to this request", ran.stdout)

    def test_a_checkpoint(self):
        ran = self.diff(checkpoint())
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertEqual(ran.stdout, "DynamoCheckpoint demo/warm (new)\n+ Job demo/checkpoint-warm\n1 created\n")
        self.make(checkpoint())
        ran = self.diff(checkpoint())
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "DynamoCheckpoint demo/warm\n1 unchanged\n")
        self.set_status(f"{GROUP}/dynamocheckpoints/warm", {"phase": "Ready"})
        self.plane.kubectl("delete", "job", "checkpoint-warm", "-n", "demo")
        ran = self.diff(checkpoint())
        self.assertEqual((ran.returncode, ran.stdout), (0, "DynamoCheckpoint demo/warm (Ready)\nno children\n"))


class DiffThroughTheWebhook(JobDiff):
    """Requests in v1alpha1, which the webhook checks, completes and converts. They cannot say what hardware there is."""

    facts = NOTHING_INSTALLED + "hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8, totalGpus: 8}\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        webhook = installation.Webhook(cls.plane.directory)
        cls.addClassCleanup(webhook.stop)
        webhook.start()
        installation.install(cls.plane, webhook)

    def test_a_new_request(self):
        self.assert_is_new(self.diff(alpha_request()), " (when its hardware is discovered)")

    def test_a_request_that_has_its_job(self):
        self.make(alpha_request())
        self.set_status(PATH, {"phase": "Profiling", "observedGeneration": 1})
        self.assert_has_its_job(self.diff(alpha_request()))

    def test_what_the_webhook_refuses(self):
        wrong = alpha_request()
        wrong["spec"]["deploymentOverrides"] = {"namespace": "other"}
        ran = self.diff(wrong)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("spec.deploymentOverrides.namespace", ran.stderr)
        self.make(alpha_request())
        self.set_status(PATH, {"phase": "Profiling", "observedGeneration": 1})
        ran = self.diff(alpha_request(sla={"ttft": 300}))
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("spec: Forbidden", ran.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
