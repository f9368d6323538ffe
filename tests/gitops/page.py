"""The commands of deploy/gitops/README.md, and the Git repository for which they are run."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "deploy/gitops/README.md"
CLONE = "deployments"  # the folder that the first block makes


def blocks():
    return re.findall(r"^```sh\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)


def remote(cluster, folder):
    """Makes an empty repository in the folder. Returns its path, and the environment for the blocks."""
    path = Path(folder) / "remote.git"
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", path], check=True)
    author = {f"GIT_{who}_{what}": "test@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    return path, {**cluster.environment(), **author, "OPERATOR": str(ROOT), "REMOTE": str(path)}


def run(text, folder, environment, seconds):
    """Runs a block in the folder. Returns the output."""
    done = subprocess.run(["bash", "-euo", "pipefail", "-c", text], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=seconds, check=False)  # fmt: skip
    if done.returncode != 0:
        raise AssertionError(f"{text}\n{done.stdout}{done.stderr}")
    return done.stdout
