"""Reads a recording and removes the parts that are not compared.

Folded or left out, because they are random, wording or written by another program:
- the user's custom resources; of the operator's ones all but name, labels, owners, and an adapter's spec;
- claims and ConfigMaps of the input;
- empty values, which count as absent, except for values like `emptyDir: {}`;
- bookkeeping annotations of the reference;
- the component that owns a Service of a model in the reference, which is the first one by chance;
- the script that waits for the leader, except for host and port; messages of the wait for DNS; the quoting of YAML in a
  ConfigMap;
- worker hashes, which become HASH unless they are compared.
"""

import json
import re
from typing import NamedTuple

import yaml

from differences import UNORDERED

CUSTOM = {
    "DynamoGraphDeployment",
    "DynamoComponentDeployment",
    "DynamoGraphDeploymentRequest",
    "DynamoModel",
    "DynamoCheckpoint",
    "DynamoGraphDeploymentScalingAdapter",
}
HASH_LABEL = "nvidia.com/dynamo-worker-hash"
BOOKKEEPING = ("nvidia.com/last-applied-hash", "nvidia.com/last-applied-generation")
MANAGED_BY = "app.kubernetes.io/managed-by"
KEPT_EMPTY = {"emptyDir", "securityContext"}  # there an empty map says something
MPI_SECRET = ("Secret", "mpi-run-ssh-secret")
LEADER_WAIT = "wait-for-leader-mp"
LEADER_PORT = "29500"
FIRST_COME = "ANY"


class Recording(NamedTuple):
    case: str
    admitted: bool
    failed: bool  # admitted, but its status has a failure
    children: dict  # (kind, name) -> the child, folded
    messages: list  # kubectl's output for denied objects
    refused: list  # children that the API server rejected
    manifests: list  # custom resources as the user wrote them, or as stored if only that is recorded
    live: bool  # created by a running controller, not rendered
    failures: dict  # name of a graph or component -> the operator's error
    hashes: frozenset
    answers: dict = {}  # of requests: Kind/name -> where the document was denied (folding_requests.py)


def read(path, hashes=False):
    with open(path, encoding="utf-8") as file:
        return recording(json.load(file), hashes)


def recording(dump, hashes=False):
    """The recording of a dump of record.py or record_render.py. `hashes`: worker hashes are compared, too."""
    seen = worker_hashes(dump["objects"])
    objects = json.loads(without_hashes(json.dumps(dump["objects"]), () if hashes else seen))
    custom = [item for item in objects if item["kind"] in CUSTOM]
    return Recording(
        case=dump["case"],
        admitted=all(answer["ok"] for answer in dump["apply"] if answer["kind"].startswith("Dynamo")),
        failed=any(_tells_of_failure(condition) for item in custom for condition in _conditions(item)),
        children={(item["kind"], item["metadata"]["name"]): prune(folded(item)) for item in objects if is_child(item)},
        messages=[answer["message"] for answer in dump["apply"] if not answer["ok"]],
        refused=dump.get("refused", []),
        manifests=dump.get("input") or [item for item in custom if not item["metadata"].get("ownerReferences")],
        live=dump.get("live", False),
        failures={
            item["metadata"]["name"]: condition.get("message", "")
            for item in custom
            for condition in _conditions(item)
            if condition.get("message", "").lower().startswith("failed to reconcile")
        },
        hashes=frozenset(seen),
    )


def without_hashes(text, hashes):
    for value in sorted(hashes, key=len, reverse=True):
        text = text.replace(value, "HASH")
    return text


def worker_hashes(objects):
    """The hashes in labels, or in the name of an owner if the sibling with the label could not be created."""
    found = set()
    for item in objects:
        spec = item.get("spec")
        template = spec.get("template") if isinstance(spec, dict) else None
        for holder in (item, template if isinstance(template, dict) else {}):
            found.add(((holder.get("metadata") or {}).get("labels") or {}).get(HASH_LABEL))
        for owner in item["metadata"].get("ownerReferences") or []:
            suffix = (
                re.search(r"-([0-9a-f]{8})$", owner.get("name", ""))
                if owner.get("kind") == "DynamoComponentDeployment"
                else None
            )
            found.add(suffix and suffix[1])
    return {value for value in found if value and re.fullmatch(r"[0-9a-f]{8}", value)}


def is_child(item):
    return item["kind"] not in CUSTOM or bool(item["metadata"].get("ownerReferences"))


def is_foreign(child):
    """Whether the object belongs to the input: it has no owner and no managing operator."""
    metadata = child["metadata"]
    return not metadata.get("ownerReferences") and (metadata.get("labels") or {}).get(MANAGED_BY) != "dynamo-operator"


def compared_objects(dump):
    """The objects of a dump that are compared."""
    return [item for item in dump["objects"] if is_child(item) and not is_foreign(item)]


def compared_parts(item):
    """(path, holder, key) of the parts of an object that are compared."""
    if item["kind"] not in CUSTOM:
        yield from (((key,), item, key) for key in item)
        return
    metadata = item["metadata"]
    yield from ((("metadata", key), metadata, key) for key in ("labels", "ownerReferences") if metadata.get(key))
    if item["kind"] == "DynamoGraphDeploymentScalingAdapter":
        yield ("spec",), item, "spec"


def is_ignored(path):
    """Whether the value at this path is not compared, although its part is."""
    return path[-1] in BOOKKEEPING


def is_unordered(path):
    """Whether the order of the list at this path is not compared."""
    return path[-1:] in UNORDERED


def _conditions(item):
    return (item.get("status") or {}).get("conditions") or []


def _tells_of_failure(condition):
    text = condition.get("reason", "") + condition.get("message", "")
    return "fail" in text.lower() and condition.get("status") != "True"


def folded(item):
    if item["kind"] in CUSTOM:
        return made(item)
    metadata = item["metadata"]
    for key in BOOKKEEPING:
        (metadata.get("annotations") or {}).pop(key, None)
    if item["kind"] == "Service" and metadata["name"].startswith("dynamo-model-"):
        for owner in metadata.get("ownerReferences") or []:
            if owner.get("kind") == "DynamoComponentDeployment":
                owner["name"] = FIRST_COME
    if item["kind"] == "ConfigMap":
        item["data"] = {key: _meaning(text) for key, text in (item.get("data") or {}).items()}
    fold_scripts(item)
    return item


def made(item):
    """What is compared of a custom resource that the operator creates."""
    metadata = item["metadata"]
    kept = {"kind": item["kind"], "metadata": {key: metadata.get(key) for key in ("name", "labels", "ownerReferences")}}
    if item["kind"] == "DynamoGraphDeploymentScalingAdapter":
        kept["spec"] = item.get("spec")
    return kept


def _meaning(text):
    """The value of a YAML text; any other text unchanged."""
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def fold_scripts(value):
    """Reduces the scripts in `value` to the hosts and ports that they wait for."""
    if isinstance(value, dict):
        command = value.get("command")
        if (
            value.get("name") == LEADER_WAIT
            and isinstance(command, list)
            and len(command) == 3
            and isinstance(command[2], str)
        ):
            hosts = sorted(set(re.findall(r"\$[^\"'\s,\\]+", command[2])))
            command[2] = " ".join(["SCRIPT", *hosts, *re.findall(rf"\b{LEADER_PORT}\b", command[2])[:1]])
        for member in value.values():
            fold_scripts(member)
    elif isinstance(value, list):
        for i, element in enumerate(value):
            if isinstance(element, str) and "getent hosts" in element:
                value[i] = re.sub(r"echo (\"[^\"]*\"|'[^']*')(?=;| &&)", "echo MSG", element)
            else:
                fold_scripts(element)


def prune(value, kept_empty=KEPT_EMPTY):
    """The value without empty members."""
    if isinstance(value, dict):
        members = {key: prune(member, kept_empty) for key, member in value.items()}
        return {key: member for key, member in members.items() if _says_something(key, member, kept_empty)}
    return [prune(element, kept_empty) for element in value] if isinstance(value, list) else value


def _says_something(key, value, kept_empty):
    return value is not None and value != "" and (value not in ({}, []) or key in kept_empty)
