"""Workers for prefill and decode that a planner scales: planner.py calls the real KubernetesConnector in the planner's pod,
with the account and the environment that pods of planners get. Each scenario compares what the connector says with the
cluster."""

import http.client
import json
import re
import time
from pathlib import Path

import yaml

import image
import model
import scenarios
from places import ADAPTERS, GRAPHS, NAMESPACE
from serving import http_get
from scenarios import Scenario

WORKER = "planned"  # of Setting
STRANGERS = "strangers"  # a namespace in which the planner has no rights
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:planner-serviceaccount"
PORT = 9085
SERVICES = {"prefill": "Prefill", "decode": "Decode"}
SAMPLE = Path(__file__).resolve().parents[2] / "deploy/samples/graph.yaml"
WORKER_PORT = 9090
REQUESTS = re.compile(r"^dynamo_component_requests_total\{[^}]*\} (\d+)", re.MULTILINE)
# How the API server calls the client library of the connector in managedFields.
MANAGER = "OpenAPI-Generator"
VIEW_SECONDS = 120
METADATAS = f"/apis/nvidia.com/v1alpha1/namespaces/{NAMESPACE}/dynamoworkermetadatas"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"


def graph(name, version, replicas, discovery, _, settings=None, frontend=None):
    """A graph like that of scenarios.py, with two kinds of mockers and a planner."""
    runtime = {"image": image.name_of(version), **(settings or {})}

    def worker(kind):
        arguments = ["--model-path", model.NAME, "--model-name", model.NAME, "--speedup-ratio", scenarios.SPEEDUP]
        arguments += ["--disaggregation-mode", kind]
        main = {**runtime, "command": ["python3", "-m", "dynamo.mocker"], "args": arguments}
        service = {"componentType": "worker", "subComponentType": kind, "replicas": replicas}
        return {**service, "scalingAdapter": {"enabled": True}, "extraPodSpec": {"mainContainer": main}}

    planner = {"image": image.name_of(version), "command": ["python3", f"/{image.HOME}/planner.py"]}
    front = {**runtime, **(frontend or {})}
    services = {
        "Frontend": {"componentType": "frontend", "replicas": replicas, "extraPodSpec": {"mainContainer": front}},
        "Prefill": worker("prefill"),
        "Decode": worker("decode"),
        "Planner": {"componentType": "planner", "replicas": 1, "extraPodSpec": {"mainContainer": planner}},
    }
    return scenarios.graph_of(name, discovery, services)


class Planner:
    """The planner of a graph."""

    def __init__(self, plane, name):
        self.plane = plane
        self.name = name
        (pod,) = plane.pods(name, "Planner")
        self.pod = pod["metadata"]["name"]
        self.address = pod["status"]["podIP"]

    def ask(self, what, **body):
        """The whole answer of planner.py."""
        connection = http.client.HTTPConnection(self.address, PORT)
        connection.sock = self.plane.cluster.node.connect(self.address, PORT, VIEW_SECONDS)
        try:
            connection.request("POST", what, json.dumps(body))
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def is_registered(self):
        """Whether discovery knows the endpoint of the planner, which the planner's account has written."""
        found = self.plane.cluster.api("GET", f"{METADATAS}/{self.pod}")
        return "Planner" in json.dumps(found["spec"])

    def call(self, method, **arguments):
        """The result of a method of the connector."""
        answer = self.ask(f"/connector/{method}", **arguments)
        if "error" in answer:
            raise AssertionError(f"the connector's {method}({arguments}): {answer}")
        return answer.get("result")

    def view(self):
        """What the connector says: ready workers for prefill and for decode, and whether both are as wanted."""
        names = {f"{kind}_component_name": service for kind, service in SERVICES.items()}
        return tuple(self.call("get_actual_worker_counts", **names))

    def replicas(self):
        """What the graph wants, as in view()."""
        services = self.plane.get(self.name)["spec"]["services"]
        return tuple(services[SERVICES[kind]]["replicas"] for kind in ("prefill", "decode"))

    def patches_graph(self):
        """The services whose replicas the connector has written into the graph."""
        managed = self.plane.get(self.name)["metadata"]["managedFields"]
        (fields,) = [one["fieldsV1"] for one in managed if one["manager"] == MANAGER] or [{}]
        services = fields.get("f:spec", {}).get("f:services", {})
        return sorted(key.removeprefix("f:") for key, value in services.items() if "f:replicas" in value)


def equal(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found}, not {wanted}")


def is_ready(pod):
    ready = any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))
    return ready and "deletionTimestamp" not in pod["metadata"]


def follows(planner, prefill, decode, without_adapter=()):
    """Graph, adapters, Deployments, ready pods and the connector agree."""
    plane, name = planner.plane, planner.name
    equal("the connector's view", planner.view(), (prefill, decode, True))
    equal("replicas of the graph", planner.replicas(), (prefill, decode))
    for service, wanted in (("Prefill", prefill), ("Decode", decode)):
        adapter = f"{ADAPTERS}/{name}-{service.lower()}"
        equal(f"{service} has an adapter", plane.cluster.exists(adapter), service not in without_adapter)
        if service not in without_adapter:
            found = plane.cluster.api("GET", adapter)
            counts = found["spec"]["replicas"], found["status"].get("replicas")
            equal(f"replicas of the adapter of {service}, wanted and told", counts, (wanted, wanted))
        labels = f"nvidia.com/dynamo-graph-deployment-name={name},nvidia.com/dynamo-component={service}"
        (deployment,) = plane.cluster.api("GET", f"{APPS}?labelSelector={labels}")["items"]
        counts = deployment["spec"]["replicas"], deployment["status"].get("availableReplicas")
        equal(f"replicas of the Deployment of {service}, wanted and available", counts, (wanted, wanted))
        equal(f"ready pods of {service}", sum(map(is_ready, plane.pods(name, service))), wanted)


def refused(planner, method, path, body=None):
    answer = planner.ask("/api", method=method, path=path, body=body)
    equal(f"the planner's {method} {path}", (answer.get("error"), answer.get("status")), ("ApiException", 403))


# Scenarios


def validate(plane, name):
    """Before it scales, a planner validates its graph. It finds the model and the metrics of the frontend."""
    planner = Planner(plane, name)
    planner.call("validate_deployment")
    planner.call("wait_for_deployment_ready")
    equal("the model", planner.call("get_model_name"), model.NAME)
    url = planner.call("get_frontend_metrics_url")
    metrics = planner.ask("/fetch", url=url)
    if "dynamo_frontend_requests_total" not in metrics.get("result", ""):
        raise AssertionError(f"{url} answers the planner {metrics}")
    equal("discovery knows the planner", planner.is_registered(), True)
    follows(planner, 1, 1)


def validate_sample(plane, name):
    """Planners of the runtime accept the sample of deploy/samples."""
    graph = yaml.safe_load(SAMPLE.read_text(encoding="utf-8"))
    for service in graph["spec"]["services"].values():
        service["replicas"] = 0
    plane.cluster.api("POST", GRAPHS, graph)
    sample = graph["metadata"]["name"]
    try:
        planner = Planner(plane, name)
        planner.call("validate_deployment", graph=sample)
        equal("the model of the sample", planner.call("get_model_name", graph=sample), "Qwen/Qwen3-0.6B")
        equal("GPUs of a worker of the sample", planner.call("get_gpu_counts", graph=sample), [1, 1])
    finally:
        plane.cluster.api("DELETE", f"{GRAPHS}/{sample}")


def stay_within_rights(plane, name):
    """The account of planners scales the graphs of its namespace, and neither reads nor changes anything of others."""
    planner = Planner(plane, name)
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    own = planner.ask("/api", method="POST", path="/apis/authentication.k8s.io/v1/selfsubjectreviews", body=review)
    equal("the planner's account", own.get("result", own).get("status", {}).get("userInfo", {}).get("username"), ACCOUNT)
    if not plane.cluster.exists(f"/api/v1/namespaces/{STRANGERS}"):
        plane.cluster.create_namespace(STRANGERS)
    graphs = GRAPHS.replace(f"/{NAMESPACE}/", f"/{STRANGERS}/")
    service = {"componentType": "worker", "replicas": 0, "scalingAdapter": {"enabled": True}}
    service["extraPodSpec"] = {"mainContainer": {"image": "none.invalid/none:1"}}
    stranger = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": name}}
    plane.cluster.api("POST", graphs, {**stranger, "spec": {"services": {"Decode": service}}})
    adapters = ADAPTERS.replace(f"/{NAMESPACE}/", f"/{STRANGERS}/")
    plane.cluster.wait(lambda: plane.cluster.exists(f"{adapters}/{name}-decode"), 30, "the stranger's adapter exists")
    scale = {"spec": {"replicas": 2}}
    try:
        refused(planner, "GET", f"{graphs}/{name}")
        refused(planner, "PATCH", f"{graphs}/{name}", {"spec": {"services": {"Decode": {"replicas": 2}}}})
        refused(planner, "PATCH", f"{adapters}/{name}-decode/scale", scale)
    finally:
        plane.cluster.api("DELETE", f"{graphs}/{name}")
    (deployment,) = plane.cluster.api("GET", f"{APPS}?labelSelector=nvidia.com/dynamo-component=Decode")["items"]
    refused(planner, "GET", f"/api/v1/namespaces/{NAMESPACE}/secrets")
    refused(planner, "GET", f"/api/v1/namespaces/{NAMESPACE}/pods")
    refused(planner, "GET", "/apis/nvidia.com/v1alpha1/dynamographdeployments")
    refused(planner, "DELETE", f"{GRAPHS}/{name}")
    refused(planner, "PATCH", f"{GRAPHS}/{name}/status", {"status": {"state": "failed"}})
    refused(planner, "PATCH", f"{ADAPTERS}/{name}-decode", scale)
    refused(planner, "PATCH", f"{APPS}/{deployment['metadata']['name']}/scale", scale)
    refused(planner, "POST", f"/apis/rbac.authorization.k8s.io/v1/namespaces/{NAMESPACE}/rolebindings", {})


def add(kind):
    """One more, without waiting. The connector's view goes from the old number to the new one, and is not stable between."""

    def act(plane, name):
        planner = Planner(plane, name)
        before = planner.view()
        wanted = tuple(count + (one == kind) for count, one in zip(before, ("prefill", "decode"))) + (True,)
        planner.call("add_component", sub_component_type=kind, blocking=False)
        views, deadline = [before], time.monotonic() + VIEW_SECONDS
        while views[-1] != wanted and time.monotonic() < deadline:
            time.sleep(0.1)
            if (view := planner.view()) != views[-1]:
                views.append(view)
        equal("what the connector sees", views, [before, (*before[:2], False), wanted])
        follows(planner, *wanted[:2])
        equal("services of the graph that the connector patched", planner.patches_graph(), [])

    return act


def add_and_wait(kind):
    """One more. The connector waits until the graph is ready; then it has the pod."""

    def act(plane, name):
        planner = Planner(plane, name)
        wanted = [count + (one == kind) for count, one in zip(planner.view(), ("prefill", "decode"))]
        planner.call("add_component", sub_component_type=kind, blocking=True)
        follows(planner, *wanted)
        equal("services of the graph that the connector patched", planner.patches_graph(), [])

    return act


def set_both(number):
    """As the planner does it in each of its intervals."""

    def act(plane, name):
        planner = Planner(plane, name)
        targets = [{"sub_component_type": kind, "desired_replicas": number} for kind in SERVICES]
        planner.call("set_component_replicas", target_replicas=targets, blocking=True)
        follows(planner, number, number)
        equal("services of the graph that the connector patched", planner.patches_graph(), [])

    return act


def reach_all(plane, name):
    """Requests reach the workers that the planner has added, those for prefill, too."""

    def requests(pod):
        status, text = http_get(plane.cluster.node, pod["status"]["podIP"], WORKER_PORT, "/metrics")
        return sum(map(int, REQUESTS.findall(text))) if status == 200 else 0

    for service in SERVICES.values():
        for pod in plane.pods(name, service):
            plane.cluster.wait(lambda pod=pod: requests(pod) > 0, 30, f"requests reach {pod['metadata']['name']}")


def scale_without_adapter(plane, name):
    """Without an adapter the connector changes the graph."""
    plane.patch(name, {"services": {"Prefill": {"scalingAdapter": {"enabled": False}}}})
    gone = f"{ADAPTERS}/{name}-prefill"
    plane.cluster.wait(lambda: not plane.cluster.exists(gone), 30, "the adapter is gone")
    planner = Planner(plane, name)
    planner.call("add_component", sub_component_type="prefill", blocking=True)
    follows(planner, 2, 1, ["Prefill"])
    equal("services of the graph that the connector patched", planner.patches_graph(), ["Prefill"])


def remove_without_adapter(plane, name):
    planner = Planner(plane, name)
    planner.call("remove_component", sub_component_type="prefill", blocking=True)
    follows(planner, 1, 1, ["Prefill"])


FULL = [
    Scenario("the planner validates", validate, steady=True),
    Scenario("the planner validates the sample", validate_sample, steady=True),
    Scenario("the planner stays within rights", stay_within_rights, steady=True),
    Scenario("the planner adds for decode", add_and_wait("decode"), {"Decode": 1}, steady=True),
    Scenario("the planner adds for prefill", add("prefill"), {"Prefill": 1}, steady=True),
    Scenario("the planner sets both to 1", set_both(1), {"Prefill": -1, "Decode": -1}, steady=True),
    Scenario("the planner sets both to 2", set_both(2), {"Prefill": 1, "Decode": 1}, steady=True),
    Scenario("requests reach all workers", reach_all, steady=True),
    Scenario("the planner sets both to 1", set_both(1), {"Prefill": -1, "Decode": -1}, steady=True),
    Scenario("without an adapter, one more", scale_without_adapter, {"Prefill": 1}, steady=True),
    Scenario("without an adapter, one less", remove_without_adapter, {"Prefill": -1}, steady=True),
]
