#!/usr/bin/env python3
"""The quickstart on a real node: webhook and controller run as pods, a graph of the real Dynamo runtime answers chat, its
workers are replaced while clients ask, and the real profiler serves a request. `deploy/quickstart --real` starts it."""

import json
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
from install import ROOT, WEBHOOK  # noqa: E402
from story import Story, conclude  # noqa: E402

sys.path[:0] = [str(ROOT / "tests/runtime"), str(ROOT / "tests/cluster")]
import chat  # noqa: E402
import image  # noqa: E402
import model  # noqa: E402
import profiled  # noqa: E402
from control_plane import ControlPlaneError, KubectlError  # noqa: E402
from node import requirements  # noqa: E402
from node.machine import NodeError  # noqa: E402
from serving import Load  # noqa: E402
from places import NAMESPACE  # noqa: E402
from plane import RuntimePlane  # noqa: E402

VERSION = "1.0.0"
GRAPH = "tests/runtime/graph.yaml"
NAME = "words"
REQUEST = "tests/runtime/request.yaml"
SETTLED_SECONDS = 180
PROFILED_SECONDS = 600


def the_operator(story):
    story.chapter("Webhook and controller run as pods, as deploy/kustomize/base installs them")
    output = story.run("kubectl get pods -n dynamo-system")
    story.check(output.count(" Running ") == 3, "two webhooks and a controller run")


def the_graph(story, plane):
    story.chapter("A graph of the real runtime")
    story.run(f"kubectl apply -f {GRAPH}")
    story.run(f"kubectl wait -n {NAMESPACE} dgd/{NAME} --for=condition=Ready --timeout=120s")
    story.run(f"kubectl get -n {NAMESPACE} dgd,pods")
    story.check(plane.models(NAME) == [model.NAME], "the frontend lists the model as soon as the graph is ready")


def ask(story, plane, graph, model_name):
    """The answer in a chat must have a text."""
    question = {"model": model_name, "max_tokens": 12, "messages": [{"role": "user", "content": "the quick brown fox"}]}
    story.define(f"frontend=http://{plane.address(graph)}:8000")
    answer = story.run(f"in_cluster curl -s $frontend/v1/chat/completions -H 'Content-Type: application/json' -d '{json.dumps(question)}'")
    text = json.loads(answer)["choices"][0]["message"]["content"]
    story.check(bool(text), f"the answer: {text!r}")


def a_chat(story, plane):
    story.chapter("The graph answers chat")
    story.define(f"in_cluster() {{ {' '.join(plane.cluster.node.command([]))} \"$@\"; }}")
    ask(story, plane, NAME, model.NAME)


def an_update(story, plane, folder):
    story.chapter("The worker is replaced while four clients ask")
    load = Load(plane.cluster.node, plane.address(NAME), model.NAME, folder / "requests")
    try:
        begin = time.time()
        change = json.dumps({"spec": {"services": {"Worker": {"extraPodMetadata": {"annotations": {"generation": "2"}}}}}})
        story.run(f"kubectl patch -n {NAMESPACE} dgd/{NAME} --type=merge -p '{change}'")
        plane.wait_until_settled(NAME, {"Frontend": 1, "Worker": 1}, SETTLED_SECONDS, 3)
    finally:
        load.stop()
    found = chat.summary(load.records, begin, time.time())
    story.run(f"kubectl get -n {NAMESPACE} dgd,pods")
    story.tell(f"{found['requests']} requests, {found['failed']} failed, at most {found['gap']} s without an answer")
    story.check(found["requests"] > 0 and found["failed"] == 0, "no request has failed")


def a_request(story, plane):
    story.chapter("A request for a model: the real profiler searches, and what it finds is deployed")
    profiled.configure(plane.cluster)
    story.run(f"kubectl apply -f {REQUEST}")
    request = f"dgdr/{profiled.DEPLOYED['metadata']['name']}"
    phase = lambda: story.silent(f"kubectl get -n {NAMESPACE} {request} -o jsonpath={{.status.phase}}")  # noqa: E731
    plane.cluster.wait(lambda: phase() == "Profiling", 60, "the profiling Job runs")
    story.run(f"kubectl dynamo status -n {NAMESPACE} {request}", succeeds=None)
    plane.cluster.wait(lambda: phase() in profiled.ENDS, PROFILED_SECONDS, "the request ends")
    story.run(f"kubectl get -n {NAMESPACE} {request}")
    story.run(f"kubectl dynamo status -n {NAMESPACE} {request}")
    story.check(phase() == "Deployed", "the generated graph is deployed")
    graph = story.silent(f"kubectl get -n {NAMESPACE} {request} -o jsonpath={{.status.dgdName}}")
    served = profiled.DEPLOYED["spec"]["model"]
    plane.cluster.wait(lambda: plane.models(graph) == [served], profiled.CHAT_SECONDS, f"{served} is served")
    ask(story, plane, graph, served)
    return graph


def the_end(story, plane, generated):
    story.chapter("Cleaning up")
    story.run(f"kubectl delete -f {GRAPH} -f {REQUEST}")
    story.tell("A graph outlives its request.")
    story.run(f"kubectl delete -n {NAMESPACE} dgd/{generated}")
    plane.cluster.wait(lambda: not plane.pods(NAME) and not plane.pods(generated), 120, "the pods are gone")
    story.check(story.run(f"kubectl get -n {NAMESPACE} dgdr,dgd,dcd,deployments,jobs -o name") == "", "no objects remain")


def main():
    if reason := requirements.reason_against_node():
        sys.exit(f"quickstart: {reason}")
    started = time.monotonic()
    print("==> making the image of the runtime, starting a control plane with a real node, installing the operator", flush=True)
    with RuntimePlane([VERSION, image.PROFILER]) as plane, tempfile.TemporaryDirectory() as folder:
        print(f"    done in {time.monotonic() - started:.1f} s", flush=True)
        environment = plane.cluster.environment()
        environment["PATH"] = f"{WEBHOOK.parent}:{environment['PATH']}"
        story = Story(environment, ROOT)
        the_operator(story)
        the_graph(story, plane)
        a_chat(story, plane)
        an_update(story, plane, Path(folder))
        the_end(story, plane, a_request(story, plane))
    print(f"\nquickstart: {story.checks} checks passed in {time.monotonic() - started:.0f} s")


if __name__ == "__main__":
    conclude(main, ControlPlaneError, KubectlError, NodeError, TimeoutError, image.ImageError)
