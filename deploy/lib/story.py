"""Tells a story in shell commands: each is echoed, run, its output shown, and its outcome checked."""

import os
import re
import subprocess
import sys

TIMEOUT_SECONDS = 120


class StoryError(Exception):
    """Something did not happen as the story says. The message is for the user."""


class Story:
    """`environment` and `directory` are those of the commands; `checks` counts what was found as promised."""

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
        """Echoes a variable or function of bash and has it in every command from now on."""
        self._definitions.append(text)
        self._write(f"{self._paint('36', '$ ' + text)}\n")

    def run(self, command, succeeds=True, quiet=False):
        """Runs a bash command line and returns its output (both streams, in order). StoryError when its
        status is 0 and should not be, or the other way round; `succeeds=None` takes any."""
        self._write(f"{self._paint('36', '$ ' + command)}\n")
        result = self._shell(command)
        failed = result.returncode != 0
        wrong = succeeds is not None and failed == succeeds
        if not quiet or wrong:
            for line in result.stdout.splitlines():
                self._write(f"    {line}\n")
        if wrong:
            wanted = "succeed" if succeeds else "fail"
            raise StoryError(f"this should {wanted} (status {result.returncode}):\n    $ {command}")
        return result.stdout

    def silent(self, command):
        """Runs a bash command line that is no part of the story and returns its output, whatever its status."""
        return self._shell(command).stdout

    def check(self, holds, promise):
        if not holds:
            raise StoryError(f"not as promised: {promise}")
        self.checks += 1
        self._write(f"  {self._paint('32', 'ok')} {promise}\n")

    def refused(self, command, *expected):
        """The command must fail, and its output hold every one of the texts `expected`."""
        output = self.run(command, succeeds=False)
        flat = re.sub(r"\s+", " ", output)
        missing = [text for text in expected if text not in flat]
        if missing:
            raise StoryError(f"refused, but the answer does not say {missing[0]!r}:\n    $ {command}")
        self.check(True, f"refused, naming {expected[0]}")
        return output

    def _shell(self, command):
        # -o pipefail: the status of a pipeline is that of what the story is about, not of `sed`.
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
