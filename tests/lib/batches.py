#!/usr/bin/env python3
"""Groups of C++ sources that compile together, as one source file that includes them.

usage: batches.py SIZE FOLDER FILE...

Writes the source file of each group into the folder, unless it exists with that content, and prints what to compile, separated
by semicolons. Run it in the root of the repository. A name that a file declares for itself would hide another meaning of it in
the other files, so no other file of its batch may use that name.
"""

import os
import pathlib
import re
import sys

NOISE = re.compile(r'//.*|"(?:[^"\\\n]|\\.)*"')
ANGLES = re.compile(r"<[^<>]*>")
USED = re.compile(r"(?<![\w:.>])[A-Za-z_]\w*")
USING = re.compile(r"^using (?:[\w:]+::)?(\w+)(?: = [^;]+)?;")
DECLARED = re.compile(r"(?<![\w:~])(\w+)\s*[({=;\[]")
NO_NAME = re.compile(r"namespace|static_assert|noexcept|requires|decltype|alignas|[A-Z0-9_]+")
LOCAL = re.compile(r"(?:static|const|constexpr|inline)\b")


class Source:
    """The names that a file declares for itself, with their using-declarations, and the names that it uses."""

    def __init__(self, text):
        self.used = set(USED.findall(NOISE.sub("", text)))
        self.local = {}
        unnamed = False
        for line in text.splitlines():
            if line in ("namespace {", "}  // namespace"):
                unnamed = line == "namespace {"
            elif using := USING.match(line):
                self.local[using[1]] = using[0]
            elif line[:1].isalpha() and (unnamed or LOCAL.match(line)):
                self.declare(NOISE.sub("", line))

    def declare(self, line):
        before = None
        while line != before:
            before, line = line, ANGLES.sub("", line)
        for name in DECLARED.findall(line)[:1]:
            if not NO_NAME.fullmatch(name):
                self.local[name] = None

    def hides_from(self, other):
        """Whether a name of this file would hide another meaning in the other file. Equal using-declarations do not."""
        return any(meaning is None or meaning != other.local.get(name)
                   for name, meaning in self.local.items() if name in other.used)

    def conflicts(self, other):
        return self.hides_from(other) or other.hides_from(self)


def grouped(files, apart, size):
    """Groups of at most `size` files. apart(one, other) says whether two files must not be in the same group."""
    made = []
    for file in files:
        for group in made:
            if len(group) < size and not any(apart(file, other) for other in group):
                group.append(file)
                break
        else:
            made.append([file])
    return made


def batches(sources, size):
    """Groups of at most `size` names of files. `sources` has the Source of each name."""
    return grouped(sources, lambda one, other: sources[one].conflicts(sources[other]), size)


def write(path, text):
    """Writes a file if its content changes, so that it is only compiled again then."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def main():
    size, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
    sources = {file: Source(pathlib.Path(file).read_text(encoding="utf-8")) for file in sys.argv[3:]}
    compiled = []
    for number, files in enumerate(batches(sources, size)):
        if len(files) > 1:
            path = folder / f"{number}.cpp"
            write(path, "".join(f'#include "{os.path.relpath(file)}"\n' for file in files))
            files = [str(path)]
        compiled += files
    print(";".join(compiled), end="")


if __name__ == "__main__":
    main()
