"""The chapters of the quickstart about the controller: it runs the sample graph on fake nodes."""

import json
import re
import threading
import time

GRAPH = "deploy/samples/graph.yaml"
REQUEST = "deploy/samples/dgdr-v1beta1.yaml"
PODS = "/api/v1/namespaces/default/pods?labelSelector=nvidia.com/dynamo-graph-deployment-name=qwen"
DYNAMO = "/apis/nvidia.com/v1alpha1/namespaces/default"
NEW_IMAGE = "nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.1"
SECONDS = 60
SAMPLE_SECONDS = 0.05
STEADY_SECONDS = 3


def graph(cluster):
    return cluster.api("GET", f"{DYNAMO}/dynamographdeployments/qwen")


def is_ready(cluster):
    """Whether the status is that of the latest spec, and the graph is up."""
    found = graph(cluster)
    status = found.get("status", {})
    current = status.get("observedGeneration") == found["metadata"]["generation"]
    return current and status.get("state") == "successful"


def ready_pods(cluster):
    """The number of ready pods of each service. A pod that is being deleted does not count."""
    counts = {}
    for pod in cluster.api("GET", PODS)["items"]:
        conditions = {c["type"]: c["status"] for c in pod.get("status", {}).get("conditions", [])}
        if conditions.get("Ready") == "True" and "deletionTimestamp" not in pod["metadata"]:
            service = pod["metadata"]["labels"]["nvidia.com/dynamo-component"]
            counts[service] = counts.get(service, 0) + 1
    return counts


class FewestPods:
    """Counts the ready pods of some services while it is active. Afterwards `counts` has the lowest numbers."""

    def __init__(self, cluster, services):
        self.counts = {}
        self.samples = 0
        self._cluster, self._services = cluster, services
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._end.set()
        self._thread.join()

    def _sample(self):
        while not self._end.is_set():
            counts = ready_pods(self._cluster)
            for service in self._services:
                self.counts[service] = min(self.counts.get(service, 99), counts.get(service, 0))
            self.samples += 1
            self._end.wait(SAMPLE_SECONDS)


def the_graph_runs(story, cluster, controller):
    story.chapter("The controller runs the graph on a fake node")
    story.tell("It runs as the service account of deploy/kustomize/base, with no more rights than its roles give.")
    controller.start()
    controller.wait_until_ready()
    story.run("kubectl wait dgd/qwen --for=condition=Ready --timeout=60s")
    output = story.run("kubectl get dgd,dcd")
    story.check(re.search(r"/qwen +True +successful", output) is not None, "the graph is up")
    story.run("kubectl dynamo status qwen")
    story.check(ready_pods(cluster) == {"Frontend": 1, "Prefill": 2, "Decode": 2, "Planner": 1}, "all six pods are ready")


def a_rolling_update(story, cluster):
    story.chapter("A new image: the workers are replaced, and never fewer are ready than wanted")
    before = {item["metadata"]["name"] for item in worker_deployments(cluster)}
    patch = {"spec": {"services": {"Decode": {"extraPodSpec": {"mainContainer": {"image": NEW_IMAGE}}}}}}
    with FewestPods(cluster, ("Prefill", "Decode")) as seen:
        story.run(f"kubectl patch dgd qwen --type=merge -p '{json.dumps(patch)}'")
        story.run("kubectl get dcd")
        cluster.wait(lambda: finished(cluster, before), SECONDS, "the rolling update is finished")
    story.run("kubectl get dgd,dcd")
    least = f"at least two pods of each worker were ready, in all of {seen.samples} samples"
    story.check(seen.counts == {"Prefill": 2, "Decode": 2}, least)
    images = {item["spec"]["extraPodSpec"]["mainContainer"]["image"] for item in worker_deployments(cluster)}
    story.check(NEW_IMAGE in images, "the new workers run the new image; the old ones are gone")


def worker_deployments(cluster):
    """Those of the workers have a hash of the graph's workers in a label and in their name."""
    selector = "labelSelector=nvidia.com/dynamo-worker-hash"
    return cluster.api("GET", f"{DYNAMO}/dynamocomponentdeployments?{selector}")["items"]


def finished(cluster, before):
    names = {item["metadata"]["name"] for item in worker_deployments(cluster)}
    return len(names) == len(before) and not names & before and is_ready(cluster)


def scaling(story, cluster):
    story.chapter("Scaling one service")
    story.tell("A scaling adapter has a scale subresource, which a HorizontalPodAutoscaler uses. That one needs metrics,")
    story.tell("and this control plane has none, so kubectl scale takes its place.")
    patch = {"spec": {"services": {"Decode": {"scalingAdapter": {"enabled": True}}}}}
    story.run(f"kubectl patch dgd qwen --type=merge -p '{json.dumps(patch)}'")
    cluster.wait(lambda: "qwen-decode" in story.silent("kubectl get dgdsa -o name"), SECONDS, "the adapter exists")
    story.run("kubectl scale dgdsa qwen-decode --replicas=3")
    cluster.wait(lambda: ready_pods(cluster).get("Decode") == 3 and is_ready(cluster), SECONDS, "three workers are ready")
    story.run("kubectl get dgdsa")
    story.check(True, "three decode workers are ready")
    replicas = {"spec": {"services": {"Decode": {"replicas": 5}}}}
    story.refused(f"kubectl patch dgd qwen --type=merge -p '{json.dumps(replicas)}'", "spec.services[Decode].replicas")


def repairs(story, cluster, controller):
    story.chapter("A deleted child comes back, and a steady state causes no writes")
    path = "/api/v1/namespaces/default/services"

    def uid():
        found = [item["metadata"] for item in cluster.api("GET", path)["items"] if item["metadata"]["name"] == "qwen-frontend"]
        return found[0]["uid"] if found else None

    before = uid()
    story.run("kubectl delete service qwen-frontend")
    cluster.wait(lambda: uid() not in (None, before), SECONDS, "the Service is back")
    story.run("kubectl get service qwen-frontend")
    story.check(True, "the Service is back, with another uid")
    cluster.wait(lambda: is_ready(cluster), SECONDS, "the graph is up")
    page = f"curl -sS http://127.0.0.1:{controller.metrics_port}/metrics"
    # PUT renews the lease.
    writes = f"{page} | grep '^rest_client_requests_total' | grep -E 'PATCH|POST|DELETE'"

    def pause(seconds):
        time.sleep(seconds)
        return story.silent(writes)

    # The last Events come a moment after the status.
    cluster.wait(lambda: story.silent(writes) == pause(1), SECONDS, "the controller has written everything")
    first = story.run(writes)
    story.check(pause(STEADY_SECONDS) == first, f"{STEADY_SECONDS} s later it has sent no further write")


def profiled_graph():
    """A graph such as a profiler finds for the request."""

    def service(component, module, gpus=None):
        container = {"image": "nvcr.io/nvidia/ai-dynamo/sglang-runtime:1.0.0", "command": ["python3", "-m", module]}
        limits = {"resources": {"limits": {"gpu": gpus}}} if gpus else {}
        return {"componentType": component, "replicas": 1, "extraPodSpec": {"mainContainer": container}, **limits}

    services = {"Frontend": service("frontend", "dynamo.frontend"), "Worker": service("worker", "dynamo.sglang", "1")}
    spec = {"backendFramework": "sglang", "services": services}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": "chat"}, "spec": spec}


def a_request(story, cluster, controller):
    story.chapter("A request: its Job profiles, and the result is deployed")
    # The claim of the sample does not exist here, and only the strategy thorough needs GPUs to profile.
    change = "s/qwen3-chat/chat/; s/searchStrategy: thorough/searchStrategy: rapid/; /modelCache:/,/pvcModelPath:/d"
    story.run(f"sed '{change}' {REQUEST} | kubectl apply -f -")
    story.run("kubectl wait dgdr/chat --for=jsonpath='{.status.phase}'=Profiling --timeout=60s")
    output = story.run("kubectl dynamo status dgdr/chat", succeeds=False)
    story.check("Job profile-chat" in output, "the status shows the phase and the Job of the request")
    story.tell("A pod on a fake node ends without profiling. So the ConfigMap that its output copier writes in a cluster is")
    story.tell("written here, with a graph of two services.")
    story.run(f"kubectl create configmap dgdr-output-chat --from-literal=final_config.yaml='{json.dumps(profiled_graph())}'")
    story.run("kubectl wait dgdr/chat --for=jsonpath='{.status.phase}'=Deployed --timeout=60s")
    output = story.run("kubectl dynamo status dgdr/chat")
    below = re.search(r"DynamoGraphDeployment chat +2/2 .*\n(.*\n)*.*service Worker +1/1", output)
    story.check(below is not None, "the request is Deployed: its graph runs two pods, shown below it")
    story.run("kubectl get dgdr chat")
    counted = r'dynamo_operator_resources_total\{.*DynamoGraphDeploymentRequest",status="Deployed"'
    page = f"curl -sS http://127.0.0.1:{controller.metrics_port}/metrics"
    cluster.wait(lambda: re.search(counted, story.silent(page)) is not None, SECONDS, "the request is counted")
    story.check(True, "the metrics count requests by phase")
    story.tell("The graph outlives its request.")
    story.run("kubectl delete dgdr/chat configmap/dgdr-output-chat")
    story.run("kubectl delete dgd/chat")


def the_end(story, cluster):
    story.run(f"kubectl delete -f {GRAPH}")
    kinds = "pods,services,deployments,replicasets,dcd,dgdsa,roles,rolebindings,serviceaccounts"
    left = f"kubectl get {kinds} -o name | grep -E 'qwen|planner'"
    account = ["rolebinding.rbac.authorization.k8s.io/planner-serviceaccount-binding", "serviceaccount/planner-serviceaccount"]
    cluster.wait(lambda: sorted(story.silent(left).split()) == account, SECONDS, "the children are gone")
    story.run(left)
    story.tell("Planners of all graphs in the namespace share this account, so it stays.")
    story.check(True, "nothing else is left of the graph")
