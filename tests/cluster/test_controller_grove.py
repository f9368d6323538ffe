#!/usr/bin/env python3
"""Graphs on Grove with its webhooks (grove_admission.py): what Grove refuses never stops a graph that runs, and who decides
about the replicas of what Grove makes (decisions ctl-Q45, ctl-Q67).
Run: python3 tests/cluster/test_controller_grove.py

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import json
import sys
import threading
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from operator_plane import OperatorPlane, is_ready  # noqa: E402  (it adds the paths of modules that the following import)
from control_plane import ApiError  # noqa: E402
from grove_actor import GroveActor  # noqa: E402
from grove_admission import GroveAdmission  # noqa: E402
from history import History, path_of  # noqa: E402

GRAPH, SET, CLIQUE, GROUP = "DynamoGraphDeployment", "PodCliqueSet", "PodClique", "PodCliqueScalingGroup"
ADAPTER = "DynamoGraphDeploymentScalingAdapter"
RECORD = "nvidia.com/dynamo-rendered-replicas"

plane = controller = None


def setUpModule():
    global plane, controller
    plane = OperatorPlane(child_crds=True, grove=True, kwok_config=HERE / "pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)
    admission = GroveAdmission(plane.cluster)
    unittest.addModuleCleanup(admission.stop)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    history = History(plane.cluster.kubeconfig)
    unittest.addModuleCleanup(history.stop)
    actor = GroveActor(history)
    unittest.addModuleCleanup(actor.stop)


def worker(**more):
    main = {"image": "registry.example.com/dynamo:1", "command": ["python3", "-m", "dynamo.vllm"],
            "args": ["--model", "m", "--tensor-parallel-size", "1", "--pipeline-parallel-size", "4"]}
    return {"componentType": "worker", "replicas": 1, "resources": {"limits": {"gpu": "1"}},
            "extraPodSpec": {"mainContainer": main}, **more}


def graph(namespace, **services):
    frontend = {"componentType": "frontend", "replicas": 1,
                "extraPodSpec": {"mainContainer": {"image": "registry.example.com/dynamo:1"}}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": GRAPH, "metadata": {"name": "g", "namespace": namespace},
            "spec": {"backendFramework": "vllm", "services": {"Frontend": frontend, **services}}}


class Grove(unittest.TestCase):
    def setUp(self):
        self.namespace = self._testMethodName.removeprefix("test_").replace("_", "-")[:40].strip("-")
        plane.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": self.namespace}})

    def get(self, kind, name="g"):
        try:
            return plane.cluster.api("GET", path_of(kind, self.namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def ready(self):
        status = (self.get(GRAPH) or {}).get("status", {})
        return next((one for one in status.get("conditions", []) if one["type"] == "Ready"), {"status": "", "message": ""})

    def until(self, what, condition, seconds=60):
        try:
            plane.cluster.wait(condition, seconds, what)
        except Exception as error:
            status = json.dumps((self.get(GRAPH) or {}).get("status"))
            raise AssertionError(f"{error}; the status of the graph: {status}\n{controller.log_tail(30)}") from error

    def until_successful(self):
        self.until("the graph is successful", lambda: is_ready(self.get(GRAPH)))

    def until_told(self, text):
        self.until(f"the graph tells: {text}", lambda: text in self.ready()["message"])

    def change(self, service, **members):
        plane.patch(GRAPH, self.namespace, "g", {"spec": {"services": {service: members}}})

    def delete_set(self):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        plane.cluster.api("DELETE", path_of(SET, self.namespace, "g"), options)

    def replicas(self, kind, name):
        return self.get(kind, name)["spec"]["replicas"]

    def until_replicas(self, kind, name, number):
        self.until(f"{name} has {number} replicas", lambda: self.replicas(kind, name) == number)

    def scale(self, kind, name, replicas):
        """What `kubectl scale` sends."""
        path = path_of(kind, self.namespace, name, "scale") + "?fieldManager=kubectl"
        plane.cluster.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    def warnings(self, reason):
        events = plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        return [(one["message"], one.get("count", 1)) for one in events
                if one["reason"] == reason and one["involvedObject"]["kind"] == GRAPH]

    def cliques(self):
        template = self.get(SET)["spec"]["template"]
        return {clique["name"]: clique["spec"] for clique in template["cliques"]}

    def refused(self, path, action, *arguments, **members):
        with self.assertRaises(ApiError) as caught:
            action(*arguments, **members)
        self.assertIn(path, str(caught.exception))
        return str(caught.exception)

    def test_all_workers_of_a_new_set_start_together(self):
        plane.apply(graph(self.namespace, Wide=worker(multinode={"nodeCount": 3})))
        self.until_successful()
        self.assertEqual(self.cliques()["wide-wkr"]["minAvailable"], 2)
        self.assertEqual(self.cliques()["wide-ldr"]["minAvailable"], 1)
        self.assertEqual(self.get(GRAPH)["status"]["services"]["Wide"]["minAvailable"], 2)
        uid = self.get(SET)["metadata"]["uid"]
        self.change("Wide", multinode={"nodeCount": 4})
        self.until("the set has more workers", lambda: self.cliques()["wide-wkr"]["replicas"] == 3)
        self.assertEqual(self.cliques()["wide-wkr"]["minAvailable"], 2)
        self.until_told("Grove starts a replica of Wide with 2 of 3 workers")
        self.change("Wide", multinode={"nodeCount": 3})
        said = self.refused("spec.services[Wide].multinode.nodeCount", self.change, "Wide", multinode={"nodeCount": 2})
        self.assertIn("delete the PodCliqueSet", said)
        self.assertEqual(self.get(SET)["metadata"]["uid"], uid)
        self.delete_set()
        self.until("the set is made anew", lambda: self.get(SET) and self.cliques()["wide-wkr"]["minAvailable"] == 2)

    def test_a_set_of_an_earlier_version_keeps_its_values(self):
        """The graph is deleted without its children, and the set becomes one that an earlier version made."""
        plane.apply(graph(self.namespace, Wide=worker(multinode={"nodeCount": 3})))
        self.until_successful()
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Orphan"}
        plane.cluster.api("DELETE", path_of(GRAPH, self.namespace, "g"), options)
        self.until("the set has no owner", lambda: not self.get(SET)["metadata"].get("ownerReferences"))
        self.until("the graph is gone", lambda: self.get(GRAPH) is None)
        made = self.get(SET)
        self.delete_set()
        self.until("the set is gone", lambda: self.get(SET) is None)
        for clique in made["spec"]["template"]["cliques"]:
            clique["spec"]["minAvailable"] = 1
        made["spec"]["template"]["cliques"].reverse()
        kept = {key: made["metadata"][key] for key in ("name", "namespace", "labels") if key in made["metadata"]}
        plane.cluster.api("PATCH", path_of(SET, self.namespace, "g") + "?fieldManager=dynamo-controller&force=true",
                          {**{key: made[key] for key in ("apiVersion", "kind", "spec")}, "metadata": kept},
                          "application/apply-patch+yaml")
        plane.apply(graph(self.namespace, Wide=worker(multinode={"nodeCount": 3})))
        self.until_told("Grove starts a replica of Wide with 1 of 2 workers")
        self.until("the graph owns the set", lambda: self.get(SET)["metadata"].get("ownerReferences"))
        self.change("Wide", multinode={"nodeCount": 2})
        self.until("the set has fewer workers", lambda: self.cliques()["wide-wkr"]["replicas"] == 1)
        self.assertEqual(list(self.cliques()), [one["name"] for one in made["spec"]["template"]["cliques"]])

    def test_several_nodes_without_replicas(self):
        wide = worker(multinode={"nodeCount": 2}, replicas=0)
        self.refused("spec.services[Wide].replicas", plane.apply, graph(self.namespace, Wide=wide))
        plane.apply(graph(self.namespace, Wide={**wide, "replicas": 1}))
        self.until_successful()
        self.change("Wide", replicas=0)
        self.until_told("Grove does not run a service with several nodes with 0")
        self.assertEqual(self.get(GROUP, "g-0-wide")["spec"]["replicas"], 1)
        self.assertEqual(self.get(SET)["spec"]["template"]["podCliqueScalingGroups"][0]["replicas"], 1)
        # Other changes of the graph still arrive.
        self.change("Frontend", envs=[{"name": "NEW", "value": "1"}])
        variables = lambda: self.cliques()["frontend"]["podSpec"]["containers"][0]["env"]  # noqa: E731
        self.until("the frontend changes", lambda: any(each["name"] == "NEW" for each in variables()))
        self.change("Wide", replicas=2)
        self.until_successful()
        self.assertEqual(self.get(GROUP, "g-0-wide")["spec"]["replicas"], 2)

    def test_one_node_without_replicas(self):
        """Grove makes a 0 a 1 at creation, and ends no update for a clique that is scaled to 0."""
        plane.apply(graph(self.namespace, Worker=worker(replicas=0)))
        self.until_successful()
        self.until_replicas(CLIQUE, "g-0-worker", 0)
        self.assertEqual(self.cliques()["worker"]["replicas"], 1)
        self.change("Worker", envs=[{"name": "NEW", "value": "1"}])
        self.until_told("Grove does not end the update to the latest spec while it has 0 replicas")
        self.assertEqual(self.ready()["status"], "False")
        self.change("Worker", replicas=1)
        self.until_replicas(CLIQUE, "g-0-worker", 1)
        self.until_successful()
        self.change("Worker", replicas=0)
        self.until_replicas(CLIQUE, "g-0-worker", 0)
        self.until_successful()

    def test_the_last_change_of_replicas_wins(self):
        plane.apply(graph(self.namespace, Worker=worker(replicas=2), Wide=worker(multinode={"nodeCount": 2})))
        self.until_successful()
        self.assertNotIn(RECORD, self.get(SET)["metadata"].get("annotations", {}))
        self.scale(CLIQUE, "g-0-worker", 3)
        self.scale(GROUP, "g-0-wide", 2)
        told = [f"kubectl scales PodClique.grove.io {self.namespace}/g-0-worker: 3 replicas instead of 2",
                f"kubectl scales PodCliqueScalingGroup.grove.io {self.namespace}/g-0-wide: 2 replicas instead of 1"]
        for text in told:
            self.until_told(text)
        self.until_successful()
        self.assertEqual(sorted(self.warnings("ReplicasOverridden")), [(text, 1) for text in sorted(told)])
        # The number stays when the controller is killed, and when the graph changes something else.
        controller.kill()
        controller.start()
        controller.wait_until_ready()
        self.change("Frontend", envs=[{"name": "NEW", "value": "1"}])
        self.until("the set changes", lambda: any(
            each["name"] == "NEW" for each in self.cliques()["frontend"]["podSpec"]["containers"][0]["env"]))
        self.until_successful()
        time.sleep(2)
        self.assertEqual((self.replicas(CLIQUE, "g-0-worker"), self.replicas(GROUP, "g-0-wide")), (3, 2))
        # Another number of the spec, changed while no controller runs, takes them back.
        controller.stop()
        for service in ("Worker", "Wide"):
            self.change(service, replicas=4)
        controller.start()
        controller.wait_until_ready()
        self.until_replicas(CLIQUE, "g-0-worker", 4)
        self.until_replicas(GROUP, "g-0-wide", 4)
        self.until("nobody scales it", lambda: "scales" not in self.ready()["message"])
        self.until_successful()
        self.until("the record is gone", lambda: RECORD not in self.get(SET)["metadata"].get("annotations", {}))
        self.assertEqual(len(self.warnings("ReplicasOverridden")), 2)

    def test_objects_of_another_namespace(self):
        """Somebody makes a PodClique and a group with the names, the label and the owner of this graph's."""
        plane.apply(graph(self.namespace, Worker=worker(replicas=2), Wide=worker(multinode={"nodeCount": 2})))
        self.until_successful()
        other = f"{self.namespace}-x"
        plane.cluster.api("POST", "/api/v1/namespaces", {"metadata": {"name": other}})
        forged = []
        for kind, name in ((CLIQUE, "g-0-worker"), (GROUP, "g-0-wide")):
            made = self.get(kind, name)
            metadata = {key: made["metadata"][key] for key in ("name", "labels", "ownerReferences")}
            metadata["finalizers"] = ["example.com/kept"]  # the garbage collector finds no such owner in this namespace
            path = path_of(kind, other)
            plane.cluster.api("POST", path, {**made, "metadata": metadata, "spec": {**made["spec"], "replicas": 7}})
            status = {"status": {"replicas": 7, "readyReplicas": 0, "availableReplicas": 0, "updatedReplicas": 0}}
            plane.cluster.api("PATCH", f"{path}/{name}/status", status, "application/merge-patch+json")
            forged.append(f"{path}/{name}")
        self.change("Worker", replicas=3)
        self.until_replicas(CLIQUE, "g-0-worker", 3)
        self.until("three pods are counted", lambda: self.get(GRAPH)["status"]["services"]["Worker"]["replicas"] == 3)
        self.until_successful()
        self.assertEqual(self.replicas(GROUP, "g-0-wide"), 1)
        for path in forged:
            found = plane.cluster.api("GET", path)
            self.assertEqual((found["spec"]["replicas"], found["status"]["replicas"]), (7, 7))
            self.assertNotIn("dynamo-controller", [entry["manager"] for entry in found["metadata"]["managedFields"]])

    def test_a_clique_that_somebody_scaled_to_0(self):
        plane.apply(graph(self.namespace, Worker=worker(replicas=2)))
        self.until_successful()
        self.scale(CLIQUE, "g-0-worker", 0)
        # The API server does not tell who has set a 0.
        self.until_told(f"somebody scales PodClique.grove.io {self.namespace}/g-0-worker: 0 replicas instead of 2")
        self.assertEqual(self.ready()["status"], "False")
        time.sleep(2)
        self.assertEqual(self.replicas(CLIQUE, "g-0-worker"), 0)
        self.change("Worker", replicas=1)
        self.until_replicas(CLIQUE, "g-0-worker", 1)
        self.until_successful()

    def test_an_autoscaler_of_a_clique(self):
        plane.apply(graph(self.namespace, Worker=worker(replicas=1)))
        self.until_successful()
        target = {"apiVersion": "grove.io/v1alpha1", "kind": CLIQUE, "name": "g-0-worker"}
        plane.cluster.api("POST", path_of("HorizontalPodAutoscaler", self.namespace), {
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "user"},
            "spec": {"scaleTargetRef": target, "minReplicas": 3, "maxReplicas": 3}})
        self.until_told("/g-0-worker: 3 replicas instead of 1")
        self.until_successful()
        # Each new number of the graph is written once; after that the autoscaler's stays.
        self.change("Worker", replicas=2)
        self.until_told("/g-0-worker: 3 replicas instead of 2")
        generation = self.get(CLIQUE, "g-0-worker")["metadata"]["generation"]
        time.sleep(5)
        self.assertEqual(self.get(CLIQUE, "g-0-worker")["metadata"]["generation"], generation)
        self.assertLessEqual(len(self.warnings("ReplicasOverridden")), 2)

    def test_a_number_that_is_changed_back_again_and_again(self):
        plane.apply(graph(self.namespace, Worker=worker(replicas=1)))
        self.until_successful()
        path = path_of(CLIQUE, self.namespace, "g-0-worker") + "?fieldManager=rival"
        ended = threading.Event()

        def undo():
            while not ended.is_set():
                plane.cluster.api("PATCH", path, {"spec": {"replicas": 2}}, "application/merge-patch+json")
                time.sleep(0.05)

        rival = threading.Thread(target=undo)
        generation = self.get(CLIQUE, "g-0-worker")["metadata"]["generation"]
        rival.start()
        try:
            time.sleep(10)
            self.until_told(f"rival keeps changing spec.replicas of PodClique.grove.io {self.namespace}/g-0-worker")
        finally:
            ended.set()
            rival.join()
        # 10 s allow repairs at 0, 0, 1, 3 and 7 s, and one more until the end.
        self.assertLess(self.get(CLIQUE, "g-0-worker")["metadata"]["generation"] - generation, 20)
        self.assertEqual(len(self.warnings("FieldContested")), 1)

    def test_an_adapter_of_several_nodes(self):
        wide = worker(multinode={"nodeCount": 2}, scalingAdapter={"enabled": True})
        plane.apply(graph(self.namespace, Wide=wide))
        self.until_successful()
        plane.patch(ADAPTER, self.namespace, "g-wide", {"spec": {"replicas": 0}}, "scale")

        def scalable():
            found = self.get(ADAPTER, "g-wide").get("status", {}).get("conditions", [])
            return [(one["status"], one["reason"]) for one in found if one["type"] == "Scalable"]

        self.until("the adapter tells", lambda: scalable() == [("False", "GroveNeedsOneReplica")])
        self.assertEqual(self.get(GRAPH)["spec"]["services"]["Wide"]["replicas"], 1)
        plane.patch(ADAPTER, self.namespace, "g-wide", {"spec": {"replicas": 2}}, "scale")
        self.until("the group is scaled", lambda: self.get(GROUP, "g-0-wide")["spec"]["replicas"] == 2)
        self.until("the adapter scales", lambda: scalable() == [("True", "ScalesService")])

    def test_names_that_end_with_other_names(self):
        plane.apply(graph(self.namespace, decode=worker(), vllmdecode=worker()))
        self.until_successful()
        self.assertLess(list(self.cliques()).index("vllmdecode"), list(self.cliques()).index("decode"))

    def test_what_grove_refuses_at_creation(self):
        spread = [{"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                   "labelSelector": {"matchLabels": {"app": "x"}}}]
        for field, value in (("topologySpreadConstraints", spread), ("nodeName", "gpu-node-0"), ("schedulerName", "other")):
            made = graph(self.namespace, Worker=worker())
            made["spec"]["services"]["Worker"]["extraPodSpec"][field] = value
            self.refused(f"spec.services[Worker].extraPodSpec.{field}", plane.apply, made)
        plane.apply(graph(self.namespace, Worker=worker()))
        self.until_successful()
        self.change("Worker", extraPodSpec={"topologySpreadConstraints": spread})
        pod = lambda: self.cliques()["worker"]["podSpec"]  # noqa: E731
        self.until("Grove accepts it in an update", lambda: pod().get("topologySpreadConstraints"))
        self.until_successful()


if __name__ == "__main__":
    unittest.main()
