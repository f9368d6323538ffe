#!/usr/bin/env python3
"""Checks that every cited decision id has a row in common/decisions.md, and that no file cites documents outside of the
repository.

usage: decisions.py [FOLDER]   prints errors as FILE:LINE: ERROR, exit status 1; FOLDER is a git work tree
"""

import re
import subprocess
import sys
from pathlib import Path

TABLE = "common/decisions.md"
# Inputs of fuzzers are bytes, the licence is an external text, and this folder contains examples of errors.
EXEMPT = ("tests/fuzz/corpus/", "tests/lint/", "LICENSE")

SUBJECTS = "pod|child|adm|cert|scope|ctl|conv|life|a1|b1|cfg|leg"
ID = re.compile(rf"\b(?:(?:{SUBJECTS})-Q\d+[a-z]?|scope-S\d+|dec-\d+)\b")
# "pod-Q2, Q4" names two rows, but a search for the second one finds nothing.
SHORT = re.compile(rf"(?:{ID.pattern})(?:,? (?:and|to|or) |, )-?[QS]\d")
FOREIGN = (
    re.compile(r"\bspec/[\w-]+\.md"),
    re.compile(r"(?<!spec/)\bquirks\.md"),
    re.compile(r"\bDESIGN\b"),
    re.compile(r"\banchors\.md|\banchors [A-E]\d|\"anchors\""),
    re.compile(r"\b(?:fact )?[Ss]heets?\b"),
    re.compile(r"(?<!spec/)\b(?:admission|children|controllers|dgdr-\w+|k8s-pod-validation)\.md"),
    re.compile(r"(?<!spec/)\b(?:operator-config|pod-defaults|apiserver-facts)\.md"),
    # Sections of public standards may be cited.
    re.compile(r"(?<!\bRFC \d{4} )\b[Ss]ections? \d"),
)


def rows(table):
    """The ids in the first cells, including aliases in brackets, each with its line."""
    found = []
    for number, line in enumerate(table.splitlines(), 1):
        if line.startswith("| "):
            found += ((name, number) for name in ID.findall(line.split("|")[1]))
    return found


def known(table):
    """The ids that have a row, and the errors in the rows."""
    first, wrong = {}, []
    for name, number in rows(table):
        if name in first:
            wrong.append((TABLE, number, f"{name} already has a row in line {first[name]}"))
        first.setdefault(name, number)
    if not first:
        wrong.append((TABLE, 1, "has no rows of decisions"))
    return set(first), wrong


def judge(path, text, ids):
    """The errors in one file."""
    for number, line in enumerate(text.splitlines(), 1):
        for name in ID.findall(line):
            if name not in ids:
                yield path, number, f"{name} has no row in {TABLE}"
        for match in SHORT.finditer(line):
            yield path, number, f'"{match[0]}": write each id in full'
        for pattern in FOREIGN:
            for match in pattern.finditer(line):
                yield path, number, f'"{match[0]}" is not part of the repository: state the reason instead'


def check(root):
    """(errors, number of rows, files read, citations) of the work tree at `root`."""
    listing = subprocess.run(["git", "ls-files", "-coz", "--exclude-standard"], cwd=root, check=True,
                             capture_output=True).stdout
    paths = sorted(name for name in listing.decode().split("\0") if name and not name.startswith(EXEMPT))
    ids, wrong = known((root / TABLE).read_text() if (root / TABLE).is_file() else "")
    files = cited = 0
    for path in paths:
        try:
            text = (root / path).read_text(encoding="utf-8")
        except (UnicodeDecodeError, FileNotFoundError, IsADirectoryError):
            continue  # not text, deleted, or another repository
        files += 1
        cited += len(ID.findall(text)) if path != TABLE else 0
        wrong += judge(path, text, ids)
    return wrong, len(ids), files, cited


def main():
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).resolve().parents[2]
    wrong, ids, files, cited = check(root)
    for path, number, what in wrong:
        print(f"{path}:{number}: {what}")
    print(f"decisions: {cited} citations in {files} files, {ids} ids have a row, {len(wrong)} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
