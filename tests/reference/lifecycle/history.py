"""The changes of custom resources during a step, without those of lost races.

The reference often reads its cache too early and gets a conflict. Conditions then change for a moment, and events report
it. Changes that were only caused by a conflict are left out.
"""

import collections

from kinds import CUSTOM, RACE


def conditions_of(item):
    return (item.get("status") or {}).get("conditions") or []


def races(items):
    """The conditions that a lost race changed: (kind, name, type) -> their other statuses."""
    lost, other = set(), collections.defaultdict(set)
    for item in items:
        for condition in conditions_of(item):
            key = item["kind"], item["metadata"]["name"], condition["type"]
            if RACE.search(condition.get("message") or ""):
                lost.add(key)
            else:
                other[key].add(condition["status"])
    return {key: other[key] for key in lost}


def went(before, story, lost):
    """The values of state, phase and each condition, each once, in the order of their first appearance.
    `before`: the objects after the previous step; `story`: (kind, type of event, object) since then."""
    told = collections.defaultdict(lambda: collections.defaultdict(list))
    everything = [*before, *(item for _, _, item in story)]
    components = {item["metadata"]["name"] for item in everything if item["kind"] == "DynamoComponentDeployment"}
    for what, item in [*(("", item) for item in before), *((what, item) for _, what, item in story)]:
        if item["kind"] not in CUSTOM:
            continue
        seen = told[f"{item['kind']}/{item['metadata']['name']}"]
        for key, value in _values(item, components, lost).items():
            if value and value not in seen[key]:
                seen[key].append(value)
        if what == "DELETED":
            seen["deleted"] = ["yes"]
    for values in told.values():  # the order in which services finish a parallel restart is random
        if any("," in value for value in values["restarting"]):
            values["restarting"][1:-1] = []
    return {name: {key: list_ for key, list_ in values.items() if list_} for name, values in told.items()}


def _values(item, components, lost):
    if any(RACE.search(condition.get("message") or "") for condition in conditions_of(item)):
        return {}
    if item["kind"] == "DynamoGraphDeployment" and _waits_for_races_alone(item, components, lost):
        return {}
    status = item.get("status") or {}
    restart = status.get("restart") or {}
    return {
        "state": status.get("state"),
        "phase": status.get("phase"),
        "rollingUpdate": (status.get("rollingUpdate") or {}).get("phase"),
        "restart": restart.get("phase"),
        "restarting": ",".join(restart.get("inProgress") or []),
        **{one["type"]: f"{one.get('status')} {one.get('reason')}" for one in conditions_of(item)},
    }


def _waits_for_races_alone(graph, components, lost):
    """Whether a graph is only not ready because of components that lost a race."""
    text = " ".join(one.get("message") or "" for one in conditions_of(graph) if one["status"] == "False")
    named = [name for name in components if f"{name}:" in text]
    return bool(named) and all(lost.get(("DynamoComponentDeployment", name, "Available")) == {"True"} for name in named)
