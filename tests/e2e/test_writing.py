"""Every way in which kubectl writes a DynamoGraphDeploymentRequest, in both versions: the stored object and the exact error
messages."""

import json
import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import install as installation  # noqa: E402
from requests import ALPHA, BETA, ClusterTest, alpha, beta, start_cluster, unique  # noqa: E402

OLD, NEW = "Qwen/Qwen3-0.6B", "edited/model"
DEPRECATED = ("Warning: nvidia.com/v1alpha1 DynamoGraphDeploymentRequest is deprecated; "
              "use nvidia.com/v1beta1 DynamoGraphDeploymentRequest\n")
KIND = "The DynamoGraphDeploymentRequest"
LOCKED = "spec: Forbidden: may not be changed in phase Deployed: delete the request and create it again"
THOROUGH = ('spec.searchStrategy: Invalid value: "thorough": needs one engine: set spec.backend to "sglang", "trtllm" or "vllm"')
NAME = "metadata.name: Too long: may not be more than 55 bytes (it has 56): the profiling Job is named after it"
ELSEWHERE = 'Forbidden: the deployment is created in the namespace of the request, "{}", not in "elsewhere"'

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


class Base(ClusterTest):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.folder = pathlib.Path(folder)
        # kubectl keeps the file of a rejected edit. It must not remain in the system's temporary folder.
        self.enterContext(mock.patch.dict(os.environ, TMPDIR=folder))

    def edit(self, resource, name, old, new):
        """Runs `kubectl edit` with an editor that replaces `old` by `new`. `self.shown` is the last text in the editor."""
        editor, shown = self.folder / "editor", self.folder / "shown"
        editor.write_text(f'#!/bin/sh\nsed -i "s,{old},{new}," "$1"\ncp "$1" {shown}\n', encoding="utf-8")
        editor.chmod(0o755)
        with mock.patch.dict(os.environ, KUBE_EDITOR=str(editor)):
            done = self.ns.kubectl("edit", resource, name)
        self.shown = shown.read_text(encoding="utf-8")
        return done

    def ways(self, resource, name, request, *flags):
        """name of the way -> function that changes the model of a stored request from OLD to NEW."""
        pointer = json.dumps([{"op": "replace", "path": "/spec/model", "value": NEW}])
        merge = json.dumps({"spec": {"model": NEW}})
        changed = {**request, "metadata": {"name": name}, "spec": {**request["spec"], "model": NEW}}
        kubectl, patch = self.ns.kubectl, ("patch", resource, name, *flags)
        return {
            "merge patch": lambda: kubectl(*patch, "--type=merge", "-p", merge),
            "JSON patch": lambda: kubectl(*patch, "--type=json", "-p", pointer),
            "replace": lambda: kubectl("replace", *flags, "-f", "-", input=changed),
            "client-side apply": lambda: kubectl("apply", *flags, "-f", "-", input=changed),
            "server-side apply": lambda: kubectl("apply", "--server-side", "--force-conflicts", *flags, "-f", "-",
                                                 input=changed),
        }


BOTH = ((BETA, beta, ALPHA), (ALPHA, alpha, BETA))


def model(view):
    return view["spec"]["model"]


class Ways(Base):
    def test_each_way_stores_the_change_for_both_versions(self):
        for resource, make, other in BOTH:
            for way in (*self.ways(resource, "", make()), "edit"):
                with self.subTest(resource=resource, way=way):
                    name = unique()
                    self.ns.create(make(name))
                    if way == "edit":
                        done = self.edit(resource, name, OLD, NEW)
                    else:
                        done = self.ways(resource, name, make())[way]()
                    self.assertEqual(done.returncode, 0, done.stderr)
                    view = self.ns.get(name, resource)
                    self.assertEqual((model(view), model(self.ns.get(name, other))), (NEW, NEW))
                    self.assertEqual(view["metadata"]["generation"], 2)

    def test_create_and_delete(self):
        for resource, make, other in BOTH:
            for way in (("create",), ("apply",), ("apply", "--server-side")):
                with self.subTest(resource=resource, way=way):
                    name = unique()
                    done = self.ns.kubectl(*way, "-f", "-", input=make(name))
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(model(self.ns.get(name, other)), OLD)
                    done = self.ns.kubectl("delete", resource, name)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn("NotFound", self.ns.kubectl("get", other, name).stderr)

    def test_dry_run_validates_and_stores_nothing(self):
        for resource, make, _ in BOTH:
            name = unique()
            self.ns.create(make(name))
            before = self.ns.get(name, resource)
            for way, write in self.ways(resource, name, make(), "--dry-run=server", "-o", "json").items():
                with self.subTest(resource=resource, way=way):
                    done = write()
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertEqual(model(json.loads(done.stdout)), NEW)
                    self.assertEqual(self.ns.get(name, resource), before)

    def test_diff_only_shows_the_change(self):
        for resource, make, _ in BOTH:
            for flags in ((), ("--server-side", "--force-conflicts")):
                with self.subTest(resource=resource, flags=flags):
                    name = unique()
                    self.ns.kubectl("apply", *flags, "-f", "-", input=make(name), check=True)
                    request = make(name)
                    request["spec"]["model"] = NEW
                    done = self.ns.kubectl("diff", *flags, "-f", "-", input=request)
                    self.assertEqual(done.returncode, 1, done.stderr)
                    lines = [line for line in done.stdout.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
                    self.assertEqual(sorted(lines), ["+  generation: 2", f"+  model: {NEW}", "-  generation: 1", f"-  model: {OLD}"])


class Locked(Base):
    def test_each_way_is_denied_with_the_same_message(self):
        for resource, make, _ in BOTH:
            name = unique()
            # The request is applied first, so that no other warning is printed.
            self.ns.kubectl("apply", "-f", "-", input=make(name), check=True)
            self.ns.set_status(name, {"phase": "Deployed"})
            before = self.ns.get(name, resource)
            words = (DEPRECATED if resource == ALPHA else "") + f'{KIND} "{name}" is invalid: {LOCKED}\n'
            ways = {**self.ways(resource, name, make()),
                    **{f"{way}, dry run": write for way, write in
                       self.ways(resource, name, make(), "--dry-run=server").items()}}
            for way, write in ways.items():
                with self.subTest(resource=resource, way=way):
                    done = write()
                    self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", words))
            request = make(name)
            request["spec"]["model"] = NEW
            done = self.ns.kubectl("diff", "-f", "-", input=request)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (2, "", words))
            self.assertEqual(self.ns.get(name, resource), before)

    def test_the_editor_shows_the_error(self):
        for resource, make, _ in BOTH:
            with self.subTest(resource):
                name = unique()
                self.ns.create(make(name))
                self.ns.set_status(name, {"phase": "Deployed"})
                done = self.edit(resource, name, OLD, NEW)
                self.assertEqual(done.returncode, 1)
                self.assertIn("Edit cancelled, no valid changes were saved", done.stderr)
                self.assertIn(f"# * {LOCKED}\n", self.shown)
                self.assertEqual(model(self.ns.get(name)), OLD)


class Words(Base):
    """The complete output of kubectl."""

    def check(self, request, *causes):
        name = request["metadata"]["name"]
        # The schema's causes have no stable order, the webhook's are sorted. Several causes are on separate lines.
        told = causes[0] if len(causes) == 1 else "\n" + "\n".join(f"* {cause}" for cause in causes)
        words = (DEPRECATED if "v1alpha1" in request["apiVersion"] else "") + f'{KIND} "{name}" is invalid: {told}\n'
        for way in (("create",), ("apply",), ("apply", "--server-side"), ("create", "--dry-run=server")):
            done = self.ns.kubectl(*way, "-f", "-", input=request)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (1, "", words), way)

    def test_one_object(self):
        overridden = alpha("n")
        overridden["spec"]["deploymentOverrides"] = {"namespace": "elsewhere"}
        annotated = beta("n")
        annotated["metadata"]["annotations"] = {"nvidia.com/dgdr-deployment-overrides": '{"namespace": "elsewhere"}'}
        no_spec, no_model = beta("n"), alpha("n")
        del no_spec["spec"], no_model["spec"]["model"]
        empty_model = alpha("n")
        empty_model["spec"]["model"] = ""
        elsewhere = ELSEWHERE.format(self.ns.name)
        table = [
            (beta("n", backend="auto", searchStrategy="thorough"), THOROUGH),
            (beta("n", backend=None, searchStrategy="thorough"), THOROUGH),
            (beta("n", model=None), "spec.model: Required value"),
            (no_spec, "spec.model: Required value: must name a model"),
            (no_model, "spec.model: Required value"),
            (empty_model, "spec.model: Required value: must name a model"),
            (beta("n" * 56), NAME),
            (alpha("n" * 56), NAME),
            (beta("n" * 56, backend="auto", searchStrategy="thorough"), NAME, THOROUGH),
            (overridden, f"spec.deploymentOverrides.namespace: {elsewhere}"),
            (annotated, f"metadata.annotations[nvidia.com/dgdr-deployment-overrides]: {elsewhere}"),
            (beta("n", searchStrategy="deep"),
             'spec.searchStrategy: Unsupported value: "deep": supported values: "rapid", "thorough"'),
        ]
        for request, *causes in table:
            with self.subTest(causes):
                self.check(request, *causes)

    def test_names_at_the_limit(self):
        for make in (beta, alpha):
            done = self.ns.kubectl("create", "-f", "-", input=make(make.__name__[0] * 55))
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_two_objects(self):
        pair = [beta("n" * 56, backend="auto", searchStrategy="thorough"), beta("y", backend="auto", searchStrategy="thorough")]
        done = self.ns.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": pair})
        head = ('Error from server (Invalid): error when creating "STDIN": admission webhook '
                '"vdynamographdeploymentrequest.kb.io" denied the request: DynamoGraphDeploymentRequest.nvidia.com "{}" is invalid: {}\n')
        self.assertEqual(done.stderr, head.format("n" * 56, f"[{NAME}, {THOROUGH}]") + head.format("y", THOROUGH))
        # If one of two objects fails, the error has the form with causes, and the valid object is stored.
        good = beta(unique())
        done = self.ns.kubectl("create", "-f", "-", input={"apiVersion": "v1", "kind": "List", "items": [good, pair[1]]})
        self.assertEqual(done.stderr, f'{KIND} "y" is invalid: {THOROUGH}\n')
        self.assertEqual(model(self.ns.get(good["metadata"]["name"])), OLD)

    def test_every_number(self):
        numbers = {"hardware": ("vramMb", "totalGpus", "numGpusPerNode"),
                   "workload": ("isl", "osl", "concurrency", "requestRate"), "sla": ("ttft", "itl", "e2eLatency")}
        told = [f"spec.{group}.{field}" for group, fields in numbers.items() for field in fields]
        odd = ["Warning: spec.workload.requestRate: is set together with concurrency: the profiler uses only one of them",
               "Warning: spec.sla.ttft: has no effect when e2eLatency is set", "Warning: spec.sla.itl: has no effect when e2eLatency is set"]
        for value in (0, -1):
            spec = {group: dict.fromkeys(fields, value) for group, fields in numbers.items()}
            done = self.ns.kubectl("create", "-f", "-", input=beta(unique(), **spec))
            self.assertEqual(done.returncode, 0, done.stderr)
            lines = [f"Warning: {field}: should be greater than 0, but is {value}" for field in told]
            self.assertEqual(done.stderr.splitlines(), lines + odd)
        fine = {group: dict.fromkeys(fields, 1000) for group, fields in numbers.items()}
        fine["hardware"]["vramMb"] = 81920
        self.assertEqual(self.ns.kubectl("create", "-f", "-", input=beta(unique(), **fine)).stderr.splitlines(), odd)


class Nulls(Base):
    """Null counts as absent."""

    def apply(self, name):
        request = beta(name)
        request["spec"].update(image=None, searchStrategy=None, autoApply=None)
        return self.ns.kubectl("apply", "--server-side", "-f", "-", input=request)

    def test_a_default_replaces_null(self):
        name = unique()
        done = self.apply(name)
        self.assertEqual(done.returncode, 0, done.stderr)
        spec = self.ns.get(name)["spec"]
        self.assertEqual((spec["searchStrategy"], spec["autoApply"]), ("rapid", True))
        self.assertTrue(spec["image"])

    def test_applying_a_null_image_again_changes_nothing(self):
        name = unique()
        self.apply(name)
        before = self.ns.get(name)
        done = self.apply(name)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.ns.get(name), before)


class Restricted(Base):
    """A webhook that is restricted to one namespace with GPU discovery off, so requests must name the hardware."""

    CONFIG = installation.CONFIG + "namespace: {{restricted: team}}\ngpu: {{discoveryEnabled: false}}\n"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.earlier = beta(unique())
        cls.ns.create(cls.earlier)
        cls.restart(cls.CONFIG)
        cls.addClassCleanup(cls.restart, installation.CONFIG)

    @staticmethod
    def restart(config):
        cluster.webhook.stop()
        with mock.patch.object(installation, "CONFIG", config):
            cluster.webhook.start(cluster.port)

    def test_hardware_is_required(self):
        missing = "spec.hardware: Required value: must set gpuSku, vramMb or numGpusPerNode because GPU discovery is off"
        table = [(None, False), ({"totalGpus": 8}, False), ({}, False),
                 ({"gpuSku": "h200_sxm"}, True), ({"vramMb": 81920.5}, True), ({"numGpusPerNode": 8}, True)]
        for hardware, admitted in table:
            with self.subTest(hardware):
                name = unique()
                done = self.ns.kubectl("create", "-f", "-", input=beta(name, hardware=hardware))
                words = "" if admitted else f'{KIND} "{name}" is invalid: {missing}\n'
                self.assertEqual((done.returncode, done.stderr), (0 if admitted else 1, words))

    def test_existing_requests_stay_editable(self):
        name = self.earlier["metadata"]["name"]
        done = self.ns.patch(name, {"spec": {"image": "other:1"}})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Warning: spec.hardware: Required value", done.stderr)
        self.assertEqual(self.ns.patch(name, {"spec": {"hardware": {"gpuSku": "l40s"}}}).returncode, 0)
        done = self.ns.patch(name, {"spec": {"hardware": None}})
        self.assertIn("spec.hardware: Required value", done.stderr)
        self.assertEqual(done.returncode, 1)


if __name__ == "__main__":
    unittest.main()
