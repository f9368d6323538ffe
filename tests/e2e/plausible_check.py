"""Checks the decisions of admission about graphs. The children of admitted graphs and the pods in them are created on a
real API server. For a denied graph the API server must reject something without the webhook, too."""

import concurrent.futures
import copy
import http.client
import json
import re
import ssl
import subprocess
import threading
from urllib.parse import urlsplit

UNKNOWN_FIELD = re.compile(r'unknown field "([^"]*)"')
# The CRDs of Grove and LeaderWorkerSet have no fields for this metadata. It is dropped, but nothing is rejected.
LOST_FIELD = ".volumeClaimTemplate.metadata."
PATHWAYS = ("deployment", "lws", "grove")
# Classes that pods refer to, so they must exist.
CLASSES = {"priorityclasses": ("scheduling.k8s.io/v1", "PriorityClass", {"value": 1000}),
           "runtimeclasses": ("node.k8s.io/v1", "RuntimeClass", {"handler": "runc"})}
RESOURCES = {
    "Deployment": "deployments", "Service": "services", "Ingress": "ingresses", "ServiceAccount": "serviceaccounts",
    "Role": "roles", "RoleBinding": "rolebindings", "ConfigMap": "configmaps", "PersistentVolumeClaim": "persistentvolumeclaims",
    "Pod": "pods", "Job": "jobs", "LeaderWorkerSet": "leaderworkersets", "PodGroup": "podgroups", "PodCliqueSet": "podcliquesets",
    "InferencePool": "inferencepools", "VirtualService": "virtualservices", "DynamoComponentDeployment": "dynamocomponentdeployments",
    "DynamoGraphDeployment": "dynamographdeployments", "DynamoCheckpoint": "dynamocheckpoints",
    "DynamoGraphDeploymentScalingAdapter": "dynamographdeploymentscalingadapters",
}


class Api:
    """One connection per thread, because thousands of objects are created."""

    def __init__(self, plane):
        self.plane = plane
        self.address = urlsplit(plane.api_url).netloc
        self.tls = ssl.create_default_context(cadata=plane.ca)
        self.headers = {"Authorization": f"Bearer {plane.admin_token}", "Content-Type": "application/json"}
        self.local = threading.local()

    def call(self, method, path, body=None):
        """Status and decoded answer."""
        text = None if body is None else json.dumps(body)
        if not hasattr(self.local, "connection"):
            self.local.connection = http.client.HTTPSConnection(self.address, context=self.tls, timeout=60)
        self.local.connection.request(method, path, text, self.headers)
        response = self.local.connection.getresponse()
        self.local.warnings = response.headers.get_all("Warning") or []
        return response.status, json.loads(response.read())

    def create(self, item, query="?fieldValidation=Strict"):
        """The error text, empty when the object was created, and the answer."""
        version = item["apiVersion"]
        prefix = "/api/v1" if version == "v1" else f"/apis/{version}"
        path = f"{prefix}/namespaces/{item['metadata']['namespace']}/{RESOURCES[item['kind']]}"
        status, answer = self.call("POST", path + query, item)
        unknown = UNKNOWN_FIELD.findall(answer.get("message", "")) if status == 400 else []
        if unknown and all(LOST_FIELD in field for field in unknown):
            status, answer = self.call("POST", path, item)
        return ("" if status < 300 else answer.get("message", str(answer))), answer

    def prepare(self, **classes):
        for plural, names in classes.items():
            version, kind, rest = CLASSES[plural]
            for name in names:
                self.call("POST", f"/apis/{version}/{plural}", {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest})


def render(binary, config, graphs, pathway):
    """For each graph, which has its own namespace: its children and the errors of rendering."""
    text = "".join(f"---\n{json.dumps(graph)}\n" for graph in graphs)
    command = [binary, "render", "--config", config, "--pathway", pathway, "-o", "json", "-f", "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode == 2:
        raise RuntimeError(done.stderr[:2000])
    lines = [json.loads(line)["items"] for line in done.stdout.splitlines()]
    if len(lines) != len(graphs):
        raise RuntimeError(f"{len(graphs)} graphs, {len(lines)} lists of children")
    return lines, done.stderr.splitlines()


def pods_of(child):
    """The pods that a child's controller would create, without the fields that it adds."""
    spec, kind, name = child.get("spec", {}), child["kind"], child["metadata"]["name"]
    found = []
    if kind in ("Deployment", "Job"):
        found = [(name, spec["template"])]
    elif kind == "LeaderWorkerSet":
        body = spec["leaderWorkerTemplate"]
        found = [(f"{name}-{role}", body[f"{role}Template"]) for role in ("leader", "worker") if f"{role}Template" in body]
    elif kind == "PodCliqueSet":
        for clique in spec["template"]["cliques"]:
            metadata = {key: clique[key] for key in ("labels", "annotations") if key in clique}
            found.append((f"{name}-{clique['name']}", {"metadata": metadata, "spec": clique["spec"]["podSpec"]}))
    made = []
    for i, (name, template) in enumerate(found):
        metadata = {**template.get("metadata", {}), "name": f"pod-{i}-{name}"[:200].rstrip("-."), "namespace": child["metadata"]["namespace"]}
        # The admission plugin for service accounts sets the account and requires that it exists.
        pod = {"serviceAccountName": "default", **template["spec"]}
        made.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod})
    return made


def moved(child, namespace):
    """The child in another namespace, without owner references, because the owner does not exist there."""
    made = copy.deepcopy(child)
    made["metadata"]["namespace"] = namespace
    made["metadata"].pop("ownerReferences", None)
    return made


class Result:
    def __init__(self, graph, mistake):
        self.graph, self.mistake = graph, mistake
        self.refusal = ""
        self.stored = graph
        self.warnings = []
        self.refused = []  # (pathway, kind, name, text)
        self.rendered = {}
        self.created = 0


def is_off(graph):
    annotations = graph["metadata"].get("annotations") or {}
    return annotations.get("nvidia.com/enable-grove", "").lower() == "false"


def is_multinode(graph):
    services = (graph.get("spec") or {}).get("services") or {}
    return any(((s or {}).get("multinode") or {}).get("nodeCount", 1) > 1 for s in services.values())


def pathways(graph):
    """The pathways of a graph: multinode graphs have no Deployments, other graphs have no LeaderWorkerSets, and an
    annotation may disable Grove."""
    component = "lws" if is_multinode(graph) else "deployment"
    return (component,) if is_off(graph) else (component, "grove")


class Checker:
    def __init__(self, api, controller, config):
        self.api, self.controller = api, controller
        # Denied graphs are rendered too, to show that their children would be refused.
        self.config = config.with_name("warn.yaml")
        self.config.write_text(config.read_text(encoding="utf-8") + "validation: {mode: warn}\n", encoding="utf-8")

    def admit(self, result):
        text, answer = self.api.create(result.graph)
        result.refusal, result.warnings = text, self.api.local.warnings
        if text:
            result.causes = [cause.get("field", "") for cause in (answer.get("details") or {}).get("causes", [])]
        else:
            result.stored = answer
            # The stored object without the fields that only stored objects have.
            result.stored["metadata"].pop("managedFields", None)

    def create_children(self, result):
        for pathway in PATHWAYS:
            children = result.rendered.get(pathway, [])
            if not children:
                continue
            namespace = f"{result.graph['metadata']['namespace']}-{pathway[0]}"
            seen = set()
            for child in children:
                identity = (child["kind"], child["metadata"]["name"])
                shared = identity[0] == "Service" and identity[1].startswith("dynamo-model-")
                shared = shared or identity[0] == "DynamoCheckpoint"
                if shared and identity in seen:
                    continue
                seen.add(identity)
                item = moved(child, namespace)
                for each in [item, *pods_of(item)]:
                    text, _ = self.api.create(each)
                    result.created += 1
                    if text:
                        result.refused.append((pathway, each["kind"], each["metadata"]["name"], text))

    def run(self, cases):
        """The results of (graph, mistake) pairs. Each graph has its own namespace."""
        results = [Result(graph, mistake) for graph, mistake in cases]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(self.admit_in_namespace, results))
            for pathway in PATHWAYS:
                for chosen in self.batches([r for r in results if pathway in pathways(r.stored)]):
                    self.render_batch(chosen, pathway)
            list(pool.map(self.create_children, results))
        return results

    def admit_in_namespace(self, result):
        name = result.graph["metadata"]["namespace"]
        for each in (name, *(f"{name}-{pathway[0]}" for pathway in PATHWAYS)):
            self.api.call("POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": each}})
        self.admit(result)

    def batches(self, results):
        """Admitted graphs in one batch. Denied graphs are rendered one by one, because rendering may fail."""
        good = [r for r in results if not r.refusal]
        return ([good] if good else []) + [[r] for r in results if r.refusal]

    def render_batch(self, results, pathway):
        try:
            lists, errors = render(self.controller, self.config, [r.stored for r in results], pathway)
        except RuntimeError as error:
            if len(results) > 1:
                for result in results:
                    self.render_batch([result], pathway)
                return
            lists, errors = [[]], [str(error)]
        if errors and len(results) > 1:  # to find the graph of each error, as names are not unique
            for result in results:
                self.render_batch([result], pathway)
            return
        checkpoints = [child for children in lists for child in children if child["kind"] == "DynamoCheckpoint"]
        jobs = {}
        if checkpoints:
            job_lists, more = render(self.controller, self.config, checkpoints, pathway)
            errors = errors + more if len(results) == 1 else errors
            for checkpoint, made in zip(checkpoints, job_lists):
                jobs.setdefault(checkpoint["metadata"]["namespace"], []).extend(made)
        for result, children in zip(results, lists):
            names = set()
            own = [job for job in jobs.get(result.graph["metadata"]["namespace"], [])
                   if not (job["metadata"]["name"] in names or names.add(job["metadata"]["name"]))]
            result.rendered[pathway] = children + own
            result.refused += [(pathway, "render", "", error) for error in errors if len(results) == 1]


def findings(webhook, config, graph):
    """The rule ids and fields of the errors of `dynamo-webhook check` for the graph."""
    command = [webhook, "check", "--config", config, "-o", "json", "-f", "-"]
    done = subprocess.run(command, input=json.dumps(graph), capture_output=True, text=True)
    if not done.stdout:
        raise RuntimeError(done.stderr)
    return [(f["rule"], f["field"], f["message"]) for f in json.loads(done.stdout)["findings"] if f["severity"] == "error"]
