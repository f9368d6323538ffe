"""The offline commands and the refusals of `serve`: arguments in, text and exit status out. No cluster."""

import json
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEBHOOK = os.environ.get("DYNAMO_WEBHOOK", str(ROOT / "build/release/bin/dynamo-webhook"))

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
THOROUGH = GOOD.replace("0.6B}", "0.6B, searchStrategy: thorough}")
GRAPH = """apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {name: g}
spec:
  services:
    Worker: {replicas: 1}
"""
SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"


def run(*arguments, text=""):
    return subprocess.run([WEBHOOK, *arguments], input=text, capture_output=True, text=True, timeout=30)


class Check(unittest.TestCase):
    # manifest, exit status, what the output must hold
    TABLE = [
        ("clean", GOOD, 0, ["1 object: 0 errors, 0 warnings"]),
        ("clean v1alpha1", ALPHA, 0, ["1 object: 0 errors, 0 warnings"]),
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
         ["warning: DynamoGraphDeploymentRequest/good: spec.sla.ttft: 0 is not greater than 0", "0 errors, 1 warning"]),
        ("long name", GOOD.replace("good", "g" * 56), 1, ["metadata.name: Too long: may not be more than 55 bytes (it has 56)"]),
        ("other namespace", ALPHA.replace("{workersImage", "{namespace: elsewhere, workersImage"), 1,
         ['spec.deploymentOverrides.namespace: Forbidden: the deployment is made in the namespace of the request, "default", not in "elsewhere"']),
        ("schema of another kind",
         "apiVersion: nvidia.com/v1alpha1\nkind: DynamoModel\nmetadata: {name: m}\nspec: {modelName: a, modelType: lore}\n", 1,
         ["spec.baseModelName: Required value", 'spec.modelType: Unsupported value: "lore"']),
        ("what schema and rules say of a service is said once", GRAPH.replace("{replicas: 1}", "{replicas: -1}"), 1,
         ["spec.services.Worker.replicas: Invalid value: -1", "1 object: 2 errors, 0 warnings"]),
        ("control characters in names", GRAPH.replace("Worker: {replicas: 1}", r'"a\nb\e[31m": {}'), 1,
         ["spec.services[a b [31m]: Invalid value"]),
        ("unknown kind", "apiVersion: nvidia.com/v1\nkind: DynamoGraph\nmetadata: {name: m}\n", 1,
         ['kind: Unsupported value: "DynamoGraph"']),
        ("other groups are left alone", SERVICE + "---\n" + GOOD, 0,
         ["1 object: 0 errors, 0 warnings; 1 object of other API groups not checked"]),
        ("list", "apiVersion: v1\nkind: List\nitems:\n- " + GOOD.replace("\n", "\n  ").rstrip() + "\n", 0, ["1 object:"]),
        ("json", json.dumps({"apiVersion": "nvidia.com/v1beta1", "kind": "DynamoGraphDeploymentRequest",
                             "metadata": {"name": "j"}, "spec": {"model": "m"}}), 0, ["1 object:"]),
        ("broken yaml", "a: [\n", 2, []),
        ("duplicate key", GOOD.replace("model:", "model: a, model:"), 2, []),
    ]

    def test_table(self):
        for name, manifest, status, texts in self.TABLE:
            with self.subTest(name):
                done = run("check", "-f", "-", text=manifest)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                for text in texts:
                    self.assertIn(text, done.stdout)
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

    def test_configuration_decides(self):
        with tempfile.TemporaryDirectory() as folder:
            restricted = pathlib.Path(folder, "restricted.yaml")
            restricted.write_text("namespace: {restricted: team}\ngpu: {discoveryEnabled: false}\n")
            done = run("check", "--config", str(restricted), "-f", "-", text=GOOD)
            self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
            self.assertIn("spec.hardware: Required value: GPU discovery is off", done.stdout)
            restricted.write_text("server: {webhook: {port: 99999}}\n")
            done = run("check", "--config", str(restricted), "-f", "-", text=GOOD)
            self.assertEqual(done.returncode, 2)
            self.assertIn("server.webhook.port: Invalid value: 99999", done.stderr)

    def test_facts_decide(self):
        picker = """{apiVersion: nvidia.com/v1alpha1, kind: DynamoGraphDeployment, metadata: {name: g}, spec: {services: {Epp: {
  componentType: epp, eppConfig: {configMapRef: {name: c, key: k}}, extraPodSpec: {mainContainer: {image: "i:1"}}}}}}"""
        for facts, status, told in (("apis: {inferencePool: false}", 1, "which the cluster lacks"),
                                    ("apis: {inferencePool: true}", 0, "0 errors"),
                                    ("apis: {inferencePools: true}", 2, 'unknown field "inferencePools"')):
            with self.subTest(facts), tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                file.write(facts)
                file.flush()
                done = run("check", "--facts", file.name, "-f", "-", text=picker)
                self.assertEqual(done.returncode, status, done.stdout + done.stderr)
                self.assertIn(told, done.stdout + done.stderr)

    def test_missing_file(self):
        done = run("check", "-f", "/nonexistent/x.yaml")
        self.assertEqual(done.returncode, 2)
        self.assertIn("/nonexistent/x.yaml: No such file or directory", done.stderr)


class Convert(unittest.TestCase):
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

    def test_objects_of_no_version_we_have(self):
        table = [
            (ALPHA.replace("apiVersion: nvidia.com/v1alpha1\n", "", 1), ": apiVersion: Required value"),
            (ALPHA.replace("nvidia.com/v1alpha1", "nvidia.com/v9", 1), ': apiVersion: Unsupported value: "nvidia.com/v9"'),
            ("{apiVersion: nvidia.com/v9, kind: DynamoModel, metadata: {name: m}}",
             'DynamoModel m: apiVersion: Unsupported value: "nvidia.com/v9"'),
        ]
        for text, told in table:
            with self.subTest(told):
                done = run("convert", "--to", "v1beta1", "-f", "-", text=text)
                self.assertEqual((done.returncode, done.stdout), (2, ""))
                self.assertIn(told, done.stderr)
        foreign = run("convert", "--to", "v1beta1", "-f", "-", text="{apiVersion: a.example/v9, kind: DynamoModel}")
        self.assertEqual(foreign.returncode, 0, foreign.stderr)

    def test_unknown_version(self):
        done = run("convert", "--to", "v2", "-f", "-", text=ALPHA)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn('cannot convert "nvidia.com/v1alpha1" to "nvidia.com/v2"', done.stderr)


class Usage(unittest.TestCase):
    # arguments, exit status, text on standard error
    TABLE = [
        ([], 2, "subcommand"),
        (["bogus"], 2, ""),
        (["check"], 2, "--filename is required"),
        (["check", "-f", "-", "-o", "xml"], 2, "xml"),
        (["serve", "--listen", "nonsense"], 1, '--listen: "nonsense": must be ADDRESS:PORT or :PORT'),
        (["serve", "--log-level", "loud"], 1, 'supported values: "debug", "error", "info", "warn"'),
        (["serve", "--client-names", "a,b"], 1, "--client-names: Forbidden: they guard nothing without"),
        (["serve", "--client-ca-file", "x", "--client-names", "a,,b"], 1, '--client-names: Invalid value: ""'),
        (["serve", "--tls-min-version", "1.1"], 1, '--tls-min-version: Unsupported value: "1.1"'),
        (["serve", "--operator-version", "unknown"], 1, '--operator-version: Invalid value: "unknown"'),
        (["serve", "--zap-log-level", "loud"], 1, '--zap-log-level: Unsupported value: "loud"'),
        (["check", "-f", "-", "--operator-version", "bad"], 2, '--operator-version: Invalid value: "bad"'),
        (["effective", "-f", "-", "--operator-version", "bad"], 2, '--operator-version: Invalid value: "bad"'),
        (["serve", "--controller-service-account", "me"], 1, '--controller-service-account: Invalid value: "me"'),
        (["serve", "--config", "/nonexistent.yaml"], 1, "/nonexistent.yaml"),
        # As Go programs take them.
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

    def test_no_thread_at_start(self):
        # With each thread more that the system allows, the next part of the server says so; none ends by a signal.
        root = os.geteuid() == 0  # whom the limit does not bind
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
                told.add(done.stderr.splitlines()[-1])
            problem = "Resource temporarily unavailable"
            self.assertLessEqual(told, {f"dynamo-webhook: cannot start the thread of the log: {problem}",
                                        f"dynamo-webhook: cannot start a thread: {problem}"})

    def test_version(self):
        done = run("--version")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"^\d+\.\d+\.\d+\n$")


if __name__ == "__main__":
    unittest.main()
