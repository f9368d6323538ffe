"""Reads a recording of requests, checkpoints and models. The custom resources themselves are its result, so they are compared
with labels, annotations, finalizers, spec and status, and so is every other object.

Folded or left out besides what folding.py tells:
- messages of conditions and statuses: whether there is one, but not while a checkpoint is created. Times: whether there is one;
- the observedGeneration of a condition: `current` if it is that of the status;
- the order of conditions (by type) and of the endpoints of a model (by address);
- the quoting of JSON and YAML in annotations and in the configuration of a profiler. Data of ConfigMaps counts verbatim;
- components and adapters, as in folding.py.
"""

import json
import re

import yaml

import folding

MADE = ("DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter")
YAML_TEXTS = ("nvidia.com/generated-dgd-spec", "dgdr.nvidia.com/additional-resources")
# An empty map in one of these says something to a profiler.
KEPT_EMPTY = folding.KEPT_EMPTY | {"planner", "mocker", "features", "sla", "workload", "modelCache", "hardware", "overrides"}
FIELD = re.compile(r"\b((?:spec|metadata)(?:[.\[][\w.\[\]/-]*)?)")
PROFILER = "profiler"


class PlainLoader(yaml.SafeLoader):
    """Loads dates as text, as Kubernetes does."""


PlainLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read(path, hashes=False):
    with open(path, encoding="utf-8") as file:
        return recording(json.load(file), hashes)


def recording(dump, hashes=False):
    """The folding.Recording of a dump. Its children are all objects."""
    found = folding.recording(dump, hashes)
    seen = found.hashes if not hashes else ()
    objects = json.loads(folding.without_hashes(json.dumps(dump["objects"]), seen))
    return found._replace(
        failed=False,
        children={(item["kind"], item["metadata"]["name"]): folding.prune(_folded(item), KEPT_EMPTY) for item in objects},
        answers={f"{answer['kind']}/{answer['name']}": denied_at(answer) for answer in dump["apply"]},
    )


def denied_at(answer):
    """The path of the field that a denial names, `-` if it names none, None if the document was admitted."""
    if answer["ok"]:
        return None
    match = FIELD.search(answer["message"])
    return match[1].rstrip(".") if match else "-"


def compared_objects(dump):
    """The objects of a dump that are compared."""
    return dump["objects"]


def compared_parts(item):
    """(path, holder, key) of the parts of an object that are compared."""
    if item["kind"] in MADE:
        yield from folding.compared_parts(item)
        return
    yield from (((key,), item, key) for key in item)


def is_ignored(path):
    """Whether a change of the value at this path of a custom resource is ignored."""
    times = ("lastTransitionTime", "message")
    return path[-1] in folding.BOOKKEEPING or (path[0] == "status" and path[-1] in times)


def is_unordered(path):
    return folding.is_unordered(path) or path in (("status", "conditions"), ("status", "endpoints"))


def _folded(item):
    if item["kind"] in MADE:
        return folding.made(item)
    if item["kind"] in folding.CUSTOM:
        return _custom(item)
    if item["kind"] == "ConfigMap" and not item["metadata"]["name"].endswith("-epp-config"):
        return item
    if item["kind"] == "Job":
        _fold_profiler(item)
    return folding.folded(item)


def _custom(item):
    annotations = item["metadata"].get("annotations") or {}
    for key in folding.BOOKKEEPING:
        annotations.pop(key, None)
    for key, text in annotations.items():
        if key in YAML_TEXTS:
            annotations[key] = _yaml(text)
        elif str(text)[:1] in ("{", "["):
            annotations[key] = _json(text)
    if isinstance(item.get("status"), dict):
        _fold_status(item["status"])
    return item


def _fold_status(status):
    # Of a checkpoint that is being created it appears after a minute, and a recording may take longer.
    if status.pop("message", None) and status.get("phase") != "Creating":
        status["message"] = True
    conditions = status.get("conditions") or []
    for condition in conditions:
        condition.pop("message", None)
        if "lastTransitionTime" in condition:
            condition["lastTransitionTime"] = bool(condition["lastTransitionTime"])
        if "observedGeneration" in status and condition.get("observedGeneration") == status["observedGeneration"]:
            condition["observedGeneration"] = "current"
    status["conditions"] = _by(conditions, "type")
    status["endpoints"] = _by(status.get("endpoints") or [], "address")


def _by(items, member):
    """The list as a map by a member of its items; the list itself if that is not unique."""
    names = [item.get(member) for item in items if isinstance(item, dict)]
    is_map = all(names) and len(set(names)) == len(items)
    return dict(zip(names, items)) if is_map else items


def _fold_profiler(job):
    containers = [one for one in job["spec"]["template"]["spec"]["containers"] if one.get("name") == PROFILER]
    for arguments in (container.get("args") or [] for container in containers):
        for i in range(1, len(arguments)):
            if arguments[i - 1] == "--config":
                arguments[i] = _json(arguments[i])


def _json(text):
    try:
        return _plain(json.loads(text))
    except ValueError:
        return text


def _yaml(text):
    try:
        return _plain(list(yaml.load_all(text, PlainLoader)))
    except yaml.YAMLError:
        return text


def _plain(value):
    """The value with text as keys, and with integers for numbers without a fraction."""
    if isinstance(value, dict):
        return {key if isinstance(key, str) else json.dumps(key): _plain(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_plain(element) for element in value]
    whole = isinstance(value, float) and abs(value) < 1e15 and value == int(value)
    return int(value) if whole else value
