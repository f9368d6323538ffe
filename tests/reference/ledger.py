"""The ledger: every accepted difference of the recordings, value by value, one per line, for review as text.

    CASE KIND NAME PATH theirs ours      (tab-separated; values as JSON, long ones as their beginning and digest)

Worker hashes are written as HASH, so the lines do not depend on whether hashes are compared.
"""

import collections
import hashlib
import json

from differences import ABSENT, written
from folding import without_hashes

HEADER = "# CASE KIND NAME PATH theirs ours: every accepted difference. Written by `tests/reference/run --write`.\n"
LONGEST = 160
BEGINNING = 120


def entry(found, hashes):
    """A difference as a line. `hashes`: the worker hashes of both sides."""

    def short(value):
        if value is ABSENT:
            return repr(value)
        text = without_hashes(json.dumps(value, sort_keys=True), hashes)
        if found.path == () and found.kind != "admission":
            return "present sha256 " + _digest(text)
        return text if len(text) <= LONGEST else f"{text[:BEGINNING]}... sha256 {_digest(text)}"

    name, path = (without_hashes(text, hashes) for text in (found.name, written(found.path)))
    return "\t".join([found.case, found.kind, name or "-", path, short(found.theirs), short(found.ours)])


def load(path):
    """The number of occurrences of each line in a ledger."""
    with open(path, encoding="utf-8") as file:
        return collections.Counter(line.rstrip("\n") for line in file if not line.startswith("#"))


def write(path, entries):
    with open(path, "w", encoding="utf-8") as file:
        file.write(HEADER + "".join(line + "\n" for line in sorted(entries)))


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:16]
