"""The differences between two recordings of one input, value by value.

A path is a tuple of segments: `spec`, `template`, `[main]`. Segments in brackets are elements of a list (by name, mount
path, port or position) and keys of maps (`[nvidia.com/selector]`).
"""

import re
from typing import NamedTuple

ORDER = "[order]"  # the path's last segment where two lists hold the same elements in another order
UNORDERED = {("cliques",), ("podCliqueScalingGroups",)}  # ends of paths; their order is random in the reference
# Compared member by member even if one side is absent, so that each missing member is reported by name.
OPEN_MAPS = {"labels", "annotations", "resources", "limits", "requests"}
KEYED_BY_USERS = {"labels", "annotations", "limits", "requests", "selector", "matchLabels", "nodeSelector", "data"}
OPEN_LISTS = {"env", "imagePullSecrets", "initContainers", "volumeMounts", "volumes"}


class Absent:
    """The placeholder for a value that one side lacks."""

    def __repr__(self):
        return "<absent>"


ABSENT = Absent()


class Difference(NamedTuple):
    case: str
    kind: str  # of the child; "admission" for the decision on the input
    name: str
    path: tuple  # empty: the whole child
    theirs: object
    ours: object

    @property
    def direction(self):
        """ours: only on our side; theirs: only on their side; changed: on both sides with different values."""
        if self.theirs is ABSENT:
            return "ours"
        return "theirs" if self.ours is ABSENT else "changed"


def written(path):
    """A path as text; `-` for the whole child."""
    text = "".join(segment if segment.startswith("[") else f".{segment}" for segment in path)
    return text.removeprefix(".") or "-"


def parsed(text):
    """The opposite of written()."""
    return () if text == "-" else tuple(re.findall(r"\[[^\]]*\]|[^.\[]+", text))


def differences(theirs, ours, path=()):
    """(path, their value, our value) of all differences."""
    if path and path[-1] in OPEN_MAPS:
        theirs, ours = ({} if side is ABSENT else side for side in (theirs, ours))
    if path and path[-1] in OPEN_LISTS:
        theirs, ours = ([] if side is ABSENT else side for side in (theirs, ours))
    if type(theirs) is not type(ours):
        yield path, theirs, ours
    elif isinstance(theirs, dict):
        yield from _of_members(theirs, ours, path, _element if path and path[-1] in KEYED_BY_USERS else _member)
    elif isinstance(theirs, list):
        yield from _of_lists(theirs, ours, path)
    elif theirs != ours:
        yield path, theirs, ours


def _of_members(theirs, ours, path, segment):
    for key in sorted(theirs.keys() | ours.keys()):
        yield from differences(theirs.get(key, ABSENT), ours.get(key, ABSENT), (*path, segment(key)))


def _of_lists(theirs, ours, path):
    their_keys, our_keys = ([_key(item) for item in side] for side in (theirs, ours))
    if _are_unique(their_keys) and _are_unique(our_keys):
        yield from _of_members(dict(zip(their_keys, theirs)), dict(zip(our_keys, ours)), path, _element)
        # Even if one side has more elements, the common ones must have the same order.
        common = [
            [key for key in keys if key in others] for keys, others in ((their_keys, our_keys), (our_keys, their_keys))
        ]
        if common[0] != common[1] and path[-1:] not in UNORDERED:
            yield (*path, ORDER), *common
    elif len(theirs) != len(ours):
        yield path, theirs, ours
    else:
        for i, pair in enumerate(zip(theirs, ours)):
            yield from differences(*pair, (*path, _element(i)))


def _key(item):
    """The key of an element of a list as text; None if it is identified by its position."""
    if not isinstance(item, dict):
        return None
    key = item.get("name") or item.get("mountPath") or item.get("containerPort")
    return None if key is None else str(key)


def _are_unique(keys):
    return None not in keys and len(set(keys)) == len(keys)


def _member(key):
    return key if re.fullmatch(r"\w+", key) else f"[{key}]"


def _element(key):
    return f"[{key}]"
