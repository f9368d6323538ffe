#!/usr/bin/env python3
"""Compares recorded children with the reference's, field by field.

usage: compare.py THEIRS OURS [--accept FILE] [--ledger FILE]... [--write] [--hashes] [-v]

THEIRS and OURS are folders of recordings, one JSON file a case, as record.py and record_render.py write them. Compared
are the decision on each input, and every child by kind and name. What does not count: folding.py.

--accept FILE: accepted deviations, one a line (deviations.py). They hold for every input, also for those not seen yet.
--ledger FILE: the accepted differences of these recordings, value by value (ledger.py). A difference then counts as
    accepted only if a line of --accept covers it AND it stands in the ledger; a line of the ledger that no longer occurs
    is a difference, too. --write writes the ledger anew.
--hashes: worker hashes in names and labels count, too.
--unused: tell the lines of --accept that nothing meets.

A child that the API server refused is a failure, whatever the reference did. An input that the reference admitted and
then failed to deploy may be refused at once. Exit status 1 when anything differs that is not accepted.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import deviations as accepted_lines
import ledger as ledgers
from context import Context
from differences import ABSENT, Difference, differences, written
from folding import is_foreign, read

NOT_IN_LEDGER = "not in the ledger"
MOST_SHOWN = 400
# A field in what kubectl prints of a denial, before the kind of the error.
FIELD = re.compile(
    r"((?:spec|metadata)\S*): "
    r"(?:Invalid value|Required value|Forbidden|Duplicate value|Unsupported value|Too long|Too many|Not found)"
)


def decision(recording):
    """The decision on an input; of a denial the fields, not the words."""
    if not recording.admitted:
        errors = [
            line for message in recording.messages for line in message.splitlines() if not line.startswith("Warning: ")
        ]
        return " ".join(["denied", *FIELD.findall("\n".join(errors))])
    return "admitted, then failed" if recording.failed else "admitted"


def compared(theirs, ours):
    """The names of the children of a case that count."""
    if not (theirs.admitted and ours.admitted):
        return []
    brought = {
        key
        for key, child in theirs.children.items()
        if is_foreign(child) and (key not in ours.children or is_foreign(ours.children[key]))
    }
    return sorted((theirs.children.keys() | ours.children.keys()) - brought)


def differences_of_case(theirs, ours):
    """Every difference between two recordings of one input."""
    if theirs.admitted != ours.admitted:
        yield Difference(ours.case, "admission", "", (), decision(theirs), decision(ours))
    for key in compared(theirs, ours):
        their_child, our_child = theirs.children.get(key, ABSENT), ours.children.get(key, ABSENT)
        if ABSENT in (their_child, our_child):
            yield Difference(ours.case, *key, (), their_child, our_child)
            continue
        for path, their_value, our_value in differences(their_child, our_child):
            yield Difference(ours.case, *key, path, their_value, our_value)


class Comparison:
    """The outcome for all cases so far."""

    def __init__(self, lines, ledger=None):
        self._lines = lines
        self._ledger = None if ledger is None else ledger.copy()
        self.used = collections.Counter()
        self.entries = []  # what a new ledger holds
        self.unexplained = []  # (difference, why)
        self.refused = []  # (case, what the API server said)
        self.missing = []  # cases that were not recorded
        self.cases = self.same_decision = self.refused_at_once = self.children = self.equal = 0

    def add(self, theirs, ours):
        found = list(differences_of_case(theirs, ours))
        names = compared(theirs, ours)
        self.cases += 1
        self.same_decision += theirs.admitted == ours.admitted
        self.refused_at_once += theirs.admitted and theirs.failed and not ours.admitted
        self.children += len(names)
        self.equal += len(names) - len({(item.kind, item.name) for item in found} & set(names))
        self.refused += [(ours.case, refusal) for refusal in ours.refused]
        hashes = theirs.hashes or ours.hashes
        for item in found:
            self._judge(item, Context(item, theirs, ours), hashes)

    def _judge(self, found, context, hashes):
        met = accepted_lines.met(context, self._lines)
        self.used.update(line.text for line in met)
        if not met:
            self.unexplained.append((found, ""))
            return
        entry = ledgers.entry(found, hashes)
        self.entries.append(entry)
        if self._ledger is None:
            return
        if self._ledger[entry] > 0:
            self._ledger[entry] -= 1
        else:
            self.unexplained.append((found, NOT_IN_LEDGER))

    def gone(self):
        """Lines of the ledger that no longer occur."""
        return sorted((+(self._ledger or collections.Counter())).elements())

    def noticed(self):
        """Whether anything is not as it should be."""
        return bool(self.unexplained or self.refused or self.missing or self.gone())

    def summary(self):
        kinds = collections.Counter(item.kind for item, _ in self.unexplained)
        counts = {
            **kinds,
            "refused by the API server": len(self.refused),
            "not recorded": len(self.missing),
            "gone from the ledger": len(self.gone()),
        }
        told = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        return (
            f"same decision on {self.same_decision} of {self.cases - self.refused_at_once} inputs, {self.refused_at_once} "
            f"refused at once that the reference failed to deploy; {self.equal} of {self.children} children equal, "
            f"{len(self.entries)} differences accepted, {sum(counts.values())} not{f' ({told})' if told else ''}"
        )

    def details(self):
        """What is not as it should be, as text."""
        for case, refusal in self.refused:
            if "render" in refusal:
                yield f"{case}: rendering failed: {refusal['render']}"
            else:
                yield f"{case}: the API server refuses {refusal['kind']} {refusal['name']}: {refusal['message']}"
        for case in self.missing:
            yield f"{case}: not recorded"
        for item, why in self.unexplained:
            yield f"{item.case} {item.kind} {item.name}: {written(item.path)}{f' ({why})' if why else ''}"
            yield f"    reference: {_shown(item.theirs)}"
            yield f"    ours:      {_shown(item.ours)}"
        for line in self.gone():
            yield f"gone from the ledger: {line}"


def _shown(value):
    return repr(value) if value is ABSENT else json.dumps(value)[:MOST_SHOWN]


def compare(theirs, ours, lines, ledger=None, hashes=False):
    """A Comparison of the reference's recordings, one file a case, with those of the same names in the folder `ours`."""
    comparison = Comparison(lines, ledger)
    for golden in theirs:
        recorded = pathlib.Path(ours, golden.name)
        if recorded.exists():
            comparison.add(read(golden, hashes), read(recorded, hashes))
        else:
            comparison.missing.append(golden.stem)
    return comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("theirs")
    parser.add_argument("ours")
    parser.add_argument("--accept")
    parser.add_argument("--ledger", action="append", default=[])
    for flag in ("--write", "--hashes", "--unused", "-v"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    lines = accepted_lines.load(options.accept) if options.accept else []
    ledger = (
        sum((ledgers.load(path) for path in options.ledger), collections.Counter())
        if options.ledger and not options.write
        else None
    )
    theirs = sorted(pathlib.Path(options.theirs).glob("*.json"))
    comparison = compare(theirs, options.ours, lines, ledger, options.hashes)
    if options.write:
        ledgers.write(options.ledger[0], comparison.entries)
    for line in comparison.details() if options.v else ():
        print(line)
    for line in lines if options.unused else ():
        if not comparison.used[line.text]:
            print(f"nothing meets: {line.text}")
    print(comparison.summary())
    return int(comparison.noticed())


if __name__ == "__main__":
    sys.exit(main())
