"""Graphs of the real runtime on a real node: the servers that they need, when they have settled, and clients that chat with them."""

import http.client
import json
import signal
import subprocess
import time
from pathlib import Path

from places import ETCD, ETCD_IMAGE, GRAPHS, NAMESPACE, NATS, PODS

HERE = Path(__file__).resolve().parent
INFRASTRUCTURE = "infrastructure"


def http_get(node, host, port, path, timeout=10):
    return http_request(node, host, port, "GET", path, timeout=timeout)


def http_request(node, host, port, method, path, body=None, timeout=10):
    """Status and text of an answer; status 0 and the error if there is none. `body` is sent as JSON."""
    connection = http.client.HTTPConnection(host, port, timeout=timeout)
    try:
        connection.sock = node.connect(host, port, timeout)
        text, headers = (None, {}) if body is None else (json.dumps(body), {"Content-Type": "application/json"})
        connection.request(method, path, text, headers)
        response = connection.getresponse()
        return response.status, response.read().decode()
    except (OSError, http.client.HTTPException) as error:
        return 0, str(error)
    finally:
        connection.close()


def server_pod(name, image_name, command, address, port):
    """A pod with a server, and its Service at a fixed address."""
    labels = {"app": name}
    container = {"name": "main", "image": image_name, "command": command}
    container["readinessProbe"] = {"tcpSocket": {"port": port}, "periodSeconds": 1}
    ports = [{"port": port}]
    service = {"selector": labels, "clusterIP": address, "ports": ports}
    return [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels}, "spec": {"containers": [container]}},
        {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": service},
    ]


class RuntimeGraphs:
    """The graphs of `cluster` in the namespace of places.py, which the caller makes."""

    def __init__(self, cluster):
        self.cluster = cluster

    def add_servers(self, runtime, etcd=False):
        """Adds NATS, which is in the image `runtime`, and etcd."""
        if not self.cluster.exists(f"/api/v1/namespaces/{INFRASTRUCTURE}"):
            self.cluster.create_namespace(INFRASTRUCTURE)
        objects = server_pod("nats", runtime, ["/usr/sbin/nats-server", "-js", "-sd", "/tmp/nats"], NATS, 4222)
        if etcd:
            flags = ["--data-dir=/tmp/etcd", "--listen-client-urls=http://0.0.0.0:2379"]
            flags.append(f"--advertise-client-urls=http://{ETCD}:2379")
            objects += server_pod("etcd", ETCD_IMAGE, ["/bin/etcd", *flags], ETCD, 2379)
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        self.cluster.kubectl("apply", "-n", INFRASTRUCTURE, "-f", "-", input=text)
        names = ["pod/nats", *(["pod/etcd"] if etcd else [])]
        self.cluster.kubectl("wait", "-n", INFRASTRUCTURE, "--for=condition=Ready", *names, "--timeout=60s")

    def wait_for_facts(self, namespace="dynamo-system", name="dynamo-operator-facts"):
        """Waits until the webhook knows what the controller found out about the API server: then pods get a preStop (decisions
        pod-Q42, cert-Q17)."""
        path = f"/api/v1/namespaces/{namespace}/configmaps/{name}"
        self.cluster.wait(lambda: self.cluster.exists(path), 60, "the controller writes its facts")
        if "sleepAction: true" in self.cluster.api("GET", path).get("data", {}).get("facts.yaml", ""):
            self.cluster.wait(self._webhook_knows_the_facts, 10, "the webhook knows the facts of the cluster")

    def _webhook_knows_the_facts(self):
        service = {"componentType": "worker", "extraPodSpec": {"mainContainer": {"image": "none.invalid/none:1"}}}
        graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "asked"}}
        made = self.cluster.api("POST", f"{GRAPHS}?dryRun=All", {**graph, "spec": {"services": {"Worker": service}}})
        return "lifecycle" in made["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]

    def get(self, name):
        return self.cluster.api("GET", f"{GRAPHS}/{name}")

    def patch(self, name, spec):
        return self.cluster.api("PATCH", f"{GRAPHS}/{name}", {"spec": spec}, "application/merge-patch+json")

    def pods(self, name, service=None):
        selector = f"nvidia.com/dynamo-graph-deployment-name={name}"
        if service:
            selector += f",nvidia.com/dynamo-component={service}"
        return self.cluster.api("GET", f"{PODS}?labelSelector={selector}")["items"]

    def address(self, name):
        """The address of the Service of the frontend."""
        path = f"/api/v1/namespaces/{NAMESPACE}/services/{name}-frontend"
        return self.cluster.api("GET", path)["spec"]["clusterIP"]

    def models(self, name):
        """The ids that /v1/models lists, asked through the Service; None if it does not answer."""
        status, text = http_get(self.cluster.node, self.address(name), 8000, "/v1/models")
        return [one["id"] for one in json.loads(text)["data"]] if status == 200 else None

    def settled(self, name, replicas):
        """Whether the graph is ready, with `replicas` (service -> number) ready pods and no others."""
        found = self.get(name)
        status = found.get("status", {})
        if status.get("state") != "successful" or status.get("observedGeneration") != found["metadata"]["generation"]:
            return False
        if (status.get("rollingUpdate") or {}).get("phase") not in (None, "", "None", "Completed"):
            return False
        wanted, restart = found["spec"].get("restart"), status.get("restart") or {}
        if wanted and (restart.get("observedID"), restart.get("phase")) != (wanted["id"], "Completed"):
            return False
        pods = self.pods(name)
        counts = {}
        for pod in pods:
            if "deletionTimestamp" in pod["metadata"]:
                return False
            if not any(c["type"] == "Ready" and c["status"] == "True" for c in pod["status"].get("conditions", [])):
                return False
            service = pod["metadata"]["labels"]["nvidia.com/dynamo-component"]
            counts[service] = counts.get(service, 0) + 1
        return counts == replicas

    def wait_until_settled(self, name, replicas, seconds, rest=2.0):
        """Waits until settled() has been true for `rest` seconds. Returns the seconds until it became true."""
        begin = time.monotonic()
        since = None
        while True:
            if not self.settled(name, replicas):
                since = None
            elif since is None:
                since = time.monotonic()
            elif time.monotonic() - since >= rest:
                return since - begin
            if time.monotonic() - begin > seconds:
                pods = [(pod["metadata"]["name"], pod["status"].get("phase")) for pod in self.pods(name)]
                raise TimeoutError(f"{name} has not settled in {seconds} s: {self.get(name).get('status')}, pods {pods}")
            time.sleep(0.2)


class Load:
    """The clients of chat.py in the network of the node. `records`: what became of the requests so far."""

    def __init__(self, node, address, model, out, *options):
        self._out = out
        argv = ["python3", "-B", HERE / "chat.py", "--url", f"http://{address}:8000", "--model", model, "--out", out, *options]
        self._errors = open(f"{out}.errors", "wb")
        quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
        self._process = subprocess.Popen(node.command(argv), stderr=self._errors, **quiet)

    @property
    def records(self):
        if not self._out.exists():
            return []
        lines = self._out.read_text(encoding="utf-8").splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def stop(self, seconds=60):
        """Ends the clients when their last requests have ended."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)
        try:
            status = self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self._process.kill()
            status = self._process.wait()
        self._errors.close()
        if status != 0:
            raise RuntimeError(f"chat.py: status {status}: {Path(self._errors.name).read_text(encoding='utf-8')[-2000:]}")
