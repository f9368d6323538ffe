"""DynamoGraphDeploymentRequest with a real kubectl on a real control plane: every way of writing, both versions, every
phase, and the exact message of each error."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from requests import (ALPHA, BETA, ClusterTest, alpha, beta, rich_alpha, rich_beta, start_cluster, unique,  # noqa: E402
                      written)

IMAGE = "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.0.0"
LOCKED = "spec: Forbidden: may not be changed in phase {}: delete the request and create it again"

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster(whole=True)


class Defaults(ClusterTest):
    def test_image_on_create_only(self):
        name = unique()
        self.ns.create(beta(name))
        self.assertEqual(self.ns.get(name)["spec"]["image"], IMAGE)
        self.assertWrites(self.ns.patch(name, {"spec": {"image": None}}))
        self.assertNotIn("image", self.ns.get(name)["spec"])

    def test_the_users_image_stays(self):
        name = unique()
        self.ns.create(beta(name, image="mine:1"))
        self.assertEqual(self.ns.get(name)["spec"]["image"], "mine:1")

    def test_dry_run_shows_what_will_run_and_stores_nothing(self):
        name = unique()
        done = self.ns.kubectl("create", "--dry-run=server", "-o", "json", "-f", "-", input=beta(name), check=True)
        self.assertEqual(json.loads(done.stdout)["spec"]["image"], IMAGE)
        self.assertRefused(self.ns.kubectl("get", BETA, name), "NotFound")

    def test_generate_name(self):
        request = beta()
        request["metadata"] = {"generateName": "made-"}
        done = self.ns.kubectl("create", "-o", "name", "-f", "-", input=request, check=True)
        self.assertRegex(done.stdout, r"/made-[a-z0-9]+\n$")

    def test_nulls_of_server_side_apply(self):
        request = beta(unique(), sla={"ttft": None}, hardware=None)
        request["spec"]["hardware"] = None
        done = self.ns.kubectl("apply", "--server-side", "-f", "-", input=request)
        # The schema rejects a null for a field without a default.
        self.assertRefused(done, "spec.hardware: Invalid value", "spec.sla.ttft: Invalid value")


class Applied(ClusterTest):
    """Applying the same manifest again changes nothing, for every way of writing."""

    def check(self, request, *flags):
        name = request["metadata"]["name"]
        resource = ALPHA if "v1alpha1" in request["apiVersion"] else BETA
        apply = ("apply", *flags, "-f", "-")
        self.assertWrites(self.ns.kubectl(*apply, input=request))
        before = self.ns.get(name, resource)["metadata"]
        for _ in range(2):
            self.assertWrites(self.ns.kubectl(*apply, input=request))
        after = self.ns.get(name, resource)["metadata"]
        self.assertEqual(after["resourceVersion"], before["resourceVersion"])
        self.assertEqual(after["generation"], before["generation"])
        diff = self.ns.kubectl("diff", *flags, "-f", "-", input=request)
        self.assertEqual((diff.returncode, diff.stdout), (0, ""), diff.stderr)

    def test_client_side(self):
        for request in (beta(unique()), rich_beta(unique()), alpha(unique()), rich_alpha(unique())):
            with self.subTest(request["metadata"]["name"]):
                self.check(request)

    def test_server_side(self):
        for request in (beta(unique()), rich_beta(unique()), alpha(unique()), rich_alpha(unique())):
            with self.subTest(request["metadata"]["name"]):
                self.check(request, "--server-side")


class Versions(ClusterTest):
    def test_a_v1alpha1_request_reads_back_as_written(self):
        request = rich_alpha(unique())
        self.ns.create(request)
        stored = self.ns.get(request["metadata"]["name"], ALPHA)
        self.assertEqual(stored["spec"], written(request))
        carried = [key for key in stored["metadata"].get("annotations", {}) if not key.startswith("nvidia.com/dgdr-v1beta1")]
        self.assertEqual([key for key in carried if key.startswith("nvidia.com/dgdr")], [], "scrubbed from the view")

    def test_a_v1beta1_request_survives_get_edit_put_in_v1alpha1(self):
        request = rich_beta(unique())
        name = request["metadata"]["name"]
        self.ns.create(request)
        before = self.ns.get(name)
        view = self.ns.get(name, ALPHA)
        view["spec"]["model"] = "edited/model"
        self.assertWrites(self.ns.kubectl("replace", "-f", "-", input=view))
        after = self.ns.get(name)
        self.assertEqual(after["spec"], {**before["spec"], "model": "edited/model"})

    def test_status_survives_both_ways(self):
        name = unique()
        self.ns.create(rich_beta(name))
        status = {"phase": "Deployed", "profilingPhase": "Done", "dgdName": "d", "profilingJobName": "j",
                  "observedGeneration": 1, "deploymentInfo": {"replicas": 2, "availableReplicas": 1},
                  "profilingResults": {"selectedConfig": {"a": 1}, "pareto": [{"config": {"b": 2}}]}}
        self.ns.set_status(name, status)
        view = self.ns.get(name, ALPHA)
        self.assertEqual(view["status"]["state"], "Ready")
        self.assertEqual(view["status"]["deployment"]["name"], "d")
        # A v1alpha1 client writes one field of the status. No other field may change.
        self.ns.set_status(name, {"observedGeneration": 2}, ALPHA)
        self.assertEqual(self.ns.get(name)["status"], {**status, "observedGeneration": 2})

    def test_edits_in_both_versions_are_merged(self):
        # a field of one version, its field in the other version, and the written value
        table = [
            (BETA, {"spec": {"sla": {"ttft": 77.5}}}, ALPHA, lambda o: o["spec"]["profilingConfig"]["config"]["sla"]["ttft"], 77.5),
            (BETA, {"spec": {"sla": None}}, ALPHA, lambda o: "ttft" in o["spec"]["profilingConfig"]["config"].get("sla", {}), False),
            (BETA, {"spec": {"features": None}}, ALPHA, lambda o: "planner" in o["spec"]["profilingConfig"]["config"], False),
            (BETA, {"spec": {"image": "edited:1"}}, ALPHA, lambda o: o["spec"]["profilingConfig"]["profilerImage"], "edited:1"),
            (ALPHA, {"spec": {"profilingConfig": {"config": {"sla": {"isl": 99}}}}}, BETA, lambda o: o["spec"]["workload"]["isl"], 99),
            (ALPHA, {"spec": {"profilingConfig": {"outputPVC": None}}}, BETA,
             lambda o: "nvidia.com/dgdr-output-pvc" in o["metadata"].get("annotations", {}), False),
            (ALPHA, {"spec": {"useMocker": True}}, BETA, lambda o: o["spec"]["features"]["mocker"]["enabled"], True),
            (ALPHA, {"spec": {"autoApply": False}}, BETA, lambda o: o["spec"]["autoApply"], False),
        ]
        for resource, patch, other, read, expected in table:
            with self.subTest(patch=patch):
                request = rich_alpha(unique())
                name = request["metadata"]["name"]
                self.ns.create(request)
                self.assertWrites(self.ns.patch(name, patch, resource))
                self.assertEqual(read(self.ns.get(name, other)), expected)
                # Fields that only v1alpha1 has are still there.
                self.assertEqual(self.ns.get(name, ALPHA)["spec"]["profilingConfig"]["nodeSelector"], {"gpu": "true"})

    def test_listing_both(self):
        ns = cluster.namespace()
        for request in (rich_alpha(unique()), rich_beta(unique())):
            ns.create(request)
        for resource in (ALPHA, BETA):
            items = json.loads(ns.kubectl("get", resource, "-o", "json", check=True).stdout)["items"]
            self.assertEqual(len(items), 2)
        self.assertIn("is deprecated", ns.kubectl("get", ALPHA).stderr)


class Refusals(ClusterTest):
    def test_messages(self):
        # request, the expected output of kubectl
        table = [
            (beta("n", backend="auto", searchStrategy="thorough"),
             'spec.searchStrategy: Invalid value: "thorough": needs one engine: set spec.backend to "sglang", "trtllm" or "vllm"'),
            (beta("n", backend=None, searchStrategy="thorough"), "spec.searchStrategy: Invalid value"),
            (beta("n", model=None), "spec.model: Required value"),
            (beta("n", model=""), 'spec.model: Invalid value: "": spec.model in body should be at least 1 chars long'),
            (beta("n" * 56), "metadata.name: Too long: may not be more than 55 bytes (it has 56): the profiling Job is named after it"),
            (beta("n", backend="vLLM"), 'spec.backend: Unsupported value: "vLLM": supported values: "auto", "sglang", "trtllm", "vllm"'),
            (beta("n", hardware={"gpuSku": "h100"}), 'spec.hardware.gpuSku: Unsupported value: "h100"'),
            (beta("n", overrides={"profilingJob": {"backoffLimit": 1}}), "spec.overrides.profilingJob.template: Required value"),
            (beta("n", modle="x"), 'strict decoding error: unknown field "spec.modle"'),
        ]
        for request, words in table:
            with self.subTest(words):
                self.assertRefused(self.ns.kubectl("create", "-f", "-", input=request), words)
                self.assertRefused(self.ns.kubectl("apply", "--server-side", "-f", "-", input=request),
                                   words if "strict" not in words else "modle")

    def test_a_single_cause_is_on_one_line(self):
        done = self.ns.kubectl("create", "-f", "-", input=beta("one", backend="auto", searchStrategy="thorough"))
        self.assertEqual(done.stderr.strip(),
                         'The DynamoGraphDeploymentRequest "one" is invalid: spec.searchStrategy: Invalid value: "thorough": '
                         'needs one engine: set spec.backend to "sglang", "trtllm" or "vllm"')

    def test_all_causes_at_once(self):
        request = beta("x" * 60, backend="auto", searchStrategy="thorough")
        done = self.ns.kubectl("create", "-f", "-", input=request)
        self.assertRegex(done.stderr, r'(?s)is invalid: \n\* metadata\.name: Too long.*\n\* spec\.searchStrategy: Invalid')

    def test_two_failing_objects_have_all_messages(self):
        pair = {"apiVersion": "v1", "kind": "List", "items": [beta("x" * 60), beta("y", backend="auto", searchStrategy="thorough")]}
        self.assertRefused(self.ns.kubectl("create", "-f", "-", input=pair), "metadata.name: Too long", "spec.searchStrategy: Invalid value")

    def test_errors_of_v1alpha1_have_v1alpha1_paths(self):
        request = alpha("n")
        request["spec"]["deploymentOverrides"] = {"namespace": "elsewhere"}
        self.assertRefused(self.ns.kubectl("create", "-f", "-", input=request),
                           "spec.deploymentOverrides.namespace: Forbidden: the deployment is created in the namespace of the request",
                           'not in "elsewhere"')

    def test_the_reason_is_counted(self):
        self.ns.kubectl("create", "-f", "-", input=beta("n", backend="auto", searchStrategy="thorough"))
        import urllib.request

        with urllib.request.urlopen(f"http://127.0.0.1:{cluster.webhook.metrics_port}/metrics") as page:
            text = page.read().decode()
        self.assertRegex(text, r'dynamo_operator_webhook_denials_total\{[^}]*reason="invalid"[^}]*\} [1-9]')
        self.assertRegex(text, r'dynamo_webhook_rule_denials_total\{rule="dgdr-thorough-backend"\} [1-9]')


class Warnings(ClusterTest):
    def test_messages(self):
        table = [
            (beta(unique(), sla={"ttft": 0}), "Warning: spec.sla.ttft: should be greater than 0, but is 0"),
            (beta(unique(), workload={"isl": -5}), "Warning: spec.workload.isl: should be greater than 0, but is -5"),
            (beta(unique(), overrides={"dgd": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}}),
             "Warning: spec.overrides.dgd: is not a DynamoGraphDeployment of nvidia.com/v1alpha1"),
            (alpha(unique(), config={"hardware": {"x": 1}}),
             "Warning: spec.profilingConfig.config.hardware: no longer has an effect: use spec.hardware of v1beta1"),
            (alpha(unique(), configMapRef={"name": "base"}),
             "Warning: spec.profilingConfig.configMapRef: is mounted but not used as a base"),
        ]
        for request, words in table:
            with self.subTest(words):
                done = self.ns.kubectl("create", "-f", "-", input=request)
                self.assertWrites(done)
                self.assertIn(words, done.stderr)

    def test_an_edit_after_failure(self):
        name = unique()
        self.ns.create(beta(name))
        self.ns.set_status(name, {"phase": "Failed"})
        done = self.ns.patch(name, {"spec": {"model": "other"}})
        self.assertWrites(done)
        self.assertIn("has no effect because the request has failed: delete the request and create it again", done.stderr)


class Locked(ClusterTest):
    PHASES = {"Pending": False, "Failed": False, "Profiling": True, "Ready": True, "Deploying": True, "Deployed": True}

    def test_phases(self):
        for phase, locked in self.PHASES.items():
            with self.subTest(phase):
                name = unique()
                self.ns.create(rich_beta(name))
                self.ns.set_status(name, {"phase": phase})
                writes = [
                    lambda: self.ns.patch(name, {"spec": {"image": "other:1"}}),
                    lambda: self.ns.patch(name, {"spec": {"hardware": None}}),
                    lambda: self.ns.patch(name, {"spec": {"model": "other"}}, ALPHA),
                    lambda: self.ns.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-",
                                            input=beta(name, sla={"ttft": 1})),
                    lambda: self.ns.kubectl("replace", "-f", "-", input=beta(name, image="replaced:1")),
                ]
                for number, write in enumerate(writes):
                    done = write()
                    if locked:
                        self.assertRefused(done, LOCKED.format(phase))
                    else:
                        self.assertWrites(done)
                # Metadata may change in every phase and version.
                for resource in (BETA, ALPHA):
                    self.assertWrites(self.ns.kubectl("label", "--overwrite", resource, name, "touched=yes"))
                    self.assertWrites(self.ns.kubectl("annotate", "--overwrite", resource, name, "touched=yes"))
                self.assertWrites(self.ns.kubectl("delete", BETA, name))

    def test_writing_the_same_spec_is_allowed(self):
        name = unique()
        self.ns.create(rich_beta(name))
        self.ns.set_status(name, {"phase": "Deployed"})
        for resource in (BETA, ALPHA):
            self.assertWrites(self.ns.kubectl("replace", "-f", "-", input=self.ns.get(name, resource)))
        self.assertEqual(self.ns.get(name)["status"]["phase"], "Deployed")

    def test_finalizers_of_a_terminating_object_can_be_removed(self):
        name = unique()
        request = beta(name)
        request["metadata"]["finalizers"] = ["nvidia.com/test"]
        self.ns.create(request)
        self.ns.set_status(name, {"phase": "Deployed"})
        self.assertWrites(self.ns.kubectl("delete", "--wait=false", BETA, name))
        self.assertWrites(self.ns.patch(name, {"spec": {"model": "other"}}))
        self.assertWrites(self.ns.patch(name, {"metadata": {"finalizers": None}}))
        self.assertRefused(self.ns.kubectl("get", BETA, name), "NotFound")


class Repair(ClusterTest):
    """A stored invalid object can be repaired."""

    def test_errors_in_unchanged_fields_warn(self):
        name = unique()
        configuration = cluster.plane.kubectl("get", "validatingwebhookconfiguration", "dynamo-operator-validating", "-o", "json").stdout
        cluster.plane.kubectl("delete", "validatingwebhookconfiguration", "dynamo-operator-validating")
        try:
            def stored():
                return self.ns.kubectl("apply", "-f", "-", input=beta(name, backend="auto", searchStrategy="thorough")).returncode == 0
            cluster.plane.wait(stored, 60, "the API server stops calling the webhook")
        finally:
            back = json.loads(configuration)
            back["metadata"] = {key: back["metadata"][key] for key in ("name", "labels")}
            cluster.plane.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(back))

        def refused():
            return self.ns.kubectl("create", "--dry-run=server", "-f", "-",
                                   input=beta(unique(), backend="auto", searchStrategy="thorough")).returncode != 0
        cluster.plane.wait(refused, 60, "the API server calls the webhook again")
        done = self.ns.kubectl("label", BETA, name, "touched=yes")
        self.assertWrites(done)
        self.assertIn("Warning: spec.searchStrategy: Invalid value", done.stderr)
        self.assertWrites(self.ns.patch(name, {"spec": {"image": "other:1"}}))
        self.assertWrites(self.ns.patch(name, {"spec": {"searchStrategy": "rapid"}}))
        self.assertRefused(self.ns.patch(name, {"spec": {"searchStrategy": "thorough"}}), "spec.searchStrategy: Invalid value")


if __name__ == "__main__":
    unittest.main()
