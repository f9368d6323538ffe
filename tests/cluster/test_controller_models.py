#!/usr/bin/env python3
"""Models: the pods that serve them, and adapters that are loaded and unloaded.
Run: python3 tests/cluster/test_controller_models.py

The pods of graphs run on kwok; a server of this test answers at their addresses as the runtime does (ctl-Q23, ctl-Q80 to
ctl-Q84). It needs the right to make a network namespace.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import json
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import worker_plane  # noqa: E402
from lora_workers import sleeps  # noqa: E402
from operator_plane import CONTROLLER_USER, KINDS, OURS, condition_of, described, wait_for_rest  # noqa: E402

KINDS.update(DynamoModel=(OURS, "dynamomodels"), EndpointSlice=("/apis/discovery.k8s.io/v1", "endpointslices"))
HASH = "nvidia.com/dynamo-base-model-hash"
BASE = "Qwen/Qwen3-0.6B"
BASE_HASH = "fb68f5a6"
STRANGERS = "10.77.0.0/16"  # addresses of programs that are no pods of a graph
FINALIZER = "nvidia.com/finalizer"

plane = controller = workers = None


def setUpModule():
    global plane, controller, workers
    workers, plane = worker_plane.start(STRANGERS)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()


def graph(namespace, replicas=2, **pod):
    main = {"image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
    worker = {
        "componentType": "worker",
        "replicas": replicas,
        "modelRef": {"name": BASE},
        "extraPodSpec": {"mainContainer": main, **pod},
    }
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": "g", "namespace": namespace},
        "spec": {"services": {"Worker": worker}},
    }


def model(namespace, name="tuned", **spec):
    spec = {"modelName": "org/tuned", "modelType": "lora", "source": {"uri": "s3://bucket/tuned"}, **spec}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoModel",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"baseModelName": BASE, **{name: value for name, value in spec.items() if value}},
    }


def endpoint_slice(namespace, name, *targets):
    """A slice as a user writes it. `targets`: (address, name of the pod)."""
    labels = {HASH: BASE_HASH, "kubernetes.io/service-name": "forged"}
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "addressType": "IPv4",
        "ports": [{"name": "system", "port": 9090}],
        "endpoints": [
            {"addresses": [address], "conditions": {"ready": True}, "targetRef": {"kind": "Pod", "name": pod}}
            for address, pod in targets
        ],
    }


class Models(unittest.TestCase):
    number = 0

    def setUp(self):
        Models.number += 1
        self.namespace = f"models-{Models.number}"
        plane.cluster.create_namespace(self.namespace)
        workers.clear()
        workers.forget()  # addresses are used again

    def tearDown(self):
        workers.clear()
        for kind in ("DynamoModel", "DynamoGraphDeployment", "EndpointSlice"):
            base, plural = KINDS[kind]
            plane.cluster.api("DELETE", f"{base}/namespaces/{self.namespace}/{plural}")
        self.until("no pods and models are left", lambda: not self.pods() and not self.models())

    def until(self, what, condition, seconds=60):
        try:
            plane.cluster.wait(condition, seconds, what)
        except Exception as error:
            found = [one.get("status") for one in self.models()]
            raise AssertionError(f"{what}: {found}\n{workers.calls}\n{controller.log_tail()}") from error

    def models(self):
        return plane.cluster.api("GET", f"{OURS}/namespaces/{self.namespace}/dynamomodels")["items"]

    def pods(self):
        """name -> address of the pods that run."""
        found = plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/pods")["items"]
        return {one["metadata"]["name"]: one["status"].get("podIP") for one in found}

    def get(self, name="tuned"):
        return plane.get("DynamoModel", self.namespace, name)

    def status(self, name="tuned"):
        return (self.get(name) or {}).get("status", {})

    def endpoints_ready(self, name="tuned"):
        return condition_of(self.get(name) or {}, "EndpointsReady")

    def is_ready(self, count, name="tuned"):
        status = self.status(name)
        return (status.get("readyEndpoints"), status.get("totalEndpoints")) == (count, count)

    def loaded(self):
        return sorted(address for address in self.pods().values() if "org/tuned" in workers.adapters.get(address, ()))

    def all_events(self, name="tuned"):
        found = plane.cluster.api("GET", f"/api/v1/namespaces/{self.namespace}/events")["items"]
        about = [one for one in found if one["involvedObject"]["kind"] == "DynamoModel"]
        return [one for one in about if one["involvedObject"]["name"] == name]

    def events(self, name="tuned"):
        return {(one["type"], one["reason"]) for one in self.all_events(name)}

    def start(self, replicas=2, **spec):
        """A graph and an adapter that all its pods have."""
        plane.apply(graph(self.namespace, replicas))
        plane.apply(model(self.namespace, **spec))
        self.until("the adapter is loaded", lambda: self.is_ready(replicas))

    def delete(self, name="tuned"):
        plane.delete("DynamoModel", self.namespace, name)

    def test_an_adapter_is_loaded_once_and_unloaded(self):
        self.start()
        self.assertEqual(len(self.loaded()), 2)
        found = self.get()
        self.assertEqual(found["metadata"]["finalizers"], [FINALIZER])
        self.assertEqual(found["metadata"]["generation"], 1)
        self.assertEqual(condition_of(found, "EndpointsReady")["reason"], "AllEndpointsReady")
        self.assertEqual(condition_of(found, "ServicesFound")["message"], "Found 2 service(s)")
        addresses = {f"http://{address}:9090" for address in self.pods().values()}
        self.assertEqual({one["address"] for one in found["status"]["endpoints"]}, addresses)
        body = '{"lora_name":"org/tuned","source":{"uri":"s3://bucket/tuned"}}'
        self.assertEqual({call[2:] for call in workers.calls}, {("/v1/loras", body)})
        self.assertEqual(workers.count("POST"), 2)
        self.rest()
        self.assertEqual(len(workers.calls), 2)
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.assertEqual(self.loaded(), [])
        self.assertEqual([call[2] for call in workers.calls[2:]], ["/v1/loras/org/tuned"] * 2)
        self.until("unloading is told", lambda: ("Normal", "LoRAUnloaded") in self.events())

    def rest(self, seconds=5):
        """Nothing is written and nobody is asked for some seconds."""

        def writes():
            return plane.audit.entries(CONTROLLER_USER)

        wait_for_rest(writes)
        before, calls = len(writes()), len(workers.calls)
        time.sleep(seconds)
        self.assertEqual([described(one) for one in writes()[before:]], [])
        self.assertEqual(workers.calls[calls:], [])

    def test_a_base_model(self):
        plane.apply(model(self.namespace, modelName=BASE, modelType="base", source=None))
        self.until("nothing serves it", lambda: self.endpoints_ready().get("reason") == "NoEndpoints")
        self.assertEqual(self.status()["totalEndpoints"], 0)
        plane.apply(graph(self.namespace))
        self.until("two pods serve it", lambda: self.status()["totalEndpoints"] == 2)
        self.assertEqual(self.endpoints_ready()["reason"], "EndpointsDiscovered")
        self.rest()
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.assertEqual(workers.calls, [])

    def test_a_pod_that_joins_and_one_that_crashes(self):
        self.start()
        workers.behave = sleeps(2, "POST")
        plane.patch("DynamoGraphDeployment", self.namespace, "g", {"spec": {"services": {"Worker": {"replicas": 3}}}})
        self.until("the third pod has the adapter", lambda: self.is_ready(3))
        self.assertEqual(len(self.loaded()), 3)
        self.assertEqual(workers.count("POST"), 3)  # the first two are not asked again
        name, address = next(iter(self.pods().items()))
        workers.crash(address)
        pod = plane.get("Pod", self.namespace, name)
        container = {**pod["status"]["containerStatuses"][0], "restartCount": 1}
        plane.patch("Pod", self.namespace, name, {"status": {"containerStatuses": [container]}}, "status")
        self.until("it has the adapter again", lambda: len(self.loaded()) == 3)
        self.assertEqual([call[1] for call in workers.calls[3:]], [address])
        self.rest()

    def test_two_adapters(self):
        self.start()
        plane.apply(model(self.namespace, "other", modelName="org/other"))
        self.until("the second is loaded", lambda: self.is_ready(2, "other"))
        self.assertEqual(workers.count("POST"), 4)
        self.delete("other")
        self.until("the second is gone", lambda: self.get("other") is None)
        self.assertEqual(len(self.loaded()), 2)

    def sources(self):
        return {address: workers.sources.get((address, "org/tuned")) for address in self.pods().values()}

    def edit(self, **spec):
        workers.clear()
        plane.apply(model(self.namespace, **spec))

    def test_a_changed_source_is_loaded_in_one_half_after_the_other(self):
        """The runtime answers that the adapter is loaded already, whatever its source is (ctl-Q94)."""
        self.start(3)
        self.edit(source={"uri": "s3://bucket/second"})
        self.until("all have the second", lambda: set(self.sources().values()) == {"s3://bucket/second"} and self.is_ready(3))
        calls = [(method, address) for method, address, *_ in workers.calls]
        first = [method for method, _ in calls].index("POST")
        self.assertEqual(len([one for one in calls[:first] if one[0] == "DELETE"]), 2)
        self.assertEqual(sorted(calls), sorted((method, address) for method in ("POST", "DELETE") for address in self.pods().values()))
        with self.subTest("a source that cannot be loaded"):
            workers.clear()
            workers.behave = lambda method, _: 500 if method == "POST" else None
            plane.apply(model(self.namespace, source={"uri": "s3://bucket/third"}))
            self.until("it is told", lambda: "it has the adapter of an earlier source" in self.endpoints_ready()["message"])
            self.until("it is tried again", lambda: workers.count("POST") > 3)
            self.assertEqual(workers.count("DELETE"), 2)
            self.assertEqual(len(self.loaded()), 1)
            workers.clear()
            self.until("all have the third", lambda: set(self.sources().values()) == {"s3://bucket/third"} and self.is_ready(3))
        with self.subTest("while the controller is away"):
            controller.stop()
            self.edit(source={"uri": "s3://bucket/fourth"})
            controller.start()
            controller.wait_until_ready()
            self.until("all have the fourth", lambda: set(self.sources().values()) == {"s3://bucket/fourth"} and self.is_ready(3))

    def uris(self):
        """The sources of the adapters that pods have."""
        return {workers.sources[address, "org/tuned"] for address in self.loaded()}

    def change_source(self, name="tuned"):
        plane.patch("DynamoModel", self.namespace, name, {"spec": {"source": {"uri": "s3://bucket/changed"}}})

    def test_a_changed_source_is_loaded_beside_a_rank_and_a_pod_that_must_not_be_asked(self):
        plane.apply(self.with_rank())
        plane.apply(endpoint_slice(self.namespace, "forged", ("10.77.0.2", "absent")))
        self.until("two pods run", lambda: len([one for one in self.pods().values() if one]) == 2)
        plane.apply(model(self.namespace))
        self.until("one pod has it", lambda: self.is_ready(1))
        self.change_source()
        self.until("it is loaded", lambda: self.is_ready(1) and self.uris() == {"s3://bucket/changed"})
        self.rest(3)

    def test_a_source_that_was_changed_half_is_loaded_after_a_restart(self):
        self.start()
        workers.behave = lambda method, address: 500 if method == "POST" else None
        self.change_source()
        self.until("one pod has none", lambda: self.endpoints_ready().get("reason") == "NotReady" and len(self.loaded()) == 1)
        self.assertEqual(self.endpoints_ready()["observedGeneration"], 1)
        controller.stop()
        workers.clear()
        controller.start()
        controller.wait_until_ready()
        self.until("both have it", lambda: self.is_ready(2) and len(self.loaded()) == 2)
        self.assertEqual(self.uris(), {"s3://bucket/changed"})
        self.assertEqual(self.endpoints_ready()["observedGeneration"], 2)

    def test_a_pod_that_does_not_run_does_not_stop_a_changed_source(self):
        self.start()
        (stopped, _), (_, address) = self.pods().items()
        pod = plane.get("Pod", self.namespace, stopped)
        waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
        container = {**pod["status"]["containerStatuses"][0], "restartCount": 1, "ready": False, "state": waiting}
        plane.patch("Pod", self.namespace, stopped, {"status": {"containerStatuses": [container]}}, "status")
        self.until("it is told", lambda: "its main container does not run" in self.endpoints_ready()["message"])
        self.change_source()
        self.until("the other one has it", lambda: workers.sources[address, "org/tuned"] == "s3://bucket/changed")
        self.assertEqual(self.status()["readyEndpoints"], 1)

    def test_a_name_that_a_younger_model_has_loaded_gets_the_source_of_the_older_one(self):
        self.start()
        time.sleep(1.1)
        plane.apply(model(self.namespace, "younger", modelName="org/other", source={"uri": "s3://bucket/other"}))
        self.until("the younger one is ready", lambda: self.is_ready(2, "younger"))
        plane.patch("DynamoModel", self.namespace, "tuned", {"spec": {"modelName": "org/other"}})
        told = "model tuned has this adapter from another source"
        self.until("the younger one tells it", lambda: told in self.endpoints_ready("younger").get("message", ""))
        self.until("the older one is ready", lambda: self.is_ready(2) and self.endpoints_ready()["observedGeneration"] == 2)
        addresses = self.pods().values()
        self.assertEqual({workers.sources[address, "org/other"] for address in addresses}, {"s3://bucket/tuned"})
        self.assertEqual([workers.adapters[address] for address in addresses], [{"org/other"}] * 2)

    def test_of_two_sources_that_of_the_older_model_counts(self):
        self.start()
        time.sleep(1.1)  # the times of creation have seconds
        plane.apply(model(self.namespace, "younger", source={"uri": "s3://bucket/changed"}))
        told = "model tuned has this adapter from another source"
        self.until("it is told", lambda: told in self.endpoints_ready("younger").get("message", ""))
        self.assertEqual(self.uris(), {"s3://bucket/tuned"})
        self.delete()
        self.until("the younger one has it", lambda: self.is_ready(2, "younger"))
        self.assertEqual(self.uris(), {"s3://bucket/changed"})

    def test_a_model_that_waited_for_an_older_one_takes_its_own_source_after_a_restart(self):
        plane.apply(self.with_rank())
        plane.apply(model(self.namespace))
        self.until("the older one is ready", lambda: self.is_ready(1))
        time.sleep(1.1)
        plane.apply(model(self.namespace, "younger", source={"uri": "s3://bucket/changed"}))
        told = "Found 0 ready endpoint(s) out of 1 total: "
        self.until("it is told", lambda: self.endpoints_ready("younger").get("message", "").startswith(told))
        self.assertEqual(self.endpoints_ready("younger")["observedGeneration"], 0)
        controller.stop()
        plane.patch("DynamoModel", self.namespace, "tuned", {"metadata": {"finalizers": None}})
        self.delete()
        controller.start()
        controller.wait_until_ready()
        self.until("the younger one has it", lambda: self.is_ready(1, "younger"))
        self.assertEqual(self.uris(), {"s3://bucket/changed"})
        self.assertEqual(self.endpoints_ready("younger")["observedGeneration"], 1)

    def test_an_adapter_that_a_deleted_model_has_left_is_replaced(self):
        self.start()
        workers.behave = lambda method, _: 503 if method == "DELETE" else None
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.assertEqual(len(self.loaded()), 2)
        workers.clear()
        plane.apply(model(self.namespace, "next", source={"uri": "s3://bucket/changed"}))
        self.until("the next one is ready", lambda: self.is_ready(2, "next"))
        self.assertEqual(self.uris(), {"s3://bucket/changed"})

    def test_two_models_of_one_adapter_get_another_source_together(self):
        self.start()
        plane.apply(model(self.namespace, "twin"))
        self.until("the twin is ready", lambda: self.is_ready(2, "twin"))
        self.change_source()
        self.change_source("twin")
        ready = lambda: all(self.endpoints_ready(name).get("observedGeneration") == 2 and self.is_ready(2, name) for name in ("tuned", "twin"))  # noqa: E731
        self.until("both are ready", lambda: ready() and self.uris() == {"s3://bucket/changed"})
        self.rest(3)
        self.assertTrue(ready())
        self.assertEqual(len(self.loaded()), 2)

    def test_an_adapter_of_an_earlier_name_is_unloaded(self):
        self.start(2)
        self.edit(modelName="org/other")
        has = lambda *names: [workers.adapters[one] for one in self.pods().values()] == [set(names)] * 2  # noqa: E731
        self.until("it is loaded", lambda: self.is_ready(2) and has("org/other"))
        self.until("an Event tells it", lambda: ("Normal", "LoRAUnloaded") in self.events())
        with self.subTest("unless another model has it"):
            plane.apply(model(self.namespace, "second", modelName="org/other"))
            self.edit(modelName="org/third")
            self.until("both are loaded", lambda: self.is_ready(2) and has("org/other", "org/third"))
            self.rest()
            self.assertEqual(workers.count("DELETE"), 0)

    def test_an_adapter_that_two_models_need_stays_loaded(self):
        self.start()
        plane.apply(model(self.namespace, "twin"))
        self.until("the twin is ready", lambda: self.is_ready(2, "twin"))
        self.delete("twin")
        self.until("the twin is gone", lambda: self.get("twin") is None)
        self.assertEqual(workers.count("DELETE"), 0)
        self.assertEqual(len(self.loaded()), 2)

    def test_a_download_that_fails_is_told_and_tried_again(self):
        plane.apply(graph(self.namespace))
        self.until("two pods run", lambda: len([one for one in self.pods().values() if one]) == 2)
        bad = next(iter(self.pods().values()))
        workers.behave = lambda method, address: 500 if address == bad else None
        plane.apply(model(self.namespace))
        self.until("one has it", lambda: self.endpoints_ready().get("reason") == "NotReady" and self.loaded())
        self.assertIn("Found 1 ready endpoint(s) out of 2 total: pod ", self.endpoints_ready()["message"])
        self.assertIn("answered 500: told to fail", self.endpoints_ready()["message"])
        told = {("Warning", "PartialEndpointFailure"), ("Warning", "NotReady")}
        self.until("Events tell it", lambda: told <= self.events())
        version = self.get()["metadata"]["resourceVersion"]
        self.until("it is tried again", lambda: [call[1] for call in workers.calls].count(bad) >= 3)
        self.assertEqual(self.get()["metadata"]["resourceVersion"], version)  # the same failure is not written again
        self.assertEqual(len([call for call in workers.calls if call[1] != bad]), 1)
        workers.clear()
        self.until("it is loaded", lambda: self.is_ready(2))

    def test_redirects_are_not_followed(self):
        plane.apply(graph(self.namespace, 1))
        workers.behave = lambda method, address: 307
        plane.apply(model(self.namespace))
        self.until("it is told", lambda: "answered 307" in self.endpoints_ready().get("message", ""))
        self.assertEqual({call[2] for call in workers.calls}, {"/v1/loras"})

    def test_ten_pods_at_a_time(self):
        workers.behave = sleeps(1, "POST")
        plane.apply(graph(self.namespace, 24))
        self.until("24 pods run", lambda: len([one for one in self.pods().values() if one]) == 24)
        plane.apply(model(self.namespace))
        self.until("the adapter is loaded", lambda: self.is_ready(24))
        self.assertEqual(workers.busiest["POST"], 10)
        self.assertEqual(workers.count("POST"), 24)

    def test_deletion_does_not_wait_for_dead_pods(self):
        self.start()
        workers.behave = sleeps(60, "DELETE")
        began = time.monotonic()
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.assertLess(time.monotonic() - began, 35)
        self.until("it is told", lambda: ("Warning", "LoRAUnloadFailed") in self.events())

    def test_pods_that_do_not_answer_do_not_keep_others_from_being_asked(self):
        """ctl-Q81: ten requests at a time, 15 s each, 30 s in all. 20 pods that do not answer take all of it."""
        silent = []

        def behave(_, address):
            if address not in silent and len(silent) < 20:
                silent.append(address)
            if address in silent:
                time.sleep(30)

        plane.apply(graph(self.namespace, 22))
        self.until("22 pods run", lambda: len([one for one in self.pods().values() if one]) == 22)
        workers.behave = behave
        plane.apply(model(self.namespace))
        self.until("the last two have it", lambda: len(set(self.loaded()) - set(silent)) == 2, 60)
        self.assertEqual(len(silent), 20)

    def with_rank(self):
        """A worker, and a pod that only runs a rank of vLLM."""
        made = graph(self.namespace, 1)
        made["spec"]["services"]["Rank"] = json.loads(json.dumps(made["spec"]["services"]["Worker"]))
        made["spec"]["services"]["Rank"]["extraPodSpec"]["mainContainer"]["args"] += ["--headless"]
        return made

    def test_ranks_of_vllm_are_not_asked(self):
        """ctl-Q95"""
        plane.apply(self.with_rank())
        self.until("two pods run", lambda: len([one for one in self.pods().values() if one]) == 2)
        plane.apply(model(self.namespace))
        self.until("one pod has it", lambda: self.is_ready(1))
        self.assertEqual(self.endpoints_ready()["message"], "All 1 endpoint(s) are ready")
        self.rest(3)
        self.assertEqual(workers.count("POST"), 1)

    def test_a_model_that_is_created_while_its_adapter_is_unloaded_loads_it_again(self):
        """ctl-Q84"""
        self.start()
        workers.behave = sleeps(5, "DELETE")
        self.delete()
        self.until("it is unloaded", lambda: workers.count("DELETE") == 2)
        plane.apply(model(self.namespace, "twin"))
        self.until("the twin is ready", lambda: self.is_ready(2, "twin"))
        self.until("the model is gone", lambda: self.get() is None)
        self.until("the adapter is loaded again", lambda: len(self.loaded()) == 2)
        self.assertTrue(self.is_ready(2, "twin"))

    def test_an_adapter_that_a_pod_does_not_know_is_unloaded(self):
        self.start()
        for address in self.pods().values():
            workers.crash(address)
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.until("it is told", lambda: ("Normal", "LoRAUnloaded") in self.events())

    def test_slices_that_a_user_wrote_make_nobody_be_asked(self):
        """ctl-Q80: addresses of programs, of pods without a graph, of pods of other namespaces."""
        self.start(1)
        name = next(iter(self.pods()))
        lonely = {"metadata": {"name": "lonely"}, "spec": {"containers": [{"name": "main", "image": "runtime:1"}]}}
        plane.cluster.api("POST", f"/api/v1/namespaces/{self.namespace}/pods", lonely)
        self.until("the pod runs", lambda: self.pods().get("lonely"))
        owner = plane.get("DynamoGraphDeployment", self.namespace, "g")
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": "g", "uid": owner["metadata"]["uid"]}
        metadata = {"name": "no-ip", "ownerReferences": [{**reference, "controller": True}]}
        without = {"metadata": metadata, "spec": {**lonely["spec"], "nodeSelector": {"none": "none"}}}
        plane.cluster.api("POST", f"/api/v1/namespaces/{self.namespace}/pods", without)
        workers.clear()
        targets = [("10.77.0.1", name), ("10.77.0.2", "absent"), ("10.77.0.3", "no-ip"), (self.pods()["lonely"], "lonely")]
        plane.apply(endpoint_slice(self.namespace, "forged", *targets))
        self.until("it is told", lambda: "pod absent does not exist" in self.endpoints_ready()["message"])
        message = self.endpoints_ready()["message"]
        self.assertTrue(message.startswith("All 1 endpoint(s) are ready"), message)
        self.assertIn("pod lonely belongs to no graph", message)
        self.assertIn("pod no-ip does not have the address 10.77.0.3", message)
        self.until("an Event tells it", lambda: ("Warning", "EndpointSkipped") in self.events())
        self.rest()
        self.assertEqual(workers.calls, [])
        self.delete()
        self.until("the model is gone", lambda: self.get() is None)
        self.assertEqual([call[1] for call in workers.calls], [self.pods()[name]])
        for pod in ("lonely", "no-ip"):
            plane.delete("Pod", self.namespace, pod)

    def test_a_pod_that_is_gone_is_told_if_its_slice_stays(self):
        """Slices are updated after pods are gone (ctl-Q80)."""
        self.start(1)
        (name, address), *_ = self.pods().items()
        plane.apply(endpoint_slice(self.namespace, "late", (address, name), ("10.77.0.2", "absent")))
        plane.delete("Pod", self.namespace, name)
        self.until("the pod is gone", lambda: name not in self.pods())
        plane.apply(endpoint_slice(self.namespace, "late", ("10.77.0.2", "absent")))
        self.until("it is told", lambda: "not asked: " in self.endpoints_ready()["message"])
        self.until("another pod has it", lambda: self.is_ready(1))
        message = self.endpoints_ready()["message"]
        self.assertEqual(message, "All 1 endpoint(s) are ready; not asked: pod absent does not exist")
        self.until("an Event tells it", lambda: "EndpointSkipped" in {one["reason"] for one in self.all_events()})
        told = [one["message"] for one in self.all_events() if one["reason"] == "EndpointSkipped"]
        self.assertEqual([text for text in told if name in text], [])

    def test_pods_with_the_network_of_the_node_are_not_asked(self):
        plane.apply(graph(self.namespace, 1, hostNetwork=True))
        plane.apply(model(self.namespace))
        self.until("it is told", lambda: "uses the network of its node" in self.endpoints_ready().get("message", ""))
        self.assertEqual(self.status()["totalEndpoints"], 0)
        self.assertEqual(workers.calls, [])

    def test_a_controller_that_starts_again_writes_nothing(self):
        self.start()
        version = self.get()["metadata"]["resourceVersion"]
        controller.stop()
        controller.start()
        controller.wait_until_ready()
        self.until("the pods are asked again", lambda: workers.count("POST") == 4)
        self.rest(2)
        self.assertEqual(self.get()["metadata"]["resourceVersion"], version)


if __name__ == "__main__":
    unittest.main()
