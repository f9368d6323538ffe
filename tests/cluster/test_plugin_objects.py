#!/usr/bin/env python3
"""The commands `kubectl dynamo why`, `events`, `logs`, `restart` and `scale` against a real API server.
Run: python3 tests/cluster/test_plugin_objects.py

Neither a controller nor a webhook runs (plugin_cluster.py). Logs come from a kubelet that the test plays.
Needs `cmake --build build/release --target kubectl-dynamo dynamo-webhook`."""

import http.server
import json
import ssl
import subprocess
import sys
import tempfile
import threading
import unittest
import urllib.parse
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from plugin_cluster import GROUP, PLUGIN, ROOT, WEBHOOK, FailingGraph, graph  # noqa: E402

PODS = "/api/v1/namespaces/demo/pods"
GRAPH_LABEL, SERVICE_LABEL = "nvidia.com/dynamo-graph-deployment-name", "nvidia.com/dynamo-component"
COMPLETION = ROOT / "deploy/plugin/kubectl_complete-dynamo"


class Kubelet(http.server.ThreadingHTTPServer):
    """Answers every request with one line. With `follow`, a second line comes when `more` is set."""

    daemon_threads = True

    def __init__(self, folder):
        subprocess.run([WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", folder], check=True, capture_output=True)
        super().__init__(("127.0.0.1", 0), KubeletHandler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
        self.socket = context.wrap_socket(self.socket, server_side=True)
        self.requests, self.agents = [], []
        self.more = threading.Event()
        threading.Thread(target=self.serve_forever, daemon=True).start()


class KubeletHandler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        self.server.requests.append((url.path, query))
        self.server.agents.append(self.headers["User-Agent"])
        container = url.path.rsplit("/", 1)[1]
        self.send_response(200)
        self.send_header("Content-Type", "text/plain")
        self.end_headers()
        self.wfile.write(f"first of {container}\n".encode())
        if query.get("follow") == "true" and self.server.more.wait(30):
            self.wfile.write(f"second of {container}\n".encode())

    def log_message(self, *_):
        """Prints nothing."""


class Objects(FailingGraph):
    """One class, because each class starts a control plane."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.kubelet = Kubelet(Path(folder.name))
        cls.addClassCleanup(cls.kubelet.server_close)
        cls.addClassCleanup(cls.kubelet.shutdown)
        cls.plane.api("POST", "/api/v1/nodes", {"metadata": {"name": "played"}})
        port = {"kubeletEndpoint": {"Port": cls.kubelet.server_address[1]}}
        status = {"addresses": [{"type": "InternalIP", "address": "127.0.0.1"}], "daemonEndpoints": port}
        cls.plane.api("PATCH", "/api/v1/nodes/played/status", {"status": status}, "application/merge-patch+json")

    def run_demo(self, *args, **more):
        return self.run_command(*args, "-n", "demo", **more)

    def stored(self):
        return self.plane.api("GET", f"{GROUP}/dynamographdeployments/llama")

    def test_why(self):
        self.make()
        before = self.versions()
        ran = self.run_demo("why", "llama")
        self.assertEqual((ran.returncode, ran.stderr), (1, ""))
        lines = [" ".join(line.split()) for line in ran.stdout.splitlines()]
        self.assertEqual(lines[0], "DynamoGraphDeployment demo/llama is not ready")
        self.assertTrue(lines[1].startswith('cause ImagePullFailed: cannot pull image "nowhere/none:1"'), lines)
        self.assertTrue(lines[2].startswith("object Pod llama-worker-0, of service Worker"), lines)
        self.assertTrue(lines[3].startswith("to do Correct the image in the service."), lines)
        found = json.loads(self.run_demo("why", "dgd/llama", "-o", "json").stdout)
        self.assertEqual((found["ready"], found["reason"], found["service"]), (False, "ImagePullFailed", "Worker"))
        self.assertEqual(self.versions(), before)
        self.set_graph("llama", ready=True)
        ran = self.run_demo("why", "llama")
        self.assertEqual((ran.returncode, ran.stdout), (0, "DynamoGraphDeployment demo/llama is ready\n"))
        ran = self.run_demo("why", "missing")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn("DynamoGraphDeployment demo/missing not found", ran.stderr)

    def test_why_of_a_graph_that_its_operator_has_not_seen(self):
        self.apply(graph())
        ran = self.run_demo("why", "llama")
        self.assertEqual(ran.returncode, 1, ran.stderr)
        self.assertIn("its controller has not reported a status", ran.stdout)
        self.assertIn("See whether the operator runs", ran.stdout)

    def tell(self, kind, name, reason, time, type="Normal", **more):
        event = {
            "metadata": {"name": f"{name}.{reason}".lower(), "namespace": "demo"}, "type": type, "reason": reason,
            "involvedObject": {"kind": kind, "name": name, "namespace": "demo"}, "message": f"about {name}",
            "lastTimestamp": f"2026-01-01T{time}Z", **more,
        }
        self.plane.api("POST", "/api/v1/namespaces/demo/events", event)

    def test_events(self):
        # The API server writes Events about Services when it repairs their addresses. No other test has a graph of this name.
        deployment = self.make("eventful", without=("Service",))
        ran = self.run_demo("events", "eventful")
        self.assertEqual((ran.returncode, ran.stdout), (0, ""))
        self.assertIn("no Events of DynamoGraphDeployment demo/eventful", ran.stderr)
        self.addCleanup(self.plane.kubectl, "delete", "events", "--all", "-n", "demo")
        self.tell("Pod", "eventful-worker-0", "BackOff", "00:00:03", "Warning", count=7)
        self.tell("DynamoGraphDeployment", "eventful", "Reconciling", "00:00:01")
        self.tell("ReplicaSet", f"{deployment}-5c8f6b", "SuccessfulCreate", "00:00:02")
        self.tell("Pod", "other-0", "BackOff", "00:00:04", "Warning")
        self.tell("DynamoGraphDeployment", "eventful-2", "Reconciling", "00:00:05")
        ran = self.run_demo("events", "eventful")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        rows = [line.split(None, 4)[1:] for line in ran.stdout.splitlines()[1:]]
        self.assertEqual(rows, [
            ["Normal", "Reconciling", "DynamoGraphDeployment/eventful", "about eventful"],
            ["Normal", "SuccessfulCreate", f"ReplicaSet/{deployment}-5c8f6b", f"about {deployment}-5c8f6b"],
            ["Warning", "BackOff", "Pod/eventful-worker-0", "about eventful-worker-0 (7 times)"],
        ])
        ran = self.run_demo("events", "eventful", "--warnings")
        self.assertEqual([line.split()[2] for line in ran.stdout.splitlines()[1:]], ["BackOff"])
        self.assertEqual(self.run_demo("events", "missing").returncode, 2)

    def make_pods(self):
        pods = (("w-0", "Worker", ["main", "side"]), ("w-1", "Worker", ["main"]), ("f-0", "Frontend", ["main"]))
        for name, service, containers in pods:
            labels = {GRAPH_LABEL: "llama", SERVICE_LABEL: service}
            spec = {"nodeName": "played", "containers": [{"name": each, "image": "i:1"} for each in containers]}
            self.plane.api("POST", PODS, {"metadata": {"name": name, "labels": labels}, "spec": spec})
            running = [
                {
                    "name": each, "ready": True, "restartCount": 0, "image": "i:1", "imageID": "", "containerID": "x://1",
                    "state": {"running": {}},
                }
                for each in containers
            ]
            self.set_status(f"{PODS}/{name}", {"phase": "Running", "containerStatuses": running})

    def test_logs(self):
        self.apply(graph())
        ran = self.run_demo("logs", "llama", "Worker")
        self.assertEqual((ran.returncode, ran.stderr), (1, "no pods of demo/llama, service Worker\n"))
        self.make_pods()
        self.kubelet.requests.clear()
        ran = self.run_demo("logs", "llama")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(sorted(ran.stdout.splitlines()), [
            "[pod/f-0/main] first of main", "[pod/w-0/main] first of main",
            "[pod/w-0/side] first of side", "[pod/w-1/main] first of main",
        ])
        self.assertEqual({query["tailLines"] for _, query in self.kubelet.requests}, {"100"})
        ran = self.run_demo("logs", "llama", "Worker", "-c", "main", "--tail", "7")
        self.assertEqual(sorted(ran.stdout.splitlines()), ["[pod/w-0/main] first of main", "[pod/w-1/main] first of main"])
        self.assertEqual(self.kubelet.requests[-1][1]["tailLines"], "7")

    def debug(self, pod):
        """Adds the ephemeral container `debugger`."""
        more = {"spec": {"ephemeralContainers": [{"name": "debugger", "image": "i:1"}]}}
        self.plane.api("PATCH", f"{PODS}/{pod}/ephemeralcontainers", more, "application/strategic-merge-patch+json")
        state = {"name": "debugger", "ready": False, "restartCount": 0, "image": "i:1", "imageID": "", "containerID": "x://2", "state": {"running": {}}}
        self.plane.api("PATCH", f"{PODS}/{pod}/status", {"status": {"ephemeralContainerStatuses": [state]}}, "application/merge-patch+json")

    def test_logs_of_a_container_that_some_pods_do_not_have(self):
        self.apply(graph())
        self.make_pods()
        self.debug("w-0")
        for args, pods, skipped in (
            (["-c", "side"], ["w-0"], ["f-0", "w-1"]),
            (["Worker", "-c", "side"], ["w-0"], ["w-1"]),
            (["-c", "debugger"], ["w-0"], ["f-0", "w-1"]),
            (["-c", "main"], ["f-0", "w-0", "w-1"], []),
        ):
            with self.subTest(args):
                ran = self.run_demo("logs", "llama", *args)
                self.assertEqual(ran.returncode, 0, ran.stderr)
                container = args[-1]
                self.assertEqual(sorted(ran.stdout.splitlines()), [f"[pod/{pod}/{container}] first of {container}" for pod in pods])
                lines = [f"kubectl-dynamo: skipped pod {pod}, which has no container {container}" for pod in skipped]
                self.assertEqual(sorted(ran.stderr.splitlines()), lines)
        # One service whose pods all have the container, and one of whose pods only one has it.
        self.debug("f-0")
        ran = self.run_demo("logs", "llama", "-c", "debugger")
        self.assertEqual((ran.returncode, len(ran.stderr.splitlines())), (0, 1), ran.stderr)
        self.assertEqual(ran.stdout.splitlines(), ["[pod/w-0/debugger] first of debugger", "[pod/f-0/debugger] first of debugger"])
        self.kubelet.more.set()
        ran = self.run_demo("logs", "llama", "-c", "debugger", "-f")
        self.assertEqual((ran.returncode, ran.stdout.count("first of"), ran.stdout.count("second of")), (0, 2, 2))
        ran = self.run_demo("logs", "llama", "-c", "none")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertEqual(ran.stderr, "kubectl-dynamo: no pod has a container none; they have debugger, main, side\n")

    def test_the_processes_that_follow_logs_end_with_their_parent(self):
        self.apply(graph())
        self.make_pods()
        self.debug("f-0")
        self.debug("w-0")
        self.kubelet.more.clear()
        self.addCleanup(self.kubelet.more.set)
        command = [PLUGIN, "logs", "llama", "-n", "demo", "-c", "debugger", "-f"]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
        with subprocess.Popen(command, env=self.plane.environment(), **pipes) as process:
            self.addCleanup(process.kill)
            for _ in range(2):
                process.stdout.readline()
            process.terminate()
            rest, _ = process.communicate(timeout=20)  # until no process has the pipe
            self.assertEqual(rest, "")

    def test_following_logs(self):
        self.apply(graph())
        self.make_pods()
        self.kubelet.more.clear()
        self.debug("w-1")
        command = [PLUGIN, "logs", "llama", "Worker", "-n", "demo", "-f"]
        with subprocess.Popen(command, env=self.plane.environment(), stdout=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            first = sorted(process.stdout.readline() for _ in range(4))
            self.assertEqual([line.split()[0] for line in first],
                             ["[pod/w-0/main]", "[pod/w-0/side]", "[pod/w-1/debugger]", "[pod/w-1/main]"])
            self.kubelet.more.set()
            rest, _ = process.communicate(timeout=30)
            self.assertEqual(rest.count("second of"), 4)
        self.assertEqual(process.returncode, 0)

    def test_restart_of_all_services_keeps_the_strategy(self):
        manifest = graph()
        manifest["spec"]["restart"] = {"id": "1", "strategy": {"type": "Parallel"}}
        self.apply(manifest)
        before = self.stored()
        ran = self.run_demo("restart", "llama")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("all services of demo/llama", ran.stdout)
        after = self.stored()
        self.assertRegex(after["spec"]["restart"]["id"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(after["spec"]["restart"]["strategy"], {"type": "Parallel"})
        self.assertEqual(after["spec"]["services"], before["spec"]["services"])
        self.assertIn("kubectl-dynamo", {entry["manager"] for entry in after["metadata"]["managedFields"]})

    def test_restart_of_one_service_changes_only_its_pods(self):
        self.apply(graph())
        before = {each["metadata"]["name"]: each for each in self.render(json.dumps(self.stored())) if each["kind"] == "Deployment"}
        self.assertEqual(self.run_demo("restart", "llama", "Frontend").returncode, 0)
        after = {each["metadata"]["name"]: each for each in self.render(json.dumps(self.stored())) if each["kind"] == "Deployment"}
        self.assertNotIn("restart", self.stored()["spec"])
        self.assertEqual([name for name, each in after.items() if each != before.get(name)], ["llama-frontend"])
        annotations = after["llama-frontend"]["spec"]["template"]["metadata"]["annotations"]
        self.assertIn("kubectl.kubernetes.io/restartedAt", annotations)
        ran = self.run_demo("restart", "llama", "Worker")
        self.assertIn("service Worker of demo/llama will restart (without Grove, the workers of all services do)", ran.stdout)

    def test_scale(self):
        manifest = graph()
        manifest["spec"]["services"]["Worker"]["scalingAdapter"] = {"enabled": True}
        children = self.apply(manifest)
        self.addCleanup(self.plane.kubectl, "delete", "dgdsa", "--all", "-n", "demo")
        adapter = next(each["metadata"]["name"] for each in children if each["kind"] == "DynamoGraphDeploymentScalingAdapter")
        ran = self.run_demo("scale", "llama", "Worker", "4")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        found = self.plane.api("GET", f"{GROUP}/dynamographdeploymentscalingadapters/{adapter}")
        self.assertEqual(found["spec"]["replicas"], 4)
        self.assertEqual(self.stored()["spec"]["services"]["Worker"]["replicas"], 1, "the operator copies it")
        ran = self.run_demo("scale", "llama", "Frontend", "3")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(ran.stdout, "service Frontend of demo/llama shall have 3 replicas\n")
        services = self.stored()["spec"]["services"]
        self.assertEqual((services["Worker"]["replicas"], services["Frontend"]["replicas"]), (1, 3))

    def test_scale_with_an_adapter_of_another_service_or_none(self):
        manifest = graph()
        adapted, deprecated = {"scalingAdapter": {"enabled": True}}, {"autoscaling": {"enabled": True, "maxReplicas": 9}}
        manifest["spec"]["services"]["Worker"].update(adapted)
        manifest["spec"]["services"]["Frontend"].update(deprecated)
        self.apply(manifest, without=("DynamoGraphDeploymentScalingAdapter",))
        adapters = f"{GROUP}/dynamographdeploymentscalingadapters"
        self.addCleanup(self.plane.kubectl, "delete", "dgdsa", "--all", "-n", "demo")

        def replicas(name):
            return self.plane.api("GET", f"{adapters}/{name}")["spec"]["replicas"]

        refused = "service Worker of demo/llama is scaled by its scaling adapter llama-worker, which "
        ran = self.run_demo("scale", "llama", "Worker", "4")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn(refused + "does not exist: see whether the operator runs", ran.stderr)
        ran = self.run_demo("scale", "llama", "Frontend", "2")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), "without an adapter, the graph has the replicas")
        for name in ("llama-worker", "llama-frontend"):
            target = {"name": "llama-w", "serviceName": "orker"}
            self.plane.api("POST", adapters, {
                "apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentScalingAdapter",
                "metadata": {"name": name}, "spec": {"replicas": 1, "dgdRef": target},
            })
        ran = self.run_demo("scale", "llama", "Worker", "4")
        self.assertEqual((ran.returncode, ran.stdout), (2, ""))
        self.assertIn(refused + "scales service orker of graph llama-w: ", ran.stderr)
        ran = self.run_demo("scale", "llama", "Frontend", "3")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual((replicas("llama-worker"), replicas("llama-frontend")), (1, 1))
        services = self.stored()["spec"]["services"]
        self.assertEqual((services["Worker"]["replicas"], services["Frontend"]["replicas"]), (1, 3))
        mine = {"spec": {"dgdRef": {"name": "llama", "serviceName": "Frontend"}}}
        self.plane.api("PATCH", f"{adapters}/llama-frontend", mine, "application/merge-patch+json")
        self.assertEqual(self.run_demo("scale", "llama", "Frontend", "5").returncode, 0)
        self.assertEqual(replicas("llama-frontend"), 5)

    def test_what_is_refused(self):
        self.apply(graph())
        before = self.versions()
        for args, text in (
            (["restart", "missing"], "not found"),
            (["restart", "llama", "Nobody"], "llama has no service Nobody; it has Frontend, Worker"),
            (["scale", "llama", "Nobody", "1"], "has no service Nobody"),
            (["logs", "llama", "Nobody"], "has no service Nobody"),
            (["logs", "missing"], "not found"),
            (["scale", "llama", "Worker", "-1"], "-1"),
            (["scale", "llama", "Worker", "many"], "replicas"),
            (["scale", "llama", "Worker"], "replicas is required"),
        ):
            with self.subTest(args):
                ran = self.run_demo(*args)
                self.assertEqual((ran.returncode, ran.stdout), (2, ""))
                self.assertIn(text, ran.stderr)
        ran = self.run_demo("scale", "llama", "Worker", "2", kubeconfig=self.plane.user_kubeconfig("limited"))
        self.assertEqual(ran.returncode, 2)
        self.assertIn("forbidden", ran.stderr)
        self.assertEqual(self.versions(), before)

    def test_all_requests_name_the_program_and_its_version(self):
        version = self.run_command("--version").stdout.split()[1]
        cluster = {"server": f"https://127.0.0.1:{self.kubelet.server_address[1]}", "insecure-skip-tls-verify": True}
        config = {
            "clusters": [{"name": "c", "cluster": cluster}], "users": [{"name": "u", "user": {"token": "t"}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}], "current-context": "x",
        }
        file = self.facts_file.parent / "recorder.kubeconfig"
        file.write_text(json.dumps(config))
        for args in (["status", "llama"], ["status"], ["why", "llama"], ["events", "llama"], ["logs", "llama"],
                     ["restart", "llama"], ["scale", "llama", "Worker", "1"], ["diff", "-f", "-"]):
            with self.subTest(args):
                self.kubelet.agents.clear()
                ran = self.run_demo(*args, input=json.dumps(graph()), kubeconfig=file)
                self.assertEqual(ran.returncode, 2, ran.stdout)
                self.assertEqual(set(self.kubelet.agents), {f"kubectl-dynamo/{version}"}, ran.stderr)

    def complete(self, *words):
        """What kubectl shows for the last of the words after `kubectl dynamo`."""
        ran = subprocess.run([COMPLETION, *words], env=self.plane.environment(), capture_output=True, text=True, timeout=60)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        *shown, directive = ran.stdout.splitlines()
        return [line.split("\t")[0] for line in shown], directive

    def test_completion(self):
        self.apply(graph())
        commands, directive = self.complete("")
        self.assertEqual(directive, ":4")
        listed = {line.split()[0] for line in self.run_command("--help").stdout.split("ubcommands:")[1].splitlines()
                  if line.startswith("  ") and line[2] != " "}
        self.assertEqual(set(commands), listed)
        self.assertEqual(self.complete("st"), (["status"], ":4"))
        self.assertEqual(self.complete("why", "-n", "demo", ""), (["llama"], ":4"))
        self.assertEqual(self.complete("why", "-n", "demo", "x"), ([], ":4"))
        self.assertEqual(self.complete("why", "-n", "demo", "dgd/"), (["dgd/llama"], ":4"))
        self.assertEqual(self.complete("scale", "llama", "--namespace=demo", ""), (["Frontend", "Worker"], ":4"))
        self.assertEqual(self.complete("restart", "llama", "--namespace", "demo", "W"), (["Worker"], ":4"))
        self.assertEqual(self.complete("scale", "llama", "Worker", "-n", "demo", ""), ([], ":4"))
        self.assertEqual(self.complete("diff", "-f", ""), ([], ":0"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
