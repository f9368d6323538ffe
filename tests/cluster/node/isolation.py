"""The namespaces in which the processes of a node run, and the control groups of its pods.

The first process of a PID namespace takes all others with it when it ends. The last process takes the network namespace
and all mounts. So nothing has to be undone by a program that may be killed, except the directory of the run and the
control groups, which have its name."""

import ctypes
import os
import select
import signal
import subprocess
import time
from pathlib import Path

CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWNET = 0x00020000, 0x20000000, 0x40000000
MS_BIND, MS_REC, MS_PRIVATE, MS_SHARED = 4096, 16384, 1 << 18, 1 << 20
PR_SET_PDEATHSIG = 1
ADDRESS = "10.95.0.1"  # of the node
SERVICES = "10.96.0.0/16"
# What kubelet sets. These are parameters of the whole machine, so here it sets a copy.
KERNEL_PARAMETERS = (
    "vm/overcommit_memory", "vm/panic_on_oom", "kernel/panic", "kernel/panic_on_oops", "kernel/keys/root_maxkeys",
    "kernel/keys/root_maxbytes",
)  # fmt: skip
GROUP_SECONDS = 10
_libc = ctypes.CDLL(None, use_errno=True)


def _checked(result, what):
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def mount(source, target, kind=None, flags=0, data=None):
    arguments = [None if value is None else os.fsencode(str(value)) for value in (source, target, kind)]
    text = None if data is None else data.encode()
    _checked(_libc.mount(*arguments, ctypes.c_ulong(flags), text), f"mount {target}")


def fork():
    """Forks a process that is the first of a PID namespace, with its own mounts and network. Returns its process id; 0 in
    the new process, which ends when this one does."""
    _checked(_libc.unshare(CLONE_NEWPID), "unshare")  # of children only
    watched, held = os.pipe()  # `held` stays open as long as this process lives
    child = os.fork()
    if child:
        os.close(watched)
        return child
    os.close(held)
    _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if select.select([watched], [], [], 0)[0]:  # the parent has ended before
        os._exit(127)
    _checked(_libc.unshare(CLONE_NEWNS | CLONE_NEWNET), "unshare")
    return 0


def prepare(directory):
    """Makes mounts and network of the new namespaces. `directory` is that of the run."""
    mount(None, "/", flags=MS_REC | MS_PRIVATE)  # nothing from here on is seen outside
    mount("proc", "/proc", "proc")
    # containerd, runc, the CNI library, kubelet and iptables have fixed paths below these two folders.
    opened = os.open(directory, os.O_PATH)
    mount("tmpfs", "/run", "tmpfs", data="mode=755")
    upper, work = directory / "var", directory / "var-work"
    upper.mkdir()
    work.mkdir()
    mount("overlay", "/var", "overlay", data=f"lowerdir=/var,upperdir={upper},workdir={work}")
    if directory.is_relative_to("/run") or directory.is_relative_to("/var"):
        directory.mkdir(parents=True, exist_ok=True)
        mount(f"/proc/self/fd/{opened}", directory, flags=MS_BIND)
    os.close(opened)
    for number, parameter in enumerate(KERNEL_PARAMETERS):
        copy, original = Path(f"/run/kernel-parameter-{number}"), Path("/proc/sys", parameter)
        copy.write_bytes(original.read_bytes())
        mount(copy, original, flags=MS_BIND)
    mount(None, "/", flags=MS_REC | MS_SHARED)  # volumes of pods may ask for mount propagation
    commands = [
        "ip link set lo up",
        f"ip address add {ADDRESS}/32 dev lo",
        # Programs of the node itself need some route to Services; kube-proxy's rules then change the destination.
        f"ip route add {SERVICES} dev lo src {ADDRESS}",
    ]
    for command in commands:
        subprocess.run(command.split(), check=True)
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")


def hierarchies():
    """The mount points of all hierarchies of control groups."""
    found = []
    for line in Path("/proc/self/mountinfo").read_text(encoding="utf-8").splitlines():
        fields = line.split()
        if fields[fields.index("-") + 1] in ("cgroup", "cgroup2"):
            found.append(Path(fields[4]))
    return found


def make_groups(name):
    """Makes a control group `name` in each hierarchy."""
    for top in hierarchies():
        (top / name).mkdir()


def remove_groups(name):
    """Removes the control groups `name` and those below them. Their processes have been killed, but may need a moment.
    Returns whether none is left."""
    deadline = time.monotonic() + GROUP_SECONDS
    for top in hierarchies():
        while (top / name).exists():
            for folder, _, _ in os.walk(top / name, topdown=False):
                try:
                    os.rmdir(folder)
                except OSError:
                    pass
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
    return True
