"""A new Debian 12 that has Git and Go, and no other package beyond the minimal ones: a folder that is the root of the processes in it.
The caches of ccache, of Go and of the tests are those of this machine, so that builds take less time."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

RELEASE, PACKAGES = "bookworm", "ca-certificates,git"
PROGRAMS = ("ccache", "go", "mmdebstrap", "setpriv", "unshare")
# How this machine reaches servers.
FILES = ("/etc/resolv.conf", "/etc/hosts", "/etc/ssl/certs/ca-certificates.crt")
PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
GO_VARIABLES = ("GOPROXY", "GOSUMDB", "GONOSUMDB", "GOPRIVATE", "GOTOOLCHAIN")
# Go's own installer writes it there. Root's PATH often lacks it.
GO = "/usr/local/go"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Mounts and processes of their own, which nobody outside sees. They end with the process that has started them.
APART = ("setpriv", "--pdeathsig", "KILL", "unshare", "--mount", "--pid", "--fork", "--kill-child")
# The arguments of this script are the folder, pairs of source and target of a mount, "--", and a command. A node needs a root that is a
# mount point. chroot does not give one. /dev/shm is that of the machine, so that a later run finds and removes what a killed node has
# left there and in the control groups.
ENTER = """
root=$0
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /sys "$root/sys"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/run"
while [[ $1 != -- ]]; do
  mkdir -p "$root$2"
  mount --bind "$1" "$root$2"
  shift 2
done
shift
cd "$root"
mkdir former
pivot_root . former
umount -l /former
rmdir /former
exec "$@"
"""


def missing_programs():
    return [name for name in PROGRAMS if not shutil.which(name)]


def _said(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def install(root):
    """Installs the packages into the new folder `root`."""
    # mmdebstrap mounts /dev/shm and others below the folder. If it failed to unmount one, a removal of the folder would remove what is
    # in it.
    command = [*APART, "--mount-proc", "mmdebstrap", "--variant=minbase", "--mode=root", f"--include={PACKAGES}", RELEASE, root]
    made = subprocess.run(command, capture_output=True, text=True)
    if made.returncode != 0:
        raise RuntimeError(f"mmdebstrap: status {made.returncode}: {made.stderr[-4000:]}")
    for name in FILES:
        (root / name.lstrip("/")).write_bytes(Path(name).read_bytes())


def clone(repository, target):
    """A clone of the repository with what is not committed in it."""
    subprocess.run(["git", "clone", "--quiet", "--no-local", repository, target], check=True)
    changed = _said("git", "-C", repository, "ls-files", "-mdoz", "--exclude-standard", "--deduplicate")
    for name in filter(None, changed.split("\0")):
        (target / name).unlink(missing_ok=True)
        if (repository / name).exists():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(repository / name, target / name)


class NewMachine:
    """With a copy of the folder that `install` has filled, at `root`."""

    def __init__(self, installed, root):
        subprocess.run(["cp", "--archive", "--reflink=auto", installed, root], check=True)
        self.root = root
        caches = {
            "CCACHE_DIR": _said("ccache", "--get-config", "cache_dir"),
            "GOCACHE": _said("go", "env", "GOCACHE"),
            "GOMODCACHE": _said("go", "env", "GOMODCACHE"),
            "DYNAMO_CACHE": str(Path(os.environ.get("DYNAMO_CACHE") or Path.home() / ".cache/dynamo-operator").resolve()),
        }
        for folder in caches.values():
            Path(folder).mkdir(parents=True, exist_ok=True)
        self._mounts = [_said("go", "env", "GOROOT"), GO]
        self._mounts += [folder for folder in caches.values() for _ in range(2)]
        self._environment = {name: os.environ[name] for name in PROXIES if name in os.environ}
        self._environment |= {name: value for name in GO_VARIABLES if (value := _said("go", "env", name))}
        # Python would set LC_CTYPE for its children, because there is no LANG, and ccache would take theirs for other compilations.
        self._environment |= {"HOME": "/root", "PATH": PATH, "PYTHONCOERCECLOCALE": "0", "CCACHE_MAXSIZE": _said("ccache", "--get-config", "max_size"), **caches}

    def run(self, script, output, seconds):
        """Runs a script of bash in the home folder, and returns its status. What it prints goes to the file `output`. Whatever it has
        started ends with it, or after `seconds`."""
        command = [*APART, "bash", "-euc", ENTER, self.root, *self._mounts, "--", "bash", "-euc", f"cd\n{script}"]
        quiet = {"stdin": subprocess.DEVNULL, "stdout": output, "stderr": output}
        with subprocess.Popen(command, env=self._environment, start_new_session=True, **quiet) as shell:
            try:
                return shell.wait(seconds)
            except subprocess.TimeoutExpired:
                # With the first process of their namespace all others end.
                for first in Path(f"/proc/{shell.pid}/task/{shell.pid}/children").read_text(encoding="ascii").split():
                    os.kill(int(first), signal.SIGKILL)
                return shell.wait()
            finally:
                shell.kill()
