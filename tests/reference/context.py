"""A difference with its context: the input, the service of the child, and both recordings."""

import functools
import json
import re

from differences import ABSENT

TEMPLATES = {  # kind -> where its pod templates are
    "Deployment": [("spec", "template")],
    "Job": [("spec", "template")],
    "LeaderWorkerSet": [("spec", "leaderWorkerTemplate", f"{role}Template") for role in ("leader", "worker")],
}
CLIQUES = ("spec", "template", "cliques")


class Context:
    """`found` is the difference; `theirs` and `ours` are the recordings."""

    def __init__(self, found, theirs, ours):
        self.found, self._theirs, self._ours = found, theirs, ours

    @functools.cached_property
    def manifest(self):
        """The user's custom resource that the child belongs to."""
        manifests = self._ours.manifests or self._theirs.manifests
        named = [item for item in manifests if self._belongs(self.found.name, item["metadata"]["name"])]
        named.sort(key=lambda item: len(item["metadata"]["name"]))
        graphs = [item for item in manifests if item["kind"] == "DynamoGraphDeployment"]
        return (named or graphs or manifests or [{"kind": "", "metadata": {"name": ""}}])[-1 if named else 0]

    @property
    def graph_name(self):
        return self.manifest["metadata"]["name"]

    @property
    def is_standalone(self):
        """Whether the component does not belong to a graph."""
        return self.manifest["kind"] == "DynamoComponentDeployment"

    @property
    def graph_annotations(self):
        return self.manifest["metadata"].get("annotations") or {}

    @functools.cached_property
    def services(self):
        spec = self.manifest.get("spec") or {}
        if self.is_standalone:
            return {spec.get("serviceName", ""): spec}
        return {name: service or {} for name, service in (spec.get("services") or {}).items()}

    @functools.cached_property
    def service_name(self):
        """The service of the child or of its clique; None if the child belongs to the whole graph."""
        if self.is_standalone:
            return next(iter(self.services))
        clique = self.clique
        if clique is not None:
            named = [name for name in self.services if clique in _cliques_of(name)]
        else:
            named = [name for name in self.services if self._belongs(self.found.name, f"{self.graph_name}-{name.lower()}")]
        return max(named, key=len, default=None)

    @property
    def service(self):
        return self.services.get(self.service_name) or {}

    @property
    def main_container(self):
        """The main container in the user's manifest."""
        return (self.service.get("extraPodSpec") or {}).get("mainContainer") or {}

    @property
    def is_multinode(self):
        return nodes_of(self.service) > 1

    @property
    def clique(self):
        path = self.found.path
        return path[3][1:-1] if self.found.kind == "PodCliqueSet" and path[:3] == CLIQUES and len(path) > 3 else None

    @property
    def is_worker(self):
        """Whether the difference is in the template of a multinode component's workers."""
        return "workerTemplate" in self.found.path or bool(
            self.clique and self.is_multinode and self.clique.endswith("-wkr")
        )

    def child(self, side):
        """This child in the recording of "theirs" or "ours", or ABSENT."""
        return self.object(side, self.found.kind, self.found.name)

    def object(self, side, kind, name):
        """An object in the recording of "theirs" or "ours", or ABSENT."""
        recording = self._theirs if side == "theirs" else self._ours
        return recording.children.get((kind, name), ABSENT)

    def at(self, side, path):
        """The value at a path of this child, or ABSENT."""
        value = self.child(side)
        for segment in path:
            value = _step(value, segment)
        return value

    def has_text(self, side, text):
        """Whether the JSON of any child contains the text."""
        recording = self._theirs if side == "theirs" else self._ours
        return text in json.dumps(list(recording.children.values()), default=str)

    def names(self, side, kind):
        recording = self._theirs if side == "theirs" else self._ours
        return [name for found, name in recording.children if found == kind]

    def container_path(self):
        """The path of the container with the difference."""
        path = self.found.path
        for i, segment in enumerate(path):
            if segment in ("containers", "initContainers"):
                return path[: i + 2]
        return ()

    def template_path(self):
        """(path of the pod template, path in it as in a Deployment); None outside of templates."""
        kind, path = self.found.kind, self.found.path
        for prefix in TEMPLATES.get(kind, []):
            if path[: len(prefix)] == prefix:
                return path[len(prefix) :]
        if kind == "PodCliqueSet" and path[:3] == CLIQUES and len(path) > 4:
            rest = path[4:]
            if rest[0] in ("labels", "annotations"):
                return ("metadata", *rest)
            if rest[:2] == ("spec", "podSpec"):
                return ("spec", *rest[2:])
        return None

    def failure(self):
        """The reference's error for this child's component and for the whole graph."""
        of_graph = self._theirs.failures.get(self.graph_name, "")
        return f"{of_graph}\n{self.failure_of(self.service_name) if self.service_name is not None else ''}"

    def failure_of(self, service_name):
        """The reference's error for the component of a service; empty if there is none."""
        component = f"{self.graph_name}-{service_name.lower()}"
        failures = self._theirs.failures.items()
        return "\n".join(message for name, message in failures if self._belongs(name, component))

    @staticmethod
    def _belongs(child, owner):
        """Whether a child's name is the owner's name or begins with it. Some kinds replace dots by dashes."""
        return any(child == base or child.startswith(base + "-") for base in (owner, owner.replace(".", "-")))


def nodes_of(service):
    return (service.get("multinode") or {}).get("nodeCount") or 1


def _cliques_of(service_name):
    name = service_name.lower()
    return {name, f"{name}-ldr", f"{name}-wkr"}


def _step(value, segment):
    key = segment[1:-1] if segment.startswith("[") else segment
    if isinstance(value, dict):
        return value.get(key, ABSENT)
    if isinstance(value, list):
        named = [item for item in value if isinstance(item, dict) and key in (item.get("name"), item.get("mountPath"))]
        if named:
            return named[0]
        return value[int(key)] if re.fullmatch(r"\d+", key) and int(key) < len(value) else ABSENT
    return ABSENT
