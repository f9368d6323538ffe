"""A network of the process's own: every address of some networks is its own, so that servers of a test can listen at the
addresses of pods. The network ends with the last process in it."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000


def is_allowed():
    return subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode == 0


def enter(*networks):
    """Moves this thread, and all threads and processes that it starts later, to a new network. Returns False if that is not
    allowed here."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNET) != 0:
        return False
    commands = ["ip link set lo up", *(f"ip route add local {network} dev lo" for network in networks)]
    for command in commands:
        subprocess.run(command.split(), check=True, env={**os.environ, "LC_ALL": "C"})
    return True
