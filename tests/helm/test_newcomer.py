"""The block "Without a cluster" of deploy/README.md, run as it stands: it builds the image, starts a control plane with a real node, and
installs the chart with Helm.

Only in a full run. It is fast when build/release is up to date, and otherwise builds it."""

import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import guide
import programs
from node import requirements

TITLE = "Without a cluster"
SECONDS = 900
PR_SET_CHILD_SUBREAPER = 36
# build/image is a folder of this test: other tests write there at the same time.
SHELL = 'mount --bind "$0" build/image && exec bash -ec "$1"'


def setUpModule():
    requirements.require_node()


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


if __name__ == "__main__":
    unittest.main()
