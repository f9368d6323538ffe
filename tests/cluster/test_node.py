#!/usr/bin/env python3
"""A real node: pods run, and reach each other, Services and the API server, and nothing else. Run: tests/cluster/run test_node"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ControlPlane  # noqa: E402
from node import images, requirements  # noqa: E402
from node.machine import NodeError  # noqa: E402

IMAGE = "localhost/python:1"
API_SERVER = "https://10.96.0.1/version"
SERVER = """
import http.server, os
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(os.uname().nodename.encode())
    def log_message(self, *_): print("request", flush=True)
http.server.ThreadingHTTPServer(("", 8080), Handler).serve_forever()
"""
# Prints the body of a page, or why there is none. In a pod it trusts and identifies itself as a client of the API server does.
CLIENT = """
import os, ssl, sys, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount"
request, context = urllib.request.Request(sys.argv[1]), None
if sys.argv[1].startswith("https:"):
    context = ssl.create_default_context(cafile=account + "/ca.crt")
    request.add_header("Authorization", "Bearer " + open(account + "/token").read())
try:
    print(urllib.request.urlopen(request, timeout=3, context=context).read().decode())
except OSError as error:
    print("unreachable:", error)
"""
shared = None


def setUpModule():
    global shared
    requirements.require_node()
    shared = ControlPlane(node=True)
    unittest.addModuleCleanup(shared.stop)
    shared.start()
    print(f"up in {shared.up_seconds:.2f} s", file=sys.stderr)
    shared.node.load(images.python_image(IMAGE))
    start_pods(shared, "server", "client")


def pod(name):
    probe = {"httpGet": {"path": "/", "port": 8080}, "periodSeconds": 1}
    container = {"name": "main", "image": IMAGE, "args": ["-c", SERVER], "readinessProbe": probe}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0, "hostname": name, "subdomain": f"{name}-pods"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


def service(name):
    spec = {"selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def headless(name):
    """A headless Service of a pod with that name, which has the host name too."""
    spec = {"selector": {"app": name}, "clusterIP": "None"}
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": f"{name}-pods"}, "spec": spec}


def start_pods(cluster, *names):
    """Starts a pod and two Services of each name, and waits until the pods are ready."""
    objects = [make(name) for name in names for make in (pod, service, headless)]
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    cluster.wait(lambda: all(is_ready(found(cluster, "pods", name)) for name in names), 90, f"pods {names} are ready")


def is_ready(found_pod):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in found_pod["status"].get("conditions", ()))


def found(cluster, kind, name):
    return cluster.api("GET", f"/api/v1/namespaces/default/{kind}/{name}")


def from_pod(cluster, name, url):
    return cluster.kubectl("exec", name, "--", "/usr/bin/python3", "-c", CLIENT, url).stdout.strip()


def from_node(cluster, url):
    return cluster.node.run(["/usr/bin/python3", "-c", CLIENT, url]).stdout.strip()


def addresses_of_this_machine():
    listed = json.loads(subprocess.run(["ip", "-j", "-4", "address"], capture_output=True, text=True, check=True).stdout)
    return [one["local"] for link in listed for one in link["addr_info"] if one["scope"] == "global"]


class Network(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.pod_url = f"http://{found(shared, 'pods', 'server')['status']['podIP']}:8080"
        cls.service_address = found(shared, "services", "server")["spec"]["clusterIP"]
        cls.service_url = f"http://{cls.service_address}"

    def test_what_is_reached(self):
        client, itself = (lambda url: from_pod(shared, "client", url)), (lambda url: from_pod(shared, "server", url))
        node = lambda url: from_node(shared, url)  # noqa: E731
        for title, reach, url, expected in (
            ("a pod reaches another pod", client, self.pod_url, "server"),
            ("a pod reaches a Service", client, self.service_url, "server"),
            ("a pod knows the name of a Service", client, "http://server", "server"),
            ("and its full name", client, "http://server.default.svc.cluster.local", "server"),
            ("a pod knows the name of a headless Service", client, "http://server-pods:8080", "server"),
            ("and those of its pods", client, "http://server.server-pods.default.svc.cluster.local:8080", "server"),
            ("a pod reaches itself through its Service", itself, self.service_url, "server"),
            ("a pod reaches the API server with its account", client, API_SERVER, "v1.34.3"),
            ("a program in the node's network reaches a pod", node, self.pod_url, "server"),
            ("a program in the node's network reaches a Service", node, self.service_url, "server"),
        ):
            with self.subTest(title):  # kube-proxy needs a moment after a pod has become ready
                shared.wait(lambda reach=reach, url=url, expected=expected: expected in reach(url), 15, title)

    def test_what_is_not_reached(self):
        with socket.create_server(("", 0)) as outside:
            port = outside.getsockname()[1]
            urls = [f"http://{address}:{port}" for address in ("127.0.0.1", "192.0.2.1", *addresses_of_this_machine())]
            urls += ["http://absent", "http://absent.server-pods", "http://example.com"]
            for url in urls:
                with self.subTest(url):
                    self.assertIn("unreachable", from_pod(shared, "client", url))
                    self.assertIn("unreachable", from_node(shared, url))

    def test_ways_in_from_outside(self):
        connection = shared.node.connect(self.service_address, 80)
        with connection, connection.makefile("rb") as answer:
            connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertTrue(answer.read().endswith(b"server"))
        port = shared.node.forward(self.service_address, 80)
        for _ in range(3):
            with urllib.request.urlopen(f"http://127.0.0.1:{port}", timeout=10) as answer:
                self.assertEqual(answer.read(), b"server")
        with self.assertRaisesRegex(ConnectionError, "refused"):
            shared.node.connect("127.0.0.1", 1)
        with self.assertRaisesRegex(NodeError, "status 3"):
            shared.node.run(["sh", "-c", "exit 3"])
        self.assertIn("request", shared.kubectl("logs", "server").stdout)


class Restarts(unittest.TestCase):
    def test_pods_outlive_a_restart_of_the_components_of_the_node(self):
        before = found(shared, "pods", "server")["status"]["containerStatuses"][0]["containerID"]
        for component in shared.node.components:
            shared.restart(component)
        start_pods(shared, "after-restart")
        after = found(shared, "pods", "server")["status"]["containerStatuses"][0]
        self.assertEqual((after["containerID"], after["restartCount"]), (before, 0))

    def test_pods_outlive_a_restart_of_the_api_server(self):
        url = shared.api_url
        shared.kill_apiserver()
        with self.assertRaises(OSError):
            shared.api("GET", "/version")
        shared.restart_apiserver()
        self.assertEqual(shared.api_url, url)
        self.assertIn("v1.34.3", from_pod(shared, "client", API_SERVER))


class Images(unittest.TestCase):
    def test_equal_contents_give_equal_archives(self):
        digests = []
        for when in (0, 1_000_000_000):
            with tempfile.TemporaryDirectory() as cache, tempfile.TemporaryDirectory() as root:
                (Path(root) / "folder").mkdir()
                (Path(root) / "folder/file").write_text("content", encoding="utf-8")
                (Path(root) / "link").symlink_to("folder/file")
                os.utime(Path(root) / "folder/file", (when, when))
                with unittest.mock.patch.dict(os.environ, DYNAMO_CACHE=cache):
                    archive = images.image_of_root("localhost/equal:1", root, ["/x"])
                    digests.append((archive.name, archive.read_bytes()))
                    (Path(root) / "folder/file").write_text("another", encoding="utf-8")
                    self.assertNotEqual(images.image_of_root("localhost/equal:1", root, ["/x"]), archive)
        self.assertEqual(*digests)

    def test_user_environment_and_entrypoint_of_an_image_are_those_of_its_pods(self):
        image, say = "localhost/say:1", "import os; print(os.getuid(), os.environ['GREETING'])"
        arguments = {"env": {"GREETING": "hello"}, "user": "1234"}
        python = os.path.realpath("/usr/bin/python3")
        library = f"/usr/lib/{Path(python).name}"
        archive = images.image_of_programs(image, {python: python}, [python, "-c", say], folders={library: library}, **arguments)
        shared.node.load(archive)
        shared.kubectl("run", "say", f"--image={image}", "--restart=Never")
        shared.kubectl("wait", "--for=jsonpath={.status.phase}=Succeeded", "pod/say", "--timeout=60s")
        self.assertEqual(shared.kubectl("logs", "say").stdout, "1234 hello\n")

    def test_no_registry_is_asked(self):
        shared.kubectl("run", "absent", "--image=registry.example.com/absent:1", "--restart=Never")
        reason = "jsonpath={.status.containerStatuses[0].state.waiting.reason}=ErrImagePull"
        shared.kubectl("wait", f"--for={reason}", "pod/absent", "--timeout=60s")


class Requirements(unittest.TestCase):
    def test_the_reason_against_a_node(self):
        for title, name, value, expected in (
            ("another user", "os.geteuid", lambda: 1000, "needs root"),
            ("a program is missing", "node.requirements.PROGRAMS", ("no-such-program",), "missing: no-such-program"),
            ("a plugin is missing", "node.requirements.CNI_PLUGINS", ("none",), "the CNI plugin none"),
            ("no control groups", "node.requirements.hierarchies", list, "control groups"),
            ("too little room", "node.requirements.ROOM_BYTES", 1 << 60, r"needs \d+ GiB in /"),
            ("too little memory", "node.requirements.MEMORY_BYTES", 1 << 60, "GiB of memory"),
        ):
            with self.subTest(title), unittest.mock.patch(name, value):
                self.assertRegex(requirements.reason_against_node(), expected)
                with unittest.mock.patch.dict(os.environ, CI=""), self.assertRaisesRegex(unittest.SkipTest, expected):
                    requirements.require_node()
                with unittest.mock.patch.dict(os.environ, CI="true"), self.assertRaisesRegex(AssertionError, expected):
                    requirements.require_node()

    def test_a_system_without_namespaces(self):
        without = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin", HERE / "node/requirements.py"]
        run = subprocess.run(without, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("needs namespaces, mounts and control groups: ", run.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
