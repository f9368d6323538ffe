"""The directories of runs: where they are made, and how they are removed with everything that has their name."""

import fcntl
import os
import shutil
import tempfile
import time
from pathlib import Path

from node import isolation

PREFIX = "dynamo-control-plane-"
LOCK = ".lock"  # held while the supervising process of a directory runs
STALE_SECONDS = 60  # the process of a younger directory may not hold its lock yet
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_NEEDED = 2 << 30  # free bytes; one cluster takes about 0.2 GiB, most of it etcd's preallocated log
# Images of the runtime of 0.6 GB, each packed and unpacked, and their pods. In memory a node starts and stops faster.
NODE_MEMORY_NEEDED = 12 << 30


def available_memory():
    """Bytes that programs can use without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) << 10
    return 0


def base_folder(isolated):
    """A folder in memory if there is enough space, otherwise the folder of temporary files. `isolated`: for a node."""
    try:
        room = os.statvfs(MEMORY_FOLDER)
        free = room.f_bavail * room.f_frsize
        if isolated:  # pods may run programs from their volumes
            enough = min(free, available_memory()) >= NODE_MEMORY_NEEDED and not room.f_flag & os.ST_NOEXEC
        else:
            enough = free >= MEMORY_NEEDED
        if enough and os.access(MEMORY_FOLDER, os.W_OK | os.X_OK):
            return MEMORY_FOLDER
    except OSError:
        pass
    return Path(tempfile.gettempdir())


def remove(directory):
    """Removes the directory of a run whose processes have ended, and the control groups of its pods."""
    gone = isolation.remove_groups(directory.name)
    shutil.rmtree(directory, ignore_errors=True)
    if directory.exists():  # a file appeared while the tree was being removed
        shutil.rmtree(directory, ignore_errors=True)
    if not gone:  # the next start tries again
        directory.mkdir(exist_ok=True)


def remove_stale(base):
    """Removes what belongs to directories whose supervising process was killed with SIGKILL. Their lock is free."""
    for folder in base.glob(PREFIX + "*"):
        try:
            about = folder.stat()
            if about.st_uid != os.getuid() or time.time() - about.st_mtime < STALE_SECONDS:
                continue
            with open(folder / LOCK, "a", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                remove(folder)
        except OSError:
            continue  # in use, or removed by another process meanwhile
