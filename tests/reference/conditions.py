"""The conditions of deviations.txt on the input, on the two versions of the child and on the differing values.

Each function takes the context of a difference and returns a bool. deviations.txt has its name with dashes. Several
conditions are joined by commas, and all must hold. A condition applies to any input and never names a recorded one.
"""

import hashlib
import json
import re

import commands
from context import nodes_of
from differences import ABSENT

DISCOVERY = "nvidia.com/dynamo-discovery-backend"
METRICS = "nvidia.com/enable-metrics"
WORKER_TYPES = ("worker", "prefill", "decode")
MIN_READY = "nvidia.com/deployment-min-ready-seconds"
MODEL_SERVICE = "dynamo-model-"
PLANNER_ACCOUNT = "planner-serviceaccount"
PROBES = ("livenessProbe", "readinessProbe")
HANDLERS = ("exec", "grpc", "httpGet", "tcpSocket")
CACHE_PATH = "/root/.cache/vllm"
# The API server's defaults for numbers of a probe that are zero or absent.
PROBE_DEFAULTS = {"periodSeconds": 10, "timeoutSeconds": 1, "successThreshold": 1, "failureThreshold": 3}


def _key(segment):
    return segment[1:-1] if segment.startswith("[") else segment


def _pod_spec(context):
    return context.service.get("extraPodSpec") or {}


def _requests(context):
    return (context.service.get("resources") or {}).get("requests") or {}


def _limits(context):
    return (context.service.get("resources") or {}).get("limits") or {}


# --- labels and annotations


def label_of_the_service(context):
    """Our value is the service's label."""
    return (context.service.get("labels") or {}).get(_key(context.found.path[-1])) == context.found.ours


def operators_label_set_by_user(context):
    """The user sets a label of the operator, and their value is the user's."""
    key = _key(context.found.path[-1])
    metadata = context.service.get("extraPodMetadata") or {}
    given = [holder[key] for holder in (context.service.get("labels") or {}, metadata.get("labels") or {}) if key in holder]
    return bool(given) and context.found.theirs in given


def metadata_of_the_ingress(context):
    """Our value is the label or annotation in the service's ingress."""
    ingress = context.service.get("ingress") or {}
    return (ingress.get(context.found.path[-2]) or {}).get(_key(context.found.path[-1])) == context.found.ours


def metrics_by_service(context):
    """The metrics annotation of the service differs from the graph's."""
    own = (context.service.get("annotations") or {}).get(METRICS)
    return own is not None and (own == "false") != (context.graph_annotations.get(METRICS) == "false")


def with_checkpoint(context):
    """The service uses a checkpoint, or the object is a checkpoint."""
    return bool((context.service.get("checkpoint") or {}).get("enabled")) or context.manifest["kind"] == "DynamoCheckpoint"


def checkpoint_job(context):
    """The Job belongs to a checkpoint."""
    return context.manifest["kind"] == "DynamoCheckpoint" or with_checkpoint(context)


# --- probes


def _given_probe(context):
    """(the user's probe of the main container, the path below the probe)"""
    _, _, _, probe, *rest = context.template_path()
    return context.main_container.get(probe) or {}, rest


def another_handler_given(context):
    """The user's probe of the main container has another handler than the missing one."""
    probe, rest = _given_probe(context)
    given = [handler for handler in HANDLERS if probe.get(handler)]
    return bool(given) and rest[0] not in given


def handler_given(context):
    """The user's probe of the main container has this handler, and our value is the user's."""
    probe, rest = _given_probe(context)
    handler = probe.get(rest[0])
    if not handler:
        return False
    wanted = handler
    for segment in rest[1:]:
        wanted = wanted.get(_key(segment), ABSENT) if isinstance(wanted, dict) else ABSENT
    if wanted in (ABSENT, ""):  # fields that the user's handler leaves out are not taken from the default one
        return context.found.ours in (ABSENT, "HTTP")
    return wanted == context.found.ours


def zero_given(context):
    """The user sets a zero or false. Our value is the same or the API server's default for it."""
    _, *rest = context.template_path()
    if rest[:1] == ["containers"]:
        value, rest = context.main_container, rest[2:]
    else:
        value = _pod_spec(context)
    for segment in rest:
        value = value.get(_key(segment), ABSENT) if isinstance(value, dict) else ABSENT
    is_zero = value is False or (value == 0 and not isinstance(value, str))
    return is_zero and context.found.ours in (0, False, ABSENT, PROBE_DEFAULTS.get(rest[-1] if rest else ""))


def rejected_for_two_handlers(context):
    """The API server rejected the reference's Deployment, whose probe had two handlers, and its other children are missing."""
    return "may not specify more than 1 handler type" in context.failure()


def every_component_failed(context):
    """The Service of a model, none of whose components exists in the reference."""
    models = {name: (service.get("modelRef") or {}).get("name") for name, service in context.services.items()}
    serving = [name for name, model in models.items() if model and context.found.name == MODEL_SERVICE + _digest(model)]
    return bool(serving) and all(context.failure_of(name) for name in serving)


def _digest(text):
    return hashlib.sha256(text.encode()).hexdigest()[:8]


# --- variables


def variables_deduplicated(context):
    """Their list has a duplicate variable. Ours has each variable once, in the same order, with one of their values."""
    theirs, ours = context.found.theirs, context.found.ours
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return False
    names, kept = ([item.get("name") for item in side] for side in (theirs, ours))
    return (
        len(set(names)) < len(names)
        and len(set(kept)) == len(kept)
        and set(kept) == set(names)
        and all(item in theirs for item in ours)
        and _is_subsequence(kept, names)
    )


def _is_subsequence(some, every):
    rest = iter(every)
    return all(item in rest for item in some)


def rejected_for_duplicate_variable(context):
    """The API server rejected the reference's workload for a duplicate variable, because its schema keys variables by name."""
    return bool(re.search(r"env\S*: Duplicate value|duplicate entries for key", context.failure()))


def cache_at_default_path(context):
    """The first compilation cache is mounted at the engine's default path, and our value is that path."""
    caches = [mount for mount in context.service.get("volumeMounts") or [] if mount.get("useAsCompilationCache")]
    ours = context.found.ours
    return (
        bool(caches)
        and not caches[0].get("mountPoint")
        and ours == {"name": _key(context.found.path[-1]), "value": CACHE_PATH}
    )


def variable_of_the_graph(context):
    """Our variable is one of the graph or of the service."""
    given = [*((context.manifest.get("spec") or {}).get("envs") or []), *(context.service.get("envs") or [])]
    return context.found.ours in given


def duplicate_variable(context):
    """A checkpoint's Job: their list has the operator's variable before the user's variable of the same name."""
    return checkpoint_job(context) and variables_deduplicated(context)


# --- resources


def only_requests_gpu(context):
    """The service requests GPUs without a limit, and our limit equals the request."""
    requested, kind = _requests(context).get("gpu"), _requests(context).get("gpuType") or _limits(context).get("gpuType")
    wanted = _key(context.found.path[-1]) == (kind or "nvidia.com/gpu")
    return wanted and bool(requested) and not _limits(context).get("gpu") and context.found.ours == requested


def no_gpu_limit(context):
    """A multinode service without a GPU limit, for which the reference creates no workload."""
    return context.is_multinode and not _limits(context).get("gpu") and "LeaderWorkerSet" in context.failure()


def main_container_renamed(context):
    """The user renames the main container, and the reference still looks for `main`."""
    return context.main_container.get("name") not in (None, "", "main")


# --- volumes


def _is_epp(context):
    return context.service.get("componentType") == "epp"


def epp_with_own_volumes(context):
    """An endpoint picker with volumes of the user, but without this one."""
    given = [volume.get("name") for volume in _pod_spec(context).get("volumes") or []]
    return _is_epp(context) and bool(given) and _key(context.found.path[-1]) not in given


def epp_with_own_mounts(context):
    """An endpoint picker with mounts of the user, but without this one."""
    given = [mount.get("name") for mount in context.main_container.get("volumeMounts") or []]
    return _is_epp(context) and bool(given) and _key(context.found.path[-1]) not in given


def rejected_for_missing_volume(context):
    """The API server rejected the reference's endpoint picker: it mounts a default volume that the user's volumes replace."""
    return bool(re.search(r"volumeMounts\S*: Not found: \"(epp-config|hf-cache)\"", context.failure()))


def duplicates_left_out(context):
    """Their list has a duplicate volume name or mount path. Ours is the same list without duplicates."""
    theirs, ours = context.found.theirs, context.found.ours
    if not isinstance(theirs, list) or not isinstance(ours, list):
        return False
    key = "mountPath" if context.found.path[-1] == "volumeMounts" else "name"
    names, kept = ([item.get(key) for item in side] for side in (theirs, ours))
    return (
        len(set(names)) < len(names)
        and len(set(kept)) == len(kept)
        and set(names) - set(kept) <= {"shared-memory"}  # unused when the user mounts /dev/shm
        and all(item in theirs for item in ours)
    )


def own_shared_memory(context):
    """The user has a mount at /dev/shm or a volume named shared-memory."""
    mounts = [*(context.main_container.get("volumeMounts") or []), *(context.service.get("volumeMounts") or [])]
    volumes = [volume.get("name") for volume in _pod_spec(context).get("volumes") or []]
    return "shared-memory" in volumes or any("/dev/shm" in (m.get("mountPath"), m.get("mountPoint")) for m in mounts)


def rejected_for_duplicates(context):
    """The API server rejected the reference's workload for a duplicate volume or mount."""
    return bool(re.search(r"(volumes|volumeMounts)\S*: (Duplicate value|Invalid value)|must be unique", context.failure()))


# --- accounts, discovery, pull secrets


def own_account(context):
    """Our value is the user's account."""
    return context.found.ours == _pod_spec(context).get("serviceAccountName") and context.found.ours is not ABSENT


def no_planner(context):
    """The planner's account or its binding in a graph without a planner."""
    named = [(service.get("extraPodSpec") or {}).get("serviceAccountName") for service in context.services.values()]
    types = [service.get("componentType") for service in context.services.values()]
    return context.found.name.startswith(PLANNER_ACCOUNT) and "planner" not in types and PLANNER_ACCOUNT not in named


def _discovery(annotations):
    return (annotations or {}).get(DISCOVERY)


def _is_resolved_otherwise(context, service):
    own, graphs = _discovery(service.get("annotations")), _discovery(context.graph_annotations)
    decided = own if own is not None else graphs
    return decided is not None and (decided not in ("kubernetes", "etcd") or (own is not None and own != graphs))


def discovery_by_service(context):
    """The service's discovery backend differs from the graph's or is unknown."""
    return _is_resolved_otherwise(context, context.service)


def discovery_by_any_service(context):
    """The account, role or binding of discovery in a graph with a service whose backend differs from the graph's."""
    return "-k8s-service-discovery" in context.found.name and any(
        _is_resolved_otherwise(context, service) for service in context.services.values()
    )


def secret_of_a_registry(context):
    """A pull secret that the operator found for an image, not one of the user's."""
    given = [secret.get("name") for secret in _pod_spec(context).get("imagePullSecrets") or []]
    return _key(context.found.path[-1]) not in given


def standalone_component(context):
    """A component without a graph, whose names and labels are built from an empty name in the reference."""
    return context.is_standalone


# --- Services, Ingresses and owners


def graph_owns_the_model(context):
    """The graph owns the Service of a model, instead of its first component."""
    owner = context.found.theirs if context.found.direction == "theirs" else context.found.ours
    if not context.found.name.startswith(MODEL_SERVICE) or not isinstance(owner, dict):
        return False
    if context.found.direction == "theirs":
        return owner.get("kind") == "DynamoComponentDeployment"
    wanted = {"kind": context.manifest["kind"], "name": context.graph_name, "blockOwnerDeletion": True, "controller": True}
    if context.is_standalone:  # there may be several owners without a controller
        return {**owner, "blockOwnerDeletion": True} == {key: wanted[key] for key in wanted if key != "controller"}
    return owner == wanted


def epp_without_discovery(context):
    """An endpoint picker with another discovery backend than kubernetes."""
    return _is_epp(context) and _discovery(context.graph_annotations) not in (None, "kubernetes")


def not_a_frontend(context):
    """A component that is not exposed outside of the cluster."""
    return context.service_name is not None and context.service.get("componentType") != "frontend"


def no_component_type(context):
    """A service without a type, for which their selector has a label that no pod has."""
    return not context.service.get("componentType")


def service_name_with_dashes(context):
    """A graph with dots in its name: our reference has the actual name of the Service."""
    theirs, ours = context.found.theirs, context.found.ours
    return (
        isinstance(theirs, str)
        and "." in context.graph_name
        and ours == theirs.replace(context.graph_name, _dashed(context))
    )


def dotted_graph(context):
    """A child whose name may not contain the dots of the graph's name."""
    return "." in context.graph_name and context.found.name.startswith(_dashed(context))


def _dashed(context):
    return context.graph_name.replace(".", "-")


def secret_not_mounted(context):
    """No pod of ours mounts the Secret."""
    return not context.has_text("ours", f'"secretName": "{context.found.name}"')


# --- replicas


def worker_without_own_time(context):
    """A worker whose pods do not end before new ones start, without the annotation: it has the default of 5 s."""
    metadata = context.service.get("extraPodMetadata") or {}
    given = {**(context.service.get("annotations") or {}), **(metadata.get("annotations") or {})}
    own = {"nvidia.com/deployment-strategy": "Recreate"}.items() <= given.items() or MIN_READY in given
    return context.service.get("componentType") in WORKER_TYPES and not own and context.found.ours == 5


def replicas_beside_multinode(context):
    """A graph with a multinode service: our value is the service's replicas."""
    asked = context.service.get("replicas", 1)
    return any(nodes_of(service) > 1 for service in context.services.values()) and context.found.ours == asked


def replica_of_multinode(context):
    """A further replica of a multinode service. The reference only creates the first."""
    index = re.search(r"-(\d+)$", context.found.name)
    return context.is_multinode and index is not None and 0 < int(index[1]) < context.service.get("replicas", 1)


# --- commands of multinode services


def command_corrected(context):
    """Our command line is theirs, corrected where a shell or the kubelet would misread it, without other changes."""
    theirs, ours = context.found.theirs, context.found.ours
    if not context.is_multinode or not isinstance(theirs, str) or not isinstance(ours, str):
        return False
    return ours in commands.corrections(theirs, context.main_container, context.found.kind == "LeaderWorkerSet")


def sizes_in_other_notation(context):
    """The user gives a parallel size in a notation that the reference does not read. Without the multinode flags both
    command lines are the user's."""
    return context.is_multinode and commands.has_other_sizes(context.main_container) and _runs_the_users_command(context)


def _runs_the_users_command(context):
    """Whether both sides run the user's command, one of them with the multinode flags."""
    container = context.container_path()
    theirs, ours = (context.at(side, container) for side in ("theirs", "ours"))
    users = commands.stripped(context.main_container)
    return commands.stripped(theirs) == users and (commands.stripped(ours) == users or _joins_ray(context, ours))


def _joins_ray(context, container):
    return context.is_worker and isinstance(container, dict) and commands.is_ray_worker(container)


def gpus_by_request(context):
    """The GPUs of a node are only set in requests, in custom resources or in the main container, which the reference does
    not count. Without the multinode flags both command lines are the user's."""
    own = context.main_container.get("resources") or {}
    custom = (_limits(context).get("custom") or {}) | (_requests(context).get("custom") or {})
    counted = _requests(context).get("gpu") or own.get("limits") or own.get("requests") or custom
    return context.is_multinode and not _limits(context).get("gpu") and bool(counted) and _runs_the_users_command(context)


def gpus_by_custom_limit(context):
    """The GPUs of a node are in a custom limit. Their command starts no process, ours one per GPU."""
    kind = _limits(context).get("gpuType") or "nvidia.com/gpu"
    count = str((_limits(context).get("custom") or {}).get(kind, ""))
    theirs = context.found.theirs
    if not isinstance(theirs, str) or not count.isdigit():
        return False
    return context.found.ours == theirs.replace(" -n 0 ", f" -n {nodes_of(context.service) * int(count)} ", 1)


def discovery_in_command(context):
    """The service sets its own discovery backend, and only one of the commands passes the variable to other nodes."""
    sides = (context.found.theirs, context.found.ours)
    if not discovery_by_service(context) or not all(isinstance(side, str) for side in sides):
        return False
    without = [side.replace(" -x DYN_DISCOVERY_BACKEND", "") for side in sides]
    return without[0] == without[1]


def picker_of_a_generation(context):
    """An endpoint picker on Deployments looks for workers in the namespace of their generation."""
    sides = (context.found.theirs, context.found.ours)
    theirs, ours = (side.get("value", "") if isinstance(side, dict) else str(side) for side in sides)
    is_picker = context.service.get("componentType") == "epp"
    return is_picker and bool(re.fullmatch(re.escape(theirs) + "-(?:[0-9a-f]{8}|HASH)", ours))


def leader_without_port(context):
    """The leader runs without multinode flags, so nothing listens on the port that their workers wait for."""
    pod = context.found.path[:-2]
    return context.is_worker and "--master-port" not in json.dumps(context.at("ours", (*pod, "containers")), default=str)


def image_of_the_main_container(context):
    """Our init container has the main container's image, theirs the first container's."""
    return context.found.ours == context.main_container.get("image")


def leader_address_expanded(context):
    """Our script has the leader's address in the form that the kubelet expands, because no shell runs it."""
    theirs = context.found.theirs
    return isinstance(theirs, str) and context.found.ours == theirs.replace("$LWS_LEADER_ADDRESS", "$(LWS_LEADER_ADDRESS)")


# --- admission and failures


def deployment_config_unreadable(context):
    """A service whose DYN_DEPLOYMENT_CONFIG is no JSON object, for which the reference fails the whole graph."""
    return any(_is_unreadable(variable) for service in context.services.values() for variable in service.get("envs") or [])


def _is_unreadable(variable):
    if variable.get("name") != "DYN_DEPLOYMENT_CONFIG":
        return False
    try:
        return not isinstance(json.loads(variable.get("value") or ""), dict)
    except ValueError:
        return True


def denied_at_admission(context):
    """The reference admitted the object and then failed to deploy it. Ours is denied at admission with the field."""
    return context.found.theirs == "admitted, then failed" and context.found.ours.startswith("denied ")


def refused_by_grove(context):
    """Ours is denied only at fields that Grove's webhook refuses: replicas 0 of several nodes, and different schedulers."""
    if context.found.theirs != "admitted" or not context.found.ours.startswith("denied "):
        return False
    services = context.services.items()
    schedulers = {name: _scheduler(service) for name, service in services}
    refused = {f"spec.services[{name}].replicas" for name, service in services
               if nodes_of(service) > 1 and service.get("replicas") == 0}
    if len(set(schedulers.values())) > 1:
        refused |= {f"spec.services[{name}].extraPodSpec.schedulerName" for name in schedulers}
    return set(context.found.ours.removeprefix("denied ").split()) <= refused


def _scheduler(service):
    return (service.get("extraPodSpec") or {}).get("schedulerName") or "default-scheduler"


def workers_of_a_gang(context):
    """All workers of a replica start together; the reference starts a replica with one."""
    workers = nodes_of(context.service) - 1
    return (context.clique or "").endswith("-wkr") and context.found.theirs == 1 and context.found.ours == workers > 1


def epp_plugin_without_weight(context):
    """An endpoint picker's configuration with a plugin without weight, which the reference defaults to zero and denies."""
    configs = [(service.get("eppConfig") or {}).get("config") for service in context.services.values()]
    return context.found.theirs.startswith("denied") and any(
        "weight" not in json.dumps(config) for config in configs if config
    )
