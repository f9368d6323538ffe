"""Every rule that `dynamo-webhook rules` lists is broken by a test: a row of mistakes.yaml, or a row of a unit test that
expects its id (updates, clusters without an API, configurations)."""

import json
import pathlib
import re
import sys
import unittest

import yaml

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

from test_cli import run  # noqa: E402
from test_mistakes import TABLE, good, spoiled  # noqa: E402


def rules_of_mistakes():
    rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
    objects = [spoiled(good(row.get("of", "graph")), row.get("set", {}), row.get("without", ()))
               for row in rows if "stored" not in row and "text" not in row]
    done = run("check", "-o", "json", "-f", "-", text="\n".join(map(json.dumps, objects)))
    return {(finding["severity"], finding["rule"]) for finding in json.loads(done.stdout)["findings"]}


def rules_of_unit_tests():
    """The ids in expectations of tests: "E <id> path: message", "W <id> ..."."""
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit").rglob("*")
                   if path.suffix in (".cpp", ".h")) + (HERE / "pod-rules-cases.json").read_text(encoding="utf-8")
    return set(re.findall(r'[EW] ([a-z]+[.-][a-z.-]+)[ "]', text))


class Rules(unittest.TestCase):
    def test_every_rule_is_broken_by_a_test(self):
        rules = json.loads(run("rules", "-o", "json").stdout)
        listed = {rule["id"] for rule in rules}
        self.assertGreater(len(listed), 200)
        mistakes = rules_of_mistakes()
        met = {rule for _, rule in mistakes} | rules_of_unit_tests()
        unknown = {rule for rule in met if not rule.startswith("schema.cel.")} - listed
        self.assertEqual(unknown, set(), "reported, but not listed")
        missing = listed - met
        if any(rule.startswith("schema.cel.") for rule in met):
            missing.discard("schema.cel")
        self.assertEqual(missing, set())
        # An error may be reported as a warning: for an unchanged field, or if it only applies to one pathway.
        doubts = {rule["id"] for rule in rules if rule["severity"] == "warning"}
        refused = {rule for severity, rule in mistakes if severity == "error"}
        self.assertEqual(doubts & refused, set(), "listed as warnings, but reported as errors")


if __name__ == "__main__":
    unittest.main()
