#!/usr/bin/env python3
"""The quickstart after set-up: starts a control plane, the webhook and the controller, and demonstrates requests of both
versions and graphs. Every statement is checked, so this is also a smoke test. deploy/quickstart starts it."""

import argparse
import re
import signal
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import tour_controller  # noqa: E402
from install import ROOT, WEBHOOK, Controller, InstallError, Webhook, install  # noqa: E402
from story import Story, StoryError, conclude  # noqa: E402

from control_plane import ControlPlane, ControlPlaneError, KubectlError  # noqa: E402

GRAPH = "deploy/samples/graph.yaml"
OLD = "deploy/samples/dgdr-v1alpha1.yaml"
NEW = "deploy/samples/dgdr-v1beta1.yaml"
MISTAKES = "deploy/samples/mistakes.yaml"
# kubectl uses v1beta1 for the short name. The long name selects a version.
DEFINITIONS = (
    "v1alpha1=dynamographdeploymentrequests.v1alpha1.nvidia.com",
    "v1beta1=dynamographdeploymentrequests.v1beta1.nvidia.com",
    "spec() { sed -n '/^spec:/,/^status:/{/^status:/!p}'; }",
)
DEFAULT_IMAGE = "nvcr.io/nvidia/ai-dynamo/dynamo-frontend:1.0.0"


def stored(cluster, version, name):
    """The stored object in a version."""
    namespace = f"/apis/nvidia.com/{version}/namespaces/default"
    return cluster.api("GET", f"{namespace}/dynamographdeploymentrequests/{name}")


def an_old_request(story, cluster):
    story.chapter("A request written in v1alpha1 is stored and read in both versions")
    for text in DEFINITIONS:
        story.define(text)
    story.run(f"kubectl apply -f {OLD}")
    story.tell("In v1beta1 the targets of `config` are typed fields, and defaults are set.")
    story.run("kubectl get $v1beta1 llama-70b-sla -o yaml | spec")
    spec = stored(cluster, "v1beta1", "llama-70b-sla")["spec"]
    story.check(spec["sla"] == {"ttft": 200.5, "itl": 20}, "spec.sla is typed: ttft 200.5, itl 20")
    story.check(spec["workload"] == {"isl": 3000, "osl": 150}, "spec.workload is typed: isl 3000, osl 150")
    story.check(spec["features"]["planner"]["adjustment_interval"] == 60, "spec.features.planner is converted")
    story.check(spec["searchStrategy"] == "rapid", "spec.searchStrategy has its default, rapid")
    story.tell("In v1alpha1 nothing is lost: nodeSelector and workersImage, for which v1beta1 has no")
    story.tell("field, and a number too large for a double are unchanged.")
    story.run(
        f"diff <(kubectl create --dry-run=client -o yaml -f {OLD} 2>/dev/null | spec) "
        "<(kubectl get $v1alpha1 llama-70b-sla -o yaml 2>/dev/null | spec)"
    )
    spec = stored(cluster, "v1alpha1", "llama-70b-sla")["spec"]
    kept = (
        spec["profilingConfig"]["nodeSelector"] == {"nvidia.com/gpu.product": "NVIDIA-H200"}
        and spec["deploymentOverrides"]["workersImage"].endswith("/vllm-runtime:1.0.0")
        and spec["profilingConfig"]["config"]["run_id"] == 9007199254740993
    )
    story.check(kept, "the difference is empty: v1alpha1 returns the written spec")


def a_new_request(story, cluster):
    story.chapter("A request in v1beta1: defaults are stored, and applying it again changes nothing")
    story.run(f"kubectl apply -f {NEW}")
    story.run(f"kubectl get dgdr qwen3-chat -o jsonpath='{{.spec.image}}'")
    before = stored(cluster, "v1beta1", "qwen3-chat")
    story.check(before["spec"].get("image") == DEFAULT_IMAGE, "the default image is in the stored object")
    output = story.run(f"kubectl apply -f {NEW}")
    story.check("unchanged" in output, "applied again: unchanged")
    story.check(story.run(f"kubectl diff -f {NEW}") == "", "kubectl diff is empty")
    after = stored(cluster, "v1beta1", "qwen3-chat")
    same = before["metadata"]["resourceVersion"] == after["metadata"]["resourceVersion"]
    story.check(same, "its resourceVersion is unchanged")


def mistakes(story):
    story.chapter("kubectl apply rejects mistakes with their field path")
    story.tell("Contradictory settings (rejected by the webhook):")
    change = "sed 's/^  backend: sglang/  backend: auto/; s/qwen3-chat/another/'"
    story.refused(f"{change} {NEW} | kubectl apply -f -", "spec.searchStrategy", "set spec.backend to")
    story.tell("A misspelt key and an unknown value (rejected by the API server with deploy/crds):")
    misspelt = "sed 's/ttft: 200/ttfs: 200/; s/qwen3-chat/another/'"
    story.refused(f"{misspelt} {NEW} | kubectl apply -f -", "spec.sla.ttfs", "unknown field")
    wrong = "sed 's/gpuSku: h200_sxm/gpuSku: h200/; s/qwen3-chat/another/'"
    story.refused(f"{wrong} {NEW} | kubectl apply -f -", "spec.hardware.gpuSku", "Unsupported value")


def a_locked_field(story, cluster):
    story.chapter("The spec of a deployed request is locked in both versions")
    phase = '{"status": {"phase": "Deployed"}}'
    story.run(f"kubectl patch dgdr qwen3-chat --subresource=status --type=merge -p '{phase}'")
    change = """--type=merge -p '{"spec": {"model": "Qwen/Qwen3-8B"}}'"""
    for resource in ("$v1beta1", "$v1alpha1"):
        story.refused(f"kubectl patch {resource} qwen3-chat {change}", "spec: Forbidden", "in phase Deployed")
    story.run("kubectl label dgdr qwen3-chat team=chat")
    found = stored(cluster, "v1beta1", "qwen3-chat")
    unchanged = found["spec"]["model"] == "Qwen/Qwen3-32B" and found["metadata"]["labels"]["team"] == "chat"
    story.check(unchanged, "the spec is unchanged; a label may be set")


def a_graph(story, cluster):
    story.chapter("A graph of four services: its defaults are stored, and its children can be rendered in advance")
    story.run(f"kubectl apply -f {GRAPH}")
    story.tell("The effective spec of one service has probes, ports, environment and security context.")
    story.run("kubectl get dgd qwen -o yaml | sed -n '/^    Decode:/,/^    Frontend:/p' | head -n 40")
    path = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamographdeployments/qwen"
    decode = cluster.api("GET", path)["spec"]["services"]["Decode"]["extraPodSpec"]
    probe = decode["mainContainer"]["startupProbe"]
    story.check(probe["failureThreshold"] == 720, "the startup probe waits two hours for a large model")
    story.check(decode["mainContainer"]["args"] == ["--model", "Qwen/Qwen3-0.6B"], "the user's arguments are unchanged")
    output = story.run(f"kubectl apply -f {GRAPH}")
    story.check("unchanged" in output, "applied again: unchanged")
    output = story.run(f"kubectl dynamo render -f {GRAPH} --pathway deployment -o tree")
    story.check(output.count("Deployment qwen-") == 8, "four component deployments, each with its Deployment")
    story.tell("Three common mistakes:")
    change = "sed 's/name: qwen/name: other/; {}' {} | kubectl apply -f -"
    story.refused(change.format('0,/gpu: "1"/s//gpu: "1", memory: 16GB/', GRAPH), "spec.services[Prefill].resources.limits.memory",
                  '"16GB"')
    mount = "s/args: .--model, Qwen.Qwen3-0.6B.$/volumeMounts: [{name: models, mountPath: \\/models}]/"
    story.refused(change.format(mount, GRAPH), "volumeMounts[0].name", "Not found")
    story.refused(change.format("s/dynamo.vllm/dynamo.sglang/; s/^spec:/spec:\\n  backendFramework: vllm/", GRAPH),
                  "spec.services[Decode].extraPodSpec.mainContainer", "sglang")


def offline(story):
    story.chapter("The same checks without a cluster, for editors and pipelines")
    output = story.run(f"dynamo-webhook check -f {MISTAKES}", succeeds=False)
    lines = [line for line in output.splitlines() if re.match(rf"{re.escape(MISTAKES)}:\d+:\d+: ", line)]
    paths = [
        "spec.searchStrategy",
        "spec.sla.ttfs",
        "spec.hardware.gpuSku",
        "spec.model",
        "spec.workload.isl",
        "spec.deploymentOverrides.namespace",
    ]
    located = all(any(f": {path}: " in line for line in lines) for path in paths)
    story.check(located, f"all {len(paths)} mistakes are found, with file, line and path")
    output = story.run(f"kubectl apply -f {MISTAKES} 2>&1 | grep -c '^Error from server'", succeeds=False)
    story.check(output.strip() == str(len(paths)), "the cluster rejects the same objects")
    output = story.run(f"dynamo-webhook convert --to v1beta1 -f {OLD} | spec | sed -n '1,9p'")
    story.check("ttft: 200.5" in output, "a v1alpha1 manifest is converted to v1beta1")


def facts(story, webhook):
    story.chapter("The webhook process")
    story.run(f"grep -E 'VmRSS|VmHWM|Threads' /proc/{webhook.pid}/status")
    ready = story.run(f"curl -sS http://127.0.0.1:{webhook.health_port}/readyz")
    story.check(ready == "ok\n", "it is ready")
    requests = "controller_runtime_webhook_requests_total"
    names = f"{requests}|dynamo_operator_webhook_denials_total"
    page = f"curl -sS http://127.0.0.1:{webhook.metrics_port}/metrics"
    output = story.run(f"{page} | grep -E '^({names})' | grep -v ' 0$'")
    story.check(requests in output, "its metrics have the names of controller-runtime")


def the_log(story, cluster, webhook):
    story.chapter("The log of a denial, of a malformed body, and of an API server that does not trust the certificate")
    story.define(f"log={webhook.log}")
    url = f"https://127.0.0.1:{webhook.port}/convert"
    told = story.run(f"curl -sSk -H 'Content-Type: application/json' -d '{{' {url}")
    story.check('"code":400' in told, "the malformed body is rejected")
    story.tell("A common error: a caBundle that does not match the CA of the serving certificate.")
    configuration = "validatingwebhookconfiguration dynamo-operator-validating"
    path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations/dynamo-operator-validating"
    names = [entry["name"] for entry in cluster.api("GET", path)["webhooks"]]
    at = f"/webhooks/{names.index('vdynamographdeploymentrequest.kb.io')}/clientConfig/caBundle"
    another = webhook.directory / "another-ca"
    story.run(f"dynamo-webhook certs --ip 127.0.0.1 --out {another}")
    patch = "kubectl patch {} --type=json -p '[{{\"op\": \"replace\", \"path\": \"{}\", \"value\": \"'$(base64 -w0 {})'\"}}]'"
    story.run(patch.format(configuration, at, another / "ca.crt"))
    create = f"sed 's/qwen3-chat/another/' {NEW} | kubectl create --dry-run=server -f -"
    cluster.wait(lambda: "failed to verify certificate" in story.silent(create), 60, "the API server uses the caBundle")
    story.refused(create, "failed to verify certificate")
    story.run(patch.format(configuration, at, webhook.directory / "webhook-certs/ca.crt"))
    cluster.wait(lambda: "created" in story.silent(create), 60, "the API server trusts the certificate again")
    for message, names in (("denied", "rules"), ("request refused", "status"), ("TLS handshake failed", "hint")):
        line = story.run(f"grep '\"msg\":\"{message}\"' $log | tail -n 1")
        story.check(f'"{names}":' in line, f"{message}: logged with its {names}")


def tidy_up(story, cluster):
    story.run(f"kubectl delete -f {OLD} -f {NEW}")
    tour_controller.the_end(story, cluster)
    left = story.run("kubectl get dgdr,dgd -A -o name")
    story.check(left == "", "no objects remain")


def tell(story, cluster, webhook, controller):
    an_old_request(story, cluster)
    a_new_request(story, cluster)
    mistakes(story)
    a_locked_field(story, cluster)
    a_graph(story, cluster)
    tour_controller.the_graph_runs(story, cluster, controller)
    tour_controller.a_rolling_update(story, cluster)
    tour_controller.scaling(story, cluster)
    tour_controller.repairs(story, cluster, controller)
    tour_controller.a_request(story, cluster, controller)
    offline(story)
    facts(story, webhook)
    the_log(story, cluster, webhook)


def begin(text):
    print(f"==> {text}", flush=True)
    return time.monotonic()


def done(started):
    print(f"    done in {time.monotonic() - started:.1f} s", flush=True)


def stop(program):
    status = program.stop()
    if status not in (None, 0):
        raise StoryError(f"the {program.name} ended with status {status} after SIGTERM; its log:\n{program.log_tail()}")


def main():
    parser = argparse.ArgumentParser(prog="deploy/quickstart", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running until Ctrl-C")
    keep = parser.parse_args().keep
    whole = started = begin("starting the control plane, with one fake node of 8 GPUs")
    with ControlPlane() as cluster:
        directory = cluster.directory
        cluster.add_nodes(1, gpus=8)
        done(started)
        webhook, controller = Webhook(directory), None
        try:
            started = begin("starting the webhook, applying deploy/crds and deploy/kustomize/base with the webhook's URL")
            webhook.start()
            install(cluster, webhook)
            controller = Controller(cluster)
            done(started)
            environment = cluster.environment()
            environment["PATH"] = f"{WEBHOOK.parent}:{environment['PATH']}"
            story = Story(environment, ROOT)
            tell(story, cluster, webhook, controller)
            if keep:
                print(f"\nEverything is still running. In another shell:\n    export KUBECONFIG={cluster.kubeconfig}")
                print(f"    export PATH={cluster.assets}:{WEBHOOK.parent}:$PATH")
                print(f"The logs: {webhook.log} {controller.log}\nCtrl-C stops everything and cleans up.", flush=True)
                try:
                    signal.pause()
                except KeyboardInterrupt:
                    print()
            story.chapter("Cleaning up")
            tidy_up(story, cluster)
        except (StoryError, ControlPlaneError):
            for program in filter(None, (webhook, controller)):
                print(f"\nThe end of the {program.name}'s log:\n{program.log_tail()}", file=sys.stderr)
            raise
        finally:
            for program in filter(None, (controller, webhook)):
                stop(program)
    ended = not any(Path(f"/proc/{program.pid}").exists() for program in (webhook, controller))
    story.check(ended and not directory.exists(), "webhook, controller, control plane and their files are removed")
    print(f"\nquickstart: {story.checks} checks passed in {time.monotonic() - whole:.0f} s")


if __name__ == "__main__":
    conclude(main, InstallError, ControlPlaneError, KubectlError)
