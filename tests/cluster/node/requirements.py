"""Whether this system can run a node."""

import os
import shutil
import tempfile
import unittest
from pathlib import Path

from node.isolation import hierarchies
from node.settings import PLUGINS
from supervisor import Supervisor, SupervisorError

PROGRAMS = (
    "containerd", "containerd-shim-runc-v2", "ctr", "runc", "iptables", "conntrack", "ip", "nsenter", "gcc", "strip", "ldd",
    "openssl",
)  # fmt: skip
CNI_PLUGINS = ("ptp", "host-local", "loopback")
DISK_BYTES = 6 << 30
MEMORY_BYTES = 2 << 30
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def reason_against_node():
    """Why this system cannot run a node; None if it can."""
    if os.geteuid() != 0:
        return "a node needs root"
    missing = [name for name in PROGRAMS if not shutil.which(name, path=SEARCHED)]
    missing += [f"the CNI plugin {name}" for name in CNI_PLUGINS if not (PLUGINS / name).is_file()]
    if missing:
        return f"a node needs programs that are missing: {', '.join(missing)}"
    if not hierarchies():
        return "a node needs control groups, and none are mounted"
    folder = tempfile.gettempdir()
    free = shutil.disk_usage(folder).free
    if free < DISK_BYTES:
        return f"a node needs {DISK_BYTES >> 30} GiB, but {folder} has {free / (1 << 30):.1f} GiB free"
    memory = _available_memory()
    if memory < MEMORY_BYTES:
        return f"a node needs {MEMORY_BYTES >> 30} GiB of memory, but {memory / (1 << 30):.1f} GiB are available"
    try:
        Supervisor(isolated=True).close()
    except SupervisorError as error:
        return f"a node needs namespaces, mounts and control groups: {error}"
    return None


def require_node():
    """Skips the tests of a module or a class with the reason if this system cannot run a node. With CI=true they fail."""
    reason = reason_against_node()
    if reason and os.environ.get("CI") == "true":
        raise AssertionError(reason)
    if reason:
        raise unittest.SkipTest(reason)


def _available_memory():
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0
