"""Generates wrong and contradictory changes of an object from the schema in its CRD: for each field, values of its type that
make little sense, its removal, and a value of another type.

The parents of a field that the object does not set are created with their required fields. Lists get an additional item."""

import copy
import functools
from dataclasses import dataclass

import yaml

from misuse_samples import ALTERNATIVES, CLOSED, KEYS, needed_of, sample_text
from operator_plane import ROOT

LONG = "a" * 300
INT32, INT64 = 2**31 - 1, 2**63 - 1
PLURALS = {
    "DynamoGraphDeployment": "dynamographdeployments",
    "DynamoComponentDeployment": "dynamocomponentdeployments",
    "DynamoGraphDeploymentRequest": "dynamographdeploymentrequests",
    "DynamoModel": "dynamomodels",
    "DynamoCheckpoint": "dynamocheckpoints",
}


class REMOVED:  # noqa: N801  (a value; copies of a class are the class itself)
    """The value of a field that is absent."""


@dataclass(frozen=True)
class Change:
    """`path`: keys and indices from `spec` on. `typed`: whether the value has the type of the schema."""

    path: tuple
    field: str  # the path in the schema, without names and indices
    value: object
    typed: bool = True
    above: tuple = ()  # parents that are created first: (path, value)

    def __str__(self):
        shown = "removed" if self.value is REMOVED else repr(self.value)
        return f"{text_of(self.path)} = {shown if len(shown) < 120 else shown[:100] + '...'}"

    def applied(self, manifest):
        changed = copy.deepcopy(manifest)
        for path, value in self.above:
            put(changed, path, copy.deepcopy(value))
        put(changed, self.path, copy.deepcopy(self.value))
        return changed


def text_of(path):
    """The path as in the messages of the API server for a list, with dots for members."""
    return "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in path).lstrip(".")


def put(document, path, value):
    """Sets or removes the value. An index that is the length of the list appends."""
    for key in path[:-1]:
        document = document[key]
    last = path[-1]
    if isinstance(document, list):
        if value is REMOVED:
            del document[last]
        elif last == len(document):
            document.append(value)
        else:
            document[last] = value
    elif value is REMOVED:
        document.pop(last, None)
    else:
        document[last] = value


@functools.cache
def schema_of(kind, version):
    """The schema of the spec of a kind in a version of its API."""
    text = (ROOT / f"deploy/crds/nvidia.com_{PLURALS[kind]}.yaml").read_text(encoding="utf-8")
    crd = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    found = next(one for one in crd["spec"]["versions"] if one["name"] == version)
    return found["schema"]["openAPIV3Schema"]["properties"]["spec"]


def type_of(schema):
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity" if "pattern" in schema else "int-or-string"
    if isinstance(schema.get("additionalProperties"), dict):
        return "map"
    return schema.get("type", "any")


def sample(schema, name="", owner=""):
    """A plausible value of the field `name`. `owner`: the field whose object it belongs to."""
    kind = type_of(schema)
    if kind == "object":
        return {one: sample(schema["properties"][one], one, name) for one in needed_of(name, schema)}
    if kind == "array":
        return [sample(schema["items"], name, owner)]
    if kind == "map":
        return {KEYS.get(name, "extra"): sample(schema["additionalProperties"], "extra", name)}
    if kind == "string":
        return schema["enum"][0] if "enum" in schema else sample_text(name, owner)
    return {"integer": 1, "number": 1, "boolean": True, "quantity": "1", "int-or-string": 8080}.get(kind, {})


def values_of(schema, name, owner, present, old):
    """Values of the type of the schema for a field that has the value `old` if it is present."""
    kind = type_of(schema)
    if "enum" in schema:
        return [one for one in schema["enum"] if one != old] + ["", "NoSuchValue"]
    if kind == "string":
        return ["", "No Such_thing!", "no-such-name", LONG]
    if kind == "integer":
        return [-1, 0, 1, INT64 if schema.get("format") != "int32" else INT32, -INT32]
    if kind == "number":
        return [-1, 0, 1e300]
    if kind == "boolean":
        return [one for one in (True, False) if not present or one != old]
    if kind == "quantity":
        return ["0", "-1", "1e30", "", "many", 1]
    if kind == "int-or-string":
        return [0, -1, 70000, "", "no-such-port", "50%", LONG]
    if kind == "map":
        item = sample(schema["additionalProperties"], "extra", name)
        return [{}, {"Bad key!": item}, {"": item}, {LONG: item}] + ([{**old, "extra": item}] if present else [{"extra": item}])
    if kind == "array":
        item = sample(schema["items"], name, owner)
        return [[], [*old, old[0]], [*old, item], old[1:]] if present and old else [[], [item], [item, item]]
    if kind == "object":
        return [{}, sample(schema, name, owner)]
    return [{}, [], "text", 1]


def wrong_types(schema):
    kind = type_of(schema)
    if kind == "any":
        return []
    wrong = {"string": [1, {}], "integer": ["1", 1.5], "number": ["1"], "boolean": ["true", 1], "array": [{}, "x"]}
    wrong |= {"object": [[], "x"], "map": [[], "x"], "quantity": [[], True], "int-or-string": [{}, 1.5]}
    found = wrong[kind]
    return [*found, INT32 + 1] if schema.get("format") == "int32" else found


def changes(manifest, only=lambda path: True):
    """All changes of the object, in the order of the schema. `only(path)`: whether the field at the path is changed."""
    found = []

    def visit(schema, path, field, value, above):
        """`value`: the value at the path, REMOVED if there is none; `above`: see Change."""
        present = value is not REMOVED
        names = [key for key in path if not isinstance(key, int)]
        name, owner = names[-1], names[-2] if len(names) > 1 else ""
        if len(path) > 1 and only(path):
            for one in values_of(schema, name, owner, present, value):
                found.append(Change(path, field, one, True, above))
            if present:
                found.append(Change(path, field, REMOVED, True, above))
            found.append(Change(path, field, None, True, above))
            found.extend(Change(path, field, one, False, above) for one in wrong_types(schema))
        if not present:
            value = sample(schema, name, owner)
            above = (*above, *((sibling, REMOVED) for sibling in siblings(path)), (path, value))
        kind = type_of(schema)
        if name in CLOSED:
            return
        if kind == "object":
            for key, inner in sorted(schema.get("properties", {}).items()):
                visit(inner, (*path, key), f"{field}.{key}", value.get(key, REMOVED), above)
        elif kind == "map":
            for key in value:
                visit(schema["additionalProperties"], (*path, key), f"{field}{{}}", value[key], above)
        elif kind == "array":
            visit_items(schema["items"], path, f"{field}[]", value, above)

    def visit_items(schema, path, field, value, above):
        """The fields that the first item sets are changed there, others in a new item."""
        if type_of(schema) != "object":
            if value:
                visit(schema, (*path, 0), field, value[0], above)
            return
        extra = sample(schema, str(path[-1]))
        first = value[0] if value else {}
        at = len(value) if value and value[0] != extra else 0
        more = above if at == 0 else (*above, ((*path, at), extra))
        for key, inner in sorted(schema.get("properties", {}).items()):
            if key in first:
                visit(inner, (*path, 0, key), f"{field}.{key}", first[key], above)
            else:
                visit(inner, (*path, at, key), f"{field}.{key}", extra.get(key, REMOVED), more)

    version = manifest["apiVersion"].rpartition("/")[2]
    visit(schema_of(manifest["kind"], version), ("spec",), "spec", manifest["spec"], ())
    return found


def siblings(path):
    """Fields that exclude the field at the path."""
    for members in ALTERNATIVES.values():
        if path[-1] in members and len(path) > 2:
            return [(*path[:-1], one) for one in members if one != path[-1]]
    return []
