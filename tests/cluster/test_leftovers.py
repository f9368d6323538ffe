#!/usr/bin/env python3
"""No process or file remains after the program that uses the control plane ends; and the commands build and up.
Run: python3 tests/cluster/test_leftovers.py"""

import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ControlPlane, ControlPlaneError, build_assets  # noqa: E402
from directories import remove_stale  # noqa: E402
from test_control_plane import processes_naming  # noqa: E402

SMALL = {"etcd", "apiserver"}


def alive(pid):
    try:
        stat = (Path("/proc") / str(pid) / "stat").read_text(encoding="utf-8")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def eventually(condition, timeout=60):
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


PARENT = """
import os, sys, threading, time
sys.path.insert(0, sys.argv[1])
from control_plane import ControlPlane
cluster = ControlPlane(components={"etcd", "apiserver"})
def begin():
    cluster.start()
    if sys.argv[2] == "fork" and os.fork() == 0:
        time.sleep(60)
    print(cluster.directory, cluster._supervisor.pid, flush=True)
if sys.argv[2] == "thread":
    starter = threading.Thread(target=begin); starter.start(); starter.join()
else:
    begin()
if sys.argv[2] == "raise":
    sys.stdin.readline()
    raise RuntimeError("on purpose")
time.sleep(60)
"""


class NothingStays(unittest.TestCase):
    def start_parent(self, mode, interrupts=signal.SIG_DFL):
        """`interrupts` is the program's action for SIGINT. A shell that starts a program in the background sets it to
        ignore, and these tests may have been started that way themselves."""
        parent = subprocess.Popen(
            [sys.executable, "-c", PARENT, str(HERE), mode],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, interrupts),
        )
        self.addCleanup(parent.stdin.close)
        self.addCleanup(parent.stdout.close)
        self.addCleanup(self.kill_group, parent)
        directory, supervisor = parent.stdout.readline().split()
        self.assertEqual(len(processes_naming(directory)), 2)
        return parent, Path(directory), int(supervisor)

    @staticmethod
    def kill_group(parent):
        try:
            os.killpg(parent.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        parent.wait()

    def assert_gone(self, directory, supervisor):
        name = str(directory)
        self.assertTrue(eventually(lambda: not processes_naming(name)), processes_naming(name))
        self.assertTrue(eventually(lambda: not directory.exists()), f"{directory} stayed")
        self.assertTrue(eventually(lambda: not alive(supervisor)), "the supervising process stayed")

    def test_after_the_end_of_the_parent(self):
        for mode, number in (
            ("sleep", signal.SIGKILL),
            ("sleep", signal.SIGTERM),
            ("sleep", signal.SIGINT),
            ("fork", signal.SIGKILL),  # the forked process continues and keeps every pipe open
            ("raise", None),
        ):
            with self.subTest(mode=mode, signal=number):
                parent, directory, supervisor = self.start_parent(mode)
                if number:
                    os.kill(parent.pid, number)
                else:
                    print(file=parent.stdin, flush=True)
                parent.wait(20)
                self.assert_gone(directory, supervisor)

    def test_after_ctrl_c_to_the_whole_process_group(self):
        parent, directory, supervisor = self.start_parent("sleep")
        os.killpg(parent.pid, signal.SIGINT)
        parent.wait(20)
        self.assert_gone(directory, supervisor)

    def test_a_program_that_ignores_interrupts(self):
        parent, directory, supervisor = self.start_parent("sleep", signal.SIG_IGN)
        os.killpg(parent.pid, signal.SIGINT)
        os.kill(supervisor, signal.SIGINT)
        time.sleep(1)
        self.assertEqual(len(processes_naming(str(directory))), 2)
        parent.terminate()
        parent.wait(20)
        self.assert_gone(directory, supervisor)

    def test_sigterm_ends_the_supervising_process(self):
        for interrupts in (signal.SIG_DFL, signal.SIG_IGN):
            with self.subTest(interrupts):
                parent, directory, supervisor = self.start_parent("sleep", interrupts)
                os.kill(supervisor, signal.SIGTERM)
                self.assertTrue(eventually(lambda name=str(directory): not processes_naming(name)))
                self.assertTrue(eventually(lambda directory=directory: not directory.exists()), f"{directory} stayed")
                self.kill_group(parent)

    def test_the_control_plane_outlives_the_thread_that_started_it(self):
        parent, directory, supervisor = self.start_parent("thread")
        time.sleep(1)
        self.assertEqual(len(processes_naming(str(directory))), 2)
        parent.kill()
        parent.wait()
        self.assert_gone(directory, supervisor)

    def test_after_sigkill_of_the_supervising_process(self):
        with ControlPlane(components=SMALL) as cluster:
            directory = cluster.directory
            os.kill(cluster._supervisor.pid, signal.SIGKILL)
            self.assertTrue(eventually(lambda: not processes_naming(str(directory))))
        self.assertFalse(directory.exists())

    def test_the_next_control_plane_removes_the_directory_after_sigkill_of_both(self):
        parent, directory, supervisor = self.start_parent("sleep")
        os.kill(supervisor, signal.SIGKILL)
        os.kill(parent.pid, signal.SIGKILL)
        parent.wait()
        self.assertTrue(eventually(lambda: not processes_naming(str(directory))))
        self.assertTrue(directory.exists())
        remove_stale(directory.parent)
        self.assertTrue(directory.exists(), "young directories are left alone")
        with ControlPlane(components=SMALL) as used:
            os.utime(directory, (0, 0))
            os.utime(used.directory, (0, 0))
            remove_stale(directory.parent)
            self.assertFalse(directory.exists())
            self.assertTrue(used.directory.exists(), "directories in use are left alone")

    def test_a_failed_start_shows_the_log_and_leaves_nothing(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("etcd", "kubectl"):
                (Path(folder) / name).symlink_to(build_assets() / name)
            broken = Path(folder) / "kube-apiserver"
            broken.write_text("#!/bin/sh\necho no such luck; exit 3\n", encoding="utf-8")
            broken.chmod(0o755)
            cluster = ControlPlane(components=SMALL)
            with unittest.mock.patch("control_plane.build_assets", return_value=Path(folder)):
                expected = "(?s)apiserver ended with status 3.*no such luck"
                with self.assertRaisesRegex(ControlPlaneError, expected):
                    cluster.start()
            self.assertFalse(cluster.directory.exists())
            self.assertEqual(processes_naming(str(cluster.directory)), {})


class Commands(unittest.TestCase):
    def up(self, *command):
        argv = [HERE / "up", "--nodes=0", "--components=etcd,apiserver", *command]
        return subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_up_runs_a_command_and_exits_with_its_status(self):
        with self.up("--", "sh", "-c", "kubectl get ns -o name; dirname $KUBECONFIG; exit 7") as run:
            output, errors = run.communicate(timeout=60)
        self.assertEqual(run.returncode, 7, errors)
        self.assertIn("namespace/default\n", output)
        self.assertFalse(Path(output.split()[-1]).exists())

    def test_up_stays_until_ctrl_c(self):
        with self.up() as run:
            line = run.stdout.readline()
            self.assertRegex(line, r"^export KUBECONFIG=/.+\n$")
            config = Path(line.strip().partition("=")[2])
            self.assertTrue(config.exists())
            run.send_signal(signal.SIGINT)
            run.communicate(timeout=30)
            self.assertEqual(run.returncode, 130)
        self.assertFalse(config.parent.exists())

    def test_the_command_of_up_ends_with_it(self):
        script = "echo $$; dirname $KUBECONFIG; exec sleep 60"
        for number in (signal.SIGTERM, signal.SIGKILL):
            with self.subTest(number), self.up("--", "sh", "-c", script) as run:
                pid, directory = int(run.stdout.readline()), Path(run.stdout.readline().strip())
                run.send_signal(number)
                run.wait(30)
                self.assertTrue(eventually(lambda pid=pid: not alive(pid)))
                self.assertTrue(eventually(lambda directory=directory: not directory.exists()))

    def test_concurrent_builds_agree(self):
        build = [HERE / "build", "--print"]
        runs = [subprocess.Popen(build, stdout=subprocess.PIPE, text=True) for _ in range(3)]
        answers = {run.communicate()[0].strip() for run in runs}
        self.assertEqual(answers, {str(build_assets())})

    def test_kubebuilder_assets_are_used_first(self):
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "KUBEBUILDER_ASSETS": folder}
            build = [HERE / "build", "--print"]
            run = subprocess.run(build, env=environment, capture_output=True, text=True, check=True)
            self.assertIn("ignored", run.stderr)
            for name in ("etcd", "kube-apiserver"):
                (Path(folder) / name).symlink_to(build_assets() / name)
            run = subprocess.run(build, env=environment, capture_output=True, text=True, check=True)
            assets = Path(run.stdout.strip())
            try:
                self.assertEqual(os.readlink(assets / "kube-apiserver"), f"{folder}/kube-apiserver")
                self.assertTrue((assets / "kube-scheduler").resolve().is_file())
                self.assertTrue((assets / "kubectl").resolve().is_file())
            finally:
                for link in assets.iterdir():
                    link.unlink()
                assets.rmdir()


if __name__ == "__main__":
    unittest.main(verbosity=2)
