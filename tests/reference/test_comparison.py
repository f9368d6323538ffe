"""Tests of the comparison: differences, folding, rejected children, invalid lines, and the archives."""

import collections
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import compare
import deviations
import folding
import ledger
import recordings
import sabotage
from differences import ABSENT, ORDER, Difference, differences, parsed, written

HERE = pathlib.Path(__file__).resolve().parent
OWNERS = [{"kind": "DynamoGraphDeployment", "name": "g"}]


def child(kind="Deployment", name="g-w", **fields):
    return {"kind": kind, "metadata": {"name": name, "ownerReferences": OWNERS}, **fields}


def recorded(*objects, ok=True, **more):
    apply = [{"kind": "DynamoGraphDeployment", "name": "g", "ok": ok, "message": "" if ok else "denied"}]
    return folding.recording({"case": "c", "apply": apply, "objects": list(objects), "input": [], **more})


def found(theirs, ours):
    return [(written(path), a, b) for path, a, b in differences(theirs, ours)]


class Differences(unittest.TestCase):
    def test_table(self):
        main, side = {"name": "main", "image": "a"}, {"name": "side"}
        for theirs, ours, expected in (
            ({"a": 1}, {"a": 1}, []),
            ({"a": 1}, {"a": 2}, [("a", 1, 2)]),
            ({"a": 1}, {"a": "1"}, [("a", 1, "1")]),
            ({"a": {"b": 1}}, {}, [("a", {"b": 1}, ABSENT)]),
            ({"labels": {"x/y": "z"}}, {}, [("labels[x/y]", "z", ABSENT)]),
            ({}, {"labels": {"a": "b"}}, [("labels[a]", ABSENT, "b")]),
            ({}, {"env": [{"name": "A"}]}, [("env[A]", ABSENT, {"name": "A"})]),
            ([main], [{**main, "image": "b"}], [("[main].image", "a", "b")]),
            ([main, side], [side, main], [(ORDER, ["main", "side"], ["side", "main"])]),
            (
                [main, side],
                [side, {"name": "new"}, main],
                [("[new]", ABSENT, {"name": "new"}), (ORDER, ["main", "side"], ["side", "main"])],
            ),
            ({"cliques": [main, side]}, {"cliques": [side, main]}, []),
            ([main], [main, main], [("-", [main], [main, main])]),
            (["a", "b"], ["b", "a"], [("[0]", "a", "b"), ("[1]", "b", "a")]),
        ):
            with self.subTest(theirs=theirs, ours=ours):
                self.assertEqual(found(theirs, ours), expected)

    def test_paths_survive_a_round_trip(self):
        for text in ("-", "spec.replicas", "metadata.labels[a.b/c]", "spec.template.spec.containers[main].env[A].value"):
            self.assertEqual(written(parsed(text)), text)


class Folding(unittest.TestCase):
    def test_worker_hashes_and_empty_values(self):
        dump = child(name="g-w-0123abcd", spec={"a": "", "b": [], "emptyDir": {}, "n": 0})
        dump["metadata"]["labels"] = {folding.HASH_LABEL: "0123abcd"}
        self.assertEqual(recorded(dump).children["Deployment", "g-w-HASH"]["spec"], {"emptyDir": {}, "n": 0})
        self.assertEqual(recorded(dump).hashes, {"0123abcd"})

    def test_only_host_and_port_of_the_leaders_script_are_compared(self):
        def script(text):
            pod = {"initContainers": [{"name": folding.LEADER_WAIT, "command": ["python3", "-c", text]}]}
            return recorded(child(spec=pod)).children["Deployment", "g-w"]

        self.assertEqual(script('a("$(H)", 29500)'), script('wait for "$(H)" at 29500'))
        self.assertNotEqual(script('a("$(H)", 29500)'), script('a("$(I)", 29500)'))
        self.assertNotEqual(script('a("$(H)", 29500)'), script('a("$(H)", 29501)'))

    def test_objects_of_the_input_are_ignored(self):
        claim = {"kind": "PersistentVolumeClaim", "metadata": {"name": "c"}}
        self.assertEqual(list(compare.differences_of_case(recorded(claim), recorded())), [])
        self.assertEqual(len(list(compare.differences_of_case(recorded(child()), recorded()))), 1)


class Comparing(unittest.TestCase):
    def outcome(self, theirs, ours, lines=(), held_against=None):
        comparison = compare.Comparison([deviations.parsed_line("here", line) for line in lines], held_against)
        comparison.add(theirs, ours)
        return comparison

    def test_a_difference_needs_a_line_and_the_ledger(self):
        sides = recorded(child(spec={"replicas": 1})), recorded(child(spec={"replicas": 2}))
        line = "Deployment spec.replicas changed child-Q5 # why"
        self.assertTrue(self.outcome(*sides).noticed())
        accepted = self.outcome(*sides, [line])
        self.assertFalse(accepted.noticed())
        known = collections.Counter(accepted.entries)
        self.assertFalse(self.outcome(*sides, [line], known).noticed())
        self.assertTrue(self.outcome(*sides, [line], collections.Counter()).noticed())
        other = recorded(child(spec={"replicas": 3}))
        self.assertTrue(self.outcome(sides[0], other, [line], known).noticed())
        self.assertEqual(self.outcome(sides[0], sides[0], [line], known).gone(), accepted.entries)

    def test_a_rejected_child_is_a_failure(self):
        refused = recorded(child(), refused=[{"kind": "Service", "name": "g-w", "message": "is invalid"}])
        outcome = self.outcome(recorded(child()), refused)
        self.assertTrue(outcome.noticed())
        self.assertIn("c: the API server rejects Service g-w: is invalid", "\n".join(outcome.details()))
        self.assertTrue(self.outcome(recorded(child()), recorded(child(), refused=[{"render": "no such file"}])).noticed())

    def test_decisions(self):
        self.assertTrue(self.outcome(recorded(), recorded(ok=False)).noticed())
        self.assertTrue(self.outcome(recorded(ok=False), recorded()).noticed())
        self.assertFalse(self.outcome(recorded(ok=False), recorded(ok=False)).noticed())

    def test_a_long_value_is_written_as_its_digest(self):
        long = Difference("c", "Deployment", "g-w", ("spec",), "a" * 500, ABSENT)
        entry = ledger.entry(long, ())
        self.assertLess(len(entry), 250)
        self.assertNotEqual(entry, ledger.entry(long._replace(theirs="a" * 499 + "b"), ()))
        self.assertTrue(entry.endswith("\t<absent>"))


class Lines(unittest.TestCase):
    def test_incomplete_lines_are_rejected(self):
        for line in (
            "* spec.replicas changed child-Q5 # stars",
            "Deployment * changed child-Q5 # stars",
            "Deployment spec.replicas child-Q5 # no direction",
            "Deployment spec.replicas changed # no decision",
            "Deployment spec.replicas changed child-Q5 #",
            "Deployment spec.replicas changed child-Q5",
            "Deployment spec.replicas changed unknown-condition child-Q5 # no such condition",
        ):
            with self.subTest(line=line), self.assertRaises(deviations.InvalidLine):
                deviations.parsed_line("here", line)

    def test_no_line_names_a_recorded_input(self):
        with tempfile.TemporaryDirectory() as folder:
            graphs = recordings.unpack("graphs", folder)
            names = {
                name
                for path in graphs.glob("input/*.yaml")
                for name in re.findall(r"^  name: (\S+)|^    (\w+):$", path.read_text(), re.M)
            }
        names = {name.lower() for pair in names for name in pair if name} - {"epp"}  # also a component type
        for line in deviations.load(HERE / "deviations.txt"):
            words = set(re.findall(r"[\w-]+", " ".join(line.path)))
            self.assertEqual(words & names, set(), line.text)


class Archives(unittest.TestCase):
    def test_graphs(self):
        with tempfile.TemporaryDirectory() as folder:
            graphs = recordings.unpack("graphs", folder)
            for name in ("input", *recordings.SETS):
                self.assertEqual(len(list((graphs / name).iterdir())), 80, name)
            # The reference has no difference from itself, and every change to it is detected.
            answers = sorted(graphs.glob("lws/*.json"))
            self.assertFalse(compare.compare(answers, graphs / "lws", []).noticed())
            score = sabotage.run(answers, graphs / "lws", [], collections.Counter(), 100)
            self.assertEqual((score.noticed, score.unnoticed), (100, []))

    def test_reviews(self):
        self.assertEqual(sum(1 for _ in recordings.reviews()), 2500)

    def test_lifecycles(self):
        with tempfile.TemporaryDirectory() as folder:
            golden = recordings.unpack("lifecycle", folder) / "golden"
            other = pathlib.Path(folder, "other")
            shutil.copytree(golden, other)
            command = [sys.executable, HERE / "lifecycle/main.py", "compare", golden, other, "--hashes", "--messages"]
            same = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(same.returncode, 0, same.stdout + same.stderr)
            self.assertIn("29 of 29 scenarios equal (211 steps); 0 differences", same.stdout)
            changed = other / "deploy-basic.json"
            changed.write_text(
                changed.read_text(encoding="utf-8").replace('"replicas": 3', '"replicas": 4'), encoding="utf-8"
            )
            different = subprocess.run(command, capture_output=True, text=True)
            self.assertEqual(different.returncode, 1, different.stdout + different.stderr)
            self.assertIn("28 of 29 scenarios equal", different.stdout)


if __name__ == "__main__":
    unittest.main()
