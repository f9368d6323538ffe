"""Accepted deviations: the lines of deviations.txt, and the lines that match a difference.

    KIND PATH DIRECTION [CONDITION[,CONDITION]] DECISION[,DECISION] # reason

KIND is the kind of a child, `admission`, or `Pod`: the pod template of a Deployment, a Job, a LeaderWorkerSet (both
templates) or a PodCliqueSet (each clique), with PATH as in a Deployment's template. `Pod/KIND`: only of that kind.
PATH: `*` matches one whole segment or characters within one, but never several segments. The main container is always
`containers[main]`, also when the user renames it. `-` is the whole child.
DIRECTION: ours (only ours has it), theirs (only theirs), changed (both, with other values).
CONDITION: a function of conditions.py, with dashes. DECISION: an id of common/decisions.md.
"""

import fnmatch
import re
from typing import NamedTuple

import conditions
from differences import parsed

LINE = re.compile(
    r"(?P<kind>\S+)\s+(?P<path>\S+)\s+(?P<direction>ours|theirs|changed)\s+(?:(?P<conditions>[a-z-]+(?:,[a-z-]+)*)\s+)?"
    r"(?P<decisions>[a-z]+\d?-[A-Z]?\d\w*(?:,[a-z]+\d?-[A-Z]?\d\w*)*)\s+#\s*(?P<reason>\S.*)"
)


class InvalidLine(Exception):
    """The message has the line and the error."""


class Deviation(NamedTuple):
    text: str
    kind: str
    path: tuple
    direction: str
    conditions: tuple


def load(path, functions=conditions):
    """The lines of a file. `functions` is the module of their conditions."""
    with open(path, encoding="utf-8") as file:
        lines = [(number, line.strip()) for number, line in enumerate(file, 1)]
    return [parsed_line(f"{path}:{number}", line, functions) for number, line in lines if line and not line.startswith("#")]


def parsed_line(where, line, functions=conditions):
    """Parses one line. `where` is its position for the message of an InvalidLine."""
    match = LINE.fullmatch(line)
    if match is None:
        raise InvalidLine(f"{where}: must be KIND PATH DIRECTION [CONDITION] DECISION # reason: {line}")
    if "*" in match["kind"] or set(match["path"]) <= set("*.[]"):
        raise InvalidLine(f"{where}: kind and path may not consist of stars only: {line}")
    names = (match["conditions"] or "").split(",") if match["conditions"] else []
    unknown = [name for name in names if not hasattr(functions, name.replace("-", "_"))]
    if unknown:
        raise InvalidLine(f"{where}: no such condition: {', '.join(unknown)}")
    found = tuple(getattr(functions, name.replace("-", "_")) for name in names)
    return Deviation(line, match["kind"], parsed(match["path"]), match["direction"], found)


def met(context, deviations):
    """The deviations that match a difference."""
    views = _views(context)
    return [
        deviation
        for deviation in deviations
        if deviation.direction == context.found.direction
        and any(kind == deviation.kind and _matches(path, deviation.path) for kind, path in views)
        and all(holds(context) for holds in deviation.conditions)
    ]


def _views(context):
    """The (kind, path) pairs by which a line may name a difference."""
    found = context.found
    views = [(found.kind, found.path)]
    template = context.template_path()
    if template:
        path = _with_main(template, context.main_container.get("name"))
        views += [("Pod", path), (f"Pod/{found.kind}", path)]
    return views


def _with_main(path, name):
    if name and path[:2] == ("spec", "containers") and path[2:3] == (f"[{name}]",):
        return (*path[:2], "[main]", *path[3:])
    return path


def _matches(path, pattern):
    return len(path) == len(pattern) and all(
        fnmatch.fnmatchcase(segment, wanted.replace("[", "[[]")) for segment, wanted in zip(path, pattern)
    )
