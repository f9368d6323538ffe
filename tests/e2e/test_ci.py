"""The checks for repositories of users: the hook of pre-commit and the workflow of deploy/ci, with the real program. No cluster."""

import json
import pathlib
import subprocess
import tempfile
import unittest

import yaml
from built import PLUGIN, WEBHOOK

ROOT = pathlib.Path(__file__).resolve().parents[2]
WORKFLOW = ROOT / "deploy/ci/github-workflow.yaml"

GOOD = """\
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata: {name: good}
spec: {model: Qwen/Qwen3-0.6B}
"""
# The misspelt key is in line 6.
BAD = """\
apiVersion: "nvidia.com/v1beta1"
kind: DynamoGraphDeploymentRequest
metadata: {name: bad}
spec:
  model: Qwen/Qwen3-0.6B
  serchStrategy: rapid
"""
# The URI of a file is encoded.
FOUND = [("deploy%20me/bad.yaml", 6, "schema.unknown-field", "error")]
# `check` itself takes the first for an object without a kind, and cannot read the second.
OTHERS = {"compose.yaml": "services: {web: {image: web:1}}\n", "template.yaml": "name: {{ .Values.name }}\n"}
UNREADABLE = "apiVersion: nvidia.com/v1beta1\nkind: [\n"
# Stands for docker: it checks the arguments of `docker run`, which end with the image, and runs the program in the folder.
DOCKER = """\
#!/usr/bin/env bash
[[ "$*" == "run --rm --volume $PWD:/src:ro --workdir /src $IMAGE /dynamo-webhook "* ]] || {{ echo "unexpected: $*" >&2; exit 64; }}
exec {program} "${{@:9}}"
"""


def findings(report):
    """(file, line, rule, level) of each result of a SARIF report, which must be one run of version 2.1.0."""
    sarif = json.loads(report)
    (run,) = sarif["runs"]
    known = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    found = []
    for result in run["results"]:
        (location,) = result["locations"]
        place = location["physicalLocation"]
        found.append((place["artifactLocation"]["uri"], place["region"]["startLine"], result["ruleId"], result["level"]))
    if sarif["version"] != "2.1.0" or not {rule for _, _, rule, _ in found} <= set(known):
        raise AssertionError(report)
    return found


class Repository(unittest.TestCase):
    """A folder with manifests of a user, and a folder for stand-ins in PATH."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-ci-")))
        self.programs = self.folder / "programs"
        self.source = self.folder / "source"
        self.programs.mkdir()
        self.write({"deploy me/good.yaml": GOOD, **OTHERS})

    def write(self, files):
        for name, text in files.items():
            path = self.source / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")

    def run_here(self, command, **environment):
        env = {"PATH": f"{self.programs}:/usr/bin:/bin", "HOME": str(self.folder), **environment}
        return subprocess.run(command, cwd=self.source, env=env, capture_output=True, text=True, timeout=60, check=False)


class Hook(Repository):
    """What pre-commit does: the entry, a path in this repository, then the arguments, then the files of the type."""

    def hook(self, *files, args=(), **environment):
        (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
        self.assertEqual((hook["id"], hook["language"], hook["types"]), ("dynamo-check", "script", ["yaml"]))
        command = [str(ROOT / hook["entry"]), *hook.get("args", args), *files]
        return self.run_here(command, **(environment or {"DYNAMO_CHECK": f"{WEBHOOK} check"}))

    def test_good_files(self):
        done = self.hook("deploy me/good.yaml", *OTHERS)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "1 object: 0 errors, 0 warnings\n", ""))

    def test_a_bad_file(self):
        self.write({"deploy me/bad.yaml": BAD})
        done = self.hook("deploy me/good.yaml", "deploy me/bad.yaml", *OTHERS)
        self.assertEqual((done.returncode, done.stderr), (1, ""))
        self.assertIn("deploy me/bad.yaml:6:", done.stdout)
        self.assertIn("[schema.unknown-field]\n2 objects: 1 error, 0 warnings\n", done.stdout)

    def test_report(self):
        self.write({"deploy me/bad.yaml": BAD})
        for files, status, expected in ((["deploy me/bad.yaml"], 1, FOUND), (["deploy me/good.yaml"], 0, []), (list(OTHERS), 0, []), ([], 0, [])):
            with self.subTest(files):
                done = self.hook(*files, args=["--output=sarif"])
                self.assertEqual((done.returncode, findings(done.stdout)), (status, expected))

    def test_options_reach_the_program(self):
        configuration = ROOT / "deploy/samples/operator-config.yaml"
        done = self.hook("--", "deploy me/good.yaml", args=[f"--config={configuration}", "--output=json"])
        self.assertEqual((done.returncode, json.loads(done.stdout)["objects"]), (0, 1))
        done = self.hook("deploy me/good.yaml", args=["--config=/nonexistent"])
        self.assertEqual((done.returncode, done.stdout), (2, ""))

    def test_files_that_cannot_be_read(self):
        self.write({"unreadable.yaml": UNREADABLE})
        for name in ("unreadable.yaml", "absent.yaml"):
            with self.subTest(name):
                done = self.hook(name)
                self.assertEqual(done.returncode, 2)
                self.assertIn(name, done.stderr)

    def test_programs_in_path(self):
        """The webhook, else the plugin, else a message."""
        done = self.hook("deploy me/good.yaml", LANG="C")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("neither dynamo-webhook nor kubectl-dynamo is in PATH", done.stderr)
        for name, program in (("kubectl-dynamo", PLUGIN), ("dynamo-webhook", WEBHOOK)):
            (self.programs / name).symlink_to(program)
            done = self.hook("deploy me/good.yaml", args=["--output=sarif"], LANG="C")
            driver = json.loads(done.stdout)["runs"][0]["tool"]["driver"]["name"]
            self.assertEqual((done.returncode, driver), (0, name))


class Workflow(Repository):
    """Its step runs in a checkout, with a stand-in for docker."""

    def setUp(self):
        super().setUp()
        (self.job,) = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))["jobs"].values()
        docker = self.programs / "docker"
        docker.write_text(DOCKER.format(program=WEBHOOK), encoding="utf-8")
        docker.chmod(0o755)

    def check(self):
        """Runs the step as GitHub does. Returns its exit status, what it has printed, and the findings of its report."""
        self.run_here(["git", "init", "-q"])
        self.assertEqual(self.run_here(["git", "add", "--all"]).returncode, 0)
        (step,) = [step for step in self.job["steps"] if "run" in step]
        self.assertEqual(step["shell"], "bash")
        script = self.folder / "step"
        script.write_text(step["run"], encoding="utf-8")
        done = self.run_here(["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)], **self.job["env"])
        (upload,) = [step for step in self.job["steps"] if "upload-sarif" in step.get("uses", "")]
        report = self.source / upload["with"]["sarif_file"]
        return done.returncode, done.stdout + done.stderr, findings(report.read_text(encoding="utf-8"))

    def test_good_files(self):
        self.assertEqual(self.check(), (0, "", []))

    def test_a_bad_file(self):
        self.write({"deploy me/bad.yaml": BAD})
        self.assertEqual(self.check(), (1, "", FOUND))

    def test_no_files(self):
        (self.source / "deploy me/good.yaml").unlink()
        self.assertEqual(self.check(), (0, "", []))

    def test_the_report_is_uploaded_after_a_failure(self):
        upload = self.job["steps"][-1]
        self.assertIn("failure()", upload["if"])
        self.assertTrue(upload["uses"].startswith("github/codeql-action/upload-sarif@"))

    def test_the_image_is_that_of_the_chart(self):
        chart = yaml.safe_load((ROOT / "deploy/helm/dynamo-operator/Chart.yaml").read_text(encoding="utf-8"))
        self.assertEqual(self.job["env"]["IMAGE"], f"REGISTRY/dynamo-operator:{chart['version']}")


if __name__ == "__main__":
    unittest.main()
