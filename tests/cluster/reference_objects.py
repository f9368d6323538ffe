"""The objects that the reference operator leaves in a cluster, from its recordings, and how it would write them again."""

import copy
import hashlib
import json
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "reference")]

from api import base_of  # noqa: E402
from control_plane import ApiError  # noqa: E402

# The reference's binary is called `manager`; client-go derives the field manager from the name of the binary.
MANAGER = "manager"
USER_MANAGER = "kubectl-client-side-apply"
HASH = "nvidia.com/last-applied-hash"
GENERATION = "nvidia.com/last-applied-generation"
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
ORIGIN = "nvidia.com/dynamo-operator-origin-version"
GRAPH = "DynamoGraphDeployment"
PLURALS = {
    "DynamoGraphDeployment": "dynamographdeployments",
    "DynamoComponentDeployment": "dynamocomponentdeployments",
    "DynamoGraphDeploymentScalingAdapter": "dynamographdeploymentscalingadapters",
    "Deployment": "deployments",
    "Service": "services",
    "ConfigMap": "configmaps",
    "Secret": "secrets",
    "ServiceAccount": "serviceaccounts",
    "PersistentVolumeClaim": "persistentvolumeclaims",
    "Role": "roles",
    "RoleBinding": "rolebindings",
    "Ingress": "ingresses",
    "InferencePool": "inferencepools",
    "LeaderWorkerSet": "leaderworkersets",
    "PodGroup": "podgroups",
    "PodCliqueSet": "podcliquesets",
}
VERSIONS = {
    "DynamoGraphDeployment": "nvidia.com/v1alpha1",
    "DynamoComponentDeployment": "nvidia.com/v1alpha1",
    "Deployment": "apps/v1",
}
# Recordings have no times and no namespaces.
TIME = "2026-01-01T00:00:00Z"
NAMESPACE = re.compile(r"(?<![A-Z])NS(?![A-Z])")
# How the reference makes a Service of a model. Recordings have no clusterIP.
MODEL_SERVICE = "dynamo-model-"
# Where pod templates are, and what identifies each of them.
TEMPLATES = {
    "Deployment": lambda spec: {"": spec["template"]},
    "LeaderWorkerSet": lambda spec: {
        role: template for role, template in spec["leaderWorkerTemplate"].items() if role.endswith("Template")
    },
    "PodCliqueSet": lambda spec: {
        clique["name"]: {
            "metadata": {key: clique.get(key) or {} for key in ("labels", "annotations")},
            "spec": clique["spec"]["podSpec"],
        }
        for clique in spec["template"]["cliques"]
    },
}


def key_of(thing):
    return thing["kind"], thing["metadata"]["name"]


def templates_of(thing):
    """The pod templates of a workload by role or clique; empty for other kinds."""
    return TEMPLATES[thing["kind"]](thing["spec"]) if thing["kind"] in TEMPLATES else {}


def spec_hash(thing):
    """The reference's hash of a child. It hashes the spec before the API server sets defaults, which is not recorded. It
    only compares the hash with the one that it computes next time, so the hash of the stored spec stands for it."""
    text = json.dumps(thing.get("spec", {}), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


class Case:
    """A recorded graph in a namespace: `objects` as the reference created them, by kind and name."""

    def __init__(self, recording, documents, namespace):
        text = json.dumps(recording["objects"])
        text = NAMESPACE.sub(namespace, text).replace('"TIME"', f'"{TIME}"')
        self.name = recording["case"]
        self.namespace = namespace
        self.objects = {key_of(thing): thing for thing in json.loads(text)}
        for thing in self.objects.values():
            self._complete(thing)
        self.uids = {}
        self.documents = {document["metadata"]["name"]: document for document in documents if document["kind"] == GRAPH}

    def _complete(self, thing):
        """Adds what recordings leave out."""
        metadata = thing["metadata"]
        if thing["kind"] == "Service" and metadata["name"].startswith(MODEL_SERVICE):
            thing["spec"]["clusterIP"] = "None"
        if GENERATION in (metadata.get("annotations") or {}):
            metadata["annotations"][HASH] = spec_hash(thing)
        for owner in metadata.get("ownerReferences", []):
            annotations = self.objects[owner["kind"], owner["name"]]["spec"].get("annotations") or {}
            if thing["kind"] in ("Deployment", "Service") and ORIGIN in annotations:
                metadata.setdefault("annotations", {})[ORIGIN] = annotations[ORIGIN]

    def graph(self):
        return next(thing for thing in self.objects.values() if thing["kind"] == GRAPH)

    def children(self):
        """The objects that the reference compares with its hash annotation."""
        return [thing for thing in self.objects.values() if HASH in (thing["metadata"].get("annotations") or {})]

    def path(self, kind, name=None, subresource=None, version=None):
        version = version or next(thing["apiVersion"] for thing in self.objects.values() if thing["kind"] == kind)
        parts = [base_of(version), "namespaces", self.namespace, PLURALS[kind], name, subresource]
        return "/".join(part for part in parts if part)

    # Creation

    def create(self, cluster):
        """Creates all objects in the order of their owners, with the field managers of the user and of the reference."""
        cluster.create_namespace(self.namespace)
        left = list(self.objects.values())
        while left:
            ready = [thing for thing in left if all(key in self.uids for key in _owners(thing))]
            if not ready:
                raise AssertionError(f"{self.name}: owners are missing: {[key_of(thing) for thing in left]}")
            for thing in ready:
                self.create_one(cluster, thing)
            left = [thing for thing in left if key_of(thing) not in self.uids]

    def create_one(self, cluster, recorded):
        thing = copy.deepcopy(recorded)
        metadata, kind = thing["metadata"], thing["kind"]
        status = thing.pop("status", None)
        for owner in metadata.get("ownerReferences", []):
            owner.update(apiVersion=VERSIONS[owner["kind"]], uid=self.uids[owner["kind"], owner["name"]])
        finalizers = metadata.pop("finalizers", None) if kind != GRAPH else None
        made = self._create_graph(cluster, thing) if kind == GRAPH else self._post(cluster, thing, MANAGER)
        if kind.startswith("Dynamo") and finalizers:
            made["metadata"]["finalizers"] = finalizers
            made = self._put(cluster, made)
        if status:
            made["status"] = status
            made = self._put(cluster, made, "status")
        self.uids[key_of(recorded)] = made["metadata"]["uid"]

    def _create_graph(self, cluster, graph):
        """The user creates the graph with kubectl. The reference adds its finalizer and the worker hash."""
        metadata = graph["metadata"]
        document = copy.deepcopy(self.documents[metadata["name"]])
        document["metadata"]["namespace"] = self.namespace
        theirs = {"finalizers": metadata.pop("finalizers", []), "annotations": metadata.pop("annotations", {})}
        own = (document["metadata"].get("annotations") or {}).keys()
        given = {name: text for name, text in theirs["annotations"].items() if name in own}
        metadata["annotations"] = {**given, LAST_APPLIED: json.dumps(document), ORIGIN: "1.0.0"}
        made = self._post(cluster, graph, USER_MANAGER)
        made["metadata"]["finalizers"] = theirs["finalizers"]
        made["metadata"]["annotations"].update(theirs["annotations"])
        return self._put(cluster, made)

    def _post(self, cluster, thing, manager):
        path = self.path(thing["kind"], version=thing["apiVersion"])
        return {"kind": thing["kind"], **call(cluster, "POST", f"{path}?fieldManager={manager}", thing)}

    def _put(self, cluster, thing, subresource=None, manager=MANAGER):
        path = self.path(thing["kind"], thing["metadata"]["name"], subresource, thing["apiVersion"])
        return call(cluster, "PUT", f"{path}?fieldManager={manager}", thing)

    # The way back

    def reconcile(self, cluster):
        """What the reference does with its children when it starts again. Returns the keys of those that it has updated, and
        of those that it has created."""
        updates, created = [], []
        for thing in self.children():
            key = key_of(thing)
            while True:
                live = self.live_one(cluster, thing)
                if live is None:
                    self.create_one(cluster, thing)
                    created.append(key)
                elif must_update(thing, live):
                    try:
                        self._put(cluster, updated(thing, live))
                    except ApiError as error:
                        if error.status == 409:  # another controller has written it since
                            continue
                        raise
                    updates.append(key)
                break
        return updates, created

    def live_one(self, cluster, thing):
        try:
            live = call(cluster, "GET", self.path(thing["kind"], thing["metadata"]["name"], version=thing["apiVersion"]))
        except ApiError as error:
            if error.status == 404:
                return None
            raise
        return {**live, "kind": thing["kind"], "apiVersion": thing["apiVersion"]}

    # The live state

    def live(self, cluster):
        """All live objects by kind and name, also those that the reference did not create."""
        found = {}
        for kind, version in ALL_KINDS:
            for thing in call(cluster, "GET", self.path(kind, version=version))["items"]:
                thing.update(kind=kind, apiVersion=version)
                if key_of(thing) not in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")):
                    found[key_of(thing)] = thing
        return found


def _owners(thing):
    return [(owner["kind"], owner["name"]) for owner in thing["metadata"].get("ownerReferences", [])]


ALL_KINDS = [
    ("DynamoGraphDeployment", "nvidia.com/v1alpha1"),
    ("DynamoComponentDeployment", "nvidia.com/v1alpha1"),
    ("DynamoGraphDeploymentScalingAdapter", "nvidia.com/v1alpha1"),
    ("Deployment", "apps/v1"),
    ("Service", "v1"),
    ("ConfigMap", "v1"),
    ("Secret", "v1"),
    ("ServiceAccount", "v1"),
    ("PersistentVolumeClaim", "v1"),
    ("Role", "rbac.authorization.k8s.io/v1"),
    ("RoleBinding", "rbac.authorization.k8s.io/v1"),
    ("Ingress", "networking.k8s.io/v1"),
    ("InferencePool", "inference.networking.k8s.io/v1"),
    ("LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"),
    ("PodGroup", "scheduling.volcano.sh/v1beta1"),
    ("PodCliqueSet", "grove.io/v1alpha1"),
]


def must_update(recorded, live):
    """Whether the reference would update the child: its hash of the wanted spec differs from the one in the annotation, or
    the generation is newer than the one in the annotation."""
    annotations = live["metadata"].get("annotations") or {}
    if annotations.get(HASH) != spec_hash(recorded):
        return True
    generation = annotations.get(GENERATION, "")
    if not re.fullmatch(r"-?\d+", generation):
        return True
    return 0 < live["metadata"].get("generation", 0) > int(generation)


def updated(recorded, live):
    """The object as the reference would write it: the whole spec, and its annotations."""
    if "spec" not in recorded:
        raise AssertionError(f"the reference fails to update {key_of(recorded)}, because it has no spec")
    thing = copy.deepcopy(live)
    thing["spec"] = copy.deepcopy(recorded["spec"])
    thing["metadata"].setdefault("annotations", {}).update(
        {HASH: spec_hash(recorded), GENERATION: str(live["metadata"].get("generation", 0) + 1)}
    )
    return thing


def call(cluster, method, path, body=None):
    """A request; it is repeated while the API server prepares the storage of a new CRD."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return cluster.api(method, path, body)
        except ApiError as error:
            if error.status != 429 or time.monotonic() > deadline:
                raise
            time.sleep(0.2)
