#!/usr/bin/env python3
"""Checks that includes follow the link dependencies of CMake, and that these have no cycle.

usage: layers.py [FOLDER]   prints the dependencies, then errors as FILE:LINE: ERROR, exit status 1

- A file may only include a header of another library that its own library links, directly or through PUBLIC
  dependencies. A header may only use PUBLIC dependencies, because its users compile it too.
- A library may only link libraries of this repository whose headers it includes.
"""

import re
import sys
from pathlib import Path

TOP = ("common", "certs", "webhook", "controller")
COMMAND = re.compile(r"^(add_library|add_executable|target_link_libraries)\(([^)]*)\)", re.MULTILINE)
INCLUDE = re.compile(r'^#include "([^"]+)"')
KINDS = ("PUBLIC", "PRIVATE", "INTERFACE")


class Library:
    def __init__(self, name, folder):
        self.name, self.folder = name, folder
        self.files = []
        self.program = False
        self.public, self.private = set(), set()

    def links(self):
        return self.public | self.private


def without_comments(text):
    return re.sub(r"#[^\n]*", "", text)


def read_libraries(root):
    """The libraries and programs that the CMakeLists.txt files below `root` declare, by name."""
    libraries = {}
    for listing in sorted(path for top in TOP for path in (root / top).rglob("CMakeLists.txt")):
        folder = listing.parent
        for command, words in COMMAND.findall(without_comments(listing.read_text(encoding="utf-8"))):
            name, *words = words.split()
            if command != "target_link_libraries":
                library = libraries.setdefault(name, Library(name, folder))
                library.program = command == "add_executable"
                library.files = [folder / word for word in words if word.endswith(".cpp") and "$" not in word]
                if any("_sources}" in word for word in words):  # a glob over the folder
                    library.files = sorted(folder.glob("*.cpp"))
                continue
            kind = "PUBLIC"
            for word in words:
                if word in KINDS:
                    kind = word
                elif kind == "PRIVATE":
                    libraries[name].private.add(word)
                else:
                    libraries[name].public.add(word)
    for library in libraries.values():
        library.public &= libraries.keys()
        library.private &= libraries.keys()
    return libraries


def owners(root, libraries):
    """The library of every source and header. A header belongs to the library with the source of the same name, else to
    the one with the sources of its folder, else to the one declared in its folder."""
    owner = {}
    for library in libraries.values():
        for source in library.files:
            owner[source] = library
    of_folder = {}
    for source, library in owner.items():
        of_folder.setdefault(source.parent, library)
    for library in libraries.values():
        if not library.files:
            of_folder.setdefault(library.folder, library)
    for header in sorted(path for top in TOP for path in (root / top).rglob("*.h")):
        folder = header.parent
        while folder not in of_folder and folder != root:
            folder = folder.parent
        found = owner.get(header.with_suffix(".cpp"), of_folder.get(folder))
        if found:
            owner[header] = found
    return owner


def closure(names, libraries):
    """`names` and their transitive PUBLIC dependencies."""
    seen, todo = set(), list(names)
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo += libraries[name].public
    return seen


def cycle(libraries):
    """The names along a cycle of link dependencies; empty when there is none."""
    done = set()

    def walk(name, path):
        if name in path:
            return path[path.index(name):] + [name]
        if name in done:
            return []
        done.add(name)
        for other in sorted(libraries[name].links()):
            if found := walk(other, path + [name]):
                return found
        return []

    return next((found for name in sorted(libraries) if (found := walk(name, []))), [])


def judge(root):
    libraries = read_libraries(root)
    owner = owners(root, libraries)
    wrong, used = [], {name: set() for name in libraries}
    for file, library in sorted(owner.items()):
        header = file.suffix == ".h"
        exported = header and not library.program
        allowed = closure(library.public if exported else library.links(), libraries)
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            found = INCLUDE.match(line)
            if not found:
                continue
            other = owner.get(root / found[1])
            where = f"{file.relative_to(root)}:{number}"
            if other is None:
                if found[1].startswith(tuple(top + "/" for top in TOP)):
                    wrong.append(f"{where}: {found[1]} belongs to no library")
            elif other is not library:
                used[library.name].add(other.name)
                if other.name not in allowed:
                    kind = " PUBLIC" if exported else ""
                    wrong.append(f"{where}: {library.name} does not link {other.name}{kind}")
    for name, library in libraries.items():
        for other in sorted(library.links() - used[name]):
            wrong.append(f"{(library.folder / 'CMakeLists.txt').relative_to(root)}:1: {name} links {other}, "
                         "but includes none of its headers")
    if found := cycle(libraries):
        wrong.append("cycle: " + " -> ".join(found))
    return libraries, wrong


def levels(libraries):
    """The libraries from the bottom up. There must be no cycle."""
    ordered, left = [], set(libraries)
    while left:
        level = sorted(name for name in left if not libraries[name].links() & left)
        ordered += level
        left -= set(level)
    return ordered


def main():
    root = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]).resolve()
    libraries, wrong = judge(root)
    if not cycle(libraries):
        for name in levels(libraries):
            library = libraries[name]
            private = sorted(library.private - library.public)
            print(f"{name}:", *sorted(library.public), *(["(" + " ".join(private) + ")"] if private else []))
    print(*wrong, sep="\n", file=sys.stderr, end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
