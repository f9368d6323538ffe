"""Requests that the real profiler serves: request -> Job -> profiler -> output copier -> ConfigMap -> graph -> an answer in a chat.
`run --only profiler` plays them one after the other. The requests say their hardware, because the node has no GPU."""

import dataclasses
import json
import re
import time
from pathlib import Path

import yaml

import image
import scenarios
from node import images
from places import GRAPHS, NAMESPACE
from serving import http_request

TITLE = "profiler"
VERSION = image.PROFILER
REQUESTS = f"/apis/nvidia.com/v1beta1/namespaces/{NAMESPACE}/dynamographdeploymentrequests"
JOBS = f"/apis/batch/v1/namespaces/{NAMESPACE}/jobs"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
COPIER_IMAGE = "localhost/kubectl:1"
OPERATOR = "dynamo-system"
# A rapid search takes some minutes of one processor; one that finds nothing has tried everything.
END_SECONDS = 1200
CHAT_SECONDS = 120
ENDS = ("Ready", "Deployed", "Failed")
ROW = "{:<14} {:>7} {:<9} {}"
# Its graph is deployed.
DEPLOYED = yaml.safe_load((Path(__file__).resolve().parent / "request.yaml").read_text(encoding="utf-8"))


@dataclasses.dataclass
class Case:
    """`spec`: what the request says beside image, backend and hardware. `phase`: in which it ends. `message`: what its condition
    Succeeded says then. `services`: those of the generated graph. `long`: whether only --full plays it."""

    name: str
    spec: dict
    phase: str
    message: str = ""
    services: tuple = ()
    long: bool = False

    def manifest(self):
        hardware = {"gpuSku": "h200_sxm", "vramMb": 141312, "totalGpus": 4, "numGpusPerNode": 4}
        return {
            "apiVersion": "nvidia.com/v1beta1",
            "kind": "DynamoGraphDeploymentRequest",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"image": image.name_of(VERSION), "backend": "vllm", "hardware": hardware, **self.spec},
        }


WORKLOAD = {"isl": 1000, "osl": 100}
CASES = [
    Case(
        "unknown-model",
        {"model": "acme/private-7b"},
        "Failed",
        r"profiling has failed: Model 'acme/private-7b' not found or config unavailable: .*exit code 1",
    ),
    Case(DEPLOYED["metadata"]["name"], DEPLOYED["spec"], "Deployed", services=("Frontend", "Planner", "decode", "prefill")),
    Case(
        "strict-sla",
        {"model": image.PROFILED_MODEL, "workload": WORKLOAD, "sla": {"ttft": 0.01, "itl": 0.001}},
        "Failed",
        r"the profiler has ended before it was done: .*TTFT/TPOT constraints are too tight.*exit code 1",
    ),
    Case(
        "vllm",
        {
            "model": "Qwen/Qwen3-32B",
            "workload": {"isl": 4000, "osl": 500},
            "sla": {"ttft": 600, "itl": 25},
            "hardware": {"gpuSku": "h200_sxm", "vramMb": 141312, "totalGpus": 8, "numGpusPerNode": 8},
            "autoApply": False,
        },
        "Ready",
        services=("Frontend", "VllmDecodeWorker"),
        long=True,
    ),
]


def copier_image(cluster):
    """The path of an archive with what the script of the output copier calls."""
    programs = {"/bin/sh": "/bin/dash", "/bin/sleep": "/bin/sleep", "/bin/kubectl": cluster.assets / "kubectl"}
    return images.image_of_programs(COPIER_IMAGE, programs, ["/bin/kubectl"])


def configure(cluster):
    """The operator uses an image of the output copier that the node has."""
    cluster.node.load(copier_image(cluster))
    path = f"/api/v1/namespaces/{OPERATOR}/configmaps/dynamo-operator-config"
    settings = yaml.safe_load(cluster.api("GET", path)["data"]["config.yaml"])
    settings.setdefault("requests", {})["outputCopierImage"] = COPIER_IMAGE
    cluster.api("PATCH", path, {"data": {"config.yaml": yaml.safe_dump(settings)}}, "application/merge-patch+json")
    deployments = [f"deployment/dynamo-operator-{name}" for name in ("webhook", "controller-manager")]
    cluster.kubectl("rollout", "restart", "-n", OPERATOR, *deployments)
    for one in deployments:
        cluster.kubectl("rollout", "status", "-n", OPERATOR, one, "--timeout=180s")


def play(plane, folder, long, problem):
    """Plays the cases on a RuntimePlane whose first image is that of VERSION. `long`: also those of --full. `problem` is called
    with what must not be."""
    folder.mkdir(parents=True, exist_ok=True)
    configure(plane.cluster)
    found = Profiled(plane, folder, problem)
    for case in CASES:
        if long or not case.long:
            try:
                found.play(case)
            except Exception as error:  # noqa: BLE001  (the others are played, too)
                problem(f"request {case.name}: {type(error).__name__}: {error}")
    print("\n" + ROW.format("request", "seconds", "phase", "message"))
    for row in found.rows:
        print(ROW.format(*map(str, row)), flush=True)


class Profiled:
    """`rows`: of the table, one for each request."""

    def __init__(self, plane, folder, problem):
        self.plane = plane
        self.cluster = plane.cluster
        self.folder = folder
        self.problem = problem
        self.rows = []

    def play(self, case):
        begin = time.monotonic()
        self.cluster.api("POST", REQUESTS, case.manifest())
        try:
            self.cluster.wait(lambda: self._get(case)["status"].get("phase") in ENDS, END_SECONDS, f"{case.name} ends")
        finally:
            self._keep(case)
        status = self._get(case)["status"]
        succeeded = next((one for one in status["conditions"] if one["type"] == "Succeeded"), {})
        self.rows.append([case.name, round(time.monotonic() - begin), status["phase"], succeeded.get("message")])
        if status["phase"] != case.phase:
            self.problem(f"request {case.name}: the phase is {status['phase']}: {status['conditions']}")
        elif case.phase == "Failed":
            self._failed(case, succeeded)
        else:
            self._generated(case, status)
        self._delete(case, status)

    def _get(self, case):
        found = self.cluster.api("GET", f"{REQUESTS}/{case.name}")
        found.setdefault("status", {})
        return found

    def _job(self, case):
        return self.cluster.api("GET", f"{JOBS}/profile-{case.name}")

    def _failed(self, case, succeeded):
        """The cause is told where a user looks, and the profiler has run once (decision life-Q33)."""
        message = succeeded.get("message", "")
        if not re.search(case.message, message, re.DOTALL):
            self.problem(f"request {case.name}: the message is {message!r}")
        row = self.cluster.kubectl("get", "dgdr", case.name, "-n", NAMESPACE).stdout
        if message not in row:
            self.problem(f"request {case.name}: kubectl get prints {row!r}")
        pods = json.loads(self._kubectl("get", "pods", "-l", f"job-name=profile-{case.name}", "-o", "json"))["items"]
        failed = self._job(case)["status"].get("failed")
        if failed != 1 or len(pods) != 1:
            self.problem(f"request {case.name}: the Job has {len(pods)} pods, {failed} failed: {self._job(case)['status']}")

    def _generated(self, case, status):
        """The ConfigMap has what the profiler wrote; a graph that is deployed answers."""
        output = self.cluster.api("GET", f"{CONFIG_MAPS}/dgdr-output-{case.name}")
        documents = [one for one in yaml.safe_load_all(output["data"]["final_config.yaml"]) if one]
        (graph,) = [one for one in documents if one["kind"] == "DynamoGraphDeployment"]
        if sorted(graph["spec"]["services"]) != sorted(case.services):
            self.problem(f"request {case.name}: the profiler's graph has the services {sorted(graph['spec']['services'])}")
        selected = status.get("profilingResults", {}).get("selectedConfig", {})
        if sorted(selected.get("spec", {}).get("services", {})) != sorted(case.services):
            self.problem(f"request {case.name}: the status has {selected}")
        if case.phase != "Deployed":
            if self.cluster.api("GET", GRAPHS)["items"]:
                self.problem(f"request {case.name}: there is a graph")
            return
        self._answers(case, status["dgdName"], documents)

    def _answers(self, case, name, documents):
        live = self.plane.get(name)
        if sorted(live["spec"]["services"]) != sorted(case.services):
            self.problem(f"request {case.name}: the graph has the services {sorted(live['spec']['services'])}")
        for one in documents:
            if one["kind"] == "ConfigMap":
                owner = self.cluster.api("GET", f"{CONFIG_MAPS}/{one['metadata']['name']}")["metadata"].get("ownerReferences")
                if [each["uid"] for each in owner or []] != [live["metadata"]["uid"]]:
                    self.problem(f"request {case.name}: ConfigMap {one['metadata']['name']} is owned by {owner}")
        model = case.spec["model"]
        self.cluster.wait(lambda: self.plane.models(name) == [model], CHAT_SECONDS, f"{model} is served")
        body = {"model": model, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 8}
        address = self.plane.address(name)
        status, text = http_request(self.cluster.node, address, 8000, "POST", "/v1/chat/completions", body, 60)
        answer = json.loads(text)["choices"][0]["message"]["content"] if status == 200 else None
        self.rows[-1][-1] = f"the graph {name} answers: {answer!r}"
        if not answer:
            self.problem(f"request {case.name}: the chat is answered with status {status}: {text}")

    def _kubectl(self, *words):
        return self.cluster.kubectl(*words, "-n", NAMESPACE, check=False).stdout

    def _keep(self, case):
        """What there is to read of the request when it is gone."""
        selector = f"job-name=profile-{case.name}"
        texts = {
            "yaml": self._kubectl("get", "dgdr,job,dgd,configmap,pods", "-o", "yaml"),
            "events": self._kubectl("get", "events"),
            "log": self._kubectl("logs", "-l", selector, "--all-containers", "--prefix", "--tail=-1"),
        }
        for kind, text in texts.items():
            (self.folder / f"{case.name}.{kind}").write_text(text, encoding="utf-8")

    def _delete(self, case, status):
        """A graph outlives its request."""
        self.cluster.kubectl("delete", "dgdr", case.name, "-n", NAMESPACE, "--timeout=60s")
        self.cluster.wait(lambda: not self.cluster.exists(f"{JOBS}/profile-{case.name}"), 120, "the Job goes")
        name = status.get("dgdName")
        if name and self.cluster.exists(f"{GRAPHS}/{name}"):
            if left := scenarios.delete(self.plane, name):
                self.problem(f"request {case.name}: left after deletion of {name}: {left}")
