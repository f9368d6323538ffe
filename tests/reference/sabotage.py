"""Tests whether the comparison detects random single changes in our recorded children.

A change is one of: a changed or dropped leaf, a dropped, duplicated or moved element of a list, an added key, a missing or
added child, all children of a kind missing, another service account, another value of a label, `env: []`, other args.
The seed is fixed, so every run makes the same changes to the same recordings.

Parts that the comparison ignores on purpose (folding.py) are not changed: specs of custom resources that the operator
creates, bookkeeping annotations, the script that waits for a leader, the order of cliques and scaling groups, and empty
values, which count as absent. Worker hashes are compared.
"""

import collections
import copy
import json
import pathlib
import random
from typing import NamedTuple

import compare
import folding

SEED = 20_261_123
NAME = "sabotage"
LEAF, DROPPED = "leaf changed", "leaf dropped"
# Kind of change -> relative frequency.
KINDS = {
    LEAF: 8,
    DROPPED: 5,
    "element dropped": 3,
    "element doubled": 2,
    "elements moved": 2,
    "key added": 3,
    "child missing": 3,
    "child added": 2,
    "all of a kind missing": 1,
    "service account": 2,
    "label": 2,
    "no variables": 1,
    "arguments": 2,
}


class Score(NamedTuple):
    changes: int
    noticed: int  # with the ledger
    without_ledger: int
    unnoticed: list  # (case, change), with the ledger


class Location(NamedTuple):
    """The location of a value in a child: its container and key."""

    path: tuple
    holder: object
    key: object

    @property
    def value(self):
        return self.holder[self.key]


def run(theirs, ours, lines, ledger, changes, seed=SEED, form=folding):
    """The Score of `changes` changes to the recordings in the folder `ours`, compared with the reference's files `theirs`.
    `form` is the module that reads them."""
    chance = random.Random(seed)
    golden = {path.stem: form.read(path, hashes=True) for path in theirs}
    dumps = {case: json.loads(pathlib.Path(ours, f"{case}.json").read_text(encoding="utf-8")) for case in sorted(golden)}
    by_case = collections.defaultdict(collections.Counter)
    for line, count in ledger.items():
        by_case[line.split("\t")[0]][line] += count
    cases = [case for case, dump in dumps.items() if form.compared_objects(dump) and golden[case].admitted]
    noticed = bare = 0
    unnoticed = []
    for _ in range(changes):
        case, dump, what = _changed(dumps, cases, chance, form)
        changed = form.recording(dump, hashes=True)
        told = []
        for held_against in (by_case[case], None):
            comparison = compare.Comparison(lines, held_against)
            comparison.add(golden[case], changed)
            told.append(comparison.noticed())
        noticed += told[0]
        bare += told[1]
        if not told[0]:
            unnoticed.append((case, what))
    return Score(changes, noticed, bare, unnoticed)


def _changed(dumps, cases, chance, form):
    """(case, its dump with one change, description of the change)"""
    while True:
        case = chance.choice(cases)
        dump = copy.deepcopy(dumps[case])
        kind = chance.choices(list(KINDS), KINDS.values())[0]
        if what := CHANGES[kind](dump, chance, form):
            return case, dump, f"{kind}: {what}"


def _child(dump, chance, form):
    return chance.choice(form.compared_objects(dump))


def _label(child):
    return f"{child['kind']} {child['metadata']['name']}"


def _places(child, form):
    """All compared locations of a child."""
    for path, holder, key in form.compared_parts(child):
        yield from _below(holder[key], path, holder, key, form)


def _below(value, path, holder, key, form):
    yield Location(path, holder, key)
    members = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    waits = isinstance(value, dict) and value.get("name") == folding.LEADER_WAIT
    for name, member in members:
        if not (waits and name == "command") and not form.is_ignored((*path, name)):
            yield from _below(member, (*path, name), value, name, form)


def _leaves(child, form):
    return [place for place in _places(child, form) if not isinstance(place.value, (dict, list)) and place.value not in (None, "")]


def _lists(child, least, form):
    return [place for place in _places(child, form) if isinstance(place.value, list) and len(place.value) >= least]


def _other(value):
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, (int, float)) else value + f"-{NAME}"


def _at(child, place):
    return f"{_label(child)} {'.'.join(map(str, place.path))}"


def _change_leaf(dump, chance, form):
    child = _child(dump, chance, form)
    leaves = _leaves(child, form)
    if not leaves:
        return None
    place = chance.choice(leaves)
    place.holder[place.key] = _other(place.value)
    return _at(child, place)


def _drop_leaf(dump, chance, form):
    child = _child(dump, chance, form)
    leaves = [place for place in _leaves(child, form) if place.path not in (("kind",), ("metadata", "name"))]
    if not leaves:
        return None
    place = chance.choice(leaves)
    del place.holder[place.key]
    return _at(child, place)


def _drop_element(dump, chance, form):
    child = _child(dump, chance, form)
    lists = _lists(child, 1, form)
    if not lists:
        return None
    place = chance.choice(lists)
    place.value.pop(chance.randrange(len(place.value)))
    return _at(child, place)


def _double_element(dump, chance, form):
    child = _child(dump, chance, form)
    lists = _lists(child, 1, form)
    if not lists:
        return None
    place = chance.choice(lists)
    i = chance.randrange(len(place.value))
    place.value.insert(i, copy.deepcopy(place.value[i]))
    return _at(child, place)


def _move_elements(dump, chance, form):
    child = _child(dump, chance, form)
    lists = [place for place in _lists(child, 2, form) if not form.is_unordered(place.path)]
    if not lists:
        return None
    place = chance.choice(lists)
    before = list(place.value)
    chance.shuffle(place.value)
    return _at(child, place) if place.value != before else None


def _add_key(dump, chance, form):
    child = _child(dump, chance, form)
    maps = [place for place in _places(child, form) if isinstance(place.value, dict)]
    if not maps:
        return None
    place = chance.choice(maps)
    place.value[NAME] = NAME
    return _at(child, place)


def _lose_child(dump, chance, form):
    child = _child(dump, chance, form)
    dump["objects"].remove(child)
    return _label(child)


def _add_child(dump, chance, form):
    child = copy.deepcopy(_child(dump, chance, form))
    child["metadata"]["name"] += f"-{NAME}"
    dump["objects"].append(child)
    return _label(child)


def _lose_kind(dump, chance, form):
    kind = _child(dump, chance, form)["kind"]
    dump["objects"] = [item for item in dump["objects"] if item["kind"] != kind]
    return kind


def _change_places(dump, chance, form, wanted, change):
    """Changes one location of the whole case that `wanted` accepts."""
    found = [(child, place) for child in form.compared_objects(dump) for place in _places(child, form) if wanted(child, place)]
    if not found:
        return None
    child, place = chance.choice(found)
    place.holder[place.key] = change(place.value)
    return _at(child, place)


def _change_account(dump, chance, form):
    return _change_places(
        dump, chance, form, lambda _, place: place.path[-1] in ("serviceAccountName", "serviceAccount"), lambda _: NAME
    )


def _change_label(dump, chance, form):
    return _change_places(dump, chance, form, lambda _, place: len(place.path) > 1 and place.path[-2] == "labels", lambda _: NAME)


def _lose_variables(dump, chance, form):
    return _change_places(dump, chance, form, lambda _, place: place.path[-1] == "env" and bool(place.value), lambda _: [])


def _change_arguments(dump, chance, form):
    kinds = ("LeaderWorkerSet", "PodCliqueSet")
    return _change_places(
        dump, chance, form, lambda child, place: child["kind"] in kinds and place.path[-1] == "args", lambda _: [NAME]
    )


CHANGES = {
    LEAF: _change_leaf,
    DROPPED: _drop_leaf,
    "element dropped": _drop_element,
    "element doubled": _double_element,
    "elements moved": _move_elements,
    "key added": _add_key,
    "child missing": _lose_child,
    "child added": _add_child,
    "all of a kind missing": _lose_kind,
    "service account": _change_account,
    "label": _change_label,
    "no variables": _lose_variables,
    "arguments": _change_arguments,
}
