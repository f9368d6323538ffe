"""Tests of decisions.py."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import decisions  # noqa: E402

TABLE = """# Decisions
| id | the reference | ours | why |
|---|---|---|---|
| pod-Q1 | adds | FIX | |
| pod-Q2 (child-Q3, scope-S4) | adds | FIX as pod-Q1 | |
| dec-7 | adds | KEEP | |
"""
UNKNOWN = "has no row in common/decisions.md"
FOREIGN = "is not part of the repository: state the reason instead"


class Lines(unittest.TestCase):
    """Each row is one line of a file."""

    ROWS = (
        ("// The cache (pod-Q1).", ""),
        ("// An alias (child-Q3), scope-S4 and dec-7.", ""),
        ("// Unknown (pod-Q9).", f"pod-Q9 {UNKNOWN}"),
        ("# With a letter: pod-Q1a.", f"pod-Q1a {UNKNOWN}"),
        ("Deployment spec.x pod-Q1,leg-Q4 # of a list", f"leg-Q4 {UNKNOWN}"),
        ("// Unknown (dec-8), scope-S1.", f"dec-8 {UNKNOWN}\nscope-S1 {UNKNOWN}"),
        ("// Quirks pod-Q1, pod-Q2.", ""),
        ("// Quirks pod-Q1, Q2.", '"pod-Q1, Q2": write each id in full'),
        ("// pod-Q1 to Q2", '"pod-Q1 to Q2": write each id in full'),
        ("// other ids such as web-Q1 and index-3 are ignored", ""),
        ("// Ports (spec/children.md).", f'"spec/children.md" {FOREIGN}'),
        ("// Ports (children.md 6).", f'"children.md" {FOREIGN}'),
        ("// Rule 1 of quirks.md", f'"quirks.md" {FOREIGN}'),
        ("// Law 4 of DESIGN", f'"DESIGN" {FOREIGN}'),
        ("// (anchors D1)", f'"anchors D1" {FOREIGN}'),
        ("// Figures of the certs sheet", f'"sheet" {FOREIGN}'),
        ("// see section 6", f'"section 6" {FOREIGN}'),
        ("// as RFC 9112 section 4 asks", ""),
        ('TEST_CASE("anchors, aliases and merge keys") {', ""),
        ('CHECK(at("/spec/model") == "m");  // design', ""),
        ("[metrics](README.md#metrics), common/decisions.md", ""),
    )

    def test_rows(self):
        ids, wrong = decisions.known(TABLE)
        self.assertEqual(wrong, [])
        for line, wanted in self.ROWS:
            with self.subTest(line):
                found = list(decisions.judge("a.cpp", "\n" + line, ids))
                self.assertEqual("\n".join(what for _, _, what in found), wanted)
                self.assertLessEqual({(path, number) for path, number, _ in found}, {("a.cpp", 2)})


class Tables(unittest.TestCase):
    def test_a_duplicate_row(self):
        _, wrong = decisions.known(TABLE + "| child-Q3 | once more | KEEP | |\n")
        self.assertEqual(wrong, [("common/decisions.md", 7, "child-Q3 already has a row in line 5")])

    def test_no_rows(self):
        self.assertEqual(len(decisions.known("# Decisions\n")[1]), 1)


class Trees(unittest.TestCase):
    """Runs the program on a work tree."""

    def run_over(self, files):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            subprocess.run(["git", "init", "-q", folder], check=True)
            for name, content in files.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_bytes(content.encode() if isinstance(content, str) else content)
            done = subprocess.run([sys.executable, HERE / "decisions.py", folder], capture_output=True,
                                  text=True)
        return done.returncode, done.stdout

    def test_good(self):
        status, output = self.run_over({"common/decisions.md": TABLE, "a.h": "// pod-Q1\n", "b.zst": b"\xff pod-Q9"})
        self.assertEqual((status, output), (0, "decisions: 1 citations in 2 files, 5 ids have a row, 0 wrong\n"))

    def test_unknown_id(self):
        status, output = self.run_over({"common/decisions.md": TABLE, "tests/e2e/list.txt": "x\nJob y pod-Q77 # z\n"})
        self.assertEqual(status, 1)
        self.assertIn(f"tests/e2e/list.txt:2: pod-Q77 {UNKNOWN}\n", output)

    def test_unknown_id_in_the_table(self):
        status, output = self.run_over({"common/decisions.md": TABLE + "| cfg-Q4 | see ctl-Q1 | FIX | |\n"})
        self.assertEqual(status, 1)
        self.assertIn(f"common/decisions.md:7: ctl-Q1 {UNKNOWN}\n", output)

    def test_no_table(self):
        self.assertEqual(self.run_over({"a.h": "// nothing\n"})[0], 1)


if __name__ == "__main__":
    unittest.main()
