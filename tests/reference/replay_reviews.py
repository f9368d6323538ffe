#!/usr/bin/env python3
"""Replays recorded AdmissionReviews and ConversionReviews on a running webhook and compares its answers.

usage: replay_reviews.py URL [--write] [-v]

Compared are for /validate-... whether it is allowed, and for /convert the uid, the status of the result and the converted
objects without metadata.annotations, where empty values count as absent. A difference needs a line of
review-deviations.txt,

    PATH DIRECTION FIELD VALUE [CONDITION] DECISION # reason

and stands in reviews.ledger value by value; a line of the ledger that no longer occurs is a difference, too.

PATH: the path of the review. DIRECTION: stricter (only ours denies), laxer (only the reference denies), converted.
FIELD: the field of a cause or a warning, or the path of a differing value; `*` matches one segment.
VALUE: the type of a cause; `warned`; theirs->ours as JSON without spaces.
CONDITION: a function of this file, with dashes. DECISION: an id of common/decisions.md, or rule-N of the rules above its table.

--write rewrites the ledger. The exit status is 1 if a difference is not accepted.
"""

import argparse
import collections
import fnmatch
import http.client
import json
import pathlib
import re
import ssl
import sys
import urllib.parse
from typing import NamedTuple

import recordings
from differences import parsed

HERE = pathlib.Path(__file__).resolve().parent
DEVIATIONS = HERE / "review-deviations.txt"
LEDGER = HERE / "reviews.ledger"
HEADER = (
    "# REVIEW PATH DIRECTION FIELD VALUE what ours says: every accepted difference. "
    "Written by `replay_reviews.py --write`.\n"
)
NOTHING = "<absent>"
LINE = re.compile(
    r"(?P<path>/\S+)\s+(?P<direction>stricter|laxer|converted)\s+(?P<field>\S+)\s+(?P<value>\S+)\s+(?:(?P<condition>[a-z-]+)\s+)?"
    r"(?P<decision>(?:[a-z]+\d?-[A-Z]?|rule-)\d\w*)\s+#\s*\S.*"
)


class InvalidLine(Exception):
    """The message has the line and the error."""


class Difference(NamedTuple):
    number: int  # of the review
    path: str
    direction: str
    field: str
    value: str
    said: str  # the message

    def entry(self):
        return "\t".join(
            [str(self.number), self.path, self.direction, self.field, self.value, self.said.replace("\n", " ") or "-"]
        )


class Deviation(NamedTuple):
    text: str
    path: str
    direction: str
    field: tuple
    value: str
    condition: object


class Outcome(NamedTuple):
    totals: dict  # path -> reviews
    accepted: list
    unexplained: list  # (difference, why)
    gone: list  # lines of the ledger that no longer occur
    unused: list  # lines of the deviations that match no difference

    def passed(self):
        return not (self.unexplained or self.gone or self.unused)


def was_ready(review, _):
    """Whether the stored request is in phase Ready."""
    return ((review["req"]["request"].get("oldObject") or {}).get("status") or {}).get("phase") == "Ready"


def same_in_old_object(review, field):
    """Whether the review is an UPDATE that does not change the field."""
    request = review["req"]["request"]
    new, old = (_at(request.get(key), field) for key in ("object", "oldObject"))
    return request["operation"] == "UPDATE" and new == old


def file_source(review, _):
    """Whether the object is a model whose adapter is in a folder of the pods."""
    source = review["req"]["request"]["object"]["spec"].get("source") or {}
    return source.get("uri", "").startswith("file:///")


def load_deviations(path=DEVIATIONS):
    lines = path.read_text(encoding="utf-8").splitlines()
    return [
        _deviation(f"{path}:{number}", line) for number, line in enumerate(lines, 1) if line and not line.startswith("#")
    ]


def load_ledger(path=LEDGER):
    lines = path.read_text(encoding="utf-8").splitlines()
    return collections.Counter(line for line in lines if not line.startswith("#"))


def write_ledger(entries, path=LEDGER):
    ordered = sorted(entries, key=lambda line: (int(line.split("\t")[0]), line))
    path.write_text(HEADER + "".join(line + "\n" for line in ordered), encoding="utf-8")


def differences(number, review, ours):
    """The differences between the recorded answer to a review and ours."""
    path, theirs = review["path"], review["res"].get("response") or {}
    if path == "/convert":
        pairs = [(key, theirs.get(key), ours.get(key)) for key in ("uid",)]
        pairs.append(("result.status", *((side.get("result") or {}).get("status") for side in (theirs, ours))))
        pairs += _leaves(*([_comparable(item) for item in side.get("convertedObjects") or []] for side in (theirs, ours)))
        for field, their_value, our_value in pairs:
            if their_value != our_value:
                yield Difference(number, path, "converted", field, f"{_compact(their_value)}->{_compact(our_value)}", "")
    elif bool(theirs.get("allowed")) != bool(ours.get("allowed")):
        yield from _of_decision(number, path, ours)


def _of_decision(number, path, ours):
    if ours.get("allowed"):
        told = [warning.partition(": ") for warning in ours.get("warnings") or []] or [("-", "", "")]
        for field, _, words in told:
            yield Difference(number, path, "laxer", field, "warned", words)
        return
    causes = ((ours.get("status") or {}).get("details") or {}).get("causes") or [{}]
    for cause in causes:
        yield Difference(
            number, path, "stricter", cause.get("field", "-"), cause.get("reason", "-"), cause.get("message", "")
        )


def judge(answers, deviations, ledger=None):
    """The Outcome of (number, review, our answer) for all reviews. Without a ledger only the deviations count."""
    totals, used = collections.Counter(), collections.Counter()
    left = None if ledger is None else ledger.copy()
    accepted, unexplained = [], []
    for number, review, ours in answers:
        totals[review["path"]] += 1
        for found in differences(number, review, ours):
            met = [line for line in deviations if _is_met(line, found, review)]
            used.update(line.text for line in met)
            if not met:
                unexplained.append((found, ""))
            elif left is not None and left[found.entry()] <= 0:
                unexplained.append((found, "not in the ledger"))
            else:
                accepted.append(found)
                if left is not None:
                    left[found.entry()] -= 1
    gone = sorted((+(left or collections.Counter())).elements())
    return Outcome(totals, accepted, unexplained, gone, [line.text for line in deviations if not used[line.text]])


def ask(url, reviews, context=None):
    """(number, review, answer of the webhook at `url`) for each review."""
    where = urllib.parse.urlsplit(url)
    connection = http.client.HTTPSConnection(where.hostname, where.port, context=context, timeout=20)
    for number, review in enumerate(reviews, 1):
        connection.request("POST", review["path"], json.dumps(review["req"]), {"Content-Type": "application/json"})
        yield number, review, json.loads(connection.getresponse().read()).get("response") or {}
    connection.close()


def told(outcome):
    """The outcome as lines of text."""
    for found, why in outcome.unexplained:
        yield f"not accepted{f' ({why})' if why else ''}: {found.entry()}"
    for line in outcome.gone:
        yield f"gone from the ledger: {line}"
    for line in outcome.unused:
        yield f"unused: {line}"
    touched = collections.Counter()
    for path, _ in {(found.path, found.number) for found in [*outcome.accepted, *(item for item, _ in outcome.unexplained)]}:
        touched[path] += 1
    for path, total in sorted(outcome.totals.items()):
        yield f"{path}: {total - touched[path]} of {total} answers equal the reference's"
    yield f"reviews: {len(outcome.accepted)} differences accepted, {len(outcome.unexplained) + len(outcome.gone)} not"


def _deviation(where, line):
    match = LINE.fullmatch(line)
    if match is None:
        raise InvalidLine(f"{where}: must be PATH DIRECTION FIELD VALUE [CONDITION] DECISION # reason: {line}")
    condition = CONDITIONS.get(match["condition"]) if match["condition"] else lambda *_: True
    if condition is None:
        raise InvalidLine(f"{where}: no such condition: {match['condition']}")
    return Deviation(line, match["path"], match["direction"], parsed(match["field"]), match["value"], condition)


def _is_met(line, found, review):
    field = parsed(found.field)
    return (
        (line.path, line.direction, line.value, len(line.field)) == (found.path, found.direction, found.value, len(field))
        and all(fnmatch.fnmatchcase(part, wanted.replace("[", "[[]")) for part, wanted in zip(field, line.field))
        and line.condition(review, found.field)
    )


def _at(value, field):
    for segment in parsed(field):
        key = segment.strip("[]")
        if isinstance(value, list):
            value = value[int(key)] if key.isdigit() and int(key) < len(value) else None
        else:
            value = value.get(key) if isinstance(value, dict) else None
    return value


def _comparable(value, key=""):
    """The value without annotations and empty members, which the reference's typed objects write."""
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if not isinstance(value, dict):
        return value
    members = {
        name: _comparable(member, name) for name, member in value.items() if (key, name) != ("metadata", "annotations")
    }
    return {name: member for name, member in members.items() if member not in (None, {}, [], "", False)}


def _leaves(theirs, ours, where=""):
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from _leaves(theirs.get(key), ours.get(key), f"{where}.{key}" if where else key)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, pair in enumerate(zip(theirs, ours)):
            yield from _leaves(*pair, f"{where}[{i}]")
    else:
        yield where or "-", theirs, ours


def _compact(value):
    return NOTHING if value is None else json.dumps(value, sort_keys=True, separators=(",", ":"))


CONDITIONS = {"was-ready": was_ready, "same-in-old-object": same_in_old_object, "file-source": file_source}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("url")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    unchecked = ssl._create_unverified_context()  # the certificate is not verified here
    answers = list(ask(options.url, recordings.reviews(), unchecked))
    if options.write:
        write_ledger(found.entry() for found in judge(answers, load_deviations()).accepted)
    outcome = judge(answers, load_deviations(), load_ledger())
    lines = list(told(outcome))
    print("\n".join(lines if options.v else lines[-20:]))
    return int(not outcome.passed())


if __name__ == "__main__":
    sys.exit(main())
