#!/usr/bin/env python3
"""The commands `dynamo-controller status` and `diff` against a real API server.
Run: python3 tests/cluster/test_controller_commands.py

Neither a controller nor a webhook runs. The tests apply what `dynamo-webhook effective` prints, create the children that
`dynamo-controller render` prints, and write their status.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`; DYNAMO_CONTROLLER and DYNAMO_WEBHOOK name
other builds of them."""

import copy
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from child_crds import install_child_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

ROOT = HERE.parents[1]
CONTROLLER = os.environ.get("DYNAMO_CONTROLLER") or ROOT / "build/release/bin/dynamo-controller"
WEBHOOK = os.environ.get("DYNAMO_WEBHOOK") or ROOT / "build/release/bin/dynamo-webhook"
GROUP = "/apis/nvidia.com/v1alpha1/namespaces/demo"
NO_UID = "00000000-0000-0000-0000-000000000000"
MANAGER = "dynamo-controller"
NOTHING_INSTALLED = "apis: {grove: false, leaderWorkerSet: false, kaiScheduler: false, inferencePool: false}\n"
ALL_INSTALLED = "apis: {grove: true, leaderWorkerSet: true, kaiScheduler: false, inferencePool: true}\n"


def effective(manifest):
    """The manifest with the defaults of the webhook."""
    command = [WEBHOOK, "effective", "-f", "-", "-o", "json"]
    ran = subprocess.run(command, input=json.dumps(manifest), capture_output=True, text=True, timeout=60, check=True)
    return json.loads(ran.stdout)


def graph(image="runtime:1.0.0", **more):
    def service(component, **fields):
        return {"componentType": component, "replicas": 1, "extraPodSpec": {"mainContainer": {"image": image}}, **fields}

    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "llama", "namespace": "demo"},
        "spec": {
            "backendFramework": "vllm",
            "services": {
                "Frontend": service("frontend"),
                "Worker": service("worker", resources={"limits": {"gpu": "1"}}, sharedMemory={"size": "8Gi"}),
                **more,
            },
        },
    }


class Cluster(unittest.TestCase):
    facts = NOTHING_INSTALLED

    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(components={"etcd", "apiserver"}, users={"limited": []})
        cls.plane.start()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.kubectl("apply", "--server-side", "-k", ROOT / "deploy/crds")
        cls.plane.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
        if cls.facts == ALL_INSTALLED:
            install_child_crds(cls.plane)
        cls.plane.create_namespace("demo")
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.facts_file = Path(folder.name, "facts.yaml")
        cls.facts_file.write_text(cls.facts)

    def tearDown(self):
        for kind in ("dgdr", "dm", "dckpt", "dgd", "dcd", "deployments", "jobs", "pods", "services", "pvc", "roles", "rolebindings"):
            self.plane.kubectl("delete", kind, "--all", "-n", "demo", "--force", "--grace-period=0")
        self.plane.kubectl("delete", "serviceaccounts", "-n", "demo", "-l", "app.kubernetes.io/managed-by=dynamo-operator")

    def run_command(self, *args, input=None, kubeconfig=None, environment=None):
        merged = {**self.plane.environment(kubeconfig), **(environment or {})}
        return subprocess.run([CONTROLLER, *args], env=merged, input=input, capture_output=True, text=True, timeout=120)

    def render(self, text):
        command = [CONTROLLER, "render", "-f", "-", "-o", "json", "--facts", self.facts_file]
        ran = subprocess.run(command, input=text, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return json.loads(ran.stdout)["items"]

    def apply(self, manifest):
        """Applies a graph as its user does and its children as the controller does. Returns the children."""
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(effective(manifest)))
        stored = self.plane.kubectl("get", "dgd", manifest["metadata"]["name"], "-n", "demo", "-o", "json").stdout
        uids = {("DynamoGraphDeployment", manifest["metadata"]["name"]): json.loads(stored)["metadata"]["uid"]}
        children = self.render(stored)
        for child in children:
            for owner in child["metadata"].get("ownerReferences", []):
                if owner["uid"] == NO_UID:
                    owner["uid"] = uids[owner["kind"], owner["name"]]
            command = ["apply", "--server-side", f"--field-manager={MANAGER}", "-f", "-", "-o", "json"]
            made = json.loads(self.plane.kubectl(*command, input=json.dumps(child)).stdout)
            uids[child["kind"], child["metadata"]["name"]] = made["metadata"]["uid"]
        return children

    def set_status(self, path, status):
        self.plane.api("PATCH", path + "/status", {"status": status}, "application/merge-patch+json")

    def versions(self):
        """resourceVersions of everything that the commands could change."""
        kinds = "dgdr,dm,dckpt,dgd,dcd,dgdsa,deployments,jobs,services,configmaps,serviceaccounts,roles,rolebindings,pvc,pods"
        found = json.loads(self.plane.kubectl("get", kinds, "-n", "demo", "-o", "json").stdout)["items"]
        return {(each["kind"], each["metadata"]["name"]): each["metadata"]["resourceVersion"] for each in found}


class Status(Cluster):
    def make(self, name="llama"):
        """A graph with one ready and one failing service."""
        manifest = graph()
        manifest["metadata"]["name"] = name
        children = self.apply(manifest)
        for child in children:
            if child["kind"] == "DynamoComponentDeployment":
                self.set_component(child, ready=child["spec"]["componentType"] == "frontend")
        worker = next(c for c in children if c["kind"] == "Deployment" and "-worker-" in c["metadata"]["name"])
        labels = worker["spec"]["template"]["metadata"]["labels"]
        spec = {"containers": [{"name": "main", "image": "nowhere/none:1"}]}
        pod = {"metadata": {"name": f"{name}-worker-0", "labels": labels}, "spec": spec}
        self.plane.api("POST", "/api/v1/namespaces/demo/pods", pod)
        waiting = {"waiting": {"reason": "ImagePullBackOff", "message": "ErrImagePull: no such image"}}
        container = {"name": "main", "ready": False, "restartCount": 0, "image": "nowhere/none:1", "imageID": "", "state": waiting}
        self.set_status(f"/api/v1/namespaces/demo/pods/{name}-worker-0", {"phase": "Pending", "containerStatuses": [container]})
        self.set_graph(name, ready=False)
        return worker["metadata"]["name"]

    def set_component(self, child, ready):
        name = child["metadata"]["name"]
        condition = {
            "type": "Available", "status": str(ready), "reason": "Any", "lastTransitionTime": "2026-01-01T00:00:00Z",
            "message": "Deployment is ready" if ready else "Deployment is not ready: 0 of 1 replicas available",
        }
        counts = {"componentKind": "Deployment", "componentName": name, "replicas": 1, "updatedReplicas": 1, "readyReplicas": int(ready)}
        self.set_status(f"{GROUP}/dynamocomponentdeployments/{name}",
                        {"observedGeneration": 1, "conditions": [condition], "service": counts})
        counts = {"replicas": 1, "updatedReplicas": 1, "readyReplicas": int(ready), "availableReplicas": int(ready)}
        available = {"type": "Available", "status": str(ready)}
        self.set_status(f"/apis/apps/v1/namespaces/demo/deployments/{name}",
                        {"observedGeneration": 1, "conditions": [available], **counts})

    def set_graph(self, name, ready, observed=1):
        reason = "all_resources_are_ready" if ready else "some_resources_are_not_ready"
        condition = {
            "type": "Ready", "status": str(ready), "reason": reason, "message": "All resources are ready" if ready else "why",
            "lastTransitionTime": "2026-01-01T00:00:00Z", "observedGeneration": observed,
        }
        status = {
            "state": "successful" if ready else "pending", "observedGeneration": observed, "conditions": [condition],
            "rollingUpdate": {"phase": "Completed", "startTime": "2026-01-01T00:00:00Z", "endTime": "2026-01-01T00:01:00Z"},
            "restart": {"phase": "Completed", "observedID": "7"},
        }
        self.set_status(f"{GROUP}/dynamographdeployments/{name}", status)

    def test_a_graph_that_is_not_ready(self):
        worker = self.make()
        before = self.versions()
        ran = self.run_command("status", "llama", "-n", "demo")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
        for expected in (
            "DynamoGraphDeployment demo/llama",
            "ready False, some_resources_are_not_ready: why",
            "restart Completed, id 7",
            "└─ service Worker 0/1 {age} Unavailable",
            f"└─ DynamoComponentDeployment {worker} 0/1 {{age}} Unavailable: Deployment is not ready: 0 of 1 replicas available",
            "│ └─ Pod llama-worker-0 0/1 {age} ImagePullFailed: cannot pull image \"nowhere/none:1\": no such image",
            "│ └─ Service llama-frontend {age} Ready",
        ):
            pattern = "^.*" + ".*".join(map(re.escape, expected.split("{age}"))) + "$"
            self.assertTrue(any(re.match(pattern, line) for line in lines), f"{expected}\n{ran.stdout}")
        self.assertNotIn("\x1b", ran.stdout)
        self.assertEqual(self.versions(), before)
        colored = self.run_command("status", "llama", "-n", "demo", "--color", "always")
        self.assertIn("\x1b[31m", colored.stdout)

    def test_json(self):
        self.make()
        ran = self.run_command("status", "llama", "-n", "demo", "-o", "json")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        tree = json.loads(ran.stdout)
        self.assertEqual((tree["name"], tree["ready"], tree["state"]), ("llama", False, "pending"))
        worker = next(each for each in tree["children"] if each["name"] == "Worker")
        pod = worker["children"][0]["children"][0]["children"][0]
        self.assertEqual((pod["kind"], pod["reason"]), ("Pod", "ImagePullFailed"))

    def test_a_ready_graph_and_a_later_spec(self):
        self.make()
        self.set_graph("llama", ready=True)
        self.assertEqual(self.run_command("status", "llama", "-n", "demo").returncode, 0)
        self.plane.kubectl("patch", "dgd", "llama", "-n", "demo", "--type=merge", "-p",
                           '{"spec":{"services":{"Frontend":{"replicas":2}}}}')
        ran = self.run_command("status", "llama", "-n", "demo")
        self.assertEqual(ran.returncode, 1)
        self.assertIn("its controller has not observed the latest spec", ran.stdout)

    def test_all_graphs(self):
        self.make("one")
        self.make("two")
        self.set_graph("one", ready=True)
        ran = self.run_command("status", "-A")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        rows = [line.split()[:5] for line in ran.stdout.splitlines()]
        self.assertEqual(rows[0], ["NAMESPACE", "NAME", "READY", "REPLICAS", "STATE"])
        self.assertEqual([row[:3] for row in rows[1:]], [["demo", "one", "True"], ["demo", "two", "False"]])
        self.set_graph("two", ready=True)
        self.assertEqual(self.run_command("status", "-n", "demo").returncode, 0)

    def test_nothing_there_and_wrong_usage(self):
        ran = self.run_command("status", "missing", "-n", "demo")
        self.assertEqual((ran.returncode, ran.stderr), (1, "DynamoGraphDeployment demo/missing not found\n"))
        self.assertEqual(self.run_command("status", "-n", "demo").returncode, 1)
        for args in (["x", "-A"], ["x", "--timeout", "5s"], ["x", "-w", "--timeout", "soon"], ["--context", "none"],
                     ["-o", "xml"], ["--kubeconfig", "/nowhere"]):
            ran = self.run_command("status", *args)
            self.assertEqual(ran.returncode, 2, f"{args}: {ran.stderr}")
            self.assertTrue(ran.stderr, args)

    def test_a_user_who_may_read_little(self):
        self.make()
        rules = [{"apiGroups": ["nvidia.com"], "resources": ["dynamographdeployments", "dynamocomponentdeployments"],
                  "verbs": ["get", "list", "watch"]}]
        role = {"metadata": {"name": "little"}, "rules": rules}
        self.plane.api("POST", "/apis/rbac.authorization.k8s.io/v1/namespaces/demo/roles", role)
        self.plane.kubectl("create", "rolebinding", "little", "--role=little", "--user=limited", "-n", "demo")
        user = self.plane.user_kubeconfig("limited")
        ran = self.run_command("status", "llama", "-n", "demo", kubeconfig=user)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("DynamoComponentDeployment llama-frontend", ran.stdout)
        self.assertIn("cannot list deployments.apps: ", ran.stdout)
        ran = self.run_command("status", "llama", "-n", "demo", "-o", "json", kubeconfig=user)
        self.assertEqual(json.loads(ran.stdout)["ready"], False)
        self.assertIn("cannot list deployments.apps: ", ran.stderr)
        ran = self.run_command("status", "llama", "-n", "default", kubeconfig=user)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("cannot list dynamographdeployments.nvidia.com", ran.stderr)

    def watch(self, *args):
        command = [CONTROLLER, "status", "llama", "-n", "demo", "-w", *args]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        process = subprocess.Popen(command, env=self.plane.environment(), **pipes)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def read_until(self, process, text):
        lines = []
        for line in process.stdout:
            lines.append(line)
            if text in line:
                return "".join(lines)
        self.fail(f"no {text!r} in {''.join(lines)}{process.stderr.read()}")

    def test_a_watch_ends_when_the_graph_is_ready(self):
        self.make()
        process = self.watch("--timeout", "60s")
        self.read_until(process, "Pod llama-worker-0")
        self.plane.api("DELETE", "/api/v1/namespaces/demo/pods/llama-worker-0?gracePeriodSeconds=0")
        changed = self.read_until(process, "Deployment llama-worker")
        self.assertNotIn("Pod", changed)
        self.set_graph("llama", ready=True)
        out, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertIn("All resources are ready", out)

    def test_a_watch_of_a_graph_that_is_made_later(self):
        process = self.watch("--timeout", "60s")
        self.read_until(process, "not found")
        self.make()
        self.read_until(process, "some_resources_are_not_ready")
        self.set_graph("llama", ready=True)
        self.assertEqual(process.wait(30), 0)

    def test_a_watch_ends_at_its_timeout(self):
        self.make()
        process = self.watch("--timeout", "1s")
        out, errors = process.communicate(timeout=30)
        self.assertEqual((process.returncode, errors), (1, ""))
        self.assertEqual(out.count("DynamoGraphDeployment demo/llama"), 1, "the same picture is printed once")

    def test_a_watch_ends_at_its_timeout_if_the_api_server_does_not_answer(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            cluster = {"server": f"https://127.0.0.1:{silent.getsockname()[1]}"}
            config = {
                "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {"token": "t"}}],
                "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
            file = self.facts_file.parent / "silent.kubeconfig"
            file.write_text(json.dumps(config))
            began = time.monotonic()
            ran = self.run_command("status", "llama", "-n", "demo", "-w", "--timeout", "1s", kubeconfig=file)
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("the cluster has not answered within the timeout", ran.stderr)
        self.assertLess(time.monotonic() - began, 5)

    def test_ctrl_c_ends_a_watch(self):
        self.make()
        process = self.watch()
        self.read_until(process, "Pod llama-worker-0")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0)


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
        self.set_status("/apis/nvidia.com/v1beta1/namespaces/demo/dynamographdeploymentrequests/chat",
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
        command = [CONTROLLER, "status", "dgdr/chat", "-n", "demo", "-w", "--timeout", "60s"]
        with subprocess.Popen(command, env=self.plane.environment(), stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.assertEqual(process.stdout.readline(), "DynamoGraphDeploymentRequest demo/chat\n")
            status = {"phase": "Deployed", "conditions": [condition("Succeeded", "True", "Deployed", "Deployment is healthy")]}
            self.set_status("/apis/nvidia.com/v1beta1/namespaces/demo/dynamographdeploymentrequests/chat", status)
            out, _ = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 0)
        self.assertIn("True, Deployed: Deployment is healthy", out)


class Diff(Cluster):
    def diff(self, manifest, *args):
        """Compares a manifest; one with a namespace gets the defaults of the webhook first."""
        before = self.versions()
        text = json.dumps(effective(manifest) if "namespace" in manifest["metadata"] else manifest)
        ran = self.run_command("diff", "-f", "-", *args, input=text)
        self.assertEqual(self.versions(), before, "a dry run changed the cluster")
        return ran

    def test_a_new_graph(self):
        ran = self.diff(graph())
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[0], "DynamoGraphDeployment demo/llama (new)")
        self.assertIn("+ DynamoComponentDeployment demo/llama-frontend", lines)
        self.assertIn("+ Deployment demo/llama-frontend", lines)
        self.assertRegex(lines[-1], r"^\d+ created$")

    def test_a_graph_that_is_applied_does_not_differ(self):
        children = self.apply(graph())
        ran = self.diff(graph())
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertEqual(ran.stdout, f"DynamoGraphDeployment demo/llama\n{len(children)} unchanged\n")

    def test_a_change_of_a_frontend(self):
        self.apply(graph())
        changed = graph()
        changed["spec"]["services"]["Frontend"]["replicas"] = 3
        changed["spec"]["services"]["Frontend"]["extraPodSpec"]["mainContainer"]["image"] = "runtime:2"
        ran = self.diff(changed)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        parts = ran.stdout.split("\n~ ")
        self.assertEqual([part.splitlines()[0] for part in parts[1:]],
                         ["DynamoComponentDeployment demo/llama-frontend", "Deployment demo/llama-frontend"])
        deployment = parts[2].splitlines()
        self.assertIn("  -  replicas: 1", deployment)
        self.assertIn("  +  replicas: 3", deployment)
        self.assertIn('  -        image: "runtime:1.0.0"', deployment)
        self.assertIn('  +        image: "runtime:2"', deployment)
        self.assertEqual(sum(line.startswith(("  +", "  -")) for line in deployment), 4, ran.stdout)
        self.assertRegex(ran.stdout.splitlines()[-1], r"^2 changed, \d+ unchanged$")

    def test_a_change_of_a_worker_is_a_new_generation(self):
        children = self.apply(graph())
        old = next(c["metadata"]["name"] for c in children if "-worker-" in c["metadata"]["name"])
        changed = graph()
        changed["spec"]["services"]["Worker"]["sharedMemory"]["size"] = "9Gi"
        ran = self.diff(changed)
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertRegex(ran.stdout, rf"\+ DynamoComponentDeployment demo/llama-worker-\w+ \(in place of {old}\)\n")
        self.assertRegex(ran.stdout, rf"\+ Deployment demo/llama-worker-\w+ \(in place of {old}\)\n")
        self.assertIn(f"- DynamoComponentDeployment demo/{old} (when the rolling update ends)\n", ran.stdout)
        marked = {line[2:].replace(" ", "") for line in ran.stdout.splitlines() if line.startswith(("  +", "  -"))}
        self.assertIn("+sizeLimit:9Gi", {line.replace('"', "") for line in marked})
        self.assertNotIn("worker-hash", "".join(marked), ran.stdout)

    def test_a_worker_generation_that_the_graph_does_not_want_is_only_scaled(self):
        """ctl-Q70: its Deployment is that of an earlier release, which the controller leaves alone."""
        children = self.apply(graph())
        name = next(c["metadata"]["name"] for c in children if "-worker-" in c["metadata"]["name"])
        self.plane.kubectl("patch", "deployment", name, "-n", "demo", "--type=json", "-p",
                           '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"earlier"}]')
        component = json.loads(self.plane.kubectl("get", "dcd", name, "-n", "demo", "-o", "json").stdout)
        del component["metadata"]["resourceVersion"]

        def diff():
            ran = self.run_command("diff", "-f", "-", input=json.dumps(component))
            self.assertEqual(ran.stderr, "")
            return ran.returncode, ran.stdout

        self.assertIn("-        image: earlier", diff()[1], "the graph wants it")
        changed = graph()
        changed["spec"]["services"]["Worker"]["sharedMemory"]["size"] = "9Gi"
        self.plane.kubectl("apply", "-f", "-", input=json.dumps(effective(changed)))
        self.assertEqual(diff(), (0, f"DynamoComponentDeployment demo/{name}\n2 unchanged\n"))
        component["spec"]["replicas"] = 3
        status, text = diff()
        self.assertEqual(status, 1)
        self.assertEqual(text.splitlines()[-1], "1 changed, 1 unchanged")
        self.assertEqual([line for line in text.splitlines() if line.startswith(("  -", "  +"))],
                         ["  -  replicas: 1", "  +  replicas: 3"])

    def test_a_service_that_is_gone(self):
        other = {"componentType": "frontend", "replicas": 1, "extraPodSpec": {"mainContainer": {"image": "a"}}}
        self.apply(graph(Other=other))
        ran = self.diff(graph())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("- DynamoComponentDeployment demo/llama-other\n", ran.stdout)
        self.assertIn("- Deployment demo/llama-other (with its owner)\n", ran.stdout)

    def test_a_child_that_somebody_edited(self):
        self.apply(graph())
        self.plane.kubectl("patch", "deployment", "llama-frontend", "-n", "demo", "--type=json", "-p",
                           '[{"op":"replace","path":"/spec/template/spec/containers/0/image","value":"edited"}]')
        self.plane.kubectl("annotate", "deployment", "llama-frontend", "-n", "demo", "note=kept")
        ran = self.diff(graph())
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("@@ spec.template.spec.containers", ran.stdout)
        self.assertIn("-        image: edited", ran.stdout)
        self.assertNotIn("note", ran.stdout)
        self.assertRegex(ran.stdout.splitlines()[-1], r"^1 changed, \d+ unchanged$")

    def test_pull_secrets_of_the_namespace(self):
        self.apply(graph("example.com/runtime:1"))
        self.plane.kubectl("create", "secret", "docker-registry", "pull", "-n", "demo", "--docker-server=example.com",
                           "--docker-username=u", "--docker-password=hunter2")
        self.addCleanup(self.plane.kubectl, "delete", "secret", "pull", "-n", "demo")
        ran = self.diff(graph("example.com/runtime:1"))
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("+      - name: pull", ran.stdout)
        self.assertNotIn("hunter2", ran.stdout + ran.stderr)

    def test_a_component_deployment_on_its_own(self):
        component = {
            "apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoComponentDeployment", "metadata": {"name": "single"},
            "spec": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "a"}}},
        }
        ran = self.diff(component, "-n", "demo")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertIn("DynamoComponentDeployment demo/single (new)\n", ran.stdout)
        self.assertIn("+ Deployment demo/single\n", ran.stdout)

    def test_what_the_api_server_refuses_and_wrong_usage(self):
        wrong = graph()
        wrong["spec"]["services"]["Frontend"]["replicas"] = -1
        ran = self.run_command("diff", "-f", "-", input=json.dumps(wrong))  # `effective` does not print it
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("spec.services.Frontend.replicas", ran.stderr)
        for manifest, words in (
            ({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}, "nothing to compare"),
            ({**copy.deepcopy(graph()), "metadata": {}}, "metadata.name is required"),
        ):
            ran = self.diff(manifest)
            self.assertEqual(ran.returncode, 2)
            self.assertIn(words, ran.stderr)
        ran = self.diff(graph(), "-n", "other")
        self.assertEqual(ran.returncode, 2)
        self.assertIn("--namespace is other", ran.stderr)
        self.assertEqual(self.run_command("diff", "-f", "/nowhere").returncode, 2)


class DiffOfOtherKinds(Cluster):
    """Requests and checkpoints."""

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

    def test_a_new_request(self):
        ran = self.diff(request())
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertEqual(ran.stdout.splitlines(), [
            "DynamoGraphDeploymentRequest demo/chat (new)",
            "+ ServiceAccount demo/dgdr-profiling-job",
            "+ RoleBinding demo/dgdr-profiling-job-binding",
            "+ Job demo/profile-chat",
            "3 created"])

    def test_a_request_in_v1alpha1(self):
        profiling = {"profilerImage": "profiler:1", "config": {"sla": {"ttft": 200}}}
        manifest = request()
        manifest["apiVersion"] = "nvidia.com/v1alpha1"
        manifest["spec"] = {"model": "org/model", "backend": "vllm", "profilingConfig": profiling}
        ran = self.diff(manifest)
        # Without its webhook, the API server cannot convert.
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("conversion webhook", ran.stderr)

    def test_a_request_that_has_its_job(self):
        self.make(request())
        path = "/apis/nvidia.com/v1beta1/namespaces/demo/dynamographdeploymentrequests/chat"
        self.set_status(path, {"phase": "Profiling", "observedGeneration": 1})
        ran = self.diff(request())
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "DynamoGraphDeploymentRequest demo/chat (Profiling)\n1 unchanged\n")

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


class Grove(Cluster):
    facts = ALL_INSTALLED

    def test_status_and_diff_of_a_graph_on_grove(self):
        multinode = {"componentType": "worker", "replicas": 1, "multinode": {"nodeCount": 2},
                     "resources": {"limits": {"gpu": "8"}}, "extraPodSpec": {"mainContainer": {"image": "a"}}}
        manifest = graph(Large=multinode)
        children = self.apply(manifest)
        ran = self.run_command("diff", "-f", "-", input=json.dumps(effective(manifest)))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        self.assertEqual(ran.stdout.splitlines()[-1], f"{len(children)} unchanged")
        manifest["spec"]["services"]["Large"]["extraPodSpec"]["mainContainer"]["image"] = "b"
        ran = self.run_command("diff", "-f", "-", input=json.dumps(effective(manifest)))
        self.assertEqual((ran.returncode, ran.stderr), (1, ""), ran.stdout)
        self.assertIn("~ PodCliqueSet demo/llama\n", ran.stdout)
        self.assertEqual(ran.stdout.count("image: b\n"), 2, "the leader and the workers\n" + ran.stdout)
        ran = self.run_command("status", "llama", "-n", "demo")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        self.assertIn("PodCliqueScalingGroup llama-0-large", ran.stdout)
        self.assertIn("PodCliqueSet llama", ran.stdout)
        self.assertIn("Missing: does not exist yet", ran.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
