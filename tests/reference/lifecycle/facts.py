"""The parts of an object that a recording has."""

import copy
import json
import re

from kinds import CUSTOM, FORGET, HASH_LABEL, LONG, RESTART

FIRST_COME = "dynamo-model-"  # Services whose owner is chance in the reference


def facts_of(item, old, lost, pods_seen):
    """`old`: the object of this name after the previous step; `lost`: conditions that a lost race changed temporarily;
    `pods_seen`: names of all pods so far."""
    same = old is not None and old["metadata"]["uid"] == item["metadata"]["uid"]
    metadata = item["metadata"]
    facts = {"owner": _owners(item), "fresh": not same}
    if metadata.get("deletionTimestamp"):
        facts["deleting"] = True
    if metadata.get("finalizers"):
        facts["finalizers"] = metadata["finalizers"]
    facts["specMoved"] = same and _content(old) != _content(item)
    if item["kind"] not in CUSTOM:
        facts["metaMoved"] = same and _notes(old) != _notes(item)
        return {**facts, **_of_child(item)}
    facts["annotations"] = {key: "PRESENT" if key in LONG else value for key, value in _notes(item)[0].items()}
    facts["status"] = _status(item, old if same else None, lost, pods_seen)
    facts.update(_of_spec(item))
    if item["kind"] != "DynamoGraphDeploymentRequest":
        facts["labels"] = metadata.get("labels")
    return facts


def _owners(item):
    chance = item["kind"] == "Service" and item["metadata"]["name"].startswith(FIRST_COME)
    return sorted(
        f"{owner['kind']}/{'ANY' if chance else owner['name']}{'' if owner.get('controller') else ' (not controller)'}"
        for owner in item["metadata"].get("ownerReferences") or []
    )


def _content(item):
    around = ("metadata", "status", "kind", "apiVersion")
    return _by_name({key: value for key, value in item.items() if key not in around}, item["kind"])


def _notes(item):
    annotations = item["metadata"].get("annotations") or {}
    return {key: value for key, value in annotations.items() if key not in FORGET}, item["metadata"].get("labels") or {}


def _by_name(value, kind):
    """Sorts by name, because the reference orders Grove's cliques randomly."""
    if kind != "PodCliqueSet":
        return value
    if isinstance(value, dict):
        return {key: _by_name(member, kind) for key, member in value.items()}
    if not isinstance(value, list):
        return value
    elements = (_by_name(element, kind) for element in value)
    return sorted(elements, key=lambda element: element.get("name", "") if isinstance(element, dict) else "")


def _status(item, old, lost, pods_seen):
    kind, metadata = item["kind"], item["metadata"]
    status = copy.deepcopy(item.get("status") or {})
    conditions = status.get("conditions") or []
    before = ((old or {}).get("status") or {}).get("conditions") or []
    then = {condition["type"]: condition.get("lastTransitionTime") for condition in before}
    for condition in conditions:
        moved = then.get(condition["type"]) != condition.pop("lastTransitionTime", None)
        by_race = lost.get((kind, metadata["name"], condition["type"])) == {condition["status"]}
        condition["moved"] = moved and (kind == "DynamoGraphDeployment" or not by_race)
    for holder in (status, *conditions):  # the number of generations is random
        if "observedGeneration" in holder:
            holder["observedGeneration"] = "current" if holder["observedGeneration"] == metadata["generation"] else "behind"
    if kind == "DynamoGraphDeploymentScalingAdapter":
        status.pop("lastScaleTime", None)  # absent when the status update has lost a race
    if status.get("endpoints"):
        for endpoint in status["endpoints"] if kind == "DynamoModel" else []:
            if endpoint.get("podName") in pods_seen:
                endpoint["podName"] = re.sub(r"-[a-z0-9]+-[a-z0-9]{5}$", "-POD", endpoint["podName"])
                endpoint["address"] = re.sub(r"//[^/]*:", "//POD:", endpoint["address"])
        status["endpoints"].sort(key=lambda endpoint: json.dumps(endpoint, sort_keys=True))
    return status


def _of_spec(item):
    """The fields of a custom resource's spec that scale and restart it."""
    kind, spec = item["kind"], item.get("spec") or {}
    if kind == "DynamoGraphDeployment":
        replicas = {name: service.get("replicas") for name, service in (spec.get("services") or {}).items()}
        return {"spec": {"replicas": replicas, "restart": spec.get("restart")}}
    if kind == "DynamoComponentDeployment":
        main = (spec.get("extraPodSpec") or {}).get("mainContainer") or {}
        restart = (spec.get("annotations") or {}).get(RESTART)
        return {"spec": {"replicas": spec.get("replicas"), "restartAt": restart, "image": main.get("image")}}
    if kind == "DynamoGraphDeploymentScalingAdapter":
        return {"spec": spec}
    if kind == "DynamoGraphDeploymentRequest":
        return {"spec": {key: spec.get(key) for key in ("image", "autoApply")}}
    return {}


def _of_child(item):
    kind, spec, status = item["kind"], item.get("spec") or {}, item.get("status") or {}
    replicas = {"replicas": spec.get("replicas")}
    if kind == "Deployment":
        counts = ("replicas", "updatedReplicas", "readyReplicas", "availableReplicas")
        return {**replicas, **_of_template(spec["template"]), "pods": _counts(status, counts)}
    if kind == "LeaderWorkerSet":
        group = spec["leaderWorkerTemplate"]
        roles = {"worker": _of_template(group["workerTemplate"]), "leader": _of_template(group.get("leaderTemplate") or {})}
        return {**replicas, "size": group.get("size"), **roles}
    if kind == "PodCliqueSet":
        cliques = {clique["name"]: _of_clique(clique) for clique in spec["template"].get("cliques", [])}
        groups = spec["template"].get("podCliqueScalingGroups") or []
        return {**replicas, "cliques": cliques, "groups": {group["name"]: group.get("replicas") for group in groups}}
    if kind in ("PodClique", "PodCliqueScalingGroup"):
        return replicas
    if kind == "Job":
        pods = _counts(status, ("active", "succeeded", "failed"))
        return {"backoffLimit": spec.get("backoffLimit"), **_of_template(spec["template"]), "pods": pods}
    if kind == "PersistentVolumeClaim":
        size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
        return {"accessModes": spec.get("accessModes"), "size": size, "storageClassName": spec.get("storageClassName")}
    return {}


def _counts(status, names):
    return {name: status.get(name) or 0 for name in names}


def _of_clique(clique):
    images = {container["name"]: container.get("image") for container in clique["spec"]["podSpec"]["containers"]}
    restart = (clique.get("annotations") or {}).get(RESTART)
    return {"replicas": clique["spec"].get("replicas"), "restartAt": restart, "images": images}


def _of_template(template):
    metadata = template.get("metadata") or {}
    containers = (template.get("spec") or {}).get("containers", [])
    return {
        "restartAt": (metadata.get("annotations") or {}).get(RESTART),
        "workerHash": (metadata.get("labels") or {}).get(HASH_LABEL),
        "images": {container["name"]: container.get("image") for container in containers},
    }
