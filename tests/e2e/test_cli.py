"""The offline commands and the errors of `serve`: arguments, output and exit status. No cluster."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

import yaml
from built import CONTROLLER, PLUGIN, WEBHOOK

ROOT = pathlib.Path(__file__).resolve().parents[2]

GOOD = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata: {name: good}
spec: {model: Qwen/Qwen3-0.6B}
"""
ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeploymentRequest
metadata: {name: alpha}
spec:
  model: Qwen/Qwen3-0.6B
  backend: vllm
  autoApply: true
  profilingConfig:
    profilerImage: profiler:1
    nodeSelector: {gpu: "true"}
    config: {sla: {ttft: 200.5, itl: 20, isl: 3000}, extra: [1, "2", true]}
  deploymentOverrides: {workersImage: workers:1}
"""
PLAIN_ALPHA = """\
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeploymentRequest
metadata: {name: alpha}
spec:
  model: Qwen/Qwen3-0.6B
  backend: vllm
  profilingConfig:
    profilerImage: profiler:1
    config: {sla: {ttft: 200.5, itl: 20, isl: 3000}}
"""
CONFIG = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
server: {webhook: {serviceName: dynamo-webhook}}
rbac: {plannerClusterRoleName: p, dgdrProfilingClusterRoleName: q, eppClusterRoleName: e}
mpi: {sshSecretName: mpi}
"""
THOROUGH = GOOD.replace("0.6B}", "0.6B, searchStrategy: thorough}")
GRAPH = """apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Worker: {replicas: 1}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"


# What later releases write, and fields in the wrong place.
REFUSED = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeployment
metadata: {name: modern}
spec:
  components:
  - {name: Frontend, type: frontend, podTemplate: {spec: {containers: [{name: main, image: "i:1"}]}}}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: flat}
spec:
  services:
    Frontend:
      componentType: frontend
      image: i:1
"""
MAIN = "{replicas: 1, componentType: frontend, extraPodSpec: {mainContainer: {image: 'i:1'}}}"


def run(*arguments, text="", binary=WEBHOOK):
    return subprocess.run([binary, *arguments], input=text, capture_output=True, text=True, timeout=30)


class Check(unittest.TestCase):
    # name, manifest, exit status, texts that the output must contain
    TABLE = [
        ("clean", GOOD, 0, ["1 object: 0 errors, 0 warnings"]),
        ("clean v1alpha1", PLAIN_ALPHA, 0, ["1 object: 0 errors, 0 warnings"]),
        ("v1alpha1 with settings without effect", ALPHA, 0,
         ["stdin:11:54: warning: DynamoGraphDeploymentRequest/alpha: spec.profilingConfig.config.extra: has no effect because nothing reads it",
          "spec.profilingConfig.nodeSelector: no longer has an effect: use spec.overrides.profilingJob of v1beta1",
          "spec.deploymentOverrides.workersImage: no longer has an effect when profilerImage is set",
          "1 object: 0 errors, 3 warnings"]),
        ("v1alpha1 configuration as text", ALPHA.replace("{sla: {ttft: 200.5, itl: 20, isl: 3000}, extra: [1, \"2\", true]}", '"sla: {}"'), 1,
         ['spec.profilingConfig.config: Invalid value: "string": spec.profilingConfig.config in body must be of type object: "string"']),
        ("v1alpha1 without profilingConfig", PLAIN_ALPHA.split("  profilingConfig:")[0], 0, ["1 object: 0 errors, 0 warnings"]),
        ("rule of one kind", THOROUGH, 1,
         ['stdin:4:32: error: DynamoGraphDeploymentRequest/good: spec.searchStrategy: Invalid value: "thorough": '
          'needs one engine: set spec.backend to "sglang", "trtllm" or "vllm" [dgdr-thorough-backend]']),
        ("no model", GOOD.replace("{model: Qwen/Qwen3-0.6B}", "{}"), 1,
         ["stdin:4:1: error: DynamoGraphDeploymentRequest/good: spec.model: Required value [schema.required]"]),
        ("no spec", GOOD.replace("spec: {model: Qwen/Qwen3-0.6B}\n", ""), 1, ["spec.model: Required value"]),
        ("typo", GOOD.replace("model:", "modle: x, model:"), 1, ['spec.modle: Invalid value: unknown field, did you mean "model"?']),
        ("enum", GOOD.replace("0.6B}", "0.6B, backend: vLLM}"), 1,
         ['spec.backend: Unsupported value: "vLLM": supported values: "auto", "sglang", "trtllm", "vllm"']),
        ("warning only", GOOD.replace("0.6B}", "0.6B, sla: {ttft: 0, itl: 20}}"), 0,
         ["warning: DynamoGraphDeploymentRequest/good: spec.sla.ttft: should be greater than 0, but is 0", "0 errors, 1 warning"]),
        ("long name", GOOD.replace("good", "g" * 56), 1, ["metadata.name: Too long: may not be more than 55 bytes (it has 56)"]),
        ("other namespace", ALPHA.replace("{workersImage", "{namespace: elsewhere, workersImage"), 1,
         ['spec.deploymentOverrides.namespace: Forbidden: the deployment is created in the namespace of the request, "default", not in "elsewhere"']),
        ("schema of another kind",
         "apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {name: m}\nspec: {modelName: a, modelType: lore}\n", 1,
         ["spec.baseModelName: Required value", 'spec.modelType: Unsupported value: "lore"']),
        ("an error of both schema and rules is reported once", GRAPH.replace("{replicas: 1}", "{replicas: -1}"), 1,
         ["spec.services.Worker.replicas: Invalid value: -1", "1 object: 2 errors, 0 warnings"]),
        ("control characters in names", GRAPH.replace("Worker: {replicas: 1}", r'"a\nb\e[31m": {}'), 1,
         ["spec.services[a b [31m]: Invalid value"]),
        ("unknown kind", "apiVersion: nvidia.com/v1\nkind: DynamoGraph\nmetadata: {name: m}\n", 1,
         ['kind: Unsupported value: "DynamoGraph"']),
        ("a kind with a typing error", GRAPH.replace("Deployment", "Deploymnet"), 1,
         ['kind: Unsupported value: "DynamoGraphDeploymnet": ', 'did you mean "DynamoGraphDeployment"?']),
        ("unknown version", GRAPH.replace("v1alpha1", "v1alpha2"), 1,
         ['stdin:1:1: error: DynamoGraphDeployment/g: apiVersion: Unsupported value: "nvidia.com/v1alpha2": '
          'supported values: "nvidia.com/v1alpha1" [schema.kind]']),
        ("another API group", GRAPH.replace("nvidia.com", "nvidia.co"), 1,
         ['apiVersion: Unsupported value: "nvidia.co/v1alpha1": supported values: "nvidia.com/v1alpha1"']),
        ("an unknown API group", GOOD.replace("nvidia.com", "dynamo.example.com"), 1,
         ['apiVersion: Unsupported value: "dynamo.example.com/v1beta1": '
          'supported values: "nvidia.com/v1alpha1", "nvidia.com/v1beta1"']),
        ("group and kind with typing errors", GRAPH.replace("nvidia.com", "nvida.com").replace("Deployment", "Deploymet"), 1,
         ['apiVersion: Unsupported value: "nvida.com/v1alpha1"']),
        ("no API group", GRAPH.replace("apiVersion: nvidia.com/v1alpha1\n", ""), 1, ["apiVersion: Required value"]),
        ("no kind", GRAPH.replace("kind: DynamoGraphDeployment\n", ""), 1, ["kind: Required value"]),
        ("no manifest", "replicas: 2\n", 1, ["apiVersion: Required value", "kind: Required value"]),
        ("the GPU operator's kinds in our group", "apiVersion: nvidia.com/v1\nkind: ClusterPolicy\nmetadata: {name: p}\n", 0,
         ["1 object of other API groups not checked"]),
        ("somebody else's OperatorConfiguration", "apiVersion: acid.zalan.do/v1\nkind: OperatorConfiguration\nmetadata: {name: p}\n", 0,
         ["1 object of other API groups not checked"]),
        ("configuration", CONFIG, 0, ["1 object: 0 errors, 0 warnings"]),
        ("configuration with a bad value", CONFIG + "discovery: {backend: consul}\n", 1,
         ['stdin:6:13: error: OperatorConfiguration/(no name): discovery.backend: Unsupported value: "consul": '
          'supported values: "kubernetes", "etcd" [config-value]']),
        ("configuration with a wrong type", CONFIG + "gpu: {discoveryEnabled: 'no'}\n", 1,
         ['gpu.discoveryEnabled: Invalid value: "no": must be true or false [config-type]']),
        ("configuration with an unknown setting", CONFIG + "webhook: {port: 9443}\n", 0,
         ['webhook: unknown field, ignored; did you mean "server.webhook"? [config-unknown-field]', "0 errors, 1 warning"]),
        ("configuration with listeners on one port", CONFIG.replace("{webhook:", "{metrics: {port: 9443}, webhook:"), 1,
         ["server.metrics.port: Invalid value: 9443: duplicates the port of server.webhook.port; each listener must have its own port"]),
        ("configuration without what the controller needs", "\n".join(CONFIG.splitlines()[:2]) + "\n", 0,
         ["warning: OperatorConfiguration/(no name): server.webhook.serviceName: Required value: ", "mpi.sshSecretName: Required value: ",
          "rbac.plannerClusterRoleName: Required value: ",
          "rbac.dgdrProfilingClusterRoleName: Required value: ", "rbac.eppClusterRoleName: Required value: ", "0 errors, 5 warnings"]),
        ("configuration with a source of the SSH key", CONFIG.replace("{sshSecretName: mpi}", "{sshSecretName: mpi, sshSecretNamespace: a}"), 0,
         ["mpi.sshSecretNamespace: has no effect; each namespace has an SSH key of its own", "0 errors, 1 warning"]),
        ("configuration of another version", CONFIG.replace("/v1alpha1", "/v1"), 1,
         ['apiVersion: Unsupported value: "operator.config.dynamo.nvidia.com/v1"']),
        ("configuration of a mistyped group", CONFIG.replace("operator.config", "operator.conf"), 1,
         ['apiVersion: Unsupported value: "operator.conf.dynamo.nvidia.com/v1alpha1"']),
        ("other groups are left alone", SERVICE + "---\n" + GOOD, 0,
         ["1 object: 0 errors, 0 warnings; 1 object of other API groups not checked"]),
        ("list", "apiVersion: v1\nkind: List\nitems:\n- " + GOOD.replace("\n", "\n  ").rstrip() + "\n", 0, ["1 object:"]),
        ("json", json.dumps({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest",
                             "metadata": {"name": "j"}, "spec": {"model": "m"}}), 0, ["1 object:"]),
        ("broken yaml", "a: [\n", 2, []),
        ("a tab", GOOD.replace("spec: {model: Qwen/Qwen3-0.6B}", "spec:\n\tmodel: m"), 2,
         ["-:5:1: tab in the indentation; YAML requires spaces"]),
        ("duplicate key", GOOD.replace("model:", "model: a, model:"), 2, []),
    ]

    def test_table(self):
        for name, manifest, status, texts in self.TABLE:
            with self.subTest(name):
                done = run("check", "-f", "-", text=manifest)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                for text in texts:
                    self.assertIn(text, done.stderr if status == 2 else done.stdout)
                if status == 2:
                    self.assertIn("stdin" if "stdin" in done.stderr else "-:", done.stderr)

    def test_json_and_sarif(self):
        found = json.loads(run("check", "-f", "-", "-o", "json", text=THOROUGH).stdout)
        self.assertEqual(found["errors"], 1)
        self.assertEqual(found["findings"][0]["rule"], "dgdr-thorough-backend")
        self.assertEqual((found["findings"][0]["line"], found["findings"][0]["field"]), (4, "spec.searchStrategy"))
        sarif = json.loads(run("check", "-f", "-", "-o", "sarif", text=THOROUGH).stdout)
        result = sarif["runs"][0]["results"][0]
        self.assertEqual((sarif["version"], result["ruleId"], result["level"]), ("2.1.0", "dgdr-thorough-backend", "error"))
        region = result["locations"][0]["physicalLocation"]["region"]
        self.assertEqual(region, {"startLine": 4, "startColumn": 32})

    def test_configuration_is_used(self):
        with tempfile.TemporaryDirectory() as folder:
            restricted = pathlib.Path(folder, "restricted.yaml")
            restricted.write_text("namespace: {restricted: team}\ngpu: {discoveryEnabled: false}\n")
            done = run("check", "--config", str(restricted), "-f", "-", text=GOOD)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("spec.hardware: Required value: must set gpuSku, vramMb or numGpusPerNode because GPU discovery is off", done.stdout)
            restricted.write_text("server: {webhook: {port: 99999}}\n")
            done = run("check", "--config", str(restricted), "-f", "-", text=GOOD)
            self.assertEqual(done.returncode, 2)
            self.assertIn("server.webhook.port: Invalid value: 99999", done.stderr)

    def test_facts_are_used(self):
        picker = """{apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, metadata: {name: g}, spec: {services: {Epp: {
  componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}, extraPodSpec: {mainContainer: {image: "i:1"}}}}}}"""
        for facts, status, told in (("apis: {inferencePool: false}", 1, "which is not installed in the cluster"),
                                    ("apis: {inferencePool: true}", 0, "0 errors"),
                                    ("apis: {inferencePools: true}", 2, 'unknown field "inferencePools"')):
            with self.subTest(facts), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(facts)
                file.flush()
                done = run("check", "--facts", file.name, "-f", "-", text=picker)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(told, done.stdout + done.stderr)

    def test_pathway_is_used(self):
        """A multinode worker without a command is only rejected for LeaderWorkerSets (dec-4)."""
        nodes = GRAPH.replace("{replicas: 1}", "{multinode: {nodeCount: 2}, extraPodSpec: {mainContainer: {image: 'i:1'}}}")
        for pathway, status, told in (("auto", 0, "without Grove: "), ("lws", 1, "Required value"), ("grove", 0, "0 errors, 0 warnings"),
                                      ("deployment", 0, "")):
            with self.subTest(pathway):
                done = run("check", "--pathway", pathway, "-f", "-", text=nodes)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(told, done.stdout)
        self.assertEqual(run("check", "--pathway", "ray", "-f", "-", text=nodes).returncode, 2)

    def test_configuration_of_the_command_is_checked(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.yaml")
            config.write_text("grove: {enabled: true}\n")
            done = run("check", "--config", str(config), "-f", "-", text=GOOD)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            for told in ('grove: unknown field, ignored; did you mean "orchestrators.grove"?', "server.webhook.serviceName: Required value",
                         "mpi.sshSecretName: Required value", "rbac.eppClusterRoleName: Required value"):
                self.assertIn(told, done.stderr)
            config.write_text("server: {healthProbe: {port: 9443}}\n")
            done = run("check", "--config", str(config), "-f", "-", text=GOOD)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn("server.healthProbe.port: Invalid value: 9443: duplicates the port of server.webhook.port", done.stderr)

    def test_missing_file(self):
        done = run("check", "-f", "/nonexistent/x.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent/x.yaml: No such file or directory", done.stderr)


class Effective(unittest.TestCase):
    def objects(self, command, *arguments, text):
        done = run(command, "-f", "-", "-o", "json", *arguments, text=text)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_request_gets_defaults(self):
        (spec,) = (found["spec"] for found in self.objects("effective", "--operator-version", "1.2.3", text=GOOD))
        self.assertEqual(spec, {"model": "Qwen/Qwen3-0.6B", "backend": "auto", "searchStrategy": "rapid", "autoApply": True,
                                "image": "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.2.3"})

    def test_graph_gets_defaults_and_loses_them_again(self):
        graph = GRAPH.replace("{replicas: 1}", "{componentType: worker, extraPodSpec: {mainContainer: {image: 'i:1'}}}")
        (made,) = self.objects("effective", "-n", "team", text=graph)
        main = made["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]
        self.assertIn("DYN_NAMESPACE", [entry["name"] for entry in main["env"]])
        self.assertEqual(next(entry["value"] for entry in main["env"] if entry["name"] == "DYN_NAMESPACE"), "team-g")
        self.assertIn("livenessProbe", main)
        self.assertIn("nvidia.com/dynamo-defaulted", made["metadata"]["annotations"])
        (again,) = self.objects("effective", "-n", "team", text=json.dumps(made))
        self.assertEqual(again, made)
        (intent,) = self.objects("intent", text=json.dumps(made))
        self.assertEqual(intent["spec"]["services"]["Worker"]["extraPodSpec"], {"mainContainer": {"image": "i:1"}})
        self.assertNotIn("nvidia.com/dynamo-defaulted", intent["metadata"].get("annotations", {}))

    def test_configuration_changes_defaults(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.yaml")
            config.write_text("defaults: {types: {frontend: {podSpec: {terminationGracePeriodSeconds: 7}}}}\n")
            graph = GRAPH.replace("{replicas: 1}", "{componentType: frontend, extraPodSpec: {mainContainer: {image: 'i:1'}}}")
            (made,) = self.objects("effective", "--config", str(config), text=graph)
            self.assertEqual(made["spec"]["services"]["Worker"]["extraPodSpec"]["terminationGracePeriodSeconds"], 7)

    def test_yaml_and_other_objects(self):
        done = run("effective", "-f", "-", text=SERVICE + "---\n" + GOOD)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("kind: Service", done.stdout)
        self.assertIn("searchStrategy: rapid", done.stdout)
        self.assertEqual(run("effective", "-f", "-", text=done.stdout).stdout, done.stdout)

    def test_flags_of_all_file_commands(self):
        """All commands read and validate facts and configuration. Without them the output is the same."""
        for command in ("check", "effective", "intent"):
            with self.subTest(command), tempfile.TemporaryDirectory() as folder:
                facts = pathlib.Path(folder, "facts.yaml")
                facts.write_text("apis: {grove: true}\n")
                plain = run(command, "-f", "-", text=GOOD)
                done = run(command, "-f", "-", "--facts", str(facts), "--pathway", "grove", "-n", "a", text=GOOD)
                self.assertEqual((done.returncode, done.stdout), (plain.returncode, plain.stdout), done.stderr)
                facts.write_text("apis: {grov: true}\n")
                done = run(command, "-f", "-", "--facts", str(facts), text=GOOD)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn('unknown field "grov"', done.stderr)
                done = run(command, "-f", "-", "--config", "/nonexistent.yaml", text=GOOD)
                self.assertEqual((done.returncode, done.stdout), (2, ""))


class Refused(unittest.TestCase):
    """Every command on files reads a manifest as `check` does, and answers 1 to what admission refuses."""

    def run_each(self, text, *arguments):
        yield "render", run("render", "-f", "-", "-o", "tree", *arguments, text=text, binary=PLUGIN)
        for command in ("effective", "intent"):
            yield command, run(command, "-f", "-", "-o", "json", *arguments, text=text)

    def errors(self, text, *arguments):
        said = run("check", "-f", "-", *arguments, text=text).stdout
        return [line for line in said.splitlines() if ": error: " in line]

    def test_what_check_refuses_is_refused_with_its_errors(self):
        wanted = self.errors(REFUSED)
        self.assertIn('apiVersion: Unsupported value: "nvidia.com/v1beta1"', wanted[0])
        self.assertTrue(any("spec.services.Frontend.image: Invalid value: unknown field" in line for line in wanted), wanted)
        for command, done in self.run_each(REFUSED):
            with self.subTest(command):
                self.assertEqual(done.returncode, 1)
                self.assertEqual(done.stderr.splitlines(), wanted)
                # The intent of a stored object does not depend on today's rules; that of an unknown version is not known.
                printed = [json.loads(line)["metadata"]["name"] for line in done.stdout.splitlines()]
                self.assertEqual(printed, ["flat"] if command == "intent" else [])
        done = run("convert", "--to", "v1beta1", "-f", "-", text=REFUSED)
        self.assertEqual((done.returncode, done.stdout, done.stderr.splitlines()), (1, "", wanted))

    def test_other_objects_of_the_file_are_printed(self):
        text = REFUSED + "---\n" + GRAPH.replace("{replicas: 1}", MAIN)
        for command, done in self.run_each(text):
            with self.subTest(command):
                self.assertEqual(done.returncode, 1)
                self.assertIn("g-worker" if command == "render" else '"name":"g"', done.stdout)

    def test_warnings_are_not_refusals(self):
        text = GRAPH.replace("{replicas: 1}", MAIN.replace("replicas: 1", "replicas: 0"))
        for command, done in self.run_each(text):
            with self.subTest(command):
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_the_mode_that_only_warns(self):
        """Errors of rules are warnings; errors of the schema stay errors, because the API server reports them."""
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.yaml")
            config.write_text("validation: {mode: warn}\n")
            done = run("effective", "-f", "-", "--config", str(config), text=THOROUGH)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            self.assertIn("searchStrategy: thorough", done.stdout)
            done = run("effective", "-f", "-", "--config", str(config), text=REFUSED)
            self.assertEqual((done.returncode, done.stdout), (1, ""))

    def test_a_request_of_v1alpha1_is_shown_as_it_is_stored(self):
        done = run("effective", "-f", "-", "-o", "json", "--operator-version", "1.2.3", text=ALPHA)
        self.assertEqual(done.returncode, 0, done.stderr)
        made = json.loads(done.stdout)
        self.assertEqual(made["apiVersion"], "nvidia.com/v1alpha1")
        self.assertNotIn("namespace", made["metadata"])
        back = run("convert", "--to", "v1beta1", "-f", "-", "-o", "json", text=done.stdout)
        self.assertEqual(json.loads(back.stdout)["spec"]["image"], "profiler:1")


class Defaults(unittest.TestCase):
    def test_page(self):
        done = run("defaults")
        self.assertEqual(done.returncode, 0, done.stderr)
        page = yaml.safe_load(done.stdout)
        self.assertLessEqual({"frontend", "worker", "planner", "epp"}, set(page["types"]))
        self.assertEqual(page["common"]["podSpec"]["terminationGracePeriodSeconds"], 60)

    def test_one_type_with_a_configuration(self):
        with tempfile.TemporaryDirectory() as folder:
            config = pathlib.Path(folder, "config.yaml")
            config.write_text("defaults: {types: {frontend: {podSpec: {terminationGracePeriodSeconds: 7}}}}\n")
            changed = yaml.safe_load(run("defaults", "--component", "frontend", "--config", str(config)).stdout)
            usual = yaml.safe_load(run("defaults", "--component", "frontend").stdout)
        self.assertEqual(changed["podSpec"]["terminationGracePeriodSeconds"], 7)
        self.assertNotEqual(changed, usual)
        self.assertEqual(changed["mainContainer"], usual["mainContainer"])


class Annotations(unittest.TestCase):
    def test_their_size_is_limited(self):
        """The limit of API servers, over keys and values of all kinds."""
        spec = {"modelName": "m", "baseModelName": "m"}
        for size, told in ((262143, []), (262144, ["metadata.annotations: Too long: may not be more than 262144 bytes [schema.metadata]"])):
            metadata = {"name": "m", "annotations": {"a": "x" * size}}
            model = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": metadata, "spec": spec}
            done = run("check", "-f", "-", text=json.dumps(model))
            self.assertEqual([line.partition("DynamoModel/m: ")[2] for line in done.stdout.splitlines() if ": error: " in line], told)


class Convert(unittest.TestCase):
    def test_what_the_annotations_cannot_keep_is_told(self):
        """conv-Q17. v1alpha1 has no field for overrides.dgd."""
        graph = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"annotations": {"a": "x" * 120000}}}
        spec = {"model": "m", "overrides": {"dgd": graph}}
        request = {"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest", "spec": spec}
        for size, lost in ((1000, False), (150000, True)):
            request["metadata"] = {"name": "large", "annotations": {"mine": "y" * size}}
            done = run("convert", "--to", "v1alpha1", "-f", "-", "-o", "json", text=json.dumps(request))
            self.assertEqual(done.returncode, 1 if lost else 0, done.stderr)
            told = "stdin: large: spec.overrides.dgd is lost: the annotations of v1alpha1 that would keep it exceed 262144 bytes"
            self.assertEqual([line.partition(": ")[2] for line in done.stderr.splitlines()], [told] if lost else [])
            back = run("convert", "--to", "v1beta1", "-f", "-", "-o", "json", text=done.stdout)
            self.assertEqual("dgd" in json.loads(back.stdout)["spec"].get("overrides", {}), not lost)

    def test_round_trip_loses_nothing(self):
        there = run("convert", "--to", "v1beta1", "-f", "-", text=ALPHA)
        self.assertEqual(there.returncode, 0, there.stderr)
        back = run("convert", "--to", "nvidia.com/v1alpha1", "-f", "-", "-o", "json", text=there.stdout)
        original = run("convert", "--to", "v1alpha1", "-f", "-", "-o", "json", text=ALPHA)
        self.assertEqual(json.loads(back.stdout), json.loads(original.stdout))

    def test_other_objects_pass(self):
        done = run("convert", "--to", "v1beta1", "-f", "-", text=SERVICE + "---\n" + ALPHA)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.count("apiVersion:"), 2)
        self.assertIn("kind: Service", done.stdout)

    def test_objects_of_unknown_versions(self):
        table = [
            (ALPHA.replace("apiVersion: nvidia.com/v1alpha1\n", "", 1), "DynamoGraphDeploymentRequest/alpha: apiVersion: Required value"),
            (ALPHA.replace("nvidia.com/v1alpha1", "nvidia.com/v9", 1), ': apiVersion: Unsupported value: "nvidia.com/v9"'),
            ("{apiVersion: nvidia.com/v9, kind: DynamoModel, metadata: {name: m}}",
             'DynamoModel/m: apiVersion: Unsupported value: "nvidia.com/v9"'),
            ("{apiVersion: a.example/v9, kind: DynamoModel, metadata: {name: m}}",
             'DynamoModel/m: apiVersion: Unsupported value: "a.example/v9"'),
        ]
        for text, told in table:
            with self.subTest(told):
                done = run("convert", "--to", "v1beta1", "-f", "-", text=text)
                self.assertEqual((done.returncode, done.stdout), (1, ""))
                self.assertIn(told, done.stderr)
        foreign = run("convert", "--to", "v1beta1", "-f", "-", text="{apiVersion: a.example/v9, kind: Model}")
        self.assertEqual(foreign.returncode, 0, foreign.stderr)

    def test_unknown_version(self):
        done = run("convert", "--to", "v2", "-f", "-", text=ALPHA)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('cannot convert "nvidia.com/v1alpha1" to "nvidia.com/v2"', done.stderr)


class Usage(unittest.TestCase):
    # arguments, exit status, text on standard error
    TABLE = [
        ([], 2, "subcommand"),
        (["bogus"], 2, 'unknown command "bogus"\n'),
        (["chekc"], 2, 'unknown command "chekc"\n\nDid you mean this?\n\tcheck\n'),
        (["check"], 2, "--filename is required"),
        (["check", "-f", "-", "-o", "xml"], 2, "xml"),
        (["serve", "--listen", "nonsense"], 1, '--listen: "nonsense": must be ADDRESS:PORT or :PORT'),
        (["serve", "--log-level", "loud"], 1, 'supported values: "debug", "error", "info", "warn"'),
        (["serve", "--client-names", "a,b"], 1, "--client-names: Forbidden: has no effect without"),
        (["serve", "--tls-min-version", "1.1"], 1, '--tls-min-version: Unsupported value: "1.1"'),
        (["serve", "--operator-version", "unknown"], 1, '--operator-version: Invalid value: "unknown"'),
        (["serve", "--zap-log-level", "loud"], 1, '--zap-log-level: Unsupported value: "loud"'),
        (["check", "-f", "-", "--operator-version", "bad"], 2, '--operator-version: Invalid value: "bad"'),
        (["effective", "-f", "-", "--operator-version", "bad"], 2, '--operator-version: Invalid value: "bad"'),
        (["serve", "--controller-service-account", "me"], 1, '--controller-service-account: Invalid value: "me"'),
        (["serve", "--config", "/nonexistent.yaml"], 1, "/nonexistent.yaml"),
        # Flags in the form of Go programs.
        (["serve", "-config=/nonexistent.yaml"], 1, "/nonexistent.yaml"),
        (["check", "-f/nonexistent.yaml"], 2, "/nonexistent.yaml: No such file"),
        (["rules", "-oxml"], 2, "xml"),
        (["rules", "-ojson"], 0, ""),
    ]

    def test_table(self):
        for arguments, status, text in self.TABLE:
            with self.subTest(arguments):
                done = run(*arguments)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(text, done.stderr)

    def test_unknown_commands_of_the_other_programs(self):
        for binary, word, meant in ((PLUGIN, "statsu", "status"), (CONTROLLER, "smok", "smoke")):
            done = run(word, binary=binary)
            self.assertEqual((done.returncode, done.stdout), (2, ""))
            self.assertIn(f'unknown command "{word}"\n\nDid you mean this?\n\t{meant}\n', done.stderr)

    def test_commands_that_the_plugin_has(self):
        for arguments in (["status"], ["status", "--help"], ["diff", "-f", "graph.yaml"], ["render", "-o", "tree", "-f", "-"]):
            with self.subTest(arguments):
                done = run(*arguments, binary=CONTROLLER)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(f"use kubectl dynamo {arguments[0]}", done.stderr)
        self.assertNotIn("\n  status ", run("--help", binary=CONTROLLER).stdout)

    def test_values_of_the_chart_without_effect_are_logged(self):
        """Also if the controller does not start: it has no cluster here."""
        with tempfile.TemporaryDirectory() as directory:
            config = pathlib.Path(directory) / "config.yaml"
            rbac = {f"{name}ClusterRoleName": name for name in ("dgdrProfiling", "planner", "epp")}
            settings = {
                "apiVersion": "operator.config.dynamo.nvidia.com/v1alpha1", "kind": "OperatorConfiguration", "rbac": rbac,
                "mpi": {"sshSecretName": "ssh"}, "server": {"webhook": {"serviceName": "webhook"}},
            }  # fmt: skip
            config.write_text(json.dumps(settings), encoding="utf-8")
            start = ["run", "--config", config, "--kubeconfig", "/nonexistent"]
            for flags, told in (((), []), (("--ignored-values=etcd.enabled, serviceMesh",), ["etcd.enabled, serviceMesh"])):
                done = run(*start, *flags, binary=CONTROLLER)
                self.assertEqual(done.returncode, 1)
                lines = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("{")]
                self.assertEqual([one["values"] for one in lines if one["msg"] == "values of the chart have no effect"], told)

    def test_no_thread_at_start(self):
        # With each additional thread that the system allows, the next part of the server reports the error. No
        # run ends by a signal.
        root = os.geteuid() == 0  # the limit does not apply to root
        with tempfile.TemporaryDirectory() as directory:
            os.chmod(directory, 0o755)
            certs = pathlib.Path(directory) / "certs"
            self.assertEqual(run("certs", "--ip", "127.0.0.1", "--out", certs).returncode, 0)
            webhook = shutil.copy(WEBHOOK, directory)
            if root:
                for path in (certs, *certs.iterdir()):
                    os.chown(path, 65534, 65534)
            told = set()
            argv = [webhook, "serve", "--cert-dir", certs, "--listen", "127.0.0.1:0", "--health-listen", "127.0.0.1:0",
                    "--metrics-listen", "127.0.0.1:0"]
            for allowed in range(1, 5):
                done = subprocess.run(list(map(str, argv)), capture_output=True, text=True, timeout=60, user=65534 if root else None,
                                      preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (allowed, allowed)))
                self.assertEqual(done.returncode, 1, done.stderr)
                told.update(line for line in done.stderr.splitlines() if not line.startswith("{"))  # the log
            problem = "Resource temporarily unavailable"
            self.assertIn(f"dynamo-webhook: cannot start the log thread: {problem}", told)
            # Where the user has other processes none of the others is tried.
            self.assertLessEqual(told, {f"dynamo-webhook: cannot start the log thread: {problem}",
                                        f"dynamo-webhook: cannot start a thread: {problem}"})

    def test_version(self):
        done = run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$")
        for program in (CONTROLLER, PLUGIN):
            self.assertEqual(run("--version", binary=program).stdout, f"{pathlib.Path(program).name} {done.stdout}")


class Plugin(unittest.TestCase):
    """The commands of the webhook that need no cluster are commands of `kubectl dynamo`, too."""

    COMMANDS = [
        (["check", "-f", "-"], THOROUGH),
        (["check", "-f", "-", "-o", "json"], REFUSED),
        (["effective", "-f", "-", "--all"], GRAPH.replace("{replicas: 1}", MAIN)),
        (["intent", "-f", "-", "-o", "json"], GOOD),
        (["convert", "--to", "v1beta1", "-f", "-"], PLAIN_ALPHA),
        (["rules", "--kind", "DynamoModel"], ""),
        (["defaults", "--component", "frontend"], ""),
    ]

    def test_answers_are_the_same(self):
        for arguments, text in self.COMMANDS:
            with self.subTest(arguments):
                wanted = run(*arguments, text=text)
                done = run(*arguments, text=text, binary=PLUGIN)
                self.assertNotEqual(wanted.stdout, "")
                self.assertEqual((done.returncode, done.stdout, done.stderr), (wanted.returncode, wanted.stdout, wanted.stderr))

    def test_reports_and_errors_name_the_program(self):
        for program, binary in (("dynamo-webhook", WEBHOOK), ("kubectl-dynamo", PLUGIN)):
            with self.subTest(program):
                sarif = json.loads(run("check", "-f", "-", "-o", "sarif", text=THOROUGH, binary=binary).stdout)
                self.assertEqual(sarif["runs"][0]["tool"]["driver"]["name"], program)
                for arguments in (["rules", "--kind", "Pod"], ["check", "-f", "/nonexistent.yaml"], ["intent", "-f", "/nonexistent.yaml"]):
                    done = run(*arguments, binary=binary)
                    self.assertEqual((done.returncode, done.stderr[: len(program) + 2]), (2, f"{program}: "))

    def test_it_has_no_commands_of_the_servers(self):
        for command in ("serve", "certs", "run", "copy-output"):
            self.assertEqual(run(command, binary=PLUGIN).returncode, 2)


if __name__ == "__main__":
    unittest.main()
