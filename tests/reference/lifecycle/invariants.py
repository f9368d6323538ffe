"""The conditions of lifecycle-deviations.txt: when a difference from the reference is what a decision wants.

A condition is a function of a Difference. It looks at what the operators did, never at the name of a scenario or of a step."""

import math
from typing import NamedTuple

GRAPH = "DynamoGraphDeployment"
COMPONENT = "DynamoComponentDeployment"
MODEL = "DynamoModel"
REQUEST = "DynamoGraphDeploymentRequest"
SURGE = "nvidia.com/deployment-rolling-update-max-surge"
UNAVAILABLE = "nvidia.com/deployment-rolling-update-max-unavailable"


class Difference(NamedTuple):
    kind: str
    name: str
    path: str
    theirs: object
    ours: object
    scene: "Scene"


class Scene(NamedTuple):
    """Both recordings up to one step. `strategies`: the annotations of the services, by name."""

    their_steps: list
    our_steps: list
    strategies: dict

    def of(self, kind, steps=None):
        """Our objects of the kind after the step, by name."""
        objects = (steps or self.our_steps)[-1]["objects"]
        return {name.split("/", 1)[1]: facts for name, facts in objects.items() if name.split("/", 1)[0] == kind}

    def before(self, kind, steps=None):
        steps = (steps or self.our_steps)[:-1]
        return self.of(kind, steps) if steps else {}


def member(value, *names):
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def condition(facts, kind):
    found = [one for one in member(facts, "status", "conditions") or [] if one["type"] == kind]
    return found[0] if found else {}


def our_graph(scene):
    graphs = list(scene.of(GRAPH).values())
    return graphs[0] if len(graphs) == 1 else None


def has_failed(scene):
    return member(our_graph(scene), "status", "state") == "failed"


# What exists


def refused(d):
    """Our webhook has refused the graph that the reference's admitted."""

    def was_refused(steps):
        return any(not answer.get("ok", True) for step in steps for answer in step.get("answers") or [])

    return not d.scene.of(GRAPH) and was_refused(d.scene.our_steps) and not was_refused(d.scene.their_steps)


def without_pending(d):
    """The same phases, without the one in which nothing had been done yet."""
    return [phase for phase in d.theirs if phase != "Pending"] == d.ours


def was_back(d):
    """The object existed already after the step before, where the reference's was still missing."""
    return d.name in d.scene.before(d.kind) and d.name not in d.scene.before(d.kind, d.scene.their_steps)


def returned(d):
    """The object existed before, and exists although somebody deleted it. Its graph exists."""
    before = d.name in d.scene.before(d.kind) and d.name in d.scene.before(d.kind, d.scene.their_steps)
    return before and d.name in d.scene.of(d.kind) and our_graph(d.scene) is not None


def without_graph(d):
    """A component of no graph is available exactly if the pods of its Deployment are."""
    components = d.scene.of(COMPONENT)
    if d.scene.of(GRAPH) or d.scene.of(GRAPH, d.scene.their_steps) or not components:
        return False
    workloads = d.scene.of("Deployment")
    return all(
        (condition(facts, "Available").get("status") == "True")
        == (name in workloads and workloads[name]["pods"]["availableReplicas"] >= (facts["spec"]["replicas"] or 1))
        for name, facts in components.items()
    )


# Requests


def _our_request(d):
    """Our request after the step, or before it if the step has deleted it."""
    return d.scene.of(REQUEST).get(d.name) or d.scene.before(REQUEST).get(d.name)


def has_cause(d):
    """Both requests have failed. The condition Succeeded of ours has the reason of the condition that tells of the cause."""
    request = _our_request(d)
    reason = condition(request, "Succeeded").get("reason")
    causes = [
        one["reason"]
        for one in member(request, "status", "conditions") or []
        if one["type"] != "Succeeded" and one["status"] == "False"
    ]
    if isinstance(d.theirs, list):
        return reason in causes and [told.replace("False Failed", f"False {reason}") for told in d.theirs] == d.ours
    return d.theirs == "Failed" and d.ours == reason and reason in causes


def locked(d):
    """Our webhook has refused a change of the spec that the reference's admitted."""
    refusal = f'"{d.name}" is invalid: spec: Forbidden: may not be changed in phase '
    return any(
        refusal in our.get("message", "") and their.get("ok")
        for our_step, their_step in zip(d.scene.our_steps, d.scene.their_steps)
        for our, their in zip(our_step.get("answers") or [], their_step.get("answers") or [])
    )


def waits_for_output(d):
    """The Job of the request has succeeded, and its output does not exist yet. The reference's has failed."""
    their_request = d.scene.of(REQUEST, d.scene.their_steps).get(d.name) or {}
    succeeded = member(d.scene.of("Job").get(f"profile-{d.name}"), "pods", "succeeded")
    return (
        bool(succeeded)
        and f"dgdr-output-{d.name}" not in d.scene.of("ConfigMap")
        and member(_our_request(d), "status", "phase") == "Profiling"
        and condition(their_request, "SpecGenerated").get("reason") == "GenerationFailed"
    )


def _made_graphs(scene):
    """The names of all graphs that our requests have had."""
    requests = [facts for step in scene.our_steps for name, facts in step["objects"].items() if name.startswith(f"{REQUEST}/")]
    return {f"{GRAPH}/{member(facts, 'status', 'dgdName')}" for facts in requests}


def owned_by_made_graph(d):
    """The graph that a request has generated owns the object."""
    return bool(d.ours) and set(d.ours) <= _made_graphs(d.scene) & d.scene.our_steps[-1]["objects"].keys()


def went_with_made_graph(d):
    """The graph that a request had generated owned the object, and is gone."""
    before = [step["objects"].get(f"{d.kind}/{d.name}") for step in d.scene.our_steps[:-1]]
    owners = {owner for facts in before if facts for owner in facts["owner"]}
    return bool(owners) and owners <= _made_graphs(d.scene) - d.scene.our_steps[-1]["objects"].keys()


# Failures


def tells_failure(d):
    """Our graph has failed, and had not failed before."""
    before = list(d.scene.before(GRAPH).values())
    return has_failed(d.scene) and not any(member(one, "status", "state") == "failed" for one in before)


def keeps_status(d):
    """Our graph has failed and shows what it showed before."""
    before = d.scene.before(GRAPH).get(d.name)
    path = d.path.split(".")
    return has_failed(d.scene) and before is not None and member(before, *path) == member(our_graph(d.scene), *path)


def lost_a_claim(d):
    """A claim that existed is gone, and our graph says that it has failed."""
    kind = "PersistentVolumeClaim"
    return bool(d.scene.before(kind).keys() - d.scene.of(kind).keys()) and has_failed(d.scene)


# Restarts and rolling updates


def superseded(d):
    """A restart that ended because of another change is not carried out when its request is removed."""
    graph = our_graph(d.scene)
    return member(graph, "status", "restart", "phase") == "Superseded" and member(graph, "spec", "restart") is None


def tells_what_is_replaced(d):
    """Both graphs are not ready; ours says that it replaces pods."""
    ready = condition(our_graph(d.scene), "Ready")
    restarting = member(our_graph(d.scene), "status", "restart", "phase") == "Restarting"
    theirs = condition(d.scene.of(GRAPH, d.scene.their_steps).get(d.name), "Ready")
    reason = "restart_in_progress" if restarting else "rolling_update_in_progress"
    return ready.get("status") == theirs.get("status") == "False" and ready.get("reason") == reason


def _share(value, replicas, rounded):
    text = str(value)
    return rounded(replicas * int(text[:-1]) / 100) if text.endswith("%") else int(text)


def limits(annotations, replicas):
    """(maxSurge, maxUnavailable) in pods; both 0 means one unavailable, as for Deployments."""
    surge = _share(annotations.get(SURGE, "25%"), replicas, math.ceil)
    unavailable = _share(annotations.get(UNAVAILABLE, "25%"), replicas, math.floor)
    return surge, 1 if surge == unavailable == 0 else unavailable


def _generations(deployments, graph, service):
    prefix = f"{graph}-{service.lower()}-HASH-"
    return {name: facts for name, facts in deployments.items() if name.startswith(prefix)}


def keeps_capacity(d):
    """While workers are replaced, ready pods never fall below min(before, wanted - maxUnavailable) because a Deployment is scaled
    down, and all generations together are no more than wanted + maxSurge."""
    updates = [
        (name, facts)
        for name, facts in d.scene.of(GRAPH).items()
        if "InProgress" in (_phase(facts), _phase(d.scene.before(GRAPH).get(name)))
    ]
    return bool(updates) and all(
        _service_keeps_capacity(d.scene, graph, service, wanted if wanted is not None else 1)
        for graph, facts in updates
        for service, wanted in facts["spec"]["replicas"].items()
    )


def _phase(graph):
    return member(graph, "status", "rollingUpdate", "phase")


def _service_keeps_capacity(scene, graph, service, wanted):
    now = _generations(scene.of("Deployment"), graph, service)
    before = _generations(scene.before("Deployment"), graph, service)
    if not now:
        return True  # no worker
    surge, unavailable = limits(scene.strategies.get(service, {}), wanted)

    def serving(name):
        # Pods that fail by themselves are not the operator's.
        ready = now[name]["pods"]["readyReplicas"]
        was = before[name]["pods"]["readyReplicas"] if name in before else 0
        return max(ready, min(was, now[name]["replicas"]))

    served = sum(facts["pods"]["readyReplicas"] for facts in before.values())
    total = sum(facts["replicas"] for facts in now.values())
    held = sum(facts["replicas"] for facts in before.values())  # the graph may have been scaled down
    return sum(map(serving, now)) >= min(served, wanted - unavailable) and total <= max(wanted + surge, held)


def one_set_a_replica(d):
    """Each component on several nodes has one LeaderWorkerSet and one PodGroup a replica."""
    sets, groups = d.scene.of("LeaderWorkerSet"), d.scene.of("PodGroup")
    before = d.scene.before("LeaderWorkerSet")
    if not sets and not before:
        return False
    owners = {owner.split("/", 1)[1] for facts in sets.values() for owner in facts["owner"]}
    return set(sets) == set(groups) and all(
        {f"{name}-{i}" for i in range(facts["spec"]["replicas"] or 0)} == {one for one in sets if one.rsplit("-", 1)[0] == name}
        for name, facts in d.scene.of(COMPONENT).items()
        if name in owners
    )


# Grove


def on_grove(d):
    return bool(d.scene.of("PodCliqueSet"))


def waits_for_grove(d):
    """Our graph on Grove is not ready. A difference in which ours is ready is not covered."""
    return on_grove(d) and condition(our_graph(d.scene), "Ready").get("status") == "False"


def left_grove(d):
    """The graph has left Grove; nothing of it remains on Grove, and its components are complete."""
    their_set = d.scene.of("PodCliqueSet", d.scene.their_steps)
    sets = d.scene.of("LeaderWorkerSet")
    return bool(their_set) and not on_grove(d) and bool(d.scene.of(COMPONENT)) and (not sets or one_set_a_replica(d))


# Models


def each_pod_once(d):
    """Our models have the endpoints of theirs, each once, and theirs have one twice."""
    theirs = d.scene.of(MODEL, d.scene.their_steps)
    for name, facts in d.scene.of(MODEL).items():
        found, expected = (member(one, "status", "endpoints") or [] for one in (facts, theirs.get(name)))
        once = [one for i, one in enumerate(expected) if one not in expected[:i]]
        if once == expected or found != once or member(facts, "status", "totalEndpoints") != len(found):
            return False
    return bool(theirs)


def model_service(d):
    """The Service of a model, which its graph owns."""
    return d.name.startswith("dynamo-model-") and d.ours == [f"{GRAPH}/ANY"]


def has_adapter(d):
    """Ours left out only requests that it had sent before."""
    if not isinstance(d.ours, list) or not isinstance(d.theirs, list):
        return False
    before = {call for step in d.scene.our_steps[:-1] for call in step.get("requests") or []}
    return set(d.ours) < set(d.theirs) and set(d.theirs) - set(d.ours) <= before


def unloaded(d):
    """Both asked the same pods to unload the adapter, and the model is gone."""
    asked = [steps[-1].get("requests") or [] for steps in (d.scene.our_steps, d.scene.their_steps)]
    return asked[0] == asked[1] and any(call.startswith("DELETE ") for call in asked[0]) and not d.scene.of(MODEL)


def reloads(d):
    """The source of the model was changed: both load the adapter, and ours asks the same pods to unload the earlier one."""
    ours, theirs = (steps[-1].get("requests") or [] for steps in (d.scene.our_steps, d.scene.their_steps))
    unload = {call.removeprefix("DELETE ").split("/")[0] for call in ours if call.startswith("DELETE ")}
    load = [call for call in ours if not call.startswith("DELETE ")]
    ready = all(condition(facts, "EndpointsReady").get("status") == "True" for facts in d.scene.of(MODEL).values())
    return ready and load == theirs and unload == {call.removeprefix("POST ").split("/")[0] for call in load}


# Values


def ssh_key(d):
    """The Secret with the key of MPI."""
    return d.name.endswith("-ssh-secret")


CONDITIONS = {
    made.__name__: made
    for made in (
        refused, without_pending, was_back, returned, without_graph, has_cause, locked, waits_for_output, owned_by_made_graph,
        went_with_made_graph, tells_failure, keeps_status, lost_a_claim, superseded,
        tells_what_is_replaced, keeps_capacity, one_set_a_replica, on_grove, waits_for_grove, left_grove, ssh_key,
        each_pod_once, model_service, has_adapter, unloaded, reloads,
    )
}  # fmt: skip
