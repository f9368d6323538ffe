"""Compares two sets of recordings of scenarios, step by step."""

import collections
import fnmatch
import json
import pathlib
import re
import sys
from typing import NamedTuple

import yaml

from invariants import CONDITIONS, Difference, Scene

ABSENT = "<absent>"
ANY = "ANY"  # equals everything
DIRECTIONS = ("ours", "theirs", "both", "*")
LINE = re.compile(r"(\S+)\s+(\S+)\s+(\S+)\s+(\S+)\s+([a-z]+\d?-[A-Z]?\d\S*)\s+#\s*\S.*")


def matches(text, pattern):
    """Whether the text matches a glob in which only * and ? are special."""
    return fnmatch.fnmatchcase(text, pattern.replace("[", "[[]"))


def prune(value, status=False):
    """Removes empty values, which count as absent, and zeros in a status."""
    if isinstance(value, list):
        return [prune(element, status) for element in value]
    if not isinstance(value, dict):
        return value
    members = {key: prune(member, status or key == "status") for key, member in value.items()}
    return {key: member for key, member in members.items() if not _is_empty(member, status)}


def _is_empty(value, status):
    return value is None or value is False or value in ("", {}, []) or (status and value == 0)


def diff(theirs, ours, path=""):
    if theirs == ours or ANY in [side for side in (theirs, ours) if isinstance(side, str)]:
        return
    if isinstance(theirs, list) and isinstance(ours, list):
        if all(isinstance(item, dict) and "type" in item for item in theirs + ours):
            theirs, ours = ({item["type"]: item for item in side} for side in (theirs, ours))
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            below = f"{path}.{key}" if path else key
            if key in theirs and key in ours:
                yield from diff(theirs[key], ours[key], below)
            else:
                yield below, theirs.get(key, ABSENT), ours.get(key, ABSENT)
    else:
        yield path, theirs, ours


def without(value, keys):
    if isinstance(value, dict):
        return {key: without(member, keys) for key, member in value.items() if key not in keys}
    return [without(element, keys) for element in value] if isinstance(value, list) else value


def differences(theirs, ours, options):
    """(step, kind, name, path, their value, our value)"""
    if not options.messages:
        theirs, ours = without(theirs, {"message"}), without(ours, {"message"})
    steps = [{step["step"]: step for step in side["steps"]} for side in (theirs, ours)]
    if list(steps[0]) != list(steps[1]):
        yield "-", "-", "", "steps", list(steps[0]), list(steps[1])
    if options.hashes and theirs["hashes"] != ours["hashes"]:
        yield "-", "-", "", "hashes", theirs["hashes"], ours["hashes"]
    for name in (name for name in steps[0] if name in steps[1]):
        for found in _of_step(steps[0][name], steps[1][name]):
            yield name, *found


def _of_step(theirs, ours):
    for key in ("answers", "requests", "quiet"):
        for found in diff({key: theirs.get(key)}, {key: ours.get(key)}):
            yield "-", "", *found
    for part, prefix in (("objects", ""), ("went", "went")):
        for name in sorted(theirs[part].keys() | ours[part].keys()):
            kind, short = name.split("/", 1)
            if name in theirs[part] and name in ours[part]:
                for found in diff(prune(theirs[part][name]), prune(ours[part][name]), prefix):
                    yield kind, short, *found
            else:
                yield kind, short, prefix or "object", *(
                    "present" if name in side[part] else ABSENT for side in (theirs, ours)
                )
    for event in sorted(set(theirs["events"]) ^ set(ours["events"])):
        kind, rest = event.split(" ", 1)
        path = f"events.{rest.replace(' ', '.')}"
        yield kind, "", path, *("seen" if event in side["events"] else "not seen" for side in (theirs, ours))


class Deviation(NamedTuple):
    kind: str
    path: str
    direction: str
    condition: str
    line: str

    def covers(self, difference):
        if not matches(difference.kind, self.kind) or not matches(difference.path.replace(" ", "-"), self.path):
            return False
        if self.direction not in ("*", direction_of(difference.theirs, difference.ours)):
            return False
        return self.condition == "*" or CONDITIONS[self.condition](difference)


def direction_of(theirs, ours):
    """Which side has the value."""
    missing = (ABSENT, "not seen")
    return "ours" if theirs in missing else "theirs" if ours in missing else "both"


def accepted(path):
    """The lines of a file of accepted deviations."""
    lines = []
    text = pathlib.Path(path).read_text(encoding="utf-8") if path else ""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        match = LINE.fullmatch(line.strip())
        if match is None or set("".join(match.groups()[:4])) == {"*"}:
            sys.exit(f"{path}:{number}: must be KIND PATH DIRECTION CONDITION DECISION # reason, and not consist of stars only")
        if match[3] not in DIRECTIONS or match[4] not in ("*", *CONDITIONS):
            sys.exit(f"{path}:{number}: unknown direction or condition")
        lines.append(Deviation(*match.groups()[:4], line.strip()))
    return lines


def strategies_of(scenario):
    """The annotations of the services of a scenario's graphs, by name of the service."""
    found = {}
    if scenario is None or not scenario.exists():
        return found
    document = yaml.safe_load(scenario.read_text(encoding="utf-8"))
    for action in (document, *document["steps"], *(one for step in document["steps"] for one in step.get("do", []))):
        for manifest in (*action.get("apply", []), *action.get("setup", [])):
            services = (manifest.get("spec") or {}).get("services") or {}
            found.update({name: (service or {}).get("annotations") or {} for name, service in services.items()})
    return found


def compare(options):
    lines, used = accepted(options.accept), collections.Counter()
    total = equal = steps = bad = 0
    for file in sorted(pathlib.Path(options.golden).glob("*.json")):
        total += 1
        mine = pathlib.Path(options.ours, file.name)
        if not mine.exists():
            print(f"{file.stem}: not recorded")
            bad += 1
            continue
        theirs, ours = (json.loads(path.read_text(encoding="utf-8")) for path in (file, mine))
        strategies = strategies_of(options.scenarios and pathlib.Path(options.scenarios, f"{file.stem}.yaml"))
        steps += len(theirs["steps"])
        names = [step["step"] for step in theirs["steps"]]
        left = 0
        for step, kind, name, path, their_value, our_value in differences(theirs, ours, options):
            end = names.index(step) + 1 if step in names else 0
            scene = Scene(theirs["steps"][:end], ours["steps"][:end], strategies)
            found = Difference(kind, name, path, their_value, our_value, scene)
            met = [one.line for one in lines if end and one.covers(found)]
            used.update(met)
            left += not met
            if options.verbose and not met:
                print(f"{file.stem} / {step} / {kind} {name}: {path}")
                print(f"    reference: {json.dumps(their_value)[:300]}\n    ours:      {json.dumps(our_value)[:300]}")
        bad += left
        equal += not left
        if left:
            print(f"{file.stem}: {left} differences")
    idle = [one.line for one in lines if not used[one.line]]
    told = f"{equal} of {total} scenarios equal ({steps} steps); {bad} differences not accepted"
    print(f"lifecycle: {told}; {sum(used.values())} accepted by {len(lines) - len(idle)} of {len(lines)} lines")
    for line in idle:
        print(f"  never used: {line}")
    sys.exit(1 if bad or (idle and not options.unused_ok) or not total else 0)
