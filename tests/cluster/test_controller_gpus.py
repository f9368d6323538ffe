#!/usr/bin/env python3
"""GPU discovery: which pods are asked, and what requests are told. Run: python3 tests/cluster/test_controller_gpus.py

DaemonSets make the pods of DCGM exporters. Their addresses are loopback addresses of this machine, where small HTTP servers
answer. Each test starts a controller, because what was found is used for a minute.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import contextlib
import http.server
import itertools
import json
import sys
import threading
import time
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "deploy/lib")]
import install  # noqa: E402
from operator_plane import OperatorPlane, condition_of  # noqa: E402

REQUEST = "DynamoGraphDeploymentRequest"
EXPORTERS, TENANT, NAMESPACE, TEAM = "gpu-operator", "tenant", "requests", "team-a"
ACCOUNT = "dynamo-operator-controller-manager"
NODES_ROLE = "dynamo-operator-team-a-gpu-discovery"
PORT = 9400
FAILED = "GPU hardware info required but auto-discovery failed. Add spec.hardware.gpuSku, spec.hardware.vramMb, "
LABELS = {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "4", "nvidia.com/gpu.memory": "81920"}
NO_LABELS = "no node has the labels nvidia.com/gpu.product, nvidia.com/gpu.count and nvidia.com/gpu.memory"
addresses = (f"127.94.{high}.{low}" for high, low in itertools.product(range(1, 250), range(1, 250)))

plane = None


def setUpModule():
    global plane
    plane = OperatorPlane(nodes=2, gpus=8, kwok_config=HERE / "pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)
    for name in (EXPORTERS, TENANT, NAMESPACE, TEAM):
        plane.cluster.create_namespace(name)


def metrics(model="NVIDIA H100 80GB HBM3", gpus=8, memory=80000):
    """The metrics of an exporter."""
    labels = [f'gpu="{i}",modelName="{model}",Hostname="any"' for i in range(gpus)]
    gauges = {"GPU_TEMP": 35, "FB_FREE": memory - 1000, "FB_USED": 1000}
    return "".join(f"DCGM_FI_DEV_{name}{{{label}}} {value}\n" for name, value in gauges.items() for label in labels)


class Exporter:
    """An HTTP server on an address of its own. Attributes: address; paths, those that were asked for."""

    def __init__(self, test, body, status=200, location=None, delay=0.0):
        self.paths = []
        exporter = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                exporter.paths.append(self.path)
                time.sleep(delay)
                self.send_response(status)
                if location:
                    self.send_header("Location", location)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with contextlib.suppress(ConnectionError):  # the controller does not wait for all of it
                    self.wfile.write(body.encode())

            def log_message(self, *arguments):
                pass

        for self.address in addresses:
            try:
                server = http.server.ThreadingHTTPServer((self.address, PORT), Handler)
                break
            except OSError:  # another test uses it
                continue
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        test.addCleanup(server.server_close)
        test.addCleanup(server.shutdown)


def pods_of(namespace, name):
    pods = plane.cluster.api("GET", f"/api/v1/namespaces/{namespace}/pods?labelSelector=set%3D{name}")["items"]
    return sorted((pod for pod in pods if pod["status"].get("podIP")), key=lambda pod: pod["metadata"]["name"])


def set_address(pod, address):
    status = {"status": {"podIP": address, "podIPs": [{"ip": address}]}}
    plane.patch("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"], status, "status")


class GpuDiscovery(unittest.TestCase):
    maxDiff = None

    def daemon_set(self, name, addresses, namespace=EXPORTERS, label="app=nvidia-dcgm-exporter"):
        """A DaemonSet with a pod on each node. Returns the names of their nodes."""
        labels = {"set": name, **dict([label.split("=")])}
        spec = {
            "selector": {"matchLabels": {"set": name}},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "exporter", "image": "exporter:1"}]}},
        }
        path = f"/apis/apps/v1/namespaces/{namespace}/daemonsets"
        plane.cluster.api("POST", path, {"metadata": {"name": name}, "spec": spec})
        self.addCleanup(plane.cluster.wait, lambda: not pods_of(namespace, name), 60, "its pods are gone")
        self.addCleanup(plane.cluster.api, "DELETE", f"{path}/{name}")
        plane.cluster.wait(lambda: len(pods_of(namespace, name)) == 2, 60, "its pods run")
        pods = pods_of(namespace, name)
        for pod, address in zip(pods, addresses):
            set_address(pod, address)
        return [pod["spec"]["nodeName"] for pod in pods]

    def label_nodes(self, labels):
        for node in plane.cluster.api("GET", "/api/v1/nodes")["items"]:
            path = f"/api/v1/nodes/{node['metadata']['name']}"
            plane.cluster.api("PATCH", path, {"metadata": {"labels": labels}}, "application/merge-patch+json")

    def start(self, config="", account=None):
        """A controller with `config` behind its configuration; one with an account of its own has no other configuration."""
        name = self.id().rpartition(".")[2]
        if account is None:
            controller = plane.controller(name=name)
            controller.config += config
        else:
            controller = install.Controller(plane.cluster, config, name=name, account=account)
        self.addCleanup(controller.stop)
        controller.start()
        controller.wait_until_ready()
        return controller

    def apply(self, name, hardware=None, namespace=NAMESPACE):
        """A request without hardware, or with some of it. Returns the request when it is Profiling or Failed."""
        spec = {"model": "m", "backend": "vllm", "image": "runtime:1", **({"hardware": hardware} if hardware else {})}
        metadata = {"name": name, "namespace": namespace}
        plane.apply({"apiVersion": "nvidia.com/v1beta1", "kind": REQUEST, "metadata": metadata, "spec": spec})
        self.addCleanup(plane.delete, REQUEST, namespace, name)
        plane.cluster.wait(lambda: self.phase(name, namespace) in ("Profiling", "Failed"), 60, f"{name} is Profiling or Failed")
        return plane.get(REQUEST, namespace, name)

    def phase(self, name, namespace=NAMESPACE):
        return plane.get(REQUEST, namespace, name).get("status", {}).get("phase")

    def hardware(self, name, namespace=NAMESPACE):
        """What the profiler of a request is told."""
        job = plane.get("Job", namespace, f"profile-{name}")
        return json.loads(job["spec"]["template"]["spec"]["containers"][0]["args"][1])["hardware"]

    def message(self, request, kind="Profiling"):
        return condition_of(request, kind).get("message", "")

    def test_exporters_tell_the_hardware(self):
        """Two nodes; one of them has the exporters of two DaemonSets, and counts once."""
        first, second = Exporter(self, metrics()), Exporter(self, metrics())
        nodes = self.daemon_set("one", [first.address, second.address])
        again = Exporter(self, metrics())
        self.daemon_set("two", [again.address], label="app.kubernetes.io/name=dcgm-exporter")
        self.start()
        request = self.apply("discovered")
        found = {"gpuSku": "h100_sxm", "vramMb": 80000, "totalGpus": 16, "numGpusPerNode": 8}
        self.assertEqual(self.hardware("discovered"), found)
        said = f"Hardware found: node {nodes[0]} has 8 GPUs NVIDIA H100 80GB HBM3 (h100_sxm) of 80000 MiB, 16 such GPUs in total on 2 nodes"
        self.assertIn(f"{said}; found by DCGM exporters", self.message(request))
        self.assertNotIn("hardware", request["spec"])
        # What was found is used again; the user's values stay.
        self.apply("sku-only", {"gpuSku": "h200_sxm"})
        self.assertEqual(self.hardware("sku-only"), {"gpuSku": "h200_sxm", "numGpusPerNode": 8})
        self.assertIn("no node has GPUs of spec.hardware.gpuSku h200_sxm", self.message(plane.get(REQUEST, NAMESPACE, "sku-only")))
        self.apply("number-only", {"numGpusPerNode": 4, "totalGpus": 64})
        self.assertEqual(self.hardware("number-only"), {**found, "numGpusPerNode": 4, "totalGpus": 64})
        self.apply("whole", {"gpuSku": "l40s", "numGpusPerNode": 1})
        self.assertEqual(self.hardware("whole"), {"gpuSku": "l40s", "numGpusPerNode": 1})
        for exporter in (first, second, again):
            self.assertEqual(exporter.paths, ["/metrics"])

    def test_other_pods_decide_nothing(self):
        """Pods with the label in another namespace, and one that is of no DaemonSet, are not asked."""
        tenants = Exporter(self, metrics("NVIDIA GB200", 64))
        self.daemon_set("tenants", [tenants.address] * 2, namespace=TENANT)
        metadata = {"name": "alone", "labels": {"app": "nvidia-dcgm-exporter", "set": "alone"}}
        path = f"/api/v1/namespaces/{EXPORTERS}/pods"
        plane.cluster.api("POST", path, {"metadata": metadata, "spec": {"containers": [{"name": "c", "image": "c:1"}]}})
        self.addCleanup(plane.cluster.api, "DELETE", f"{path}/alone")
        plane.cluster.wait(lambda: pods_of(EXPORTERS, "alone"), 60, "the pod runs")
        set_address(pods_of(EXPORTERS, "alone")[0], tenants.address)
        self.start()
        request = self.apply("nothing")
        self.assertEqual(self.phase("nothing"), "Failed")
        places = "no DCGM exporter runs in namespaces gpu-operator, dynamo-system"
        expected = f"{FAILED}spec.hardware.numGpusPerNode: {places}; {NO_LABELS}"
        self.assertEqual(self.message(request, "Validation"), expected)
        self.assertEqual(condition_of(request, "Validation")["reason"], "ValidationFailed")
        self.assertEqual(self.message(request, "Succeeded"), expected)
        self.assertEqual(tenants.paths, [])

    def test_the_configuration_names_the_namespaces(self):
        exporter = Exporter(self, metrics("NVIDIA L40S", 2, 46068))
        self.daemon_set("trusted", [exporter.address] * 2, namespace=TENANT, label="app=dcgm-exporter")
        self.start(f"gpu: {{exporterNamespaces: [{TENANT}]}}\n")
        self.apply("configured")
        self.assertEqual(
            self.hardware("configured"), {"gpuSku": "l40s", "vramMb": 46068, "totalGpus": 4, "numGpusPerNode": 2}
        )

    def test_exporters_that_do_not_answer(self):
        """A redirect is not followed, a slow exporter and one that answers too much are left out, and all of it is told. Node
        labels then tell the hardware."""
        target = Exporter(self, metrics())
        redirect = Exporter(self, "", 302, f"http://{target.address}:{PORT}/metrics")
        large = Exporter(self, metrics() + "#" * (1 << 20))
        slow = Exporter(self, metrics(), delay=30)
        self.daemon_set("bad", [redirect.address, large.address])
        self.daemon_set("slow", [slow.address, "127.94.0.250"])  # nothing listens there
        self.label_nodes(LABELS)
        self.addCleanup(self.label_nodes, dict.fromkeys(LABELS))
        self.start()
        began = time.monotonic()
        request = self.apply("labelled")
        self.assertLess(time.monotonic() - began, 25)
        self.assertEqual(
            self.hardware("labelled"), {"gpuSku": "a100_sxm", "vramMb": 81920, "totalGpus": 8, "numGpusPerNode": 4}
        )
        message = self.message(request)
        self.assertIn("found by labels of GPU feature discovery, because 4 DCGM exporters gave no metrics of GPUs", message)
        for pattern in (
            r"exporter gpu-operator/bad-\w+: HTTP status 302",
            r"exporter gpu-operator/bad-\w+: the reply is too large",
            r"exporter gpu-operator/slow-\w+: [^;]*time",
            r"exporter gpu-operator/slow-\w+: [^;]*refused",
        ):
            self.assertRegex(message, pattern)
        self.assertEqual((target.paths, redirect.paths, large.paths, slow.paths), ([], *[["/metrics"]] * 3))

    def test_one_exporter_that_answers_is_enough(self):
        good = Exporter(self, metrics())
        bad = Exporter(self, "DCGM_FI_DEV_GPU_TEMP{gpu=0} 1\n")
        self.daemon_set("mixed", [good.address, bad.address])
        self.start()
        request = self.apply("mixed")
        self.assertEqual(self.hardware("mixed")["totalGpus"], 8)
        self.assertRegex(self.message(request), r"not read: exporter gpu-operator/mixed-\w+: line 1: a label has no quoted value")

    def test_an_operator_of_one_namespace(self):
        """With the roles of deploy/kustomize/restricted it reads node labels, asks only where it may, and says where it may not."""
        exporter = Exporter(self, metrics())
        self.daemon_set("hidden", [exporter.address] * 2)
        objects = install.rendered(plane.cluster, install.RESTRICTED)
        access = [one for one in objects if one["kind"] == "ServiceAccount" or "rbac" in one["apiVersion"]]
        plane.cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": access}))
        config = yaml.safe_load(next(one for one in objects if one["kind"] == "ConfigMap")["data"]["config.yaml"])
        self.assertEqual(config["gpu"]["exporterNamespaces"], [TEAM])
        config["gpu"]["exporterNamespaces"] = ["gpu-operator", TEAM]
        self.label_nodes(LABELS)
        self.addCleanup(self.label_nodes, dict.fromkeys(LABELS))
        controller = self.start(yaml.safe_dump(config), account=f"{TEAM}/{ACCOUNT}")
        request = self.apply("labels", namespace=TEAM)
        self.assertEqual(self.hardware("labels", TEAM)["gpuSku"], "a100_sxm")
        self.assertRegex(
            self.message(request),
            "because no DCGM exporter runs in namespace team-a; not read: pods in namespace gpu-operator: .*forbidden",
        )
        controller.stop()
        plane.cluster.api("DELETE", f"/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/{NODES_ROLE}")
        controller.start()
        controller.wait_until_ready()
        message = self.message(self.apply("no-rights", namespace=TEAM), "Validation")
        self.assertTrue(message.startswith(FAILED), message)
        self.assertRegex(message, "pods in namespace gpu-operator: .*forbidden.*; nodes: .*forbidden")
        self.assertEqual(exporter.paths, [])


if __name__ == "__main__":
    unittest.main()
