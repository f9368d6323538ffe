#!/usr/bin/env python3
"""Nothing of a node remains after the program that uses it ends, and two nodes at once do not disturb each other.
Run: tests/cluster/run test_node_leftovers"""

import json
import os
import re
import signal
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from control_plane import ControlPlane, ControlPlaneError  # noqa: E402
from directories import remove_stale  # noqa: E402
from node import requirements, settings  # noqa: E402
from node.isolation import hierarchies  # noqa: E402
from test_leftovers import eventually  # noqa: E402

# Where programs of a node have fixed paths.
FIXED_PATHS = [
    "/run", "/run/containerd", "/run/netns", "/run/runc", "/var/lib", "/var/lib/cni", "/var/lib/kubelet", "/var/log", "/opt",
    "/etc/cni", "/usr/libexec/kubernetes", "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/panic",
    "/proc/sys/net/ipv4/ip_forward",
]  # fmt: skip
PARENT = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
from control_plane import ControlPlane
from test_node_leftovers import start_pod
cluster = ControlPlane(node=True)
cluster.start()
start_pod(cluster)
print(cluster.directory, cluster._supervisor.pid, cluster._supervisor.namespaces, flush=True)
time.sleep(120)
"""


def setUpModule():
    requirements.require_node()


def start_pod(cluster, name="p"):
    spec = {"containers": [{"name": "main", "image": settings.PAUSE_IMAGE}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
    cluster.kubectl("apply", "-f", "-", input=json.dumps(pod))
    cluster.kubectl("wait", "--for=condition=Ready", f"pod/{name}", "--timeout=90s")


def namespace_of(pid, kind="pid"):
    """What identifies a namespace of a process; None if there is no such process."""
    try:
        return os.readlink(f"/proc/{pid}/ns/{kind}")
    except OSError:
        return None


def processes_within(namespace):
    """The names of the processes of a PID namespace and of those inside, which are those of pods with a namespace of their own:
    their ancestor is the first process of the outer one."""
    parents, names, inside = {}, {}, set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name, fields = (folder / "stat").read_text(encoding="utf-8", errors="replace").rsplit(") ", 1)
        except OSError:
            continue
        pid = int(folder.name)
        parents[pid], names[pid] = int(fields.split()[1]), name.partition("(")[2]
        if namespace_of(pid) == namespace:
            inside.add(pid)
    grown = True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in inside} - inside
        inside |= more
        grown = bool(more)
    return sorted(names[pid] for pid in inside)


def remains(directory):
    """What is left of a run, apart from processes."""
    found = [str(directory)] if directory.exists() else []
    found += [str(top / directory.name) for top in hierarchies() if (top / directory.name).exists()]
    mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8")
    return found + re.findall(rf"\S*{re.escape(directory.name)}\S*", mounts)


def fixed_paths():
    """What is at the fixed paths."""
    state = {}
    for path in map(Path, FIXED_PATHS):
        if path.is_dir():
            state[path] = sorted(entry.name for entry in path.iterdir())
        else:
            state[path] = path.read_text(encoding="utf-8") if path.exists() else None
    return state


class NothingStays(unittest.TestCase):
    def setUp(self):
        self.before = fixed_paths()

    def start_parent(self):
        """Starts a program with a node and a pod. Returns its process, the directory, and the two processes of its supervisor."""
        parent = subprocess.Popen(
            [sys.executable, "-B", "-c", PARENT, str(HERE)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.addCleanup(parent.stdout.close)
        self.addCleanup(self.kill, parent)
        directory, supervisor, first = parent.stdout.readline().split()
        # While it is open, Linux gives its number to no other namespace.
        pinned = os.open(f"/proc/{first}/ns/pid", os.O_RDONLY)
        self.addCleanup(os.close, pinned)
        self.namespace = namespace_of(first)
        names = processes_within(self.namespace)
        for name in ("kubelet", "kube-proxy", "containerd", "containerd-shim", "pause", "etcd"):
            self.assertIn(name, names)
        self.assertGreater(len(remains(Path(directory))), 1)
        return parent, Path(directory), int(supervisor), int(first)

    @staticmethod
    def kill(parent):
        parent.kill()
        parent.wait()

    def assert_no_processes(self):
        self.assertTrue(eventually(lambda: not processes_within(self.namespace), 20), processes_within(self.namespace))

    def assert_gone(self, directory):
        self.assert_no_processes()
        self.assertTrue(eventually(lambda: not remains(directory), 20), remains(directory))
        self.assertEqual(fixed_paths(), self.before)

    def test_two_nodes_have_nothing_in_common_and_one_stays_when_the_program_of_the_other_is_killed(self):
        with ControlPlane(node=True) as other:
            self.before = fixed_paths()
            parent, directory, _, first = self.start_parent()
            networks = {namespace_of(pid, "net") for pid in ("self", first, other._supervisor.namespaces)}
            self.assertEqual(len(networks), 3)
            parent.kill()
            self.assert_gone(directory)
            start_pod(other)
        self.assertEqual(remains(other.directory), [])

    def test_after_sigkill_of_the_first_process_of_the_namespaces(self):
        parent, directory, _, first = self.start_parent()
        os.kill(first, signal.SIGKILL)
        self.assert_gone(directory)
        self.assertIsNone(parent.poll())

    def test_the_next_start_removes_what_remains_after_sigkill_of_program_and_supervisor(self):
        parent, directory, supervisor, _ = self.start_parent()
        os.kill(supervisor, signal.SIGKILL)
        os.kill(parent.pid, signal.SIGKILL)
        self.assert_no_processes()
        self.assertIn(str(directory), remains(directory))
        remove_stale(directory.parent)
        self.assertTrue(directory.exists(), "young directories are left alone")
        os.utime(directory, (0, 0))
        with ControlPlane(components={"etcd", "apiserver"}):
            self.assert_gone(directory)

    def test_after_a_failed_start(self):
        broken = ["/bin/sh", "-c", "echo no such luck; exit 3"]
        cluster = ControlPlane(node=True)
        with unittest.mock.patch("node.settings.containerd", return_value=broken):
            with self.assertRaisesRegex(ControlPlaneError, "(?s)containerd does not start.*no such luck"):
                cluster.start()
        self.assertEqual(remains(cluster.directory), [])
        self.assertEqual(fixed_paths(), self.before)


if __name__ == "__main__":
    unittest.main(verbosity=2)
