"""Generates plausible DynamoGraphDeployments from a seed, as users write them. About one of seven has an invalid value.

usage: plausible.py [SEED [COUNT]]   prints them as YAML documents
"""

import json
import random
import sys

import plausible_parts as parts
from plausible_mistakes import MISTAKES
from plausible_parts import maybe, members, some

ENGINES = ("vllm", "sglang", "trtllm")
SERVICE_NAMES = ("VllmWorker", "decode", "Prefill-Worker", "W", "TRTLLMDecodeWorker", "sgl-decode-0", "gpu", "Worker2",
                 "backend", "Encode-Worker", "X1", "long-context-decode", "DEC")
GRAPH_NAMES = ("llama-3-70b", "qwen", "x", "deepseek-r1", "prod-chat", "a-b-c", "mixtral.v2", "e2e-long-graph-name-27b")
NAMES_BUDGET = 45  # bytes of the graph's name and a service's name, which counts twice plus 4 for multinode services
MISTAKE_CHANCE = 0.14
MODELS = ("Qwen/Qwen3-0.6B", "meta-llama/Llama-3.3-70B-Instruct", "/models/deepseek r1", "nvidia/Llama-3_1-Nemotron")


def engine_flags(rng, engine, nodes, gpus):
    model = {"vllm": "--model", "sglang": "--model-path", "trtllm": "--model-path"}[engine]
    flags = [model, rng.choice(MODELS)]
    if nodes > 1 and engine != "trtllm":
        flags += rng.choice((["--tensor-parallel-size", str(nodes * gpus)],
                             ["--data-parallel-size", str(nodes * gpus)],
                             ["--tensor-parallel-size", str(gpus), "--pipeline-parallel-size", str(nodes)], []))
    if maybe(rng, 0.3):
        flags += ["--kv-transfer-config", '{"kv_connector": "NixlConnector", "kv_role": "kv_both"}']
    return flags + some(rng, ("--enforce-eager", "--is-prefill-worker", "--no-enable-prefix-caching", "--log-level=$(DYN_LOG)"))


def engine_command(rng, engine, nodes, gpus):
    """command and args of a worker's main container, in all common forms."""
    module, flags = f"dynamo.{engine}", engine_flags(rng, engine, nodes, gpus)
    line = " ".join(["python3", "-m", module, *(f"'{flag}'" if " " in flag else flag for flag in flags)])
    return rng.choice((
        {"command": ["python3", "-m", module], "args": flags},
        {"command": ["python3"], "args": ["-m", module, *flags]},
        {"command": ["/opt/venv/bin/python3.12", "-m", module, *flags], "args": ["--x"]},
        {"args": [line]},
        {"command": ["/bin/sh", "-c"], "args": [line]},
        {"command": ["bash", "-lc"], "args": [f"ulimit -l unlimited && {line} 2>&1 | tee /tmp/engine.log"]},
        {"command": ["sh", "-c", line], "args": [line]},
        {"command": ["/opt/entrypoint.sh"], "args": ["python3", "-m", module, *flags]},
        {"args": ["set -e\nsource /opt/env\nexec " + line]},
    ))


def main_container(rng, engine, nodes, gpus, volume_names):
    made = {"image": rng.choice(("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0", "my-registry:5000/team/engine:2026-01-01_a", "engine"))}
    if engine:
        made |= engine_command(rng, engine, nodes, gpus)
    elif maybe(rng, 0.2):
        made |= {"command": ["python3", "-m", "dynamo.frontend"], "args": ["--http-port", "8000"]}
    made |= members(
        rng, 0.13, env=parts.variables, envFrom=parts.env_from, workingDir=lambda r: "/workspace/examples", lifecycle=parts.lifecycle,
        startupProbe=lambda r: parts.probe(r, "startup"), livenessProbe=lambda r: parts.probe(r, "liveness"),
        readinessProbe=parts.probe, securityContext=parts.container_security, resources=lambda r: parts.amounts(r, True),
        ports=lambda r: [{"name": "zmq", "containerPort": 5557}, {"containerPort": 20380, "protocol": "UDP"}],
        volumeMounts=lambda r: parts.mounts(r, some(r, volume_names), "/data"), imagePullPolicy=lambda r: "Always",
        volumeDevices=lambda r: [], stdin=lambda r: True, terminationMessagePath=lambda r: "/tmp/why")
    return made


def pod_spec(rng, engine, nodes, gpus):
    volumes = parts.volumes(rng) if maybe(rng, 0.4) else []
    names = [volume["name"] for volume in volumes]
    made = {"mainContainer": main_container(rng, engine, nodes, gpus, names), **parts.placement(rng)}
    if volumes:
        made["volumes"] = volumes
    if maybe(rng, 0.12):
        made["containers"] = [parts.sidecar(rng, name, names) for name in some(rng, ("otel", "nginx", "log-shipper"), 1, 2)]
    if maybe(rng, 0.12):
        made["initContainers"] = [parts.init_container(rng, name, names) for name in some(rng, ("fetch", "chown", "warm"), 1, 2)]
    if "nodeName" in made or not made.get("hostNetwork"):
        return made
    for container in [made["mainContainer"], *made.get("containers", [])]:
        container.pop("ports", None)  # two containers with one host port would be another mistake
    return made


def resources(rng, gpus):
    """The resources of a service: consistent requests and limits in various notations."""
    made = {}
    if maybe(rng, 0.7):
        made["requests"] = {"cpu": rng.choice(("1", "500m", "0.5", "1e0", "250m")), "memory": rng.choice(("1Gi", "512M", "1e9", "1000Mi"))}
        made["limits"] = {"cpu": rng.choice(("4", "2.5", "16", "1e1", "+2", "4000m")), "memory": rng.choice(("4Ti", "100Gi", "64000k", "20e9"))}
        if made["limits"]["memory"] == "64000k":
            made["requests"]["memory"] = "64000k"
    if gpus:
        made.setdefault("limits", {})["gpu"] = str(gpus)
        if maybe(rng, 0.3):
            made.setdefault("requests", {})["gpu"] = str(gpus)
        if maybe(rng, 0.12):
            for side in made.values():
                if "gpu" in side:
                    side["gpuType"] = rng.choice(("gpu.intel.com/xe", "nvidia.com/mig-3g.40gb"))
        if maybe(rng, 0.2):
            made["limits"]["custom"] = {"rdma/ib": "1", "ephemeral-storage": "100Gi"}
    return made


def worker(rng, engine):
    gpus = rng.choice((0, 1, 1, 2, 4, 8))
    nodes = rng.choice((1, 1, 1, 2, 3, 4)) if gpus else 1
    made = {"componentType": rng.choice(("worker", "worker", "prefill", "decode")), "extraPodSpec": pod_spec(rng, engine, nodes, gpus)}
    amounts = resources(rng, gpus)
    if amounts:
        made["resources"] = amounts
        made["extraPodSpec"]["mainContainer"].pop("resources", None)
    if nodes > 1:
        made["multinode"] = {"nodeCount": nodes}
    if maybe(rng, 0.3):
        made["subComponentType"] = rng.choice(("prefill", "decode"))
    if maybe(rng, 0.12):
        made["modelRef"] = {"name": rng.choice(MODELS), **members(rng, 0.4, revision=lambda r: "main")}
    if maybe(rng, 0.1) and nodes == 1:
        identity = {"model": rng.choice(MODELS), "backendFramework": engine}
        identity |= members(rng, 0.4, tensorParallelSize=lambda r: 2, dtype=lambda r: "fp8", maxModelLen=lambda r: 8192,
                            extraParameters=lambda r: {"a": "b c"})
        made["checkpoint"] = {"enabled": True, "identity": identity, **members(rng, 0.4, mode=lambda r: r.choice(("Auto", "Manual")))}
    if maybe(rng, 0.1):
        made["frontendSidecar"] = {"image": "frontend:1", **members(
            rng, 0.4, args=lambda r: ["-m", "dynamo.frontend", "--http-port", "8001"], envs=parts.variables_plain,
            envFromSecret=lambda r: "sidecar.secret")}
    return made


def ingress(rng):
    made = {"enabled": True, "host": rng.choice(("chat", "api.example.com", "llm-1"))}
    made |= members(rng, 0.4, hostSuffix=lambda r: r.choice(("example.com", "corp")), hostPrefix=lambda r: r.choice(("dev-", "pr-12.")),
                    annotations=lambda r: {"nginx.ingress.kubernetes.io/proxy-read-timeout": "3600"}, labels=lambda r: {"expose": "yes"},
                    ingressControllerClassName=lambda r: r.choice(("nginx", "traefik.internal")), tls=lambda r: {"secretName": "llm-tls"})
    if maybe(rng, 0.3):
        made |= {"useVirtualService": True, "virtualServiceGateway": rng.choice(("istio-system/public", "gw"))}
    return made


def frontend(rng):
    made = {"componentType": "frontend", "extraPodSpec": pod_spec(rng, None, 1, 0)}
    return made | members(rng, 0.3, ingress=ingress)


def planner(rng):
    made = {"componentType": "planner", "extraPodSpec": pod_spec(rng, None, 1, 0)}
    made["extraPodSpec"]["mainContainer"] |= {"command": ["python3", "-m", "dynamo.planner"], "args": ["--config", "{\"a\": 1}"]}
    return made


def picker(rng):
    config = {"plugins": [{"type": "queue-scorer"}, {"name": "kv", "type": "kv-aware-scorer", "parameters": {"depth": 2}}],
              "schedulingProfiles": [{"name": "default", "plugins": [{"pluginRef": "kv", "weight": 2}, {"pluginRef": "queue-scorer"}]}]}
    source = rng.choice(({"config": config}, {"configMapRef": {"name": "epp.config", "key": "plugins.yaml"}}))
    return {"componentType": "epp", "eppConfig": source, "extraPodSpec": pod_spec(rng, None, 1, 0)}


def plain(rng):
    made = {"extraPodSpec": pod_spec(rng, None, 1, 0)}
    return made | members(rng, 0.6, componentType=lambda r: r.choice(("default", "router", "processor_2", "Encoder")))


def finish(rng, service, claims):
    """Adds optional fields of any service."""
    service |= members(
        rng, 0.15, envs=parts.variables, envFromSecret=lambda r: r.choice(("hf-token-secret", "s.x")), livenessProbe=lambda r: parts.probe(r, "liveness"),
        readinessProbe=parts.probe, sharedMemory=lambda r: r.choice(({"size": "80Gi"}, {"size": "1e9"}, {"disabled": True}, {"size": 1073741824})),
        labels=lambda r: {"team": "ml", "example.com/Cost_Center": "a.b-1"}, annotations=lambda r: {"prometheus.io/scrape": "true", "note": "x y\nz"},
        extraPodMetadata=lambda r: {"labels": {"app": "llm", "sidecar.istio.io/inject": "false"}, "annotations": {"example.com/x": "{\"a\":1}"}},
        globalDynamoNamespace=lambda r: True, scalingAdapter=lambda r: {"enabled": maybe(r, 0.8)}, serviceName=lambda r: "svc",
        dynamoNamespace=lambda r: "legacy", autoscaling=lambda r: {"enabled": True, "minReplicas": 1, "maxReplicas": 3})
    if service.get("componentType") != "epp":
        service |= members(rng, 0.4, replicas=lambda r: r.choice((0, 1, 1, 2, 3, 8)))
    if "nodeName" in service["extraPodSpec"] and service.get("replicas", 1) > 1:
        del service["extraPodSpec"]["nodeName"]
    if claims and maybe(rng, 0.4):
        service["volumeMounts"] = [{"name": name, "mountPoint": f"/pvc/{name}"} for name in some(rng, claims, 1, 2)]
        if maybe(rng, 0.3):
            service["volumeMounts"][0]["useAsCompilationCache"] = True
    if maybe(rng, 0.1):
        service.setdefault("annotations", {}).update(rng.choice((
            {"nvidia.com/deployment-strategy": "Recreate"}, {"nvidia.com/disable-image-pull-secret-discovery": "true"},
            {"nvidia.com/deployment-rolling-update-max-surge": "1", "nvidia.com/deployment-rolling-update-max-unavailable": "25%"},
            {"nvidia.com/vllm-distributed-executor-backend": "RAY"}, {"nvidia.com/enable-metrics": "false"})))
    return service


def claims_of(rng):
    names = some(rng, ("model-cache", "compile", "hf-hub", "pvc-7"), 1, 2)
    made = []
    for name in names:
        claim = {"name": name}
        if maybe(rng, 0.5):
            claim |= {"create": True, "size": rng.choice(("100Gi", "1.5Ti", "5e11", 1000000000)), "storageClass": rng.choice(("fast", "nfs.csi")),
                      "volumeAccessMode": rng.choice(("ReadWriteMany", "ReadWriteOnce", "ReadOnlyMany", "ReadWriteOncePod"))}
        elif maybe(rng, 0.5):
            claim["create"] = False
        made.append(claim)
    return made


def annotations_of(rng):
    found = {}
    for each in some(rng, ({"nvidia.com/enable-grove": "false"}, {"nvidia.com/enable-metrics": "false"}, {"owner": "ml@example.com"},
                           {"nvidia.com/vllm-distributed-executor-backend": "ray"}, {"nvidia.com/kai-scheduler-queue": "q1"},
                           {"nvidia.com/vllm-distributed-executor-backend": "mp"}, {"nvidia.com/dynamo-discovery-backend": "etcd"},
                           {"nvidia.com/dynamo-operator-origin-version": "v0.9.1"}), 0, 2):
        found |= each
    return found


def services_of(rng, engine, claims):
    made = {}
    if maybe(rng, 0.85):
        made[rng.choice(("Frontend", "frontend", "FE", "api"))] = frontend(rng)
    for name in some(rng, SERVICE_NAMES, 0 if made and maybe(rng, 0.1) else 1, 3):
        made[name] = worker(rng, engine)
    if maybe(rng, 0.2):
        made["Planner"] = planner(rng)
    if maybe(rng, 0.12):
        made["Epp"] = picker(rng)
    if maybe(rng, 0.2):
        made["router"] = plain(rng)
    return {name: finish(rng, service, claims) for name, service in made.items()}


def fitting_name(rng, services):
    """A name of a graph that fits with its services' names, and sometimes one that does not."""
    taken = max(2 * len(key) + 4 if "multinode" in service else len(key) for key, service in services.items())
    room = NAMES_BUDGET - taken
    if maybe(rng, 0.08):
        return ("long-but-legal-" * 3)[:room].rstrip("-") if room > 0 else "g"
    return rng.choice([name for name in GRAPH_NAMES if len(name) <= room] or ["g"])


def graph(rng, namespace):
    engine = rng.choice(ENGINES)
    spec = {}
    if maybe(rng, 0.6):
        spec["backendFramework"] = engine
    if maybe(rng, 0.25):
        spec["envs"] = parts.variables_plain(rng)
    if maybe(rng, 0.4):
        spec["pvcs"] = claims_of(rng)
    spec["services"] = services_of(rng, engine, [claim["name"] for claim in spec.get("pvcs", [])])
    if maybe(rng, 0.12):
        spec["restart"] = {"id": "2026-01-02T03:04:05Z"}
        if maybe(rng, 0.5):
            order = rng.sample(list(spec["services"]), len(spec["services"]))
            spec["restart"]["strategy"] = rng.choice(({"type": "Parallel"}, {"type": "Sequential", "order": order}))
    metadata = {"name": fitting_name(rng, spec["services"]), "namespace": namespace}
    if maybe(rng, 0.3):
        metadata["annotations"] = annotations_of(rng)
    if maybe(rng, 0.2):
        metadata["labels"] = {"app.kubernetes.io/part-of": "chat"}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}


def generate(seed, count):
    """Yields (graph, mistake). The mistake is the name of the possibly invalid choice, or empty."""
    for i in range(count):
        rng = random.Random(f"{seed}/{i}")
        made, mistake = graph(rng, f"p-{i}"), ""
        if maybe(rng, MISTAKE_CHANCE):
            mistake = rng.choice(sorted(MISTAKES))
            MISTAKES[mistake](rng, made)
        yield json.loads(json.dumps(made)), mistake  # a copy without shared parts


def main():
    seed, count = (*map(int, sys.argv[1:3]), *(1, 10)[len(sys.argv) - 1:])[:2]
    import yaml
    for made, mistake in generate(seed, count):
        print(f"--- # {mistake or 'good'}")
        print(yaml.safe_dump(made, sort_keys=False), end="")


if __name__ == "__main__":
    main()
