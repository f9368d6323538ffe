"""Owns the processes and the directory of one control plane, and outlives its user just long enough to
remove both. Linux only, Python standard library only.

Imported, it offers `Supervisor`, the handle. Run as a program, it is the supervising process: a session of
its own, one thread, one JSON command a line on standard input, one reply a line on standard output. It ends
when asked to, when standard input closes, or when its parent process is gone, whatever killed it. Its
children carry SIGKILL as their parent-death signal, so they do not survive even a SIGKILL of this process;
the directory that remains in that case is removed by the next supervisor that starts.

The death signal of Linux is tied to the parent *thread*. That is why the processes are started here, from
the only thread there is, and not from the user's program.
"""

import ctypes
import fcntl
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

PREFIX = "dynamo-control-plane-"
LOCK = ".lock"  # held for as long as the supervising process of a directory lives
STALE_SECONDS = 60  # younger directories may not have taken their lock yet
PARENT_CHECK_SECONDS = 0.5
MEMORY_FOLDER = Path("/dev/shm")
MEMORY_NEEDED = 2 << 30  # free bytes; one cluster takes about 0.2 GiB, most of it etcd's preallocated log
PR_SET_PDEATHSIG = 1


class SupervisorError(Exception):
    """The supervising process could not do what it was asked, or is gone."""


class Supervisor:
    """Handle on a supervising process. Safe to use from several threads."""

    def __init__(self):
        self._mutex = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__, str(os.getpid())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C and a kill of the user's process group must not reach it
        )
        self.directory = Path(self._reply()["directory"])

    @property
    def pid(self):
        return self._process.pid

    def spawn(self, name, argv, env, log):
        """Starts a process under `name`; output is appended to the file `log`. Returns its process id."""
        return self._call(op="spawn", name=name, argv=[str(a) for a in argv], env=env, log=str(log))["pid"]

    def end(self, name, number, patience):
        """Sends signal `number`, waits `patience` seconds, then kills. Returns the status, if known."""
        return self._call(op="end", name=name, signal=int(number), patience=patience)["status"]

    def statuses(self):
        """Exit status by name of what was started and not ended on purpose; None while it runs."""
        return self._call(op="statuses")["statuses"]

    def close(self):
        """Kills every process and removes the directory; returns when that is done. May be repeated."""
        with self._mutex:
            if self._process.stdin.closed:
                return
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
        if self.directory.exists():  # somebody killed the supervising process; its children are dead too
            shutil.rmtree(self.directory, ignore_errors=True)

    def _call(self, **command):
        with self._mutex:
            try:
                self._process.stdin.write(json.dumps(command).encode() + b"\n")
                self._process.stdin.flush()
            except (OSError, ValueError) as error:
                raise SupervisorError(f"the supervising process is gone: {error}") from error
            return self._reply()

    def _reply(self):
        line = self._process.stdout.readline()
        if not line:
            raise SupervisorError("the supervising process is gone")
        reply = json.loads(line)
        if "error" in reply:
            raise SupervisorError(reply["error"])
        return reply


def base_folder():
    """Memory when there is room, else the usual place for temporary files."""
    try:
        room = os.statvfs(MEMORY_FOLDER)
        if room.f_bavail * room.f_frsize >= MEMORY_NEEDED and os.access(MEMORY_FOLDER, os.W_OK | os.X_OK):
            return MEMORY_FOLDER
    except OSError:
        pass
    return Path(tempfile.gettempdir())


def remove_stale(base):
    """Removes directories whose supervising process was killed with SIGKILL: nobody holds their lock."""
    for folder in base.glob(PREFIX + "*"):
        try:
            about = folder.stat()
            if about.st_uid != os.getuid() or time.time() - about.st_mtime < STALE_SECONDS:
                continue
            with open(folder / LOCK, "a", encoding="utf-8") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:
            continue  # in use, or removed by somebody else meanwhile


class Processes:
    """The children of the supervising process, by name."""

    def __init__(self):
        self._children = {}
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._me = os.getpid()

    def _die_with_parent(self):
        if self._libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0) != 0 or os.getppid() != self._me:
            os._exit(127)

    def spawn(self, name, argv, env, log):
        with open(log, "ab") as output:
            self._children[name] = subprocess.Popen(
                argv,
                env=env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=self._die_with_parent,
            )
        return {"pid": self._children[name].pid}

    def end(self, name, number, patience):
        child = self._children.pop(name, None)
        if child is None:
            return {"status": None}
        child.send_signal(number)
        try:
            child.wait(patience)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
        return {"status": child.returncode}

    def statuses(self):
        return {"statuses": {name: child.poll() for name, child in self._children.items()}}

    def kill_all(self):
        for child in self._children.values():
            child.kill()
        for child in self._children.values():
            child.wait()
        self._children.clear()


def answer(processes, command):
    """Carries one command out; a failure becomes the reply, so that the user's program reports it."""
    try:
        operation = command.pop("op")
        if operation == "spawn":
            return processes.spawn(**command)
        if operation == "end":
            return processes.end(command["name"], command["signal"], command["patience"])
        return processes.statuses()
    except OSError as error:
        return {"error": str(error)}


def commands(parent):
    """Commands from standard input until it closes or the parent is gone."""
    pending = b""
    while os.getppid() == parent:
        # Besides end of file: a process forked by the user's program may hold the pipe open after its death.
        if not select.select([0], [], [], PARENT_CHECK_SECONDS)[0]:
            continue
        data = os.read(0, 65536)
        if not data:
            return
        pending += data
        *lines, pending = pending.split(b"\n")
        yield from map(json.loads, lines)


def reply(message):
    os.write(1, json.dumps(message).encode() + b"\n")


def supervise(parent):
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, unlike SIG_IGN, is not inherited through exec
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    base = base_folder()
    remove_stale(base)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base))
    processes = Processes()
    try:
        with open(directory / LOCK, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            reply({"directory": str(directory)})
            for command in commands(parent):
                reply(answer(processes, command))
    except BrokenPipeError:
        pass  # the user's program died between its command and our reply
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        processes.kill_all()
        shutil.rmtree(directory, ignore_errors=True)
        if directory.exists():  # a file appeared while the tree was being removed
            shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    supervise(int(sys.argv[1]))
