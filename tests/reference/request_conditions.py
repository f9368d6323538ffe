"""The conditions of requests-deviations.txt, in the form of conditions.py. The manifest of a context is the request or checkpoint
of the input."""

from conditions import duplicate_variable  # noqa: F401  (a condition here, too)
from differences import ABSENT

FINALIZER = ["nvidia.com/finalizer"]
DEFAULTED = ("metadata", "annotations", "[nvidia.com/dynamo-defaulted]")
REQUEST, GRAPH = "DynamoGraphDeploymentRequest", "DynamoGraphDeployment"
NATS = "nats://dynamo-nats.dynamo-system.svc.cluster.local:4222"  # of operator_config.py
LONGEST_NAME = 55
HARDWARE = ("gpuSku", "vramMb", "numGpusPerNode")
OWN_VOLUMES = ("profiling-output", "model-cache", "profiling-config")
SECRET_OF_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
PLANNER_ACCOUNT = "planner-serviceaccount"
UNITS = {"m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30}
# Fields of a v1alpha1 profiler configuration that the stored version has: (section, name) -> path in the spec.
FIELDS = {
    ("sla", "ttft"): ("sla", "ttft"),
    ("sla", "itl"): ("sla", "itl"),
    ("sla", "isl"): ("workload", "isl"),
    ("sla", "osl"): ("workload", "osl"),
}


def _key(segment):
    return segment[1:-1] if segment.startswith("[") else segment


def _member(value, *keys):
    """The value at a path of maps, or ABSENT."""
    for key in keys:
        value = value.get(key, ABSENT) if isinstance(value, dict) else ABSENT
    return value


def _map(value):
    return value if isinstance(value, dict) else {}


def _spec(context):
    return context.manifest.get("spec") or {}


def _override(context):
    """The pod spec of a request's profiling Job as the user wrote it."""
    return _member(_spec(context), "overrides", "profilingJob", "template", "spec")


def _of_user(context):
    """The user's value at the path of the difference, or ABSENT."""
    value = context.manifest
    for segment in context.found.path:
        if isinstance(value, list):
            named = [item for item in value if isinstance(item, dict) and item.get("name") == _key(segment)]
            value = named[0] if named else ABSENT
        else:
            value = _member(value, _key(segment))
    return value


# --- requests as stored


def finalizer_of_operator(context):
    """Only the finalizer of the operator is missing."""
    return context.found.theirs == FINALIZER


def name_too_long(context):
    """The name of the Job would be too long for a label."""
    return len(context.manifest["metadata"]["name"]) > LONGEST_NAME


def another_namespace(context):
    """The overrides of the request name a namespace."""
    return _member(_spec(context), "deploymentOverrides", "namespace") not in (ABSENT, None, "")


def value_of_user(context):
    """Our value is what the user wrote."""
    return context.found.ours is not ABSENT and _of_user(context) == context.found.ours


def _amount(value):
    text = str(value)
    unit = next((unit for unit in sorted(UNITS, key=len, reverse=True) if text.endswith(unit)), "")
    try:
        return float(text.removesuffix(unit)) * UNITS.get(unit, 1)
    except ValueError:
        return None


def same_quantity(context):
    """Both values are the same quantity, written differently."""
    amounts = [_amount(side) for side in (context.found.theirs, context.found.ours)]
    return None not in amounts and amounts[0] == amounts[1]


def first_generation(context):
    """Our spec has not changed since the user wrote it."""
    return context.found.ours == 1


def _isl_or_osl(context):
    name = _key(context.found.path[-1])
    given = _member(_spec(context), "profilingConfig", "config", "sla", name)
    return given if isinstance(given, float) and given != int(given) else None


def number_not_integral(context):
    """The user's number is not an integer. The reference truncates it."""
    given = _isl_or_osl(context)
    return given is not None and context.found.theirs == int(given)


def of_the_older_version(context):
    """The request was written in v1alpha1. Our value is the payload of its conversion."""
    payload = context.found.ours
    return context.manifest["apiVersion"].endswith("/v1alpha1") and _member(payload, "v") == 1


def told_by_fields(context):
    """Fields of the stored spec hold the whole configuration of the profiler, which the reference keeps as text, too."""
    spec = context.at("ours", ("spec",))
    config = context.found.theirs
    return isinstance(config, dict) and all(
        isinstance(members, dict)
        and all((section, name) in FIELDS and _member(spec, *FIELDS[section, name]) == value for name, value in members.items())
        for section, members in config.items()
    )


# --- statuses


def reason_of_the_cause(context):
    """A failed request, whose condition Succeeded has the reason of the condition that tells of the cause."""
    causes = [
        condition.get("reason")
        for name, condition in _map(context.at("ours", ("status", "conditions"))).items()
        if name != "Succeeded" and condition.get("status") == "False"
    ]
    failed = context.at("ours", ("status", "phase")) == "Failed"
    return failed and context.found.theirs == "Failed" and context.found.ours in causes


def of_this_spec(context):
    """The condition says that it describes the present spec."""
    observed = context.at("ours", ("status", "observedGeneration"))
    return context.found.ours == ("current" if observed is not ABSENT else 1)


def partial_hardware(context):
    """The request states a part of its hardware."""
    given = _member(_spec(context), "hardware")
    stated = [name for name in HARDWARE if _member(given, name) not in (ABSENT, None, "")]
    return 0 < len(stated) < len(HARDWARE)


def claims_of_the_pod(context):
    """The user's profiling Job has resource claims, which the reference leaves out of its pod."""
    return _member(_override(context), "resourceClaims") not in (ABSENT, None, [])


# --- profiling Jobs


def own_copier(context):
    """Our copier is a script of our own, and names the ConfigMap of the request."""
    return context.found.ours == f"SCRIPT dgdr-output-{context.manifest['metadata']['name']}"


def is_true(context):
    return context.found.ours is True


def configured_address(context):
    """Our value is the address of the configuration. The reference's is derived from the namespace."""
    return context.found.ours == NATS and context.found.theirs == "nats://NS-nats:4222"


def mounts_by_path(context):
    """The user mounts one volume twice, or a volume of the Job at another path. Ours has all of these mounts."""
    theirs, ours = context.found.theirs, context.found.ours
    containers = _member(_override(context), "containers")
    given = (containers[0].get("volumeMounts") or []) if isinstance(containers, list) and containers else []
    paths = {mount.get("mountPath") for mount in given}
    added = [mount for mount in ours if mount not in theirs]
    return all(mount in ours for mount in theirs) and all(
        mount.get("mountPath") in paths or mount.get("name") in OWN_VOLUMES for mount in added
    )


def _has_own_account(context):
    given = _override(context)
    if not isinstance(given, dict):
        return False
    return bool(given.get("serviceAccountName")) or given.get("automountServiceAccountToken") is not None


def token_of_account(context):
    """The user's account or token setting would leave the copier without a token. Ours is that volume or its mount."""
    ours = context.found.ours
    is_token = isinstance(ours, dict) and ("projected" in ours or ours.get("mountPath") == SECRET_OF_ACCOUNT)
    return is_token and _has_own_account(context)


def rights_of_account(context):
    """The binding that gives the user's account the rights of a copier."""
    request = context.manifest["metadata"]["name"]
    return context.found.name == f"profile-{request}" and _has_own_account(context)


# --- generated graphs


def _graphs(context):
    """Our generated graphs."""
    return [context.object("ours", GRAPH, name) for name in context.names("ours", GRAPH)]


def deployment_override(context):
    """Our label or annotation is one of the overrides of the request."""
    *_, maps, key = context.found.path
    return _member(_spec(context), "deploymentOverrides", maps, _key(key)) == context.found.ours


def stored_default(context):
    """Our value is a default of admission, which the graph tells apart from the user's values."""
    value = context.at("ours", DEFAULTED)
    for segment in context.found.path:
        if isinstance(value, str):
            return True
        value = _member(value, _key(segment))
    return value is not ABSENT


def owned_by_graph(context):
    """A generated graph of this request owns the ConfigMap."""
    names = [graph["metadata"]["name"] for graph in _graphs(context)]
    owner = {"kind": GRAPH, "controller": True, "blockOwnerDeletion": True}
    return any(context.found.ours == [{**owner, "name": name}] for name in names)


def no_planner(context):
    """The planner's account or its binding beside a graph without a planner."""
    services = [service for graph in _graphs(context) for service in _map(_member(graph, "spec", "services")).values()]
    planners = [
        service
        for service in services
        if service.get("componentType") == "planner"
        or _member(service, "extraPodSpec", "serviceAccountName") == PLANNER_ACCOUNT
    ]
    return context.found.name.startswith(PLANNER_ACCOUNT) and bool(services) and not planners


# --- checkpoints


def hash_of_identity(context):
    """Our label is the hash that the status has."""
    return context.found.ours == context.at("ours", ("status", "identityHash"))


def security_of_user(context):
    """Our value is the user's value in the security context of the pod."""
    given = _member(_spec(context), "job", "podTemplateSpec", "spec", "securityContext", _key(context.found.path[-1]))
    return given is not ABSENT and given == context.found.ours


def no_security_of_user(context):
    """The user gives the pod no security context, and ours is the default of components."""
    given = _member(_spec(context), "job", "podTemplateSpec", "spec", "securityContext")
    return given is ABSENT and context.found.ours == 1000


def object_store(context):
    """The checkpoint is in an object store, so no claim is mounted."""
    return _location(context).startswith(("s3://", "oci://"))


def _containers(context):
    found = context.at("ours", ("spec", "template", "spec", "containers"))
    return [] if found is ABSENT else found


def _location(context):
    containers = _containers(context)
    variables = [one for container in containers for one in container.get("env") or []]
    return next((one.get("value", "") for one in variables if one.get("name") == "DYN_CHECKPOINT_LOCATION"), "")


def main_instead_of_first(context):
    """The main container is not the first one. Ours treats it as the reference treats the first one."""
    containers = [one.get("name") for one in _containers(context)]
    path = context.found.path
    if "main" not in containers or containers[0] == "main" or len(path) < 5:
        return False
    other = {"[main]": f"[{containers[0]}]", f"[{containers[0]}]": "[main]"}.get(path[4])
    if other is None:
        return False
    side = "theirs" if path[4] == "[main]" else "ours"
    return context.at(side, (*path[:4], other, *path[5:])) == getattr(context.found, "ours" if side == "theirs" else "theirs")


# --- models


def adapter_of_no_pod(context):
    """No pod of a graph has the address, so the adapter is not loaded there."""
    return _spec(context).get("modelType") == "lora" and context.found.ours in (ABSENT, 0, "NoEndpoints")
