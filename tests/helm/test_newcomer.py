"""The block "Without a cluster" of deploy/README.md, run as it stands: it builds the image, starts a control plane with a real node, and
installs the chart with Helm. It is also played on a new Debian 12, as other commands of the documents are.

Only in a full run. It is fast when build/release is up to date, and otherwise builds it."""

import ctypes
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import guide
import new_machine
import programs
from node import requirements

TITLE = "Without a cluster"
SECONDS = 900
LONG_SECONDS = 3600
# What a new machine does not have.
INSTALLED = ("cmake", "ccache", "g++", "python3", "containerd", "buildah", "go")
PR_SET_CHILD_SUBREAPER = 36
# build/image is a folder of this test: other tests write there at the same time.
SHELL = 'mount --bind "$0" build/image && exec bash -ec "$1"'


def setUpModule():
    requirements.require_node()
    # As after Ctrl-C, the folders are removed.
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def block():
    """The commands of the block, as a script."""
    found = re.search(rf"^\*\*{TITLE}\*\*(.*?)(?=^\*\*|\Z)", guide.section("Install"), re.M | re.S)
    if found is None:
        raise LookupError(TITLE)
    return "\n".join(guide.commands(found[1]))


def descendants():
    """Process id -> name of what this process has started, directly or not, and what still runs."""
    children, found, waiting = {}, {}, [os.getpid()]
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, fields = path.read_text(encoding="utf-8", errors="replace").rsplit(") ", 1)
        except OSError:
            continue  # it has ended
        state, parent = fields.split()[:2]
        if state != "Z":
            children.setdefault(int(parent), []).append((int(path.parent.name), name.partition("(")[2]))
    while waiting:
        for pid, name in children.get(waiting.pop(), ()):
            found[pid] = name
            waiting.append(pid)
    return found


class Newcomer(unittest.TestCase):
    def setUp(self):
        # An orphan becomes a child of this process, also if it has a session of its own.
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-newcomer-")))
        for name in ("image", "helm"):
            (self.folder / name).mkdir()
        programs.built("helm3")  # the block would build it, which takes minutes

    def run_in_a_shell(self, script):
        """Runs it in the folder of the repository. Returns the exit status and the output."""
        (guide.ROOT / "build/image").mkdir(parents=True, exist_ok=True)
        homes = {f"HELM_{kind}_HOME": str(self.folder / "helm" / kind) for kind in ("CACHE", "CONFIG", "DATA")}
        environment = {**os.environ, **homes}
        command = ["unshare", "--mount", "bash", "-euc", SHELL, self.folder / "image", script]
        # Not a pipe: a process that stays would keep it open.
        with open(self.folder / "log", "w+", encoding="utf-8") as log:
            shell = subprocess.Popen(
                command, cwd=guide.ROOT, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
            try:
                status = shell.wait(SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(shell.pid, signal.SIGTERM)
                status = shell.wait()
            log.seek(0)
            return status, log.read()

    def test_without_a_cluster(self):
        began = time.monotonic()
        status, output = self.run_in_a_shell(block())
        print(f"  {TITLE}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        self.assertEqual(status, 0, output)
        self.assertRegex(output, r"(?m)^STATUS: deployed$")
        self.assertEqual(descendants(), {})

    def test_a_process_that_stays_is_found(self):
        status, output = self.run_in_a_shell("setsid --fork sleep 600")
        found = descendants()
        for pid in found:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        self.assertEqual((status, output, list(found.values())), (0, "", ["sleep"]))


class OnANewMachine(unittest.TestCase):
    """Each row has a machine of its own."""

    @classmethod
    def setUpClass(cls):
        if missing := new_machine.missing_programs():
            raise unittest.SkipTest(f"a new machine needs {', '.join(missing)}")
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-new-machine-")))
        new_machine.install(cls.folder / "installed")

    def run_on(self, machine, title, script, seconds=SECONDS):
        """Runs it in the folder of the repository, and returns what it prints."""
        began = time.monotonic()
        with open(self.folder / "log", "w+", encoding="utf-8", errors="replace") as log:
            status = machine.run(f"cd dynamo-operator\n{script}", log, seconds)
            log.seek(0)
            output = log.read()
        print(f"  {title}: {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)
        self.assertEqual(status, 0, output)
        return output

    def test_commands_of_the_documents(self):
        python = "apt-get update && apt-get install -y --no-install-recommends python3"
        for number, (title, scripts, last) in enumerate((
            ("the README and the guide", ["deploy/quickstart", block()], r"(?m)^STATUS: deployed$"),
            ("the guide", [python, block()], r"(?m)^STATUS: deployed$"),
            ("the archive of the plugin", [python, "deploy/plugin/build --url https://example.com"], r"dynamo\.yaml$"),
            ("the Debian package", [python, "deploy/debian/build"], r"kubectl-dynamo_\S+\.deb"),
            ("a step of the tests", ["tests/run instructions"], r"(?m)^2 passed, 0 failed, 0 skipped$"),
        )):  # fmt: skip
            with self.subTest(title):
                machine = new_machine.NewMachine(self.folder / "installed", self.folder / str(number))
                new_machine.clone(guide.ROOT, machine.root / "root/dynamo-operator")
                self.run_on(machine, f"{title}: nothing is there", f"! command -v {' '.join(INSTALLED)}")
                for script in scripts:
                    output = self.run_on(machine, f"{title}: {script.splitlines()[0]}", script, LONG_SECONDS)
                self.assertRegex(output.strip(), last)
                shutil.rmtree(machine.root)

    def test_what_takes_too_long_is_ended(self):
        machine = new_machine.NewMachine(self.folder / "installed", self.folder / "slow")
        began = time.monotonic()
        with open(self.folder / "log", "w", encoding="utf-8") as log:
            status = machine.run("setsid --fork sleep 600; sleep 600", log, 2)
        self.assertNotEqual(status, 0)
        self.assertLess(time.monotonic() - began, 60)
        self.assertEqual(descendants(), {})


if __name__ == "__main__":
    unittest.main()
