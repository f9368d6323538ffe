"""What builds of packages and images need to know of the repository."""

import platform
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def setup(*command):
    """Calls a function of deploy/lib/setup."""
    subprocess.run(["bash", "-euc", 'source "$0/deploy/lib/setup"; "$@"', ROOT, *command], check=True)


def version():
    """The version of the project in CMakeLists.txt."""
    return re.search(r"project\(\S+ VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def native():
    """The name that Debian has for the architecture of this machine."""
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def committed():
    """The hash of the checked out commit, and its time in seconds since 1970."""
    run = subprocess.run(["git", "log", "-1", "--format=%H %ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    revision, created = run.stdout.split()
    return revision, int(created)
