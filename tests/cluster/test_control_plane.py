#!/usr/bin/env python3
"""Tests of the control plane. Run: python3 tests/cluster/test_control_plane.py"""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ApiError, ControlPlane, ControlPlaneError, KubectlError  # noqa: E402

# An idle machine needs less than 5 s (README.md). This limit must hold on a busy one.
UP_SECONDS_LIMIT = 60
SMALL = {"etcd", "apiserver"}
shared = None


def setUpModule():
    global shared
    shared = ControlPlane(users={"alice": ["team-a"]})
    shared.start()
    print(f"up in {shared.up_seconds:.2f} s", file=sys.stderr)
    shared.add_nodes(1, gpus=8, labels={"test/pool": "a"})


def tearDownModule():
    shared.stop()


def pod(name, gpus=0, namespace="default", pool=None):
    container = {"name": "main", "image": "example.com/none"}
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": str(gpus)}}
    spec = {"containers": [container], "terminationGracePeriodSeconds": 0}
    if pool:
        spec["nodeSelector"] = {"test/pool": pool}
    metadata = {"name": name, "namespace": namespace}
    return json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec})


def deployment(name, replicas):
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": json.loads(pod("x"))["spec"]}
    spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
    metadata = {"name": name}
    return json.dumps({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec})


def processes_naming(text):
    """Process ids and command lines of all processes with `text` in an argument."""
    found = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue
        if text in line and int(folder.name) != os.getpid():
            found[int(folder.name)] = line
    return found


class Basics(unittest.TestCase):
    def test_starts_quickly_with_the_expected_versions(self):
        self.assertLess(shared.up_seconds, UP_SECONDS_LIMIT)
        version = shared.api("GET", "/version")
        self.assertRegex(version["gitVersion"], r"^v1\.\d+\.\d+")
        self.assertTrue(shared.api_url.startswith("https://127.0.0.1:"))
        self.assertIn("BEGIN CERTIFICATE", shared.ca)

    def test_listens_on_loopback_only(self):
        components = set(processes_naming(str(shared.directory)))
        self.assertGreaterEqual(len(components), 5)
        listeners = subprocess.run(["ss", "-Hltnp"], capture_output=True, text=True, check=True).stdout
        tags = [f"pid={pid}," for pid in components]
        ours = [line.split()[3] for line in listeners.splitlines() if any(tag in line for tag in tags)]
        self.assertEqual(ours, [shared.api_url.removeprefix("https://")])

    def test_two_control_planes_run_in_parallel(self):
        with ControlPlane(components=SMALL) as other:
            self.assertNotEqual(other.api_url, shared.api_url)
            other.kubectl("create", "namespace", "only-here")
            self.assertIn("only-here", other.kubectl("get", "ns", "-o", "name").stdout)
            self.assertNotIn("only-here", shared.kubectl("get", "ns", "-o", "name").stdout)
            with self.assertRaises(ApiError) as refused:
                shared.api("GET", "/api/v1/namespaces", token=other.admin_token)
            self.assertEqual(refused.exception.status, 401)

    def test_without_a_controller_manager_pods_are_still_admitted(self):
        with ControlPlane(components=SMALL) as small:
            small.kubectl("apply", "-f", "-", input=pod("p"))
            with self.assertRaises(ControlPlaneError):
                small.add_nodes(1)

    def test_unknown_components_are_rejected(self):
        for components in ({"etcd"}, {"etcd", "apiserver", "kubelet"}):
            with self.assertRaises(ValueError):
                ControlPlane(components=components)


    def test_kwok_stages_can_be_replaced(self):
        stage = {
            "apiVersion": "kwok.x-k8s.io/v1alpha1",
            "kind": "Stage",
            "metadata": {"name": "never-ready"},
            "spec": {
                "resourceRef": {"apiGroup": "v1", "kind": "Pod"},
                "selector": {"matchExpressions": [{"key": ".status.podIP", "operator": "DoesNotExist"}]},
                "next": {"statusTemplate": "phase: Running\npodIP: 10.244.0.9\n"},
            },
        }
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            json.dump(stage, file)
            file.flush()
            with ControlPlane(kwok_config=file.name) as cluster:
                cluster.add_nodes(1)
                cluster.kubectl("apply", "-f", "-", input=pod("p"))
                cluster.kubectl("wait", "--for=jsonpath={.status.phase}=Running", "pod/p", "--timeout=90s")
                found = cluster.api("GET", "/api/v1/namespaces/default/pods/p")["status"]
                self.assertNotIn(("Ready", "True"), [(c["type"], c["status"]) for c in found["conditions"]])


class Identities(unittest.TestCase):
    def test_rbac_denies_until_a_role_is_bound(self):
        for user, groups in (("alice", ["team-a"]), ("somebody", ["team-b"])):  # own token; impersonated
            with self.subTest(user):
                config = shared.user_kubeconfig(user, groups)
                who = json.loads(shared.kubectl("auth", "whoami", "-o", "json", kubeconfig=config).stdout)
                self.assertEqual(who["status"]["userInfo"]["username"], user)
                self.assertIn(groups[0], who["status"]["userInfo"]["groups"])
                with self.assertRaises(KubectlError) as denied:
                    shared.kubectl("get", "pods", kubeconfig=config)
                self.assertIn("Forbidden", str(denied.exception))
                shared.kubectl(
                    "create", "rolebinding", f"view-{user}", "--clusterrole=view", f"--group={groups[0]}"
                )

                def allowed(config=config):
                    return shared.kubectl("auth", "can-i", "list", "pods", kubeconfig=config, check=False).stdout == "yes\n"

                shared.wait(allowed, 60, f"{user} may list pods")  # authorizers are updated a moment later
                shared.kubectl("get", "pods", kubeconfig=config)

    def test_service_account_tokens_are_issued_and_verified(self):
        shared.create_namespace("tokens")
        config = shared.service_account_kubeconfig("tokens", "default")
        who = json.loads(shared.kubectl("auth", "whoami", "-o", "json", kubeconfig=config).stdout)
        self.assertEqual(who["status"]["userInfo"]["username"], "system:serviceaccount:tokens:default")
        self.assertIn("Forbidden", shared.kubectl("get", "pods", kubeconfig=config, check=False).stderr)
        roots = ("get", "configmap", "-n", "tokens", "kube-root-ca.crt")
        shared.wait(lambda: shared.kubectl(*roots, check=False).returncode == 0, 60, "kube-root-ca.crt")

    def test_a_token_bound_to_a_pod_becomes_invalid_with_it(self):
        shared.kubectl("apply", "-f", "-", input=pod("bound"))
        issue = ["create", "token", "default", "--bound-object-kind=Pod", "--bound-object-name=bound"]
        token = shared.kubectl(*issue).stdout.strip()
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}}
        path = "/apis/authentication.k8s.io/v1/tokenreviews"
        status = shared.api("POST", path, review)["status"]
        self.assertTrue(status["authenticated"])
        self.assertEqual(status["user"]["extra"]["authentication.kubernetes.io/pod-name"], ["bound"])
        shared.kubectl("delete", "pod", "bound")
        with self.assertRaises(ApiError):
            shared.wait(lambda: not shared.api("GET", "/api", token=token), 60)  # ends with 401


class Workloads(unittest.TestCase):
    def test_a_pod_runs_on_a_gpu_node(self):
        shared.kubectl("apply", "-f", "-", input=pod("small", gpus=1, pool="a"))
        shared.kubectl("wait", "--for=condition=Ready", "pod/small", "--timeout=90s")
        found = shared.api("GET", "/api/v1/namespaces/default/pods/small")
        self.assertEqual((found["status"]["phase"], found["spec"]["nodeName"]), ("Running", "gpu-node-0"))
        shared.kubectl("delete", "pod", "small", "--timeout=90s")

    def test_the_scheduler_counts_gpus(self):
        shared.create_namespace("gpus")
        (node,) = shared.add_nodes(1, gpus=4, labels={"test/pool": "b"})
        self.assertEqual(
            shared.api("GET", f"/api/v1/nodes/{node}")["status"]["allocatable"]["nvidia.com/gpu"], "4"
        )
        for name, gpus in (("too-big", 5), ("first", 3)):
            shared.kubectl("apply", "-f", "-", input=pod(name, gpus, "gpus", "b"))
        shared.kubectl("wait", "-n", "gpus", "--for=condition=Ready", "pod/first", "--timeout=90s")
        shared.kubectl("apply", "-f", "-", input=pod("second", 3, "gpus", "b"))
        for name in ("too-big", "second"):
            reason = "jsonpath={.status.conditions[?(@.type=='PodScheduled')].reason}=Unschedulable"
            shared.kubectl("wait", "-n", "gpus", f"--for={reason}", f"pod/{name}", "--timeout=90s")
            found = shared.api("GET", f"/api/v1/namespaces/gpus/pods/{name}")["status"]
            self.assertEqual(found["phase"], "Pending")
            self.assertIn("Insufficient nvidia.com/gpu", found["conditions"][0]["message"])
        shared.kubectl("delete", "pod", "-n", "gpus", "first")
        shared.kubectl("wait", "-n", "gpus", "--for=condition=Ready", "pod/second", "--timeout=90s")

    def test_a_deployment_becomes_ready_and_its_pods_are_deleted_with_it(self):
        shared.kubectl("apply", "-f", "-", input=deployment("web", 2))
        shared.kubectl("rollout", "status", "deployment/web", "--timeout=90s")
        pods = "/api/v1/namespaces/default/pods?labelSelector=app%3Dweb"
        self.assertEqual(len(shared.api("GET", pods)["items"]), 2)
        shared.kubectl("delete", "deployment", "web")
        shared.wait(lambda: not shared.api("GET", pods)["items"], 30, "pods collected")

    def test_a_job_completes_and_a_namespace_can_be_deleted(self):
        shared.create_namespace("short")
        shared.kubectl("create", "job", "-n", "short", "once", "--image=example.com/none")
        shared.kubectl("wait", "-n", "short", "--for=condition=Complete", "job/once", "--timeout=90s")
        shared.kubectl("delete", "namespace", "short", "--timeout=60s")


class Restarts(unittest.TestCase):
    def test_objects_and_controllers_survive_a_restart_of_the_api_server(self):
        for how in ("orderly", "killed"):
            with self.subTest(how):
                shared.kubectl("create", "configmap", f"kept-{how}", "--from-literal=a=b")
                url = shared.api_url
                if how == "killed":
                    shared.kill_apiserver()
                    with self.assertRaises(OSError):
                        shared.api("GET", "/version")
                shared.restart_apiserver()
                self.assertEqual(shared.api_url, url)
                shared.kubectl("get", "configmap", f"kept-{how}")
                shared.kubectl("apply", "-f", "-", input=deployment(f"after-{how}", 2))
                shared.kubectl("rollout", "status", f"deployment/after-{how}", "--timeout=180s")

    def test_a_component_can_be_restarted(self):
        shared.restart("scheduler")
        shared.kubectl("apply", "-f", "-", input=pod("after-scheduler"))
        shared.kubectl("wait", "--for=condition=Ready", "pod/after-scheduler", "--timeout=90s")


if __name__ == "__main__":
    unittest.main(verbosity=2)
