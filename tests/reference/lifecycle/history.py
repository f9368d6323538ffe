"""What custom resources went through during a step, and which of it was only a lost race.

The reference often reads its own cache too early and gets a conflict; for a moment conditions turn, and events tell
of it. What a conflict alone caused is left out.
"""

import collections

from kinds import CUSTOM, RACE


def conditions_of(item):
    return (item.get("status") or {}).get("conditions") or []


def races(items):
    """Conditions that a lost race turned: (kind, name, type) -> the other statuses that they had."""
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
    """The values that state, phase and each condition had, each once, in the order of their first appearance.
    `before`: the objects after the step before; `story`: (kind, what happened, object) since then."""
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
    for values in told.values():  # in which order services end a parallel restart is chance
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
    """Whether a graph is not ready only because of components that lost a race."""
    text = " ".join(one.get("message") or "" for one in conditions_of(graph) if one["status"] == "False")
    named = [name for name in components if f"{name}:" in text]
    return bool(named) and all(lost.get(("DynamoComponentDeployment", name, "Available")) == {"True"} for name in named)
