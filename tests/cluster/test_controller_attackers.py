#!/usr/bin/env python3
"""A tenant who attacks the operator, and others through it. Run: python3 tests/cluster/test_controller_attackers.py

Mallory may do everything with pods, graphs, EndpointSlices, ConfigMaps, Jobs, requests, models and checkpoints in a namespace, and
nothing else; statuses belong to others. He gains no object, no address and no right that he could not have himself, and graphs of
another namespace become ready meanwhile.

Tried elsewhere: outputs that are no YAML, and the names of others' graphs and ConfigMaps: test_controller_requests.py. Jobs of
somebody else: there and in test_controller_checkpoints.py. Slices with addresses of programs and of pods without a graph, redirects,
pods with the network of their node: test_controller_models.py. Exporters of his own: test_controller_gpus.py. Children of strangers:
test_controller_strangers.py.
Needs the right to make a network namespace, and `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import contextlib
import http.client
import json
import ssl
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from operator_plane import KINDS, RBAC, condition_of, graph, is_ready, path_of  # noqa: E402
from request_samples import CHECKPOINT, GRAPH, MODEL, REQUEST, SECONDS, Samples  # noqa: E402

KINDS.update(EndpointSlice=("/apis/discovery.k8s.io/v1", "endpointslices"), Secret=("/api/v1", "secrets"))
LAIR, VICTIM, NEIGHBOUR = "lair", "victim", "neighbour"
BASE, BASE_HASH = "Qwen/Qwen3-0.6B", "fb68f5a6"
HASH = "nvidia.com/dynamo-base-model-hash"
STRANGERS = "10.77.0.0/16"
OUTPUT = "dgdr-output-"
MANY = 10000
RULES = (
    ("", ("pods", "configmaps")),
    ("batch", ("jobs",)),
    ("discovery.k8s.io", ("endpointslices",)),
    ("nvidia.com", ("dynamographdeployments", "dynamographdeploymentrequests", "dynamomodels", "dynamocheckpoints")),
)
CONFIG = 'checkpoint: {enabled: true, storage: {type: s3, s3: {uri: "s3://bucket/prefix"}}}\n'

plane = controller = workers = mallory = neighbour = None


def setUpModule():
    global plane, controller, workers, mallory, neighbour
    workers, plane = worker_plane.start(STRANGERS, config=CONFIG)
    for name in (LAIR, VICTIM, NEIGHBOUR):
        plane.cluster.create_namespace(name)
    mallory = Mallory()
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    neighbour = Neighbour()
    unittest.addModuleCleanup(neighbour.stop)


class Mallory:
    """A user with rights in the namespace LAIR only."""

    def __init__(self):
        rules = [{"apiGroups": [group], "resources": list(resources), "verbs": ["*"]} for group, resources in RULES]
        plane.cluster.api("POST", path_of("Role", LAIR), {"metadata": {"name": "tenant"}, "rules": rules})
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "tenant"}
        subject = {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "mallory"}
        plane.cluster.api("POST", path_of("RoleBinding", LAIR), {"metadata": {"name": "tenant"}, "roleRef": reference, "subjects": [subject]})

    def send(self, method, path, body=None, content_type="application/json"):
        """(status, decoded answer)"""
        tls = ssl.create_default_context(cafile=plane.cluster.ca_file)
        port = int(plane.cluster.api_url.rsplit(":", 1)[1])
        with contextlib.closing(http.client.HTTPSConnection("127.0.0.1", port, timeout=60, context=tls)) as connection:
            headers = {"Authorization": f"Bearer {plane.cluster.admin_token}", "Content-Type": content_type}
            headers |= {"Impersonate-User": "mallory", "Impersonate-Group": "system:authenticated"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())

    def create(self, manifest, namespace=LAIR):
        """The object that he has created."""
        path = path_of(manifest["kind"], namespace)
        if manifest["kind"] == REQUEST and manifest["apiVersion"].endswith("v1alpha1"):
            path = path.replace("v1beta1", "v1alpha1")
        status, answer = self.send("POST", path, manifest)
        if status >= 400:
            raise AssertionError(f"{manifest['kind']}: {status} {answer.get('message')}")
        return answer

    def output(self, name, text, **metadata):
        """He writes the output of a profiler."""
        labels = {"dgdr.nvidia.com/name": name, "nvidia.com/managed-by": "dynamo-operator"}
        metadata = {"name": f"{OUTPUT}{name}", "labels": labels, **metadata}
        return self.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"final_config.yaml": text}})


class Neighbour:
    """Creates and deletes graphs in another namespace all the time. seconds: how long each took until it was ready."""

    def __init__(self):
        self.seconds, self.problem, self._stopped = [], None, threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        number = 0
        while not self._stopped.wait(0.5) and self.problem is None:
            number += 1
            name, began = f"g{number}", time.monotonic()
            try:
                plane.apply(graph(name, NEIGHBOUR))
                plane.cluster.wait(lambda: is_ready(plane.get(GRAPH, NEIGHBOUR, name)), 60, f"graph {name} is ready")  # noqa: B023
                self.seconds.append(time.monotonic() - began)
                plane.delete(GRAPH, NEIGHBOUR, name)
            except Exception as error:  # noqa: BLE001  (assert_served() tells it)
                self.problem = f"{error}"

    def stop(self):
        self._stopped.set()
        self._thread.join()

    def assert_served(self, test, since):
        """Graphs became ready since then, none much later than usual."""
        until("a graph of the neighbour becomes ready", lambda: self.problem or len(self.seconds) > since)
        test.assertIsNone(self.problem)
        print(f"  {test._testMethodName}: graphs of the neighbour became ready after at most {max(self.seconds[since:]):.1f} s", file=sys.stderr)
        test.assertLess(max(self.seconds[since:]), 30)


def until(what, condition, seconds=SECONDS):
    try:
        plane.cluster.wait(condition, seconds, what if isinstance(what, str) else "it is told")
    except Exception as error:
        raise AssertionError(f"{what if isinstance(what, str) else what()}\n{controller.log_tail(3)}") from error


def made(name, text="", namespace=""):
    """A graph as a profiler writes it. `text`: further members of its metadata."""
    return f"""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: {name}{', ' + text if text else ''}{', namespace: ' + namespace if namespace else ''}}}
spec:
  services:
    Frontend: {{componentType: frontend, replicas: 1, extraPodSpec: {{mainContainer: {{image: "runtime:1"}}}}}}
"""


def bomb(levels=40):
    """Each anchor has the one before ten times."""
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, levels)]
    return "\n".join(lines) + f"\napiVersion: nvidia.com/v1alpha1\nkind: DynamoGraphDeployment\nmetadata: {{name: bomb}}\nspec: *a{levels - 1}\n"


EXTRA = """---
apiVersion: v1
kind: Secret
metadata: {name: taken}
stringData: {a: b}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: taken}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: User, name: mallory, apiGroup: rbac.authorization.k8s.io}]
---
apiVersion: v1
kind: Pod
metadata: {name: taken}
spec: {hostNetwork: true, containers: [{name: c, image: "c:1"}]}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: extra-config, namespace: victim}
data: {a: b}
"""
# What the output of a request of his own is, and how the request ends: (name, output, phase, text of the condition).
OUTPUTS = (
    ("kinds", made("kinds-graph") + EXTRA, "Deployed", "generated successfully"),
    ("elsewhere", made("elsewhere-graph", namespace=VICTIM), "Deployed", "generated successfully"),
    ("bomb", bomb(), "Failed", "final_config.yaml"),
    ("cycle", "a: &a {b: *a}\n", "Failed", "final_config.yaml"),
    ("deep", "[" * 100000, "Failed", "final_config.yaml"),
    ("brackets", "{{{", "Failed", "final_config.yaml"),
    ("large", made("large-graph") + "# " + "x" * (1000 << 10) + "\n", "Deployed", "generated successfully"),
    ("documents", made("documents-graph") + "---\na: b\n" * 50000, "Failed", "too many documents"),
    ("owners", made("owners-graph", "ownerReferences: [{apiVersion: v1, kind: Node, name: gpu-node-0, uid: a, controller: true}]"), "Deployed", "generated successfully"),
    ("finalizers", made("finalizers-graph", "finalizers: [example.com/held]"), "Deployed", "generated successfully"),
    ("labels", made("labels-graph", "labels: {dgdr.nvidia.com/name: other, nvidia.com/managed-by: me}"), "Deployed", "generated successfully"),
)  # fmt: skip


class Attackers(unittest.TestCase):
    def setUp(self):
        self.samples = Samples(plane, LAIR)
        self.since = len(neighbour.seconds)
        workers.clear()

    def condition(self, kind, name, which):
        return condition_of(self.samples.get(kind, name) or {}, which) or {}

    def profiled(self, name):
        """The Job of a request succeeds."""
        self.samples.wait_for_phase(REQUEST, name, "Profiling")
        self.samples.end_pod(f"profile-{name}", "profiler", "Succeeded")

    def test_what_he_may_not_do_himself(self):
        """The measure of what follows."""
        for kind, namespace in (("Secret", LAIR), ("RoleBinding", LAIR), ("ServiceAccount", LAIR), (GRAPH, VICTIM), ("ConfigMap", VICTIM)):
            self.assertEqual(mallory.send("GET", path_of(kind, namespace))[0], 403)
        self.assertEqual(mallory.send("PATCH", path_of("Pod", LAIR, "p", "status"), {}, "application/merge-patch+json")[0], 403)

    def test_outputs(self):
        """He writes the output of his requests himself."""
        for name, *_ in OUTPUTS:
            mallory.create(self.samples.request(name))
        for name, output, *_ in OUTPUTS:
            self.samples.wait_for_phase(REQUEST, name, "Profiling")
            mallory.output(name, output)
            self.profiled(name)
        for name, _, phase, text in OUTPUTS:
            with self.subTest(name):
                self.samples.wait_for_phase(REQUEST, name, phase)
                self.assertIn(text, self.condition(REQUEST, name, "SpecGenerated")["message"])
        # Only graphs and ConfigMaps are made, in the namespace of the request.
        for kind in ("Secret", "Pod"):
            self.assertIsNone(plane.get(kind, LAIR, "taken"))
        bindings = {one["metadata"]["name"] for one in plane.cluster.api("GET", f"{RBAC}/clusterrolebindings")["items"]}
        self.assertNotIn("taken", bindings)
        self.assertIsNotNone(plane.get("ConfigMap", LAIR, "extra-config"))
        self.assertIsNotNone(plane.get(GRAPH, LAIR, "elsewhere-graph"))
        for kind in (GRAPH, "ConfigMap"):
            names = {one["metadata"]["name"] for one in plane.cluster.api("GET", path_of(kind, VICTIM))["items"]}
            self.assertLessEqual(names, {"kube-root-ca.crt"})
        # What the operator uses to tell its objects apart does not come from the output.
        labels = plane.get(GRAPH, LAIR, "labels-graph")["metadata"]["labels"]
        self.assertEqual((labels["dgdr.nvidia.com/name"], labels["nvidia.com/managed-by"]), ("labels", "dynamo-operator"))
        for name in ("owners-graph", "finalizers-graph"):
            metadata = plane.get(GRAPH, LAIR, name)["metadata"]
            self.assertNotIn("ownerReferences", metadata)
            self.assertNotIn("finalizers", metadata)
        neighbour.assert_served(self, self.since)

    def test_an_output_with_a_wrong_owner_counts_for_nobody(self):
        """An output whose owner is the request of another namespace is collected; one that lies there before the Job is removed."""
        plane.apply(Samples(plane, VICTIM).request("theirs"))
        uid = plane.get(REQUEST, VICTIM, "theirs")["metadata"]["uid"]
        owner = {"apiVersion": "nvidia.com/v1beta1", "kind": REQUEST, "name": "theirs", "uid": uid}
        mallory.output("theirs", made("forged"), ownerReferences=[owner])
        until("it is collected", lambda: plane.get("ConfigMap", LAIR, f"{OUTPUT}theirs") is None)
        mallory.output("early", made("forged"))
        mallory.create(self.samples.request("early"))
        self.samples.wait_for_phase(REQUEST, "early", "Profiling")
        self.assertIsNone(plane.get("ConfigMap", LAIR, f"{OUTPUT}early"))
        self.assertEqual(plane.get(REQUEST, VICTIM, "theirs")["status"]["phase"], "Profiling")

    def test_forged_jobs(self):
        """A Job without the owner, one with a wrong uid, and one with the right one. The last is his own request's: its output
        becomes the graph that he could have created."""
        job = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "profiler", "image": "mine:1"}]}}}
        forged = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "profile-forged"}, "spec": job}
        mallory.create(forged)
        mallory.output("forged", made("forged-graph"))
        mallory.create(self.samples.request("forged"))
        self.samples.end_pod("profile-forged", "profiler", "Succeeded")
        until(
            lambda: self.samples.status(REQUEST, "forged"),
            lambda: "profile-forged exists and does not belong to this request" in self.condition(REQUEST, "forged", "Profiling").get("message", ""),
        )
        self.assertEqual(self.samples.status(REQUEST, "forged")["phase"], "Pending")
        self.assertIsNone(plane.get(GRAPH, LAIR, "forged-graph"))
        mallory.send("DELETE", path_of("Job", LAIR, "profile-forged"), {"propagationPolicy": "Background"})
        self.samples.wait_for_phase(REQUEST, "forged", "Profiling")
        # A checkpoint of his: a Job with a wrong uid is collected, and the checkpoint gets its own.
        uid = plane.get(REQUEST, LAIR, "forged")["metadata"]["uid"]
        owner = {"apiVersion": "nvidia.com/v1alpha1", "kind": CHECKPOINT, "name": "forged", "uid": uid, "controller": True}
        mallory.create({**forged, "metadata": {"name": "checkpoint-forged", "ownerReferences": [owner]}})
        mallory.create(self.samples.checkpoint("forged"))
        until(
            lambda: self.samples.status(CHECKPOINT, "forged"),
            lambda: (plane.get("Job", LAIR, "checkpoint-forged") or {"metadata": {}})["metadata"].get("labels", {}).get("nvidia.com/snapshot-checkpoint-hash"),
        )
        self.samples.wait_for_phase(CHECKPOINT, "forged", "Creating")
        neighbour.assert_served(self, self.since)

    def test_he_cannot_end_jobs_by_their_status(self):
        change = {"status": {"conditions": [{"type": "Complete", "status": "True"}]}}
        self.assertEqual(mallory.send("PATCH", path_of("Job", LAIR, "any", "status"), change, "application/merge-patch+json")[0], 403)

    def test_overrides(self):
        """The operator adds nothing to what a pod of his own could do: accounts, volumes of the node, other namespaces."""
        plane.cluster.api("POST", path_of("ServiceAccount", LAIR), {"metadata": {"name": "powerful"}})
        volumes = {"volumes": [{"name": "root", "hostPath": {"path": "/"}}], "containers": [{"name": "profiler", "volumeMounts": [{"name": "root", "mountPath": "/host"}]}]}
        pod = {**volumes, "serviceAccountName": "powerful", "hostNetwork": True, "hostPID": True}
        template = {"metadata": {"namespace": VICTIM, "name": "taken", "labels": {"app": "a"}}, "spec": pod}
        status, answer = mallory.send("POST", path_of(REQUEST, LAIR), self.samples.request("overridden", overrides={"profilingJob": {"template": template}}))
        self.assertIn(status, (201, 400, 403, 422), answer)
        if status == 201:
            self.samples.wait_for_phase(REQUEST, "overridden", "Profiling")
            job = plane.get("Job", LAIR, "profile-overridden")
            self.assertNotIn("namespace", job["spec"]["template"]["metadata"])
            # The account gets the rights of the output copier in this namespace, and no others.
            binding = plane.get("RoleBinding", LAIR, "profile-overridden")
            self.assertEqual(binding["roleRef"]["name"], "dynamo-dynamo-operator-dgdr-profiling")
            self.assertEqual([(one["name"], one["namespace"]) for one in binding["subjects"]], [("powerful", LAIR)])
        # Pod Security Admission judges the pods of the Job as it judges his own.
        label = {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": "baseline"}}}
        plane.cluster.api("PATCH", f"/api/v1/namespaces/{LAIR}", label, "application/merge-patch+json")
        try:
            mallory.create(self.samples.request("secured", overrides={"profilingJob": {"template": {"spec": volumes}}}))
            until(
                lambda: self.samples.status(REQUEST, "secured"),
                lambda: "pods cannot be created: violates PodSecurity" in self.condition(REQUEST, "secured", "Profiling").get("message", ""),
            )
        finally:
            plane.cluster.api("PATCH", f"/api/v1/namespaces/{LAIR}", {"metadata": {"labels": {"pod-security.kubernetes.io/enforce": None}}}, "application/merge-patch+json")
        for kind in ("Job", "Pod"):
            self.assertEqual([one for one in plane.cluster.api("GET", path_of(kind, VICTIM))["items"] if "profile-theirs" not in one["metadata"]["name"]], [])
        alpha = {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, "metadata": {"name": "away"}}
        alpha["spec"] = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "runtime:1", "config": {}}, "deploymentOverrides": {"namespace": VICTIM}}
        status, answer = mallory.send("POST", path_of(REQUEST, LAIR).replace("v1beta1", "v1alpha1"), alpha)
        self.assertEqual(status, 422)
        self.assertIn("spec.deploymentOverrides.namespace: Forbidden", answer["message"])
        neighbour.assert_served(self, self.since)

    # Models

    def serve(self):
        """A graph of his with one pod, and an adapter. Returns the pod's name and address."""
        mallory.create(self.samples.workers("lora", BASE, 1))
        mallory.create(self.samples.adapter("tuned", BASE))
        self.addCleanup(self.clear)
        until(lambda: self.samples.status(MODEL, "tuned"), lambda: self.samples.addresses("lora"))
        ((name, address),) = self.samples.addresses("lora").items()
        return name, address

    def clear(self):
        workers.clear()
        for kind in (MODEL, GRAPH, "EndpointSlice"):
            base, plural = KINDS[kind]
            plane.cluster.api("DELETE", f"{base}/namespaces/{LAIR}/{plural}")
        until("the model and its pods are gone", lambda: not plane.cluster.api("GET", path_of(MODEL, LAIR))["items"] and not self.samples.addresses("lora"))

    def ready(self):
        return self.condition(MODEL, "tuned", "EndpointsReady")

    def slice_of(self, name, targets, namespace=None):
        """`targets`: (address, name of the pod)"""
        pod = {"kind": "Pod", **({"namespace": namespace} if namespace else {})}
        endpoints = [{"addresses": [address], "conditions": {"ready": True}, "targetRef": {**pod, "name": target}} for address, target in targets]
        return {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": name, "labels": {HASH: BASE_HASH, "kubernetes.io/service-name": "forged"}},
            "addressType": "IPv4",
            "ports": [{"name": "system", "port": 9090}],
            "endpoints": endpoints,
        }

    def test_addresses(self):
        """Nodes, the API server, pods of another namespace, addresses of the link and of the machine."""
        pod, address = self.serve()
        until(lambda: self.ready(), lambda: self.ready().get("status") == "True")
        theirs = Samples(plane, VICTIM)
        plane.apply(theirs.workers("theirs", BASE, 1))
        until("the pod of the victim runs", lambda: theirs.addresses("theirs"))
        ((other, other_address),) = theirs.addresses("theirs").items()
        node = next(one["address"] for one in plane.cluster.api("GET", "/api/v1/nodes/gpu-node-0")["status"]["addresses"] if one["type"] == "InternalIP")
        service = plane.cluster.api("GET", "/api/v1/namespaces/default/services/kubernetes")["spec"]["clusterIP"]
        workers.clear()
        for number, (wanted, target, namespace, refusal) in enumerate(
            (
                ("169.254.169.254", pod, None, "link-local"),
                ("127.0.0.1", pod, None, "loopback"),
                (node, pod, None, None),
                (service, pod, None, None),
                (other_address, other, VICTIM, None),
                (other_address, other, None, None),
                (other_address, pod, None, None),
                ("10.77.0.1", pod, LAIR, None),
            )
        ):
            status, answer = mallory.send("POST", path_of("EndpointSlice", LAIR), self.slice_of(f"forged-{number}", [(wanted, target)], namespace))
            if refusal:
                self.assertEqual(status, 422, wanted)
                self.assertIn(refusal, answer["message"])
            else:
                self.assertEqual(status, 201, answer)
        until(lambda: self.ready(), lambda: "not asked" in self.ready().get("message", ""))
        time.sleep(3)
        self.assertTrue(self.ready()["message"].startswith("All 1 endpoint(s) are ready"), self.ready())
        self.assertEqual({call[1] for call in workers.calls} - {address}, set())
        self.clear()
        self.assertEqual({call[1] for call in workers.calls} - {address}, set())
        neighbour.assert_served(self, self.since)
        plane.delete(GRAPH, VICTIM, "theirs")

    def test_pods_with_forged_owners(self):
        """The graph's name with the uid of another one; the graph itself, with the network of the node."""
        self.serve()
        until(lambda: self.ready(), lambda: self.ready().get("status") == "True")
        owner = plane.get(GRAPH, LAIR, "lora")
        reference = {"apiVersion": owner["apiVersion"], "kind": GRAPH, "name": "lora", "uid": owner["metadata"]["uid"], "controller": True}
        container = {"containers": [{"name": "main", "image": "runtime:1"}]}
        another = plane.get("Pod", LAIR, next(iter(self.samples.addresses("lora"))))["metadata"]["uid"]
        pods = (("wrong-uid", {**reference, "uid": another}, container), ("node-network", reference, {**container, "hostNetwork": True}))
        for name, owned_by, spec in pods:
            mallory.create({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "ownerReferences": [owned_by]}, "spec": spec})
        until("the second runs", lambda: (plane.get("Pod", LAIR, "node-network") or {}).get("status", {}).get("podIP"))
        wrong = (plane.get("Pod", LAIR, "wrong-uid") or {}).get("status", {}).get("podIP", "10.77.0.2")
        right = plane.get("Pod", LAIR, "node-network")["status"]["podIP"]
        workers.clear()
        mallory.create(self.slice_of("forged", [(wrong, "wrong-uid"), (right, "node-network")]))
        until(lambda: self.ready(), lambda: "node-network uses the network of its node" in self.ready().get("message", ""))
        until("the one with the wrong uid is collected", lambda: plane.get("Pod", LAIR, "wrong-uid") is None)
        self.assertEqual(workers.calls, [])
        mallory.send("DELETE", path_of("Pod", LAIR, "node-network"))

    def test_many_addresses(self):
        """A model with 10,000 endpoints, whose pods do not exist."""
        self.serve()
        until(lambda: self.ready(), lambda: self.ready().get("status") == "True")
        since = len(neighbour.seconds)
        workers.clear()
        began = time.monotonic()
        for part in range(MANY // 1000):
            mallory.create(self.slice_of(f"many-{part}", [(f"10.77.{part}.{number % 250 + 1}", f"absent-{part}-{number}") for number in range(1000)]))
        until(lambda: self.ready(), lambda: "not asked" in self.ready().get("message", ""), 180)
        print(f"  told after {time.monotonic() - began:.1f} s; {self.ready()['message'][:200]}", file=sys.stderr)
        self.assertLess(len(self.ready()["message"]), 32768)
        self.assertEqual(workers.calls, [])
        neighbour.assert_served(self, since)

    def test_answers(self):
        """10 MB, a header without an end, and a body that dribbles: the answer is given up, and told."""

        def large(request):
            with contextlib.suppress(OSError):
                request.send_response(200)
                request.send_header("Content-Length", str(10 << 20))
                request.end_headers()
                for _ in range(10 << 4):
                    request.wfile.write(b"x" * (64 << 10))

        def header(request):
            with contextlib.suppress(OSError):
                request.wfile.write(b"HTTP/1.1 200 OK\r\nX: ")
                for _ in range(10 << 4):
                    request.wfile.write(b"x" * (64 << 10))

        def dribble(request):
            with contextlib.suppress(OSError):
                request.send_response(200)
                request.send_header("Content-Length", "1000")
                request.end_headers()
                for _ in range(40):
                    request.wfile.write(b" ")
                    request.wfile.flush()
                    time.sleep(1)

        name, _ = self.serve()
        until(lambda: self.ready(), lambda: self.ready().get("status") == "True")
        for number, answer in enumerate((large, header, dribble)):
            with self.subTest(answer.__name__):
                since = len(neighbour.seconds)
                workers.behave = lambda method, address, answer=answer: answer if method == "POST" else None
                began = time.monotonic()
                change = {"spec": {"modelName": f"org/tuned-{number}"}}
                self.assertEqual(mallory.send("PATCH", path_of(MODEL, LAIR, "tuned"), change, "application/merge-patch+json")[0], 200)
                until(lambda: self.ready(), lambda: self.ready().get("status") == "False" and f"pod {name}: " in self.ready().get("message", ""))
                print(f"  {answer.__name__}: {self.ready()['message'][:160]} ({time.monotonic() - began:.1f} s)", file=sys.stderr)
                self.assertLess(time.monotonic() - began, 30)
                workers.clear()
                until(lambda: self.ready(), lambda: self.ready().get("status") == "True")
                neighbour.assert_served(self, since)


if __name__ == "__main__":
    unittest.main(verbosity=2)
