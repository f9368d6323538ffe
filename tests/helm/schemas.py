"""JSON schemas for kubeconform, made from what a running API server publishes. They are strict: a field that the server does not know
is an error."""

import json

DEFINITIONS = "definitions.json"
EITHER = {"anyOf": [{"type": "string"}, {"type": "integer"}]}
# Definitions whose published type is a text, but which are also numbers.
NUMBERS = ("io.k8s.apimachinery.pkg.api.resource.Quantity", "io.k8s.apimachinery.pkg.util.intstr.IntOrString")
TEMPLATE = "{{.ResourceKind}}{{.KindSuffix}}.json"


def write(cluster, folder):
    """Writes the schemas into `folder` and returns the pattern by which kubeconform finds them, and the number of kinds."""
    definitions = cluster.api("GET", "/openapi/v2")["definitions"]
    strict = {name: EITHER if name in NUMBERS else _strict(schema) for name, schema in definitions.items()}
    (folder / DEFINITIONS).write_text(json.dumps({"definitions": strict}), encoding="utf-8")
    count = 0
    for name, schema in definitions.items():
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            if kind["kind"] in ("DeleteOptions", "WatchEvent"):
                continue
            group = kind["group"].partition(".")[0]
            parts = [part.lower() for part in (kind["kind"], group, kind["version"]) if part]
            reference = {"$ref": f"{DEFINITIONS}#/definitions/{name}"}
            (folder / ("-".join(parts) + ".json")).write_text(json.dumps(reference), encoding="utf-8")
            count += 1
    return str(folder / TEMPLATE), count


def _strict(schema):
    """The schema without fields that are not named, where it names fields."""
    if schema.get("x-kubernetes-int-or-string") or schema.get("format") == "int-or-string":
        return EITHER
    made = dict(schema)
    if "$ref" in made:
        made["$ref"] = f"{DEFINITIONS}{made['$ref']}"
    if "properties" in made:
        made["properties"] = {name: _strict(one) for name, one in made["properties"].items()}
        if not made.get("x-kubernetes-preserve-unknown-fields"):
            made.setdefault("additionalProperties", False)
    for member in ("items", "additionalProperties"):
        if isinstance(made.get(member), dict):
            made[member] = _strict(made[member])
    return made
