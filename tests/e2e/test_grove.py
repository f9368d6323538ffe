"""What `check` says of graphs that Grove refuses or does not run, for each pathway. No cluster."""

import json
import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from test_cli import run  # noqa: E402

CASES = pathlib.Path(__file__).resolve().parent / "cases"
WIDE = "spec.services[Wide].replicas"
SMALL = "spec.services[Small].replicas"
SPREAD = "spec.services[Frontend].extraPodSpec.topologySpreadConstraints"
# case, pathway, exit status, (severity, path, rule)
TABLE = [
    ("grove-zero-replicas", "grove", 1, {("error", WIDE, "dgd.grove-replicas"), ("warning", SMALL, "dgd.grove-replicas")}),
    ("grove-zero-replicas", "auto", 0, {("warning", WIDE, "dgd.grove-replicas")}),
    ("grove-zero-replicas", "lws", 0, set()),
    ("grove-topology-spread", "grove", 1, {("error", SPREAD, "service.grove-topology-spread")}),
    ("grove-topology-spread", "auto", 0, {("warning", SPREAD, "service.grove-topology-spread")}),
    ("grove-topology-spread", "deployment", 0, set()),
]


class Grove(unittest.TestCase):
    def test_cases(self):
        for case, pathway, status, expected in TABLE:
            with self.subTest(case, pathway=pathway):
                done = run("check", "-o", "json", "--pathway", pathway, "-f", str(CASES / f"{case}.yaml"))
                found = {(one["severity"], one["field"], one["rule"]) for one in json.loads(done.stdout)["findings"]}
                self.assertEqual(found, expected)
                self.assertEqual(done.returncode, status)


if __name__ == "__main__":
    unittest.main()
