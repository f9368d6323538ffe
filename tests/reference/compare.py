#!/usr/bin/env python3
"""Compares recorded children with those of the reference, field by field.

usage: compare.py THEIRS OURS [--requests] [--accept FILE] [--ledger FILE]... [--write] [--hashes] [-v]

THEIRS and OURS are folders of recordings with one JSON file per case, as written by record.py, record_render.py and
record_live.py. The decision on each input and every child by kind and name are compared. folding.py lists the ignored
differences. The Secret with the SSH key of MPI is only compared with live recordings.

--requests: recordings of requests, checkpoints and models. All objects are compared, custom resources with their stored spec and
        status, and the decision on each document with the field that a denial names (folding_requests.py).
--accept FILE: accepted deviations, one per line (deviations.py). They apply to every input, including new ones.
--ledger FILE: the accepted differences of these recordings, value by value (ledger.py). A difference then counts as
        accepted only if a line of --accept covers it AND it is in the ledger. A line of the ledger that no longer occurs is
        also a difference. --write rewrites the ledger.
    --hashes: also compare worker hashes in names and labels.
    --unused: print the lines of --accept that match no difference.

A child that the API server rejects is always a failure. An input that the reference admitted and then failed to deploy may
be denied at admission. The exit status is 1 if a difference is not accepted.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import conditions
import deviations as accepted_lines
import folding
import folding_requests
import ledger as ledgers
import request_conditions
from context import Context
from differences import ABSENT, Difference, differences, parsed, written

NOT_IN_LEDGER = "not in the ledger"
MAX_SHOWN = 400
# A field path in kubectl's output for a denial, before the kind of the error.
FIELD = re.compile(
    r"((?:spec|metadata)\S*): "
    r"(?:Invalid value|Required value|Forbidden|Duplicate value|Unsupported value|Too long|Too many|Not found)"
)


def decision(recording):
    """The decision on an input. For a denial the fields count, but not the messages."""
    if not recording.admitted:
        errors = [
            line for message in recording.messages for line in message.splitlines() if not line.startswith("Warning: ")
        ]
        return " ".join(["denied", *FIELD.findall("\n".join(errors))])
    return "admitted, then failed" if recording.failed else "admitted"


def compared(theirs, ours):
    """The names of the compared children of a case."""
    if theirs.answers:
        return sorted(theirs.children.keys() | ours.children.keys()) if not differing_answers(theirs, ours) else []
    if not (theirs.admitted and ours.admitted):
        return []
    brought = {
        key
        for key, child in theirs.children.items()
        if folding.is_foreign(child) and (key not in ours.children or folding.is_foreign(ours.children[key]))
    }
    if not ours.live:  # only a controller can create a key
        brought.add(folding.MPI_SECRET)
    return sorted((theirs.children.keys() | ours.children.keys()) - brought)


def differing_answers(theirs, ours):
    """The documents that only one side admitted."""
    names = sorted(theirs.answers.keys() | ours.answers.keys())
    return [name for name in names if (theirs.answers.get(name) is None) != (ours.answers.get(name) is None)]


def differences_of_case(theirs, ours):
    """Every difference between two recordings of one input."""
    for name in differing_answers(theirs, ours):
        denials = [side.answers.get(name) for side in (theirs, ours)]
        said = ["admitted" if denial is None else "denied" for denial in denials]
        yield Difference(ours.case, "admission", name, parsed(denials[0] or denials[1]), *said)
    if not theirs.answers and theirs.admitted != ours.admitted:
        yield Difference(ours.case, "admission", "", (), decision(theirs), decision(ours))
    for key in compared(theirs, ours):
        their_child, our_child = theirs.children.get(key, ABSENT), ours.children.get(key, ABSENT)
        if ABSENT in (their_child, our_child):
            yield Difference(ours.case, *key, (), their_child, our_child)
            continue
        for path, their_value, our_value in differences(their_child, our_child):
            yield Difference(ours.case, *key, path, their_value, our_value)


class Comparison:
    """The accumulated outcome of all cases."""

    def __init__(self, lines, ledger=None):
        self._lines = lines
        self._ledger = None if ledger is None else ledger.copy()
        self.used = collections.Counter()
        self.entries = []  # the lines of a new ledger
        self.unexplained = []  # (difference, why)
        self.refused = []  # (case, error of the API server)
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
        """Whether there is any unaccepted difference."""
        return bool(self.unexplained or self.refused or self.missing or self.gone())

    def summary(self):
        kinds = collections.Counter(item.kind for item, _ in self.unexplained)
        counts = {
            **kinds,
            "refused by the API server": len(self.refused),
            "not recorded": len(self.missing),
            "gone from the ledger": len(self.gone()),
        }
        kinds = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
        return (
            f"same decision on {self.same_decision} of {self.cases - self.refused_at_once} inputs, {self.refused_at_once} "
            f"refused at once that the reference failed to deploy; {self.equal} of {self.children} children equal, "
            f"{len(self.entries)} differences accepted, {sum(counts.values())} not{f' ({kinds})' if kinds else ''}"
        )

    def details(self):
        """The unaccepted differences as text."""
        for case, refusal in self.refused:
            if "render" in refusal:
                yield f"{case}: rendering failed: {refusal['render']}"
            else:
                yield f"{case}: the API server rejects {refusal['kind']} {refusal['name']}: {refusal['message']}"
        for case in self.missing:
            yield f"{case}: not recorded"
        for item, why in self.unexplained:
            yield f"{item.case} {item.kind} {item.name}: {written(item.path)}{f' ({why})' if why else ''}"
            yield f"    reference: {_shown(item.theirs)}"
            yield f"    ours:      {_shown(item.ours)}"
        for line in self.gone():
            yield f"gone from the ledger: {line}"


def _shown(value):
    return repr(value) if value is ABSENT else json.dumps(value)[:MAX_SHOWN]


def compare(theirs, ours, lines, ledger=None, hashes=False, form=folding):
    """A Comparison of the reference's recordings with the files of the same names in the folder `ours`. `form` is the module
    that reads them."""
    comparison = Comparison(lines, ledger)
    for golden in theirs:
        recorded = pathlib.Path(ours, golden.name)
        if recorded.exists():
            comparison.add(form.read(golden, hashes), form.read(recorded, hashes))
        else:
            comparison.missing.append(golden.stem)
    return comparison


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("theirs")
    parser.add_argument("ours")
    parser.add_argument("--accept")
    parser.add_argument("--ledger", action="append", default=[])
    for flag in ("--requests", "--write", "--hashes", "--unused", "-v"):
        parser.add_argument(flag, action="store_true")
    options = parser.parse_args()
    form, functions = (folding_requests, request_conditions) if options.requests else (folding, conditions)
    lines = accepted_lines.load(options.accept, functions) if options.accept else []
    ledger = (
        sum((ledgers.load(path) for path in options.ledger), collections.Counter())
        if options.ledger and not options.write
        else None
    )
    theirs = sorted(pathlib.Path(options.theirs).glob("*.json"))
    comparison = compare(theirs, options.ours, lines, ledger, options.hashes, form)
    if options.write:
        ledgers.write(options.ledger[0], comparison.entries)
    for line in comparison.details() if options.v else ():
        print(line)
    for line in lines if options.unused else ():
        if not comparison.used[line.text]:
            print(f"unused: {line.text}")
    print(comparison.summary())
    return int(comparison.noticed())


if __name__ == "__main__":
    sys.exit(main())
