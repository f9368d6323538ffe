"""Generates pods with every field of the pod schema, for test_pod_rules_generated.py.

A draw is a field of the schema (a path from the template down) and a value. A pod has one or two draws.
"""

import copy
import json
import pathlib

from pod_rules_values import BASES, OF_TYPE, POD, RELATED, VALUES

ROOT = pathlib.Path(__file__).resolve().parents[2]
TYPES = json.loads((ROOT / "common/schema/k8s/types.json").read_text(encoding="utf-8"))["types"]
# Types that are always rejected, so their fields are never validated.
CLOSED = {"EphemeralContainer"}


def shape(field):
    """(name of the type or of a JSON type, whether it is a list)"""
    if "$ref" in field:
        return field["$ref"], False
    if field["type"] == "array":
        return shape(field["items"])[0], True
    return ("map" if "additionalProperties" in field else field["type"]), False


def is_object(name):
    return name in TYPES and "properties" in TYPES[name]


def values(owner, name):
    """The values for a field; empty for a field that only has members."""
    key = f"{owner}.{name}"
    if key in VALUES:
        return VALUES[key]
    kind, many = shape(TYPES[owner]["properties"][name])
    if is_object(kind):
        return []
    return OF_TYPE["strings" if many else kind]


def places(owner="PodTemplateSpec", path=()):
    """Every field as (path, owner, name)."""
    for name, field in TYPES[owner]["properties"].items():
        kind, _ = shape(field)
        yield (*path, name), owner, name
        if is_object(kind) and kind not in CLOSED:
            yield from places(kind, (*path, name))


def put(template, path, value):
    """Sets the value with minimal parents. Lists get one more item, which two draws inside of the list share."""
    here, owner = template, "PodTemplateSpec"
    for depth, name in enumerate(path[:-1]):
        kind, many = shape(TYPES[owner]["properties"][name])
        owner = kind
        if not many:
            here = here.setdefault(name, copy.deepcopy(BASES.get(kind, {})))
            continue
        items = here.setdefault(name, [])
        if path[: depth + 1] == ("spec", "containers"):
            if not items:
                items.append(copy.deepcopy(POD["containers"][0]))
            here = items[0]
            continue
        # Draws at one field share an item. Volumes of two types are two volumes.
        mark = f"x-{path[depth + 1].lower()}" if kind == "Volume" else None
        found = [item for item in items if isinstance(item, dict) and (mark is None and id(item) in template["fresh"]
                                                                      or mark and item.get("name") == mark)]
        if found:
            here = found[0]
            continue
        here = copy.deepcopy(BASES.get(kind, {}))
        if mark:
            here["name"] = mark
        items.append(here)
        template["fresh"].add(id(here))
    here[path[-1]] = copy.deepcopy(value)


def row(draws):
    """A row in the form of pod-rules-cases.json."""
    template = {"fresh": set(), "spec": copy.deepcopy(POD)}
    for path, value in draws:
        put(template, path, value)
    del template["fresh"]
    return {"name": "; ".join(f"{'.'.join(path)}={json.dumps(value)[:60]}" for path, value in draws), "template": template}


class Drawer:
    """Random draws with a seed."""

    def __init__(self, random):
        self.random = random
        self.places = {}
        for path, owner, name in places():
            if values(owner, name):
                self.places.setdefault(f"{owner}.{name}", []).append(path)
        self.owners = {}
        for field in self.places:
            self.owners.setdefault(field.split(".")[0], []).append(field)
        self.related = [[field for one in group for field in ([one] if "." in one else self.owners[one])]
                        for group in RELATED]

    def one(self, field):
        owner, name = field.split(".")
        return self.random.choice(self.places[field]), self.random.choice(values(owner, name))

    def singles(self):
        """Every value of every field once, each at a random path of the field."""
        for field, paths in self.places.items():
            for value in values(*field.split(".")):
                yield [(self.random.choice(paths), value)]

    def everywhere(self):
        """Every value at every path."""
        for field, paths in self.places.items():
            for path in paths:
                for value in values(*field.split(".")):
                    yield [(path, value)]

    def pair(self):
        """Two fields: of one object, of a group of related fields, or any two."""
        kind = self.random.randrange(3)
        if kind == 0:
            field = self.random.choice(sorted(self.places))
            owner = field.split(".")[0]
            path, value = self.one(field)
            other = self.random.choice(self.owners[owner])
            return [(path, value), ((*path[:-1], other.split(".")[1]), self.random.choice(values(*other.split("."))))]
        pool = self.random.choice(self.related) if kind == 1 else sorted(self.places)
        return [self.one(self.random.choice(pool)) for _ in range(2)]
