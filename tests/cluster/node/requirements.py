#!/usr/bin/env python3
"""Whether this system can run a node. As a program it prints the reason and fails if it cannot."""

import os
import shutil
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import directories  # noqa: E402
import supervisor  # noqa: E402
from node.isolation import hierarchies  # noqa: E402
from node.settings import PLUGINS  # noqa: E402

PROGRAMS = (
    "containerd", "containerd-shim-runc-v2", "ctr", "runc", "iptables", "conntrack", "ip", "nsenter", "gcc", "strip", "ldd",
    "openssl",
)  # fmt: skip
CNI_PLUGINS = ("ptp", "host-local", "loopback")
GIB = 1 << 30
ROOM_BYTES = 6 * GIB  # for images of the runtime
MEMORY_BYTES = 2 * GIB  # a node and its control plane use 1 GiB
SEARCHED = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing_programs():
    """Names of the programs of a node that this system lacks. Debian has them in the packages of `install_packages node`."""
    missing = [name for name in PROGRAMS if not shutil.which(name, path=SEARCHED)]
    return missing + [f"the CNI plugin {name}" for name in CNI_PLUGINS if not (PLUGINS / name).is_file()]


def reason_against_node():
    """Why this system cannot run a node; None if it can."""
    if os.geteuid() != 0:
        return "a node needs root"
    if missing := missing_programs():
        return f"a node needs programs that are missing: {', '.join(missing)}"
    if not hierarchies():
        return "a node needs control groups, and none are mounted"
    folder = directories.base_folder(isolated=True)
    for what, found, needed in (
        (f"in {folder}", shutil.disk_usage(folder).free, ROOM_BYTES),
        ("of memory", directories.available_memory(), MEMORY_BYTES),
    ):
        if found < needed:
            return f"a node needs {needed / GIB:.0f} GiB {what}, but only {found / GIB:.1f} GiB are free"
    try:
        supervisor.Supervisor(isolated=True).close()
    except supervisor.SupervisorError as error:
        return f"a node needs namespaces, mounts and control groups: {error}"
    return None


def require_node():
    """Skips the tests of a module or a class with the reason if this system cannot run a node. With CI=true they fail."""
    reason = reason_against_node()
    if reason and os.environ.get("CI") == "true":
        raise AssertionError(reason)
    if reason:
        raise unittest.SkipTest(reason)


if __name__ == "__main__":
    if found := reason_against_node():
        sys.exit(found)
