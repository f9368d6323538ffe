"""The suites of deploy/helm/dynamo-operator/tests, which anybody with the plugin helm-unittest can run. They say the least that users
rely on; the tables in cases/ say all.

Only in a full run."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import charts
import programs


@unittest.skipUnless(os.environ.get("DYNAMO_FULL"), "helm-unittest only in a full run")
class Suites(unittest.TestCase):
    def setUp(self):
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-"))
        self.chart = charts.lay(folder, charts.OPERATOR, notes=False)

    def run_suites(self):
        command = [programs.built("helm-unittest"), "--color=false", self.chart]
        return subprocess.run(command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL)

    def test_all_pass(self):
        done = self.run_suites()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("Test Suites: 4 passed, 4 total", done.stdout)

    def test_they_find_changes(self):
        """Each of these changes of the chart makes a suite fail."""
        for suite, file, old, new in (
            ("webhooks", "values.yaml", "failurePolicy: Fail", "failurePolicy: Ignore"),
            ("pods", "templates/_pods.tpl", '"readOnlyRootFilesystem" true', '"readOnlyRootFilesystem" false'),
            ("refusals", "templates/problems.yaml", "{{- fail", "{{- print"),
            ("restricted", "templates/rbac-manager.yaml", '(list . "Role" ', '(list . "ClusterRole" '),
        ):
            with self.subTest(file):
                path = Path(self.chart, file)
                text = path.read_text(encoding="utf-8")
                self.assertIn(old, text)
                path.write_text(text.replace(old, new), encoding="utf-8")
                done = self.run_suites()
                path.write_text(text, encoding="utf-8")
                self.assertNotEqual(done.returncode, 0, done.stdout)
                self.assertRegex(done.stdout, rf" FAIL .*/{suite}_test.yaml")


if __name__ == "__main__":
    unittest.main()
