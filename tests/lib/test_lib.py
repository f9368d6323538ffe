"""Tests of the runner of steps, of the totals of modules, of the closure of includes and of the batches of sources."""

import contextlib
import io
import pathlib
import re
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import batches  # noqa: E402
import includes  # noqa: E402
import modules  # noqa: E402


def steps(script):
    """(status, output, table of times) of a script that sources tests/lib/steps."""
    with tempfile.TemporaryDirectory() as folder:
        run = ["bash", "-c", f"set -euo pipefail; only=(); source {HERE}/steps\n{script}\nfinish"]
        done = subprocess.run(run, cwd=folder, capture_output=True, text=True)
        times = pathlib.Path(folder, "build/test-logs/times").read_text(encoding="utf-8")
    return done.returncode, done.stdout + done.stderr, times


class Steps(unittest.TestCase):
    def test_the_last_line_is_the_totals(self):
        table = [("true", 0, "1 passed, 0 failed, 0 skipped"), ("false", 1, "0 passed, 1 failed, 0 skipped"),
                 ("echo 'skipped: no recordings'; echo 'skipped: no peers'", 0, "1 passed, 0 failed, 2 skipped"),
                 ("echo 'skipped: a'; exit 3", 1, "0 passed, 1 failed, 1 skipped"),
                 ("echo ' skipped: not at the start'", 0, "1 passed, 0 failed, 0 skipped")]
        for body, status, totals in table:
            with self.subTest(body):
                got, output, _ = steps(f"one() {{ {body}; }}; step one")
                self.assertEqual((got, output.splitlines()[-1]), (status, totals))

    def test_a_failing_command_fails_the_step_and_the_next_step_runs(self):
        status, output, _ = steps("one() { echo begun; false; echo never; }; two() { :; }; step one; step two")
        self.assertEqual((status, output.splitlines()[-2:]), (1, ["failed: one", "1 passed, 1 failed, 0 skipped"]))
        self.assertIn("    | begun", output)
        self.assertNotIn("never", output)

    def test_the_end_says_why_a_step_has_failed(self):
        one = "one() { echo 'a.cpp:7: FAILED:'; echo '  CHECK( x )'; seq 100; false; }; two() { false; }; step one; step two"
        _, output, _ = steps(one)
        end = output[output.index("==> why one failed") :]
        self.assertIn("    | a.cpp:7: FAILED:\n    |   CHECK( x )\n", end)
        self.assertNotIn("    | 50\n", end)
        self.assertIn("==> why two failed", end)

    def test_the_line_of_a_step_has_its_result(self):
        _, output, _ = steps("one() { echo 'one: 7 things'; echo 'skipped: b'; echo 'skipped: b'; }; step one")
        self.assertRegex(output, r"==> one +ok +\d+s wall +\d+s cpu  one: 7 things\n    skipped: b \(2 times\)\n")

    def test_the_table_of_times_is_sorted_by_duration(self):
        _, _, times = steps("one() { :; }; two() { sleep 0.5; }; step one; step two")
        self.assertEqual([line.split()[-1] for line in times.splitlines()], ["step", "two", "one", "all"])

    def test_steps_at_the_same_time(self):
        body = "sleep 1; echo one: {0}; python3 -c 'for i in range(3000000): pass'"
        script = f"one() {{ {body.format(1)}; }}; two() {{ {body.format(2)}; false; }}; step one two; echo after"
        status, output, times = steps(script)
        self.assertEqual(status, 1)
        self.assertRegex(output, r"==> one +ok .*one: 1\n==> two +FAILED .*one: 2\n")
        self.assertIn("after", output)
        table = {line.split()[-1]: line.split() for line in times.splitlines()[1:]}
        self.assertLess(float(table["all"][0]), float(table["one"][0]) + float(table["two"][0]))
        self.assertGreater(min(float(table[name][1]) for name in ("one", "two")), 0.05)

    def test_an_end_by_a_signal_ends_steps_that_run_at_the_same_time(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"set -euo pipefail; only=(); source {HERE}/steps\none() {{ sleep 61.25; }}; two() {{ sleep 61.25; }}; step one two"
            run = subprocess.Popen(["bash", "-c", script], cwd=folder, stdout=subprocess.DEVNULL)
            sleeping = ["pgrep", "-fx", "sleep 61.25"]
            while len(subprocess.run(sleeping, capture_output=True).stdout.split()) < 2:
                time.sleep(0.05)
            run.terminate()
            run.wait(10)
            deadline = time.monotonic() + 10
            while subprocess.run(sleeping, capture_output=True).stdout and time.monotonic() < deadline:
                time.sleep(0.05)
            self.assertEqual(subprocess.run(sleeping, capture_output=True).stdout, b"")

    def test_commands_side_by_side(self):
        status, output, _ = steps("one() { side_by_side 'echo a; false; echo b' 'echo c'; }; step one")
        self.assertEqual(status, 1)
        self.assertIn("    | a\n    | c\n", output)
        self.assertNotIn("| b", output)


MODULE = """
import unittest
class A(unittest.TestCase):
    def test_good(self): pass
    def test_rows(self):
        for row in (1, 2):
            with self.subTest(row): self.skipTest("absent")
    @unittest.skip("not here")
    def test_skipped(self): pass
"""


def run_apart(bodies, *arguments):
    """Runs modules.run_apart with modules (name -> body) in their alphabetical order, and further arguments. Returns the process."""
    with tempfile.TemporaryDirectory() as folder:
        for name, body in bodies.items():
            pathlib.Path(folder, f"{name}.py").write_text(body, encoding="utf-8")
        script = pathlib.Path(folder, "run")
        more = "".join(f", {one!r}" for one in arguments)
        script.write_text(f"import sys\nsys.path[:0] = ['{folder}', '{HERE}']\nimport modules\n"
                          f"names = sys.argv[1:] or {sorted(bodies)!r}\n"
                          f"sys.exit(modules.run_apart('told', __file__, names{more}))\n", encoding="utf-8")
        return subprocess.run([sys.executable, str(script)], capture_output=True, text=True)


class Modules(unittest.TestCase):
    def run_module(self, body):
        """(status, last line, lines of skipped tests)"""
        with tempfile.TemporaryDirectory() as folder, mock.patch.object(sys, "path", [folder, *sys.path]):
            pathlib.Path(folder, "test_told.py").write_text(body, encoding="utf-8")
            self.addCleanup(sys.modules.pop, "test_told", None)
            said = io.StringIO()
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
                status = modules.run_here("told", ["test_told"])
        lines = said.getvalue().splitlines()
        return status, lines[-1], [line for line in lines if line.startswith("skipped: ")]

    def test_skipped_tests_are_counted_and_reported(self):
        status, totals, skipped = self.run_module(MODULE)
        self.assertEqual((status, totals), (0, "told: 2 passed, 0 failed, 3 skipped"))
        self.assertEqual(skipped, ["skipped: test_told.A.test_rows [1]: absent", "skipped: test_told.A.test_rows [2]: absent",
                                   "skipped: test_told.A.test_skipped: not here"])

    def test_failures(self):
        table = [("import nothing_of_this_name", "told: 0 passed, 1 failed, 0 skipped"), ("", "told: 0 passed, 0 failed, 0 skipped"),
                 ("import unittest\nclass A(unittest.TestCase):\n def test_a(self):\n  for i in range(3):\n"
                  "   with self.subTest(i): self.fail()\n", "told: 0 passed, 1 failed, 0 skipped")]
        for body, totals in table:
            with self.subTest(body):
                sys.modules.pop("test_told", None)
                self.assertEqual(self.run_module(body)[:2], (1, totals))

    def test_modules_that_wait_run_beside_the_others(self):
        """In the order in which they are listed, one at a time, while the others run; the last module is alone."""
        wait = ("import time, unittest\nclass A(unittest.TestCase):\n def test_a(self):\n"
                "  print(time.time(), flush=True); time.sleep(1); print(time.time(), flush=True)\n")
        bodies = {f"test_{name}": wait for name in ("last", "one", "slow", "slower", "two")}
        done = run_apart(bodies, ["test_last"], 1, ["test_slower", "test_slow"])
        self.assertEqual(done.stdout.splitlines()[-1], "told: 5 passed, 0 failed, 0 skipped", done.stdout)
        found = re.findall(r"^== test_(\w+): .*\n(?:.*\.\.\. )?(\d+\.\d+)\n(\d+\.\d+)", done.stdout, re.M)
        times = {name: (float(begin), float(end)) for name, begin, end in found}
        self.assertEqual(len(times), 5, done.stdout)
        for earlier, later in (("one", "two"), ("slower", "slow"), ("two", "last"), ("slow", "last")):
            self.assertLess(times[earlier][1], times[later][0], (earlier, later))
        self.assertLess(times["slower"][0], times["one"][1])

    def test_failed_tests_are_repeated_at_the_end(self):
        bodies = {"test_good": "import unittest\nclass A(unittest.TestCase):\n def test_a(self): pass\n",
                  "test_bad": "import unittest\nclass A(unittest.TestCase):\n def test_b(self): self.fail('no b')\n"
                              " def test_c(self): pass\n def test_d(self): raise ValueError('no d')\n",
                  "test_gone": "import os\nprint('last words', flush=True)\nos._exit(3)\n"}
        done = run_apart(bodies)
        _, _, end = done.stdout.partition("== failed: ")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(end.splitlines()[-1], "told: 2 passed, 3 failed, 0 skipped")
        for part in ("FAIL: test_b", "no b", "ERROR: test_d", "no d", "failed: test_gone\nlast words\n"):
            self.assertIn(part, f"failed: {end}")
        self.assertNotIn("test_c", end)


class Includes(unittest.TestCase):
    def test_a_closure_goes_through_headers(self):
        root = includes.ROOT
        ours, others = includes.closure(root / "webhook/review/conversion.cpp")
        for name in ("webhook/review/conversion.cpp", "webhook/review/conversion.h", "common/json/value.h"):
            self.assertIn(root / name, ours)
        ours, _ = includes.closure(root / "tests/unit/admission/request_test.cpp")
        self.assertIn(root / "tests/unit/rules/support.h", ours, "found in an include folder of the target")
        self.assertTrue(any(header.startswith("rapidjson/") for header in others), "included by another header only")


def unnamed(*lines):
    return "\n".join(["namespace {", *lines, "}  // namespace", ""])


class Batches(unittest.TestCase):
    def test_names_that_a_file_declares_for_itself(self):
        table = [
            (unnamed("bool isWorker(const Value& service) {", "  return isOld(service);", "}"), {"isWorker": None}),
            (unnamed("constexpr std::array<Rule, sizeof(kOther)> kRules = {"), {"kRules": None}),
            (unnamed("struct Row {", "  int number = 0;", "};"), {"Row": None}),
            (unnamed("void one() {", "}", "void two() {", "}"), {"one": None, "two": None}),
            ("static int count = 0;\nconstexpr int kMost{8};\n", {"count": None, "kMost": None}),
            ("int shared() {\n}\nvoid Reader::read() {\n}\n", {}),
            ("using json::Value;\nusing Rows = std::vector<Row>;\nusing namespace std::chrono;\n",
             {"Value": "using json::Value;", "Rows": "using Rows = std::vector<Row>;"}),
            (unnamed('TEST_CASE("kRules(1)") {', "static_assert(sizeof(int) == 4);", "// note(1)"), {}),
        ]
        for text, names in table:
            with self.subTest(text):
                self.assertEqual(batches.Source(text).local, names)

    def test_files_that_do_not_fit_are_apart(self):
        local = unnamed("int number() {", "}")
        table = [
            ("both declare it", local, local, False),
            ("the other one uses it", local, "int twice() {\n  return number() * 2;\n}\n", False),
            ("a member of this name is another", local, "int twice(const A& a) {\n  return a.number() + A::number();\n}\n", True),
            ("a comment and a string do not use it", local, '// number\nconst char* kText = "number";\n', True),
            ("the same using-declaration", "using json::Value;\nValue a();\n", "using json::Value;\nValue b();\n", True),
            ("another using-declaration", "using json::Value;\nValue a();\n", "using yaml::Value;\nValue b();\n", False),
            ("a using-declaration that the other one does not have", "using json::Value;\n", "Value b();\n", False),
        ]
        for title, one, other, together in table:
            with self.subTest(title):
                for first, second in ((one, other), (other, one)):
                    sources = {"a": batches.Source(first), "b": batches.Source(second)}
                    self.assertEqual(batches.batches(sources, 8), [["a", "b"]] if together else [["a"], ["b"]])

    def test_a_batch_has_at_most_the_given_number_of_files(self):
        sources = {str(number): batches.Source("") for number in range(5)}
        self.assertEqual(batches.batches(sources, 2), [["0", "1"], ["2", "3"], ["4"]])


if __name__ == "__main__":
    unittest.main()
