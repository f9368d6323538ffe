"""Graphs of tests of lifecycles: one graph `g` in a namespace of its own, on one of the three pathways, and what must hold at
every moment of its history."""

import copy
import functools
import os

from history import is_deleting, is_pod_ready, path_of, replay
from operator_plane import condition_of, is_ready

FULL = os.environ.get("DYNAMO_FULL") == "1"
COMPONENT, RESTART_AT = "nvidia.com/dynamo-component", "nvidia.com/restartAt"
PATHWAYS = ("Deployment", "LeaderWorkerSet", "Grove")
SECONDS = 180  # for one step; other tests may use the machine
# Kinds that the operator creates.
CHILDREN = {
    "DynamoComponentDeployment", "DynamoGraphDeploymentScalingAdapter", "Deployment", "Service", "ServiceAccount", "Role",
    "RoleBinding", "HorizontalPodAutoscaler", "LeaderWorkerSet", "PodGroup", "PodCliqueSet",
}  # fmt: skip


# Service -> nodes, of the workers in the graph of a pathway.
WORKERS = {
    "Deployment": {"Worker": 1, "Prefill": 1} if FULL else {"Worker": 1},
    "LeaderWorkerSet": {"Worker": 2, "Prefill": 1} if FULL else {"Worker": 2},
    "Grove": {"Worker": 1, "Big": 2},
}


def graph(pathway, namespace, image="runtime:1", replicas=2, **worker):
    """A frontend, and workers with scaling adapters. `worker` has more fields of the workers."""

    def service(image, **fields):
        container = {"image": image, "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
        return {"extraPodSpec": {"mainContainer": container}, **fields}

    services = {"Frontend": service("runtime:1", componentType="frontend", replicas=1)}
    for name, nodes in WORKERS[pathway].items():
        made = service(image, componentType="worker", scalingAdapter={"enabled": True}, resources={"limits": {"gpu": "1"}})
        made.update(copy.deepcopy(worker))
        if replicas is not None:
            made["replicas"] = replicas
        if nodes > 1:
            made["multinode"] = {"nodeCount": nodes}
            made["extraPodSpec"]["mainContainer"]["args"] += ["--tensor-parallel-size", str(nodes)]
        services[name] = made
    metadata = {"name": "g", "namespace": namespace}
    if pathway != "Grove":
        metadata["annotations"] = {"nvidia.com/enable-grove": "false"}
    spec = {"backendFramework": "vllm", "services": services}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def image_of(pod):
    return pod["spec"]["containers"][0]["image"]


def hash_of(item):
    """The worker generation of a pod or a DynamoComponentDeployment; None if it has none."""
    return item["metadata"].get("labels", {}).get("nvidia.com/dynamo-worker-hash")


def component_of(pod):
    return pod["metadata"].get("labels", {}).get(COMPONENT)


@functools.lru_cache(maxsize=None)
def namespaced_resources(api):
    """(path of the API, resource) of everything that can be listed in a namespace, except Events."""
    groups = [group["preferredVersion"]["groupVersion"] for group in api.call("GET", "/apis")[1]["groups"]]
    found = []
    for path in ["/api/v1", *(f"/apis/{group}" for group in groups)]:
        for resource in api.call("GET", path)[1]["resources"]:
            if resource["namespaced"] and "list" in resource["verbs"] and resource["name"] != "events":
                found.append((path, resource["name"]))
    return found


class Play:
    def __init__(self, plane, history, pathway, namespace):
        self.plane, self.history, self.pathway, self.namespace = plane, history, pathway, namespace
        self.nodes = WORKERS[pathway]
        plane.cluster.create_namespace(namespace)

    # Reading

    def get(self, kind="DynamoGraphDeployment", name="g"):
        return self.history.get(self.namespace, kind, name)

    def all(self, kind):
        return self.history.all(self.namespace, kind)

    def pods(self, service="Worker"):
        """Pods of the service that do not end."""
        return [pod for pod in self.all("Pod") if component_of(pod) == service and not is_deleting(pod)]

    def ready_pods(self, image):
        return [pod for pod in self.pods() if is_pod_ready(pod) and image_of(pod) == image]

    def now(self):
        return self.history.now(self.namespace)

    def changes(self):
        return self.history.changes(self.namespace)

    def message(self):
        """Message of the graph's condition Ready."""
        return condition_of(self.get() or {}, "Ready").get("message", "")

    def events(self, reason):
        """Messages of the Events about the graph with this reason."""
        about = [one for one in self.all("Event") if one["involvedObject"]["kind"] == "DynamoGraphDeployment"]
        return [one["message"] for one in about if one["reason"] == reason]

    def is_successful(self):
        return is_ready(self.get())

    def replicas_since(self, since, service="Worker"):
        """The replicas of the service in the graph from `since` on."""
        graphs = [one for one in self.changes() if one.kind == "DynamoGraphDeployment" and one.version > since]
        return {one.object["spec"]["services"][service]["replicas"] for one in graphs}

    # Acting

    def apply(self, **how):
        """Applies the manifest as a user. Returns the generation of the graph."""
        manifest = graph(self.pathway, self.namespace, **how)
        return self.wrote(self.plane.apply(manifest))

    def patch(self, spec):
        return self.wrote(self.plane.patch("DynamoGraphDeployment", self.namespace, "g", {"spec": spec}))

    def annotate(self, annotations):
        metadata = {"metadata": {"annotations": annotations}}
        self.wrote(self.plane.patch("DynamoGraphDeployment", self.namespace, "g", metadata))

    def wrote(self, graph):
        self.history.put("DynamoGraphDeployment", graph)
        return graph["metadata"]["generation"]

    def scale(self, replicas, service="Worker"):
        path = path_of("DynamoGraphDeploymentScalingAdapter", self.namespace, f"g-{service.lower()}", "scale")
        self.plane.cluster.api("PATCH", path, {"spec": {"replicas": replicas}}, "application/merge-patch+json")

    def autoscaler(self, minimum, maximum):
        """Creates the HorizontalPodAutoscaler of a user. There are no metrics, so only its limits take effect."""
        target = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentScalingAdapter", "name": "g-worker"}
        spec = {"scaleTargetRef": target, "minReplicas": minimum, "maxReplicas": maximum}
        manifest = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "user"}}
        self.plane.cluster.api("POST", path_of("HorizontalPodAutoscaler", self.namespace), {**manifest, "spec": spec})

    def delete(self, kind, name, how="Background"):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": how}
        self.plane.cluster.api("DELETE", path_of(kind, self.namespace, name), options)

    # Waiting

    def wait(self, condition, what):
        return self.history.wait(condition, SECONDS, lambda: f"{what}\n{self.state()}")

    def state(self):
        """What a reader of a failure needs."""
        lines = [f"graph: {(self.get() or {}).get('status')}"]
        for pod in self.all("Pod"):
            state = "ends" if is_deleting(pod) else "ready" if is_pod_ready(pod) else "not ready"
            lines.append(f"pod {pod['metadata']['name']} {image_of(pod)} {state}")
        for kind in ("DynamoComponentDeployment", "LeaderWorkerSet", "PodClique", "PodCliqueScalingGroup"):
            for one in self.all(kind):
                replicas = one["spec"].get("replicas")
                lines.append(f"{kind} {one['metadata']['name']} replicas={replicas} {one.get('status')}")
        return "\n".join(lines)

    def wait_until_ready(self, generation=0, ends=("Completed",)):
        """`ends`: phases in which a restart may end."""

        def ready():
            found = self.get()
            status = (found or {}).get("status", {})
            restarted = status.get("restart", {}).get("phase") in (None, *ends)
            updated = status.get("rollingUpdate", {}).get("phase") in (None, "Completed")
            return found and found["metadata"]["generation"] >= generation and is_ready(found) and restarted and updated

        self.wait(ready, f"generation {generation} of the graph is ready")

    def wait_until_settled(self, generation):
        """As wait_until_ready. A change of workers may have superseded a restart."""
        self.wait_until_ready(generation, ("Completed", "Superseded"))

    def wait_for_replicas(self, replicas, service="Worker"):
        """Waits until the graph has this number of replicas, and is ready with it."""
        self.wait(lambda: self.get()["spec"]["services"][service]["replicas"] == replicas, f"{replicas} replicas of {service}")
        self.wait_until_ready(self.get()["metadata"]["generation"])
        wanted = replicas * self.nodes[service]
        self.wait(lambda: len(self.pods(service)) == wanted, f"{wanted} pods of {service}")

    def remaining(self):
        """All objects of the namespace, of every kind that the API server knows, except Events."""
        found = []
        for path, resource in namespaced_resources(self.history.api):
            status, got = self.history.api.call("GET", f"{path}/namespaces/{self.namespace}/{resource}")
            names = [item["metadata"]["name"] for item in got.get("items", [])] if status == 200 else []
            found += [f"{resource}/{name}" for name in names if name not in ("kube-root-ca.crt", "default")]
        return found

    def wait_until_gone(self):
        self.wait(lambda: self.get() is None, "the graph is gone")
        self.plane.cluster.wait(lambda: not self.remaining(), SECONDS, f"nothing remains of {self.remaining()}")

    # What must hold

    def check_pods(self, since, at_least, at_most, service="Worker", step=""):
        """Checks every moment after `since`: at least so many replicas of the service have only ready pods, and the
        DynamoComponentDeployments of all its generations together have at most so many replicas. Pods are not counted for the
        maximum, because other controllers stop them a moment later."""
        for change, live in replay(self.changes()):
            if change.version <= since:
                continue
            about = f"{step} after {change.type} of {change.kind} {change.object['metadata']['name']} at {change.version}"
            if change.kind == "Pod":
                pods = [one for (kind, _), one in live.items() if kind == "Pod" and component_of(one) == service]
                ready, wanted = sum(map(is_pod_ready, pods)), at_least * self.nodes[service]
                assert ready >= wanted, f"{ready} pods of {service} are ready {about}, not {wanted}"
            if change.kind == "DynamoComponentDeployment":
                components = [one for (kind, _), one in live.items() if kind == change.kind and not is_deleting(one)]
                replicas = sum(one["spec"]["replicas"] for one in components if one["spec"]["serviceName"] == service)
                assert replicas <= at_most, f"{service} has {replicas} replicas {about}, more than {at_most}"

    def check_claims(self):
        """Whenever the status of the graph reports readiness, all pods of the latest spec are ready, and there are no others,
        except those that the garbage collector is about to delete."""
        claims = 0
        for change, live in replay(self.changes()):
            graph = change.object
            if change.kind != "DynamoGraphDeployment" or change.type == "DELETED" or is_deleting(graph):
                continue
            if not is_ready(graph):
                continue
            claims += 1
            pods = [one for (kind, _), one in live.items() if kind == "Pod" and not is_deleting(one)]
            hashes = {hash_of(one) for (kind, _), one in live.items() if kind == "DynamoComponentDeployment"}
            pods = [pod for pod in pods if hash_of(pod) is None or hash_of(pod) in hashes]
            for name, service in graph["spec"]["services"].items():
                self.check_claim(graph, change.version, name, service, [pod for pod in pods if component_of(pod) == name])
        assert claims, "the graph never was ready"

    def check_claim(self, graph, version, name, service, pods):
        wanted = service.get("replicas", 1) * service.get("multinode", {}).get("nodeCount", 1)
        ready = sum(map(is_pod_ready, pods))
        assert ready >= wanted, f"the graph is successful at {version}, but {ready} of {wanted} pods of {name} are ready"
        image = service["extraPodSpec"]["mainContainer"]["image"]
        images = {image_of(pod) for pod in pods}
        assert images <= {image}, f"the graph is successful at {version}, but pods of {name} run {images}, not {image}"
        restart = graph["status"].get("restart", {})
        if restart.get("phase") == "Completed":
            ids = {pod["metadata"].get("annotations", {}).get(RESTART_AT) for pod in pods}
            assert ids <= {restart["observedID"]}, f"the restart is complete at {version}, but pods of {name} have {ids}"

    def check_order_of_restart(self, since, first, then, identity):
        """No pod of `then` has restarted before all pods of `first` have."""
        wanted = self.get()["spec"]["services"][first].get("replicas", 1) * self.nodes[first]
        for change, live in replay(self.changes()):
            pod = change.object
            if change.version <= since or change.kind != "Pod" or component_of(pod) != then or change.type != "ADDED":
                continue
            restarted = [
                one
                for (kind, _), one in live.items()
                if kind == "Pod" and component_of(one) == first and is_pod_ready(one)
                and one["metadata"].get("annotations", {}).get(RESTART_AT) == identity
            ]  # fmt: skip
            assert len(restarted) >= wanted, f"{then} restarts when {len(restarted)} of {wanted} pods of {first} have restarted"

    def check_no_child_returns(self, since):
        """No child is created again that existed at `since` or was deleted later."""
        names = set()
        for change in self.changes():
            key = change.kind, change.object["metadata"]["name"]
            if change.version <= since:
                (names.discard if change.type == "DELETED" else names.add)(key)
                continue
            if change.kind in CHILDREN:
                assert change.type != "ADDED" or key not in names, f"{' '.join(key)} is created again at {change.version}"
                names.add(key)

