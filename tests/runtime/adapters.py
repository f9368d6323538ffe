"""DynamoModels, workers that load their adapters, and the frontend that serves them: how tests make, see and disturb them."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import bucket
import image
import model
import scenarios
from node.isolation import ADDRESS
from places import GRAPHS, NAMESPACE, PODS
from serving import http_request

HERE = Path(__file__).resolve().parent
NAME, GIVEN_NAME = "tuned", "given-adapter"
MODELS = f"/apis/nvidia.com/v1alpha1/namespaces/{NAMESPACE}/dynamomodels"
EVENTS = f"/api/v1/namespaces/{NAMESPACE}/events"
CONFIG_MAPS = f"/api/v1/namespaces/{NAMESPACE}/configmaps"
PORT, BUCKET_PORT = 9090, 9000
# Folders of the pods: a ConfigMap with an adapter, and an empty one.
GIVEN, LATE = "/adapters/given", "/adapters/late"
LOG_SECONDS = 10
PATIENCE = 90
NOT_SERVED = "Endpoint 'load_lora' not found in local registry"
# Of the slow object of the bucket: longer than the controller waits for an answer, which is 15 s.
SLOW_SECONDS = 17
STORAGE = {
    "AWS_ENDPOINT": f"http://{ADDRESS}:{BUCKET_PORT}",
    "AWS_ALLOW_HTTP": "true",
    "AWS_REGION": "none",
    "AWS_ACCESS_KEY_ID": "none",
    "AWS_SECRET_ACCESS_KEY": "none",
}


class Setting(NamedTuple):
    version: str = image.VERSIONS[0]
    discovery: str = "kubernetes"


def graph(setting):
    """A frontend and two workers that may load adapters."""
    made = scenarios.graph(NAME, setting.version, 1, setting.discovery, worker="echo")
    worker = made["spec"]["services"]["Worker"]
    variables = [{"name": name, "value": value} for name, value in {"DYN_LORA_ENABLED": "true", **STORAGE}.items()]
    worker |= {"replicas": 2, "modelRef": {"name": model.NAME}, "envs": variables}
    pod = worker["extraPodSpec"]
    pod["volumes"] = [{"name": "given", "configMap": {"name": GIVEN_NAME}}, {"name": "late", "emptyDir": {}}]
    mounts = [{"name": name, "mountPath": path} for name, path in (("given", GIVEN), ("late", LATE))]
    main = pod["mainContainer"]
    main |= {"args": ["--model", model.NAME, "--enable-lora"], "volumeMounts": mounts}
    return made


def adapter(name, served, uri):
    """A DynamoModel. `served`: the name under which the frontend serves it."""
    spec = {"baseModelName": model.NAME, "modelName": served, "modelType": "lora", "source": {"uri": uri}}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel", "metadata": {"name": name}, "spec": spec}


def files():
    """The ConfigMap of the pods."""
    return {"metadata": {"name": GIVEN_NAME}, "data": {name: data.decode() for name, data in bucket.FILES.items()}}


class Adapters:
    """`problem` is called with what must not be. `folder`: for what there is to read later. `timeline`: of the namespace."""

    def __init__(self, plane, setting, folder, timeline, problem):
        self.plane = plane
        self.setting = setting
        self.cluster = plane.cluster
        self.folder = folder
        self.timeline = timeline
        self.problem = problem
        argv = ["python3", "-B", HERE / "bucket.py", ADDRESS, BUCKET_PORT, SLOW_SECONDS]
        self._bucket = subprocess.Popen(plane.cluster.node.command(argv), stdin=subprocess.PIPE)

    def close(self):
        """What failed steps have left goes, too."""
        self._bucket.stdin.close()
        self._bucket.wait(10)
        if self.cluster.exists(f"{GRAPHS}/{NAME}"):
            scenarios.delete(self.plane, NAME)
        self.cluster.kubectl("delete", "dm", "--all", "-n", NAMESPACE, "--timeout=60s", check=False)
        self.cluster.kubectl("delete", "configmap", GIVEN_NAME, "-n", NAMESPACE, "--ignore-not-found", check=False)

    def check(self, what, found, wanted):
        if found != wanted:
            self.problem(f"adapters: {what}: {found}, not {wanted}")

    def until(self, what, condition, seconds=PATIENCE):
        self.cluster.wait(condition, seconds, what)

    def get(self, name):
        return self.cluster.api("GET", f"{MODELS}/{name}")

    def status(self, name):
        return self.get(name).get("status", {})

    def condition(self, name, kind="EndpointsReady"):
        return next((one for one in self.status(name).get("conditions", []) if one["type"] == kind), {})

    def reason(self, name):
        return self.condition(name).get("reason")

    def counts(self, name):
        """Ready endpoints and all of them."""
        status = self.status(name)
        return status.get("readyEndpoints"), status.get("totalEndpoints")

    def all_events(self, name):
        about = [one for one in self.cluster.api("GET", EVENTS)["items"] if one["involvedObject"]["kind"] == "DynamoModel"]
        return [one for one in about if one["involvedObject"]["name"] == name]

    def events(self, name):
        return {(one["type"], one["reason"]) for one in self.all_events(name)}

    def addresses(self):
        """name -> address of the pods of the worker, in the order of their names."""
        pods = {pod["metadata"]["name"]: pod["status"].get("podIP") for pod in self.plane.pods(NAME, "Worker")}
        return dict(sorted(pods.items()))

    def main_status(self, pod):
        return self.cluster.api("GET", f"{PODS}/{pod}")["status"]["containerStatuses"][0]

    def served(self):
        return set(self.plane.models(NAME) or [])

    def chat(self, served):
        """The status of the answer; 0 if it is empty. Prints other answers than 200."""
        body = {"model": served, "messages": [{"role": "user", "content": "Hello"}], "max_tokens": 12}
        address = self.plane.address(NAME)
        status, text = http_request(self.cluster.node, address, 8000, "POST", "/v1/chat/completions", body, 30)
        if status != 200:
            print(f"adapters: a chat with {served}: {status} {text}", flush=True)
        if status == 200 and not json.loads(text)["choices"][0]["message"]["content"]:
            return 0
        return status

    def ask(self, pod, method, path):
        return http_request(self.cluster.node, self.addresses()[pod], PORT, method, path)

    def adapters_of(self, pod):
        """The names of the adapters that a pod says it has; empty if it says nothing."""
        status, text = self.ask(pod, "GET", "/v1/loras")
        return set(json.loads(text)["loras"]) if status == 200 else set()

    def loaded(self):
        return [self.adapters_of(pod) for pod in self.addresses()]

    def log(self, pod):
        """That of the container that runs, without colours."""
        text = self.cluster.api("GET", f"{PODS}/{pod}/log?container=main")
        return re.sub(r"\x1b\[[0-9;]*m", "", text if isinstance(text, str) else json.dumps(text))

    def loads(self, pod, served):
        """How often the worker in the container was asked to load an adapter. Before it serves, the runtime refuses."""
        log = self.log(pod)
        asked = re.findall(rf": Loading LoRA: {re.escape(served)}(?: |$)", log, re.M)
        return len(asked) - log.count(f"Failed to load LoRA {served}: {NOT_SERVED}")

    def asked(self, pod):
        return len(re.findall(r": (?:Loading|Unloading) LoRA: ", self.log(pod)))

    def check_loads(self, served, wanted):
        """Waits, because a log may be behind the answer of the worker."""
        deadline = time.monotonic() + LOG_SECONDS
        while True:
            found = {pod: self.loads(pod, served) for pod in self.addresses()}
            if found and set(found.values()) == {wanted}:
                return
            if time.monotonic() > deadline:
                self.problem(f"adapters: requests to load {served}: {found}, not {wanted} each")
                return
            time.sleep(0.2)

    def wait_for_all(self, number):
        """Until `number` pods have fox, org/owl and hub. A pod that counts as ready has the adapter, whenever one looks."""

        def done():
            names = {"fox": "fox", "owl": "org/owl", "hub": "hub"}
            for name, served in names.items():
                ready = [one["podName"] for one in self.status(name).get("endpoints", []) if one["ready"]]
                for pod in ready:
                    if served not in self.adapters_of(pod):
                        self.problem(f"adapters: {pod} counts as ready for {name}, which it does not have")
            return all(self.counts(name) == (number, number) for name in names)

        self.until("all pods have the adapters", done)

    # What is done

    def signal(self, pod, name):
        """To the main process of a pod."""
        container = self.main_status(pod)["containerID"].removeprefix("containerd://")
        self.cluster.node.ctr("tasks", "kill", "--signal", name, container)

    def copy_adapter(self, pod):
        code = f"import shutil; shutil.copytree({GIVEN!r}, {LATE + '/adapter'!r})"
        self.cluster.kubectl("exec", "-n", NAMESPACE, pod, "-c", "main", "--", "/usr/bin/python3", "-c", code)

    def delete(self, name):
        """Returns the seconds until the model is gone."""
        begin = time.monotonic()
        self.cluster.api("DELETE", f"{MODELS}/{name}")
        self.until(f"{name} is gone", lambda: not self.cluster.exists(f"{MODELS}/{name}"))
        return time.monotonic() - begin

    def describe(self):
        return {one["metadata"]["name"]: one.get("status") for one in self.cluster.api("GET", MODELS)["items"]}

    def keep(self, title):
        """What there is to read of a step."""
        asked = {"yaml": ["dm,dgd,pods,endpointslices", "-o", "yaml"], "events": ["events"]}
        get = ["get", "-n", NAMESPACE]
        texts = {kind: self.cluster.kubectl(*get, *words, check=False).stdout for kind, words in asked.items()}
        texts |= {f"{pod}.log": self.log(pod) for pod in self.addresses()}
        for kind, text in texts.items():
            (self.folder / f"{title}.{kind}").write_text(text, encoding="utf-8")
