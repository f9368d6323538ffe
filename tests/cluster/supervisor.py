"""Owns the processes and the directory of one control plane, and removes both when the program that uses them ends.
Linux only, Python standard library only.

As a module it has `Supervisor`, the handle. As a program it is the supervising process, with its own session and one
thread. It reads one JSON command per line from standard input and writes one reply per line to standard output. It ends
on request, when standard input closes, or when its parent process has ended for any reason. Its children have SIGKILL
as their parent-death signal, so they do not even survive a SIGKILL of this process. The directory that remains in that
case is removed by the next supervisor (directories.py).

For a node it forks a second process into namespaces of its own (node/isolation.py). That one executes the commands. The
first one only waits for it, and then removes the directory and the control groups of the pods.

Linux sends the parent-death signal when the parent *thread* ends. Therefore the processes are started here, in the only
thread, and not in the user's program.
"""

import ctypes
import fcntl
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from directories import LOCK, MEMORY_FOLDER, PREFIX, base_folder, remove, remove_stale  # noqa: E402
from node import isolation  # noqa: E402

IDLE_SECONDS = 0.5
PR_SET_PDEATHSIG = 1


class SupervisorError(Exception):
    """The supervising process could not execute a command, or has ended."""


class Supervisor:
    """Handle on a supervising process. Safe to use from several threads. With `isolated`, the processes run in namespaces of
    their own. Attributes: directory, namespaces (the process id of their first process; None without)."""

    def __init__(self, isolated=False):
        self._mutex = threading.Lock()
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", __file__, str(os.getpid()), *(["--isolated"] if isolated else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C and a kill of the user's process group must not reach the supervising process
        )
        started = self._reply()
        self.directory, self.namespaces = Path(started["directory"]), started["namespaces"]

    @property
    def pid(self):
        return self._process.pid

    def spawn(self, name, argv, env, log):
        """Starts a process with the name `name`. Its output is appended to the file `log`. Returns its process id."""
        return self._call(op="spawn", name=name, argv=[str(a) for a in argv], env=env, log=str(log))["pid"]

    def end(self, name, number, patience):
        """Sends the signal `number`, waits `patience` seconds, then kills the process. Returns the status, if known."""
        return self._call(op="end", name=name, signal=int(number), patience=patience)["status"]

    def statuses(self):
        """Exit statuses by name of the processes that were not ended on purpose; None for a running one."""
        return self._call(op="statuses")["statuses"]

    def close(self):
        """Kills every process and removes the directory. May be repeated."""
        with self._mutex:
            if self._process.stdin.closed:
                return
            self._process.stdin.close()
            self._process.wait()
            self._process.stdout.close()
        if self.directory.exists():  # the supervising process was killed, and its children with it
            remove(self.directory)

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

    def collect(self):
        """Collects ended processes. The first process of a PID namespace becomes the parent of orphans, too."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for child in self._children.values():
                    if child.pid == ended[0]:
                        child.returncode = os.waitstatus_to_exitcode(ended[1])
        except ChildProcessError:
            pass

    def kill_all(self):
        for child in self._children.values():
            child.kill()
        for child in self._children.values():
            child.wait()
        self._children.clear()


def answer(processes, command):
    """Executes one command. A failure becomes the reply, so that the user's program reports it."""
    try:
        operation = command.pop("op")
        if operation == "spawn":
            return processes.spawn(**command)
        if operation == "end":
            return processes.end(command["name"], command["signal"], command["patience"])
        return processes.statuses()
    except OSError as error:
        return {"error": str(error)}


def commands(parent, idle):
    """Yields commands from standard input until it closes or the parent has ended. `parent` is a descriptor of that process,
    which also works from another PID namespace. Calls `idle` now and then."""
    pending = b""
    while True:
        # End of file is not enough: a process forked by the user's program may keep the pipe open after its end.
        ready = select.select([0, parent], [], [], IDLE_SECONDS)[0]
        if parent in ready:
            return
        idle()
        if not ready:
            continue
        data = os.read(0, 65536)
        if not data:
            return
        pending += data
        *lines, pending = pending.split(b"\n")
        yield from map(json.loads, lines)


def reply(message):
    os.write(1, json.dumps(message).encode() + b"\n")


def execute(parent, isolated):
    """Executes commands until the end, and then kills all processes."""
    processes = Processes()
    try:
        for command in commands(parent, processes.collect if isolated else lambda: None):
            reply(answer(processes, command))
    except BrokenPipeError:
        pass  # the user's program died between its command and our reply
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        processes.kill_all()


def execute_isolated(parent, directory):
    """Executes commands in namespaces of their own. Their processes end with the first one."""
    done, started = os.pipe()
    try:
        isolation.make_groups(directory.name)
        first = isolation.fork()
    except OSError as error:
        return reply({"error": str(error)})
    if first:
        os.close(started)
        try:
            failure = os.read(done, 4096)
            reply({"error": failure.decode()} if failure else {"directory": str(directory), "namespaces": first})
            os.waitpid(first, 0)
        except BaseException:
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)
            raise
        return
    status = 1
    try:
        isolation.prepare(directory)
        os.close(started)
        execute(parent, True)
        status = 0
    except (OSError, subprocess.SubprocessError) as error:
        os.write(started, str(error).encode())
    finally:
        os._exit(status)


def supervise(parent, isolated):
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # a handler, unlike SIG_IGN, is not inherited through exec
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    watched = os.pidfd_open(parent)
    if os.getppid() != parent:
        return
    base = base_folder(isolated)
    for folder in {MEMORY_FOLDER, Path(tempfile.gettempdir())}:
        remove_stale(folder)
    directory = Path(tempfile.mkdtemp(prefix=PREFIX, dir=base)).resolve()
    try:
        with open(directory / LOCK, "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if isolated:
                execute_isolated(watched, directory)
            else:
                reply({"directory": str(directory), "namespaces": None})
                execute(watched, False)
    except BrokenPipeError:
        pass
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        remove(directory)


if __name__ == "__main__":
    supervise(int(sys.argv[1]), "--isolated" in sys.argv)
