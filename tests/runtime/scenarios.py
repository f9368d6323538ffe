"""Changes of a graph while clients ask all the time, as a table: each says what a user or an administrator does, and which
pods there are afterwards. A scenario is over when the graph has settled."""

import contextlib
import dataclasses
import itertools
import time
import typing

import image
import model
from places import ADAPTERS, GRAPHS, NAMESPACE, PODS, SERVERS

_numbers = itertools.count(2)
# Seconds per token; an answer of so many takes 20 s.
SPEEDUP, STREAM_TOKENS = "0.5", 1300
# A worker whose replicas run on NODES nodes each.
SETS, NODES = "LeaderWorkerSet", 2


def graph(name, version, replicas, discovery="kubernetes", worker="mocker", settings=None, frontend=None):
    """A graph with a frontend and a worker. `worker`: mocker (of the runtime), echo (worker.py), or LeaderWorkerSet (the same on
    several nodes). `settings`: more members of the main containers; `frontend`: those of the frontend's alone."""
    mocker = ["--model-path", model.NAME, "--model-name", model.NAME, "--speedup-ratio", SPEEDUP]
    echo = ["--model", model.NAME, "--token-seconds", str(20 / STREAM_TOKENS)]
    command = (["python3", "-m", "dynamo.mocker"], mocker)
    if worker != "mocker":
        command = (["python3", f"/{image.HOME}/worker.py"], echo)
    # The operator adds the flags of SGLang that join the nodes, to this command, too.
    multinode = {"multinode": {"nodeCount": NODES}} if worker == SETS else {}
    framework = "sglang" if worker == SETS else None
    runtime = {"image": image.name_of(version), **(settings or {})}
    front = {**runtime, **(frontend or {})}
    main = {**runtime, "command": command[0], "args": command[1]}
    services = {
        "Frontend": {"componentType": "frontend", "replicas": replicas, "extraPodSpec": {"mainContainer": front}},
        "Worker": {"componentType": "worker", "replicas": replicas, **multinode, "extraPodSpec": {"mainContainer": main}},
    }
    return graph_of(name, discovery, services, framework)


def graph_of(name, discovery, services, framework=None):
    annotations = {"nvidia.com/dynamo-discovery-backend": discovery}
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": NAMESPACE, "annotations": annotations},
        "spec": {
            **({"backendFramework": framework} if framework else {}),
            "envs": [{"name": name, "value": value} for name, value in SERVERS.items()],
            "services": services,
        },
    }


def change(service, **fields):
    return lambda plane, name: plane.patch(name, {"services": {service: fields}})


def update(service):
    """Changes an annotation of the pods. (A list of variables would be one of the user's, to which admission adds nothing.)"""

    def act(plane, name):
        annotations = {"generation": str(next(_numbers))}
        plane.patch(name, {"services": {service: {"extraPodMetadata": {"annotations": annotations}}}})

    return act


def restart(strategy):
    return lambda plane, name: plane.patch(name, {"restart": {"id": f"r{next(_numbers)}", "strategy": {"type": strategy}}})


def scale_by(number):
    def act(plane, name):
        replicas = plane.get(name)["spec"]["services"]["Worker"]["replicas"]
        plane.patch(name, {"services": {"Worker": {"replicas": replicas + number}}})

    return act


def enable_adapter(plane, name):
    plane.patch(name, {"services": {"Worker": {"scalingAdapter": {"enabled": True}}}})
    plane.cluster.wait(lambda: plane.cluster.exists(f"{ADAPTERS}/{name}-worker"), 30, "the adapter exists")


def scale_adapter(number):
    """Through the subresource that autoscalers use."""

    def act(plane, name):
        path = f"{ADAPTERS}/{name}-worker/scale"
        replicas = plane.cluster.api("GET", path)["spec"]["replicas"] + number
        plane.cluster.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    return act


def evict(service):
    """What `kubectl drain` does with a pod."""

    def act(plane, name):
        pod = plane.pods(name, service)[0]["metadata"]["name"]
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod, "namespace": NAMESPACE}}
        plane.cluster.api("POST", f"{PODS}/{pod}/eviction", body)

    return act


def restart_kubelet(plane, name):
    plane.cluster.restart("kubelet")


def kill_controller(plane, name):
    """The leader, without a word."""
    lease = plane.cluster.api("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/dynamo.nvidia.com")
    pods = plane.cluster.api("GET", "/api/v1/namespaces/dynamo-system/pods")["items"]
    names = [pod["metadata"]["name"] for pod in pods if pod["metadata"]["name"] in lease["spec"]["holderIdentity"]]
    plane.cluster.kubectl("delete", "pod", "-n", "dynamo-system", *names, "--grace-period=0", "--force")


def restart_operator(plane, name):
    for one in ("webhook", "controller-manager"):
        plane.cluster.kubectl("rollout", "restart", "-n", "dynamo-system", f"deployment/dynamo-operator-{one}")
    for one in ("webhook", "controller-manager"):
        plane.cluster.kubectl("rollout", "status", "-n", "dynamo-system", f"deployment/dynamo-operator-{one}", "--timeout=120s")


def during_update(act, seconds=8):
    """The worker is updated, and this happens in the middle of it."""

    def both(plane, name):
        update("Worker")(plane, name)
        time.sleep(seconds)
        act(plane, name)

    return both


@dataclasses.dataclass
class Setting:
    """One life of a graph. `worker`: as in graph(), or planned (planned.py)."""

    version: str = "1.0.0"
    replicas: int = 1
    discovery: str = "kubernetes"
    worker: str = "mocker"

    @property
    def nodes(self):
        """Pods of a replica of the worker."""
        return NODES if self.worker == SETS else 1

    def __str__(self):
        return f"{self.worker} {self.version}, {self.discovery}, {self.replicas} replica{'s' * (self.replicas > 1)}"


def several(setting):
    """Without another replica, an eviction ends the service until the new pod is ready."""
    return setting.replicas > 1


def found_in_etcd(setting):
    """A kubelet that starts calls all containers with a startup probe unready until it has probed them again, in up to a period
    of the probe. Workers on that node are then missing in EndpointSlices, from which frontends know them."""
    return setting.discovery == "etcd"


@dataclasses.dataclass
class Scenario:
    """`pods`: how many more pods services have afterwards; `lossless`: the settings in which no request may fail;
    `steady`: whether the frontends must stay as they are, ready; `rest`: how many seconds the graph must be settled."""

    title: str
    act: typing.Callable
    pods: dict = dataclasses.field(default_factory=dict)
    lossless: typing.Callable = lambda setting: True
    steady: bool = False
    rest: float = 3.0


NOTHING = Scenario("nothing happens", lambda plane, name: None)
UPDATE = Scenario("rolling update of the worker", update("Worker"), steady=True)
UP = Scenario("one worker more", scale_by(1), {"Worker": 1}, steady=True)
DOWN = Scenario("one worker less", scale_by(-1), {"Worker": -1}, steady=True)
FRONTEND = Scenario("update of the frontend", update("Frontend"))
SHORT = [UPDATE, UP, DOWN, FRONTEND]
FULL = [
    NOTHING,
    *SHORT,
    Scenario("restart, sequential", restart("Sequential")),
    Scenario("restart, parallel", restart("Parallel")),
    Scenario("kubelet restarts", restart_kubelet, lossless=found_in_etcd, rest=20),
    Scenario("the controller is killed", kill_controller, steady=True),
    Scenario("the operator is replaced", restart_operator, steady=True),
    Scenario("the controller is killed in an update", during_update(kill_controller), steady=True),
    Scenario("the operator is replaced in an update", during_update(restart_operator), steady=True),
    Scenario("eviction of a worker", evict("Worker"), lossless=several),
    Scenario("eviction of a frontend", evict("Frontend"), lossless=several),
    Scenario("an adapter is enabled", enable_adapter, steady=True),
    Scenario("the adapter scales up", scale_adapter(1), {"Worker": 1}, steady=True),
    Scenario("the adapter scales down", scale_adapter(-1), {"Worker": -1}, steady=True),
]
# A restart replaces the pods of all sets at once (decision ctl-Q55).
FULL_OF_SETS = [NOTHING, *SHORT, Scenario("restart, sequential", restart("Sequential"), lossless=lambda setting: False)]


def settings():
    """All lives of the long form."""
    return [
        Setting(version, replicas, discovery)
        for version in image.VERSIONS
        for discovery in ("kubernetes", "etcd")
        for replicas in (1, 3)
    ] + [
        *(Setting(discovery=discovery, worker="echo") for discovery in ("kubernetes", "etcd")),
        Setting(worker="planned"),
        *(Setting(replicas=replicas, worker=SETS) for replicas in (1, 2)),
    ]


def remains(plane, name):
    """What is left of a deleted graph, as kind/name."""
    kinds = [
        ("", "pods"), ("", "services"), ("", "configmaps"), ("", "serviceaccounts"),
        ("discovery.k8s.io/v1", "endpointslices"), ("apps/v1", "deployments"), ("apps/v1", "replicasets"),
        ("apps/v1", "statefulsets"), ("apps/v1", "controllerrevisions"),
        ("rbac.authorization.k8s.io/v1", "roles"), ("rbac.authorization.k8s.io/v1", "rolebindings"),
        ("nvidia.com/v1alpha1", "dynamographdeployments"), ("nvidia.com/v1alpha1", "dynamocomponentdeployments"),
        ("nvidia.com/v1alpha1", "dynamoworkermetadatas"), ("nvidia.com/v1alpha1", "dynamographdeploymentscalingadapters"),
    ]  # fmt: skip
    if plane.sets:
        kinds += [("leaderworkerset.x-k8s.io/v1", "leaderworkersets"), ("scheduling.volcano.sh/v1beta1", "podgroups")]
    left = []
    for group, plural in kinds:
        base = f"/apis/{group}" if group else "/api/v1"
        for one in plane.cluster.api("GET", f"{base}/namespaces/{NAMESPACE}/{plural}")["items"]:
            if one["metadata"]["name"].startswith(f"{name}-") or one["metadata"]["name"] == name:
                left.append(f"{plural}/{one['metadata']['name']}")
    return left


def delete(plane, name, seconds=120):
    """Deletes a graph. Returns what is left of it when nothing more goes."""
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
    plane.cluster.api("DELETE", f"{GRAPHS}/{name}", options)
    with contextlib.suppress(Exception):
        plane.cluster.wait(lambda: not remains(plane, name), seconds, "all objects go")
    return remains(plane, name)
