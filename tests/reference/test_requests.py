"""Tests of the comparison of requests: folding, decisions, and each condition of requests-deviations.txt, with positive and
negative cases."""

import collections
import inspect
import pathlib
import re
import tempfile
import unittest

import compare
import deviations
import folding_requests
import ledger
import recordings
import request_conditions
import sabotage
from context import Context
from differences import ABSENT, Difference, parsed

HERE = pathlib.Path(__file__).resolve().parent
REQUEST, GRAPH, CHECKPOINT = "DynamoGraphDeploymentRequest", "DynamoGraphDeployment", "DynamoCheckpoint"
JOB = ("Job", "profile-r")
POD = "spec.template.spec"
PROFILER = f"{POD}.containers[profiler]"
DEFAULTED = {"nvidia.com/dynamo-defaulted": '{"v":1,"spec":{"services":{"w":{"sharedMemory":{"size":"x"}}}}}'}
OWNER = {"kind": GRAPH, "name": "g", "controller": True, "blockOwnerDeletion": True}
PAYLOAD = {"v": 1, "fields": []}
CONFIG = {"sla": {"ttft": 5, "isl": 7}}
TOKEN = {"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
DATA = {"name": "profiling-output", "mountPath": "/data"}
OTHER = {"name": "profiling-output", "mountPath": "/other"}


def request(**spec):
    return {"apiVersion": "nvidia.com/v1beta1", "kind": REQUEST, "metadata": {"name": "r"}, "spec": spec}


def older(**spec):
    return {**request(**spec), "apiVersion": "nvidia.com/v1alpha1"}


def checkpoint(**spec):
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": CHECKPOINT, "metadata": {"name": "r"}, "spec": spec}


def model(**spec):
    return {**checkpoint(**spec), "kind": "DynamoModel"}


def job_of(**pod):
    """A request with this pod spec of its profiling Job."""
    return request(overrides={"profilingJob": {"template": {"spec": pod}}})


def graph(annotations=None, **services):
    metadata = {"name": "g", "annotations": annotations or {}}
    return {"kind": GRAPH, "metadata": metadata, "spec": {"services": services}}


def job(*containers):
    return {"kind": "Job", "metadata": {"name": "profile-r"}, "spec": {"template": {"spec": {"containers": list(containers)}}}}


def with_status(kind=REQUEST, **status):
    return {"kind": kind, "metadata": {"name": "r"}, "status": status}


def failed(reason, cause):
    conditions = [{"type": "Succeeded", "status": "False", "reason": reason}, {"type": "Profiling", "status": "False", "reason": cause}]
    return with_status(phase="Failed", conditions=conditions)


def row(condition, holds, manifest, found, theirs=ABSENT, ours=ABSENT, their_objects=(), our_objects=()):
    return condition, holds, manifest, found, theirs, ours, their_objects, our_objects


def on_request(path):
    return REQUEST, "r", path


def located(place):
    return job({"name": "main", "env": [{"name": "DYN_CHECKPOINT_LOCATION", "value": place}]})


def swapped(first, main):
    """(their, our) Jobs of a checkpoint with a container before the main one."""
    env = [{"name": "A", "value": "1"}]
    return [job({"name": first, "env": env}, {"name": main})], [job({"name": first}, {"name": main, "env": env})]


REASON = on_request("status.conditions.Succeeded.reason")
ISL = on_request("spec.workload.isl")
MOUNTS = (*JOB, f"{PROFILER}.volumeMounts")
VOLUME = (*JOB, f"{POD}.volumes[token]")
ADDRESS = (*JOB, f"{PROFILER}.env[NATS_SERVER].value")
OWNERS = ("ConfigMap", "c", "metadata.ownerReferences")
VARIABLE = (*JOB, f"{POD}.containers[main].env[A]")
VARIABLES = (*JOB, f"{POD}.containers[main].env")
CPU = on_request("spec.overrides.profilingJob.template.spec.containers[0].resources.limits[cpu]")
ROWS = [
    row("finalizer_of_operator", True, request(), on_request("metadata.finalizers"), ["nvidia.com/finalizer"]),
    row("finalizer_of_operator", False, request(), on_request("metadata.finalizers"), ["nvidia.com/finalizer", "mine"]),
    row("name_too_long", True, {**request(), "metadata": {"name": "r" * 56}}, ("admission", "", "metadata.name")),
    row("name_too_long", False, {**request(), "metadata": {"name": "r" * 55}}, ("admission", "", "metadata.name")),
    row("another_namespace", True, older(deploymentOverrides={"namespace": "n"}), ("admission", "", "-")),
    row("another_namespace", False, older(deploymentOverrides={"name": "n"}), ("admission", "", "-")),
    row("value_of_user", True, request(features={"mocker": {"enabled": False}}), on_request("spec.features.mocker.enabled"),
        ours=False),
    row("value_of_user", False, request(features={"mocker": {}}), on_request("spec.features.mocker.enabled"), ours=False),
    row("same_quantity", True, request(), CPU, "32", "32000m"),
    row("same_quantity", True, request(), CPU, "4", 4),
    row("same_quantity", False, request(), CPU, "32", "32001m"),
    row("same_quantity", False, request(), CPU, "x", "x"),
    row("first_generation", True, request(), on_request("status.observedGeneration"), 2, 1),
    row("first_generation", False, request(), on_request("status.observedGeneration"), 1, 2),
    row("number_not_integral", True, older(profilingConfig={"config": {"sla": {"isl": 3000.7}}}), ISL, 3000, 4000),
    row("number_not_integral", False, older(profilingConfig={"config": {"sla": {"isl": 3000.7}}}), ISL, 3001, 4000),
    row("number_not_integral", False, older(profilingConfig={"config": {"sla": {"isl": 3000}}}), ISL, 3000, 4000),
    row("of_the_older_version", True, older(), on_request("metadata.annotations[x]"), ours=PAYLOAD),
    row("of_the_older_version", False, request(), on_request("metadata.annotations[x]"), ours=PAYLOAD),
    row("of_the_older_version", False, older(), on_request("metadata.annotations[x]"), ours="text"),
    row("told_by_fields", True, older(), on_request("metadata.annotations[x]"), CONFIG,
        our_objects=[request(sla={"ttft": 5}, workload={"isl": 7})]),
    row("told_by_fields", False, older(), on_request("metadata.annotations[x]"), CONFIG,
        our_objects=[request(sla={"ttft": 5}, workload={"isl": 8})]),
    row("told_by_fields", False, older(), on_request("metadata.annotations[x]"), {"sweep": {"x": 1}}, our_objects=[request()]),
    row("reason_of_the_cause", True, request(), REASON, "Failed", "F", our_objects=[failed("F", "F")]),
    row("reason_of_the_cause", False, request(), REASON, "Failed", "F", our_objects=[failed("F", "G")]),
    row("reason_of_the_cause", False, request(), REASON, "Profiling", "F", our_objects=[failed("F", "F")]),
    row("of_this_spec", True, request(), on_request("status.conditions.X.observedGeneration"), ours="current",
        our_objects=[with_status(observedGeneration=1)]),
    row("of_this_spec", False, request(), on_request("status.conditions.X.observedGeneration"), ours=2,
        our_objects=[with_status(observedGeneration=1)]),
    row("of_this_spec", True, checkpoint(), (CHECKPOINT, "r", "status.conditions.X.observedGeneration"), ours=1,
        our_objects=[with_status(CHECKPOINT, phase="Creating")]),
    row("partial_hardware", True, request(hardware={"gpuSku": "l40s"}), (*JOB, "-")),
    row("partial_hardware", False, request(hardware={"gpuSku": "l40s", "vramMb": 1, "numGpusPerNode": 1}), (*JOB, "-")),
    row("partial_hardware", False, request(hardware={"totalGpus": 8}), (*JOB, "-")),
    row("claims_of_the_pod", True, job_of(resourceClaims=[{"name": "c"}]), (*JOB, "-")),
    row("claims_of_the_pod", False, job_of(resourceClaims=[]), (*JOB, "-")),
    row("own_copier", True, request(), (*JOB, "-"), "SCRIPT", "SCRIPT dgdr-output-r"),
    row("own_copier", False, request(), (*JOB, "-"), "SCRIPT", "SCRIPT dgdr-output-s"),
    row("is_true", True, request(), (*JOB, "-"), ours=True),
    row("is_true", False, request(), (*JOB, "-"), ours="true"),
    row("configured_address", True, request(), ADDRESS, "nats://NS-nats:4222", request_conditions.NATS),
    row("configured_address", False, request(), ADDRESS, "nats://NS-nats:4222", "nats://other:4222"),
    row("configured_address", False, request(), ADDRESS, "nats://given:4222", request_conditions.NATS),
    row("mounts_by_path", True, job_of(containers=[{"volumeMounts": [OTHER]}]), MOUNTS, [OTHER], [DATA, OTHER]),
    row("mounts_by_path", False, job_of(containers=[{"volumeMounts": [OTHER]}]), MOUNTS, [OTHER], [DATA]),
    row("mounts_by_path", False, job_of(containers=[]), MOUNTS, [DATA], [DATA, {"name": "v", "mountPath": "/v"}]),
    row("token_of_account", True, job_of(serviceAccountName="a"), VOLUME, ours={"name": "token", "projected": {}}),
    row("token_of_account", True, job_of(automountServiceAccountToken=False), (*JOB, "-"), ours=TOKEN),
    row("token_of_account", False, job_of(), VOLUME, ours={"name": "token", "projected": {}}),
    row("token_of_account", False, job_of(serviceAccountName="a"), VOLUME, ours={"name": "token", "emptyDir": {}}),
    row("rights_of_account", True, job_of(serviceAccountName="a"), ("RoleBinding", "profile-r", "-")),
    row("rights_of_account", False, job_of(serviceAccountName="a"), ("RoleBinding", "profile-s", "-")),
    row("rights_of_account", False, job_of(), ("RoleBinding", "profile-r", "-")),
    row("deployment_override", True, older(deploymentOverrides={"labels": {"a": "b"}}), (GRAPH, "g", "metadata.labels[a]"), ours="b"),
    row("deployment_override", False, older(deploymentOverrides={"labels": {"a": "b"}}), (GRAPH, "g", "metadata.labels[a]"), ours="c"),
    row("deployment_override", False, older(deploymentOverrides={"labels": {"a": "b"}}), (GRAPH, "g", "metadata.annotations[a]"),
        ours="b"),
    row("stored_default", True, request(), (GRAPH, "g", "spec.services.w.sharedMemory"), our_objects=[graph(DEFAULTED)]),
    row("stored_default", False, request(), (GRAPH, "g", "spec.services.w.replicas"), our_objects=[graph(DEFAULTED)]),
    row("stored_default", False, request(), (GRAPH, "g", "spec.services.w.sharedMemory"), our_objects=[graph()]),
    row("owned_by_graph", True, request(), OWNERS, ours=[OWNER], our_objects=[graph()]),
    row("owned_by_graph", False, request(), OWNERS, ours=[{**OWNER, "name": "h"}], our_objects=[graph()]),
    row("no_planner", True, request(), ("RoleBinding", "planner-serviceaccount-binding", "-"), our_objects=[graph(w={"replicas": 1})]),
    row("no_planner", False, request(), ("RoleBinding", "planner-serviceaccount-binding", "-"),
        our_objects=[graph(p={"componentType": "planner"})]),
    row("no_planner", False, request(), ("RoleBinding", "other", "-"), our_objects=[graph(w={"replicas": 1})]),
    row("hash_of_identity", True, checkpoint(), (CHECKPOINT, "r", "metadata.labels[h]"), ours="f00d",
        our_objects=[with_status(CHECKPOINT, identityHash="f00d")]),
    row("hash_of_identity", False, checkpoint(), (CHECKPOINT, "r", "metadata.labels[h]"), ours="f00d",
        our_objects=[with_status(CHECKPOINT, identityHash="f00e")]),
    row("security_of_user", True, checkpoint(job={"podTemplateSpec": {"spec": {"securityContext": {"fsGroup": 5}}}}),
        (*JOB, f"{POD}.securityContext.fsGroup"), ours=5),
    row("security_of_user", False, checkpoint(job={"podTemplateSpec": {"spec": {"securityContext": {"fsGroup": 5}}}}),
        (*JOB, f"{POD}.securityContext.fsGroup"), ours=6),
    row("no_security_of_user", True, checkpoint(job={"podTemplateSpec": {"spec": {}}}), (*JOB, f"{POD}.securityContext.fsGroup"), ours=1000),
    row("no_security_of_user", False, checkpoint(job={"podTemplateSpec": {"spec": {"securityContext": {"runAsUser": 5}}}}),
        (*JOB, f"{POD}.securityContext.fsGroup"), ours=1000),
    row("adapter_of_no_pod", True, model(modelType="lora"), ("DynamoModel", "r", "status.totalEndpoints"), ours=0, theirs=1),
    row("adapter_of_no_pod", False, model(modelType="lora"), ("DynamoModel", "r", "status.totalEndpoints"), ours=2, theirs=1),
    row("object_store", True, checkpoint(), (*JOB, f"{POD}.volumes[checkpoint-storage]"), our_objects=[located("s3://b/h.tar")]),
    row("object_store", False, checkpoint(), (*JOB, f"{POD}.volumes[checkpoint-storage]"), our_objects=[located("/checkpoints/h")]),
    row("main_instead_of_first", True, checkpoint(), VARIABLE, ours={"name": "A", "value": "1"},
        their_objects=swapped("side", "main")[0], our_objects=swapped("side", "main")[1]),
    row("main_instead_of_first", False, checkpoint(), VARIABLE, ours={"name": "A", "value": "2"},
        their_objects=swapped("side", "main")[0], our_objects=swapped("side", "main")[1]),
    row("main_instead_of_first", False, checkpoint(), VARIABLE, ours={"name": "A", "value": "1"},
        their_objects=swapped("main", "side")[0], our_objects=swapped("main", "side")[1]),
    row("duplicate_variable", True, checkpoint(), VARIABLES, [{"name": "A"}, {"name": "A"}], [{"name": "A"}]),
    row("duplicate_variable", False, checkpoint(), VARIABLES, [{"name": "A"}, {"name": "B"}], [{"name": "A"}]),
]  # fmt: skip


def recorded(*objects, manifests=(), **answers):
    """A recording. `answers`: name of a request -> the message of a denial, None if it was admitted."""
    apply = [
        {"kind": REQUEST, "name": name, "ok": message is None, "message": message or ""}
        for name, message in (answers or {"r": None}).items()
    ]
    dump = {"case": "c", "apply": apply, "objects": list(objects), "input": list(manifests)}
    return folding_requests.recording(dump)


def completed(item):
    """The object with what every object has."""
    return {"apiVersion": "v", **item, "metadata": {"labels": {}, **item["metadata"]}}


class Conditions(unittest.TestCase):
    def test_each_condition(self):
        for condition, holds, manifest, found, theirs, ours, their_objects, our_objects in ROWS:
            sides = [
                recorded(*map(completed, objects), manifests=[manifest]) for objects in (their_objects, our_objects)
            ]
            difference = Difference("c", *found[:2], parsed(found[2]), theirs, ours)
            with self.subTest(condition=condition, holds=holds, found=found, ours=ours):
                held = getattr(request_conditions, condition)(Context(difference, *sides))
                self.assertEqual(bool(held), holds)

    def test_each_condition_has_positive_and_negative_cases(self):
        named = {name for name, value in inspect.getmembers(request_conditions, inspect.isfunction) if not name.startswith("_")}
        for holds in (True, False):
            self.assertEqual({name for name, expected, *_ in ROWS if expected is holds}, named, holds)


class Comparing(unittest.TestCase):
    def found(self, theirs, ours):
        return [(item.kind, item.name, item.path, item.theirs, item.ours) for item in compare.differences_of_case(theirs, ours)]

    def test_a_decision_is_compared_with_its_field(self):
        denied = 'is invalid: spec.deploymentOverrides.namespace: Forbidden: another namespace "n"'
        path = ("spec", "deploymentOverrides", "namespace")
        expected = [("admission", f"{REQUEST}/r", path, "admitted", "denied")]
        self.assertEqual(self.found(recorded(r=None), recorded(r=denied)), expected)
        self.assertEqual(self.found(recorded(r=denied), recorded(r=denied)), [])
        expected = [("admission", f"{REQUEST}/s", (), "admitted", "denied")]
        self.assertEqual(self.found(recorded(r=None, s=None), recorded(r=None, s="no")), expected)

    def test_statuses(self):
        def status(**changes):
            condition = {"type": "A", "status": "True", "reason": "R", "message": "m", "lastTransitionTime": "TIME"}
            condition["observedGeneration"] = changes.pop("observed", 1)
            kept = {"observedGeneration": 1, "conditions": [{**condition, **changes}, {"type": "B", "status": "True"}]}
            return recorded(completed(with_status(**kept)))

        for changes, path in (
            ({}, None),
            ({"message": "n", "lastTransitionTime": "later"}, None),
            ({"reason": "S"}, ("reason",)),
            ({"status": "False"}, ("status",)),
            ({"observed": 0}, ("observedGeneration",)),
            ({"lastTransitionTime": ""}, ("lastTransitionTime",)),
        ):
            with self.subTest(changes=changes):
                expected = [("status", "conditions", "A", *path)] if path else []
                self.assertEqual([found[2] for found in self.found(status(), status(**changes))], expected)

    def test_texts_are_compared_by_their_meaning(self):
        def annotated(**annotations):
            item = completed(with_status(phase="Ready"))
            item["metadata"]["annotations"] = {"nvidia.com/generated-dgd-spec": "a: 1", **annotations}
            return recorded(item)

        same = annotated(**{"nvidia.com/generated-dgd-spec": "{a: 1.0}\n"})
        self.assertEqual(self.found(annotated(), same), [])
        self.assertEqual(self.found(annotated(x='{"a": 1}'), annotated(x='{"a":1.0}')), [])
        self.assertEqual(len(self.found(annotated(), annotated(**{"nvidia.com/generated-dgd-spec": "a: 2"}))), 1)

    def test_the_configuration_of_the_profiler(self):
        def configured(text):
            return recorded(completed(job({"name": "profiler", "args": ["--config", text]})))

        self.assertEqual(self.found(configured('{"a": 1, "b": 2}'), configured('{"b":2,"a":1}')), [])
        ((_, _, path, *sides),) = self.found(configured('{"a": {"b": 1}}'), configured('{"a": {"b": 2}}'))
        self.assertEqual((path[-4:], sides), (("args", "[1]", "a", "b"), [1, 2]))
        self.assertEqual(len(self.found(configured('{"features": {"planner": {}}}'), configured("{}"))), 1)

    def test_objects_of_the_input_are_compared(self):
        claim = completed({"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}})
        self.assertEqual(len(self.found(recorded(claim), recorded())), 1)


class Recordings(unittest.TestCase):
    def test_the_reference_equals_itself_and_changes_are_detected(self):
        with tempfile.TemporaryDirectory() as folder:
            unpacked = recordings.unpack("requests", folder)
            for name, count in (("requests", 38), ("requests-done", 6), ("requests-s3", 2)):
                self.assertEqual(len(list((unpacked / "input" / name).iterdir())), count, name)
                answers = sorted((unpacked / "golden" / name).glob("*.json"))
                self.assertEqual(len(answers), count, name)
                same = compare.compare(answers, unpacked / "golden" / name, [], form=folding_requests)
                self.assertFalse(same.noticed(), name)
            score = sabotage.run(
                answers, unpacked / "golden/requests-s3", [], collections.Counter(), 100, form=folding_requests
            )
            self.assertEqual((score.noticed, score.unnoticed), (100, []))

    def test_no_line_names_a_recorded_input(self):
        with tempfile.TemporaryDirectory() as folder:
            inputs = recordings.unpack("requests", folder).glob("input/*/*.yaml")
            names = {name for path in inputs for name in re.findall(r"^  name: (\S+)", path.read_text(), re.M)}
        for line in deviations.load(HERE / "requests-deviations.txt", request_conditions):
            words = set(re.findall(r"[\w-]+", " ".join(line.path)))
            self.assertEqual(words & names, set(), line.text)

    def test_lines_of_the_ledger_are_of_recorded_cases(self):
        with tempfile.TemporaryDirectory() as folder:
            cases = {path.stem for path in recordings.unpack("requests", folder).glob("input/*/*.yaml")}
        self.assertLessEqual({line.split("\t")[0] for line in ledger.load(HERE / "requests.ledger")}, cases)


if __name__ == "__main__":
    unittest.main()
