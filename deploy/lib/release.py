"""What builds of packages and images need to know of the repository."""

import platform
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


# Debian packages of which the programs use headers only, so that the programs contain them.
HEADERS = ("libboost1.81-dev", "libcli11-dev", "rapidjson-dev")
# Those whose licences ask for a notice beside programs. Boost's does not.
WITH_NOTICE = ("libcli11-dev", "rapidjson-dev")


def setup(*command):
    """Calls a function of deploy/lib/setup. What it prints goes to standard error."""
    subprocess.run(["bash", "-euc", 'source "$0/deploy/lib/setup"; "$@"', ROOT, *command], stdout=sys.stderr, check=True)


def version():
    """The version of the project in CMakeLists.txt."""
    return re.search(r"project\(\S+ VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


def native():
    """The name that Debian has for the architecture of this machine."""
    return {"x86_64": "amd64", "aarch64": "arm64"}[platform.machine()]


def notices():
    """Package -> the licence that programs with its headers must have beside them. The packages must be installed."""
    return {name: Path("/usr/share/doc", name, "copyright").read_text(encoding="utf-8") for name in WITH_NOTICE}


def committed():
    """The hash of the checked out commit, and its time in seconds since 1970."""
    run = subprocess.run(["git", "log", "-1", "--format=%H %ct"], cwd=ROOT, check=True, capture_output=True, text=True)
    revision, created = run.stdout.split()
    return revision, int(created)
