"""Runs a demonstration of shell commands. Each command is printed and run, its output is shown, and its result is checked."""

import os
import re
import signal
import subprocess
import sys

TIMEOUT_SECONDS = 120


class StoryError(Exception):
    """A step of the demonstration failed. The message is for the user."""


class Story:
    """`environment` and `directory` are those of the commands. `checks` is the number of passed checks."""

    def __init__(self, environment, directory, stream=sys.stdout):
        self._environment = environment
        self._directory = directory
        self._stream = stream
        self._colour = stream.isatty() and "NO_COLOR" not in os.environ
        self._chapters = 0
        self._definitions = []
        self.checks = 0

    def chapter(self, title):
        self._chapters += 1
        self._write(f"\n{self._paint('1', f'{self._chapters}. {title}')}\n")

    def tell(self, text):
        self._write(f"{text}\n")

    def define(self, text):
        """Prints a variable or function of bash and defines it for all following commands."""
        self._definitions.append(text)
        self._write(f"{self._paint('36', '$ ' + text)}\n")

    def run(self, command, succeeds=True, quiet=False):
        """Runs a bash command line and returns its output (both streams, in order). Raises StoryError unless it succeeds or
        fails as `succeeds` requires; None accepts any status."""
        self._write(f"{self._paint('36', '$ ' + command)}\n")
        result = self._shell(command)
        failed = result.returncode != 0
        wrong = succeeds is not None and failed == succeeds
        if not quiet or wrong:
            for line in result.stdout.splitlines():
                self._write(f"    {line}\n")
        if wrong:
            wanted = "succeed" if succeeds else "fail"
            raise StoryError(f"this command should {wanted} (status {result.returncode}):\n    $ {command}")
        return result.stdout

    def silent(self, command):
        """Runs a bash command line without printing and returns its output for any status."""
        return self._shell(command).stdout

    def check(self, holds, statement):
        if not holds:
            raise StoryError(f"failed check: {statement}")
        self.checks += 1
        self._write(f"  {self._paint('32', 'ok')} {statement}\n")

    def refused(self, command, *expected):
        """The command must fail, and its output must contain all texts `expected`."""
        output = self.run(command, succeeds=False)
        flat = re.sub(r"\s+", " ", output)
        missing = [text for text in expected if text not in flat]
        if missing:
            raise StoryError(f"rejected, but the answer does not contain {missing[0]!r}:\n    $ {command}")
        self.check(True, f"rejected, naming {expected[0]}")
        return output

    def _shell(self, command):
        # With pipefail the status of a pipeline is that of the demonstrated program, not of `sed`.
        return subprocess.run(
            ["bash", "-o", "pipefail", "-c", "\n".join([*self._definitions, command])],
            env=self._environment,
            cwd=self._directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT_SECONDS,
            check=False,
        )

    def _paint(self, code, text):
        return f"\033[{code}m{text}\033[0m" if self._colour else text

    def _write(self, text):
        self._stream.write(text)
        self._stream.flush()


def conclude(tour, *errors):
    """Runs a demonstration as a program: SIGTERM and SIGHUP end it with clean-up, and `errors` are for the user."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda received, _: sys.exit(128 + received))
    try:
        tour()
    except KeyboardInterrupt:
        print("\nquickstart: interrupted; everything is cleaned up", file=sys.stderr)
        sys.exit(130)
    except (StoryError, *errors) as error:
        print(f"\nquickstart: {error}", file=sys.stderr)
        sys.exit(1)
