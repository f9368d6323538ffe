#!/usr/bin/env python3
"""The commands `kubectl dynamo status` and `diff` of graphs against a real API server.
Run: python3 tests/cluster/test_plugin.py

Neither a controller nor a webhook runs (plugin_cluster.py).
Needs `cmake --build build/release --target kubectl-dynamo dynamo-controller dynamo-webhook`; DYNAMO_PLUGIN,
DYNAMO_CONTROLLER and DYNAMO_WEBHOOK name other builds of them."""

import copy
import json
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
from plugin_cluster import (  # noqa: E402
    ALL_INSTALLED,
    CONTROLLER,
    GROUP,
    OPERATOR_CONFIG,
    PLUGIN,
    Cluster,
    FailingGraph,
    effective,
    graph,
)


class Status(FailingGraph):
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
        # A claim that may not be listed may exist.
        claims = {"spec": {"pvcs": [{"name": "models", "create": False}]}}
        self.plane.api("PATCH", f"{GROUP}/dynamographdeployments/llama", claims, "application/merge-patch+json")
        ran = self.run_command("status", "llama", "-n", "demo", kubeconfig=user)
        self.assertRegex(ran.stdout, "PersistentVolumeClaim models +Unknown: its kind may not be listed\n")
        self.assertRegex(self.run_command("status", "llama", "-n", "demo").stdout, "PersistentVolumeClaim models +Missing: ")
        ran = self.run_command("status", "llama", "-n", "default", kubeconfig=user)
        self.assertEqual(ran.returncode, 2)
        self.assertIn("cannot list dynamographdeployments.nvidia.com", ran.stderr)

    def test_as_a_plugin_of_kubectl(self):
        self.make()
        environment = self.plane.environment()
        environment["PATH"] = f"{Path(PLUGIN).parent}:{environment['PATH']}"
        command = ["kubectl", "dynamo", "status", "llama", "-n", "demo"]
        ran = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertEqual(ran.stdout.splitlines()[0], "DynamoGraphDeployment demo/llama")

    def test_a_credential_plugin(self):
        """The plugin of kubectl runs it. The operator starts no program and says so."""
        config = json.loads(self.plane.kubectl("config", "view", "--raw", "-o", "json").stdout)
        version = "client.authentication.k8s.io/v1"
        credential = {"apiVersion": version, "kind": "ExecCredential", "status": {"token": self.plane.admin_token}}
        config["users"][0]["user"] = {
            "exec": {"apiVersion": version, "command": "echo", "args": [json.dumps(credential)], "interactiveMode": "Never"}
        }
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "config")
            file.write_text(json.dumps(config))
            ran = self.run_command("status", "missing", "-n", "demo", kubeconfig=file)
            self.assertEqual((ran.returncode, ran.stderr), (1, "DynamoGraphDeployment demo/missing not found\n"))
            settings = Path(folder, "operator.yaml")
            settings.write_text(json.dumps(OPERATOR_CONFIG))
            command = [CONTROLLER, "run", "--config", settings, "--kubeconfig", file]
            ran = subprocess.run(command, capture_output=True, text=True, timeout=60)
            self.assertEqual(ran.returncode, 1, ran.stderr)
            self.assertIn("users[0].user.exec: this program runs no credential plugins", ran.stderr)

    def watch(self, *args):
        command = [PLUGIN, "status", "llama", "-n", "demo", "-w", *args]
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

    def test_an_unreachable_api_server_behind_a_proxy(self):
        # 0.0.0.0 is this machine, but no loopback address, for which no proxy is used.
        cluster = {"server": "https://0.0.0.0:1"}
        config = {
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x"}
        file = self.facts_file.parent / "unreachable.kubeconfig"
        file.write_text(json.dumps(config))
        hint = " (HTTPS_PROXY is set, but this program does not support proxies)"
        proxy = {"HTTPS_PROXY": "http://u:hunter2@p:1"}
        for environment, hinted in (({}, False), (proxy, True), ({**proxy, "NO_PROXY": "0.0.0.0/8"}, False)):
            for args in (["status"], ["why", "llama"], ["restart", "llama"]):
                with self.subTest(args, **environment):
                    ran = self.run_command(*args, kubeconfig=file, environment=environment)
                    self.assertEqual(ran.returncode, 2)
                    self.assertIn("cannot connect to 127.0.0.1:1: Connection refused", ran.stderr)
                    self.assertEqual(hint in ran.stderr, hinted, ran.stderr)
                    self.assertNotIn("hunter2", ran.stderr)

    def test_ctrl_c_ends_a_watch(self):
        self.make()
        process = self.watch()
        self.read_until(process, "Pod llama-worker-0")
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(30), 0)


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
