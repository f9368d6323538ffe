"""Which objects of a namespace still wait for a control loop.

The quiet time alone does not end a step, because on a slow machine a control loop may pause for longer. These objects show
that one has not finished: the garbage collector, the controllers of Deployments and ReplicaSets, the scheduler, kwok, or the
operator. Chains that no field shows, such as the status of a component after that of its Deployment, are left to the quiet
time.
"""

# Kinds whose controllers report the generation that they have seen. The operators of other kinds do not run.
OBSERVED = ("DynamoGraphDeployment", "DynamoComponentDeployment", "Deployment", "ReplicaSet")
BY_KUBERNETES = ("Deployment", "ReplicaSet")
# Our operator trusts a status without observedGeneration only after some seconds.
NOT_TRUSTED = "may not have observed the latest spec"
ENDED = ("Succeeded", "Failed")


def unfinished(objects, kinds):
    """A line for each object that waits. `objects`: all objects of the namespace whose kinds are in `kinds`."""
    live = {item["metadata"]["uid"] for item in objects}
    pods = {}  # uid of the controller -> its pods
    for item in objects:
        if item["kind"] == "Pod":
            pods.setdefault(_controller(item), []).append(item)
    sets = {}  # uid of the Deployment -> its ReplicaSets
    for item in objects:
        if item["kind"] == "ReplicaSet":
            sets.setdefault(_controller(item), []).append(item)
    lines = []
    for item in objects:
        uid = item["metadata"]["uid"]
        why = _of_metadata(item, live, kinds) or _of_status(item, pods.get(uid, []), sets.get(uid, []))
        if why:
            lines.append(f"{item['kind']} {item['metadata']['name']} {why}")
    return lines


def _of_metadata(item, live, kinds):
    metadata, status = item["metadata"], item.get("status") or {}
    if metadata.get("deletionTimestamp"):
        return "is being deleted"
    for owner in metadata.get("ownerReferences") or []:
        if owner["kind"] in kinds and owner["uid"] not in live:
            return f"has an owner that is gone: {owner['kind']} {owner['name']}"
    if item["kind"] in OBSERVED:
        # A condition that reports a failure may be newer than the rest of the status.
        holders = [status, *(status.get("conditions") or [])]
        observed = [holder["observedGeneration"] for holder in holders if "observedGeneration" in holder]
        if (observed or item["kind"] in BY_KUBERNETES) and max(observed, default=0) < metadata["generation"]:
            return "has the status of an older generation"
    return None


def _of_status(item, pods, sets):
    status = item.get("status") or {}
    if any(NOT_TRUSTED in condition.get("message", "") for condition in status.get("conditions") or []):
        return "does not trust a status yet"
    if item["kind"] == "Pod":
        return _of_pod(item, status)
    if item["kind"] == "ReplicaSet":
        if _is_true(status, "ReplicaFailure"):
            return None
        if len(pods) != item["spec"].get("replicas", 1):
            return f"has {len(pods)} of {item['spec'].get('replicas', 1)} pods"
        return _of_counts(status, len(pods), sum(_is_true(pod.get("status") or {}, "Ready") for pod in pods))
    if item["kind"] == "Deployment" and not _is_true(status, "ReplicaFailure"):
        counts = [sum((one.get("status") or {}).get(name, 0) for one in sets) for name in ("replicas", "readyReplicas")]
        return _of_counts(status, *counts)
    return None


def _of_pod(pod, status):
    if status.get("phase") in ENDED:
        return None
    if pod["spec"].get("nodeName"):
        return None if status.get("podIP") else "was not started"
    # The scheduler reports pods that fit no node.
    tried = any(condition["type"] == "PodScheduled" for condition in status.get("conditions") or [])
    return None if tried else "was not scheduled"


def _of_counts(status, replicas, ready):
    counted = status.get("replicas", 0), status.get("readyReplicas", 0)
    return None if counted == (replicas, ready) else f"counts {counted[0]} replicas, {counted[1]} ready: {replicas}, {ready}"


def _controller(item):
    owners = item["metadata"].get("ownerReferences") or []
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _is_true(status, kind):
    return any(one["type"] == kind and one["status"] == "True" for one in status.get("conditions") or [])
