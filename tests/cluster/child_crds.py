"""CRDs of the kinds of children from pinned Go modules: Grove, LeaderWorkerSet, the Gateway API inference extension,
Istio. Volcano's PodGroup is a stub (volcano.yaml)."""

import json
import os
import subprocess
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent

# module -> (version, checksum as in a go.sum, files that hold the CRDs)
MODULES = {
    "github.com/ai-dynamo/grove/operator/api": (
        "v0.1.0-alpha.6", "h1:6xspRy93dVsGzwiRebNUhrEnamXUtAGvt5tP50uxkOA=", ["core/v1alpha1/crds/grove.io_podcliquesets.yaml",
                                        "core/v1alpha1/crds/grove.io_podcliques.yaml",
                                        "core/v1alpha1/crds/grove.io_podcliquescalinggroups.yaml"]),
    "sigs.k8s.io/lws": (
        "v0.6.2", "h1:5ulPJDaLBI9zk6ayGO2Lfg9P/FBL3C1LsmHmJVqvHvo=", ["config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml"]),
    "sigs.k8s.io/gateway-api-inference-extension": (
        "v1.2.1", "h1:kQjnFWW8YLCN42EZxDNxTuDE0xHkPkoyaEVpQ5sNCBQ=", ["config/crd/bases/inference.networking.k8s.io_inferencepools.yaml"]),
    "istio.io/api": (
        "v1.24.2", "h1:jYjcN6Iq0RPtQj/3KMFsybxmfqmjGN/dxhL7FGJEdIM=", ["kubernetes/customresourcedefinitions.gen.yaml"]),
}
KINDS = {"PodCliqueSet", "PodClique", "PodCliqueScalingGroup", "LeaderWorkerSet", "InferencePool", "VirtualService",
         "PodGroup"}


def module_folder(module, version, checksum):
    """Downloads the module unless the module cache has it. The checksum is always verified."""
    environment = {**os.environ, "GOWORK": "off", "GOFLAGS": ""}
    run = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], cwd="/", env=environment,
                         capture_output=True, text=True)
    answer = json.loads(run.stdout or "{}")
    if run.returncode or "Dir" not in answer:
        raise RuntimeError(f"go mod download {module}@{version}: {answer.get('Error') or run.stderr.strip()}")
    if answer.get("Sum") != checksum:
        raise RuntimeError(f"{module}@{version} has checksum {answer.get('Sum')}, pinned is {checksum}")
    return Path(answer["Dir"])


def without_own_webhooks(crd):
    """The CRD without the effect of its operator's webhook. No such operator runs here, so LeaderWorkerSet's
    rolloutStrategy.type is not defaulted."""
    def walk(node):
        if isinstance(node, dict):
            rollout = node.get("rolloutStrategy")
            if isinstance(rollout, dict):
                rollout.get("properties", {}).get("type", {}).pop("enum", None)
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)

    walk(crd)
    return crd


def child_crds():
    """Every CRD as a dictionary."""
    files = [HERE / "volcano.yaml"]
    for module, (version, checksum, names) in MODULES.items():
        folder = module_folder(module, version, checksum)
        files += [folder / name for name in names]
    found = []
    for file in files:
        for document in yaml.load_all(file.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
            if document and document["spec"]["names"]["kind"] in KINDS:
                found.append(without_own_webhooks(document))
    missing = KINDS - {crd["spec"]["names"]["kind"] for crd in found}
    if missing:
        raise RuntimeError(f"no CRD of {', '.join(sorted(missing))} in the pinned modules")
    return found


def install_child_crds(plane):
    """Creates the CRDs in a running control plane and waits until they are served."""
    for crd in child_crds():
        plane.kubectl("create", "-f", "-", input=json.dumps(crd), check=True)
    plane.wait_for_crds()


def install_queues(plane, *names):
    """Creates the CRD of the KAI scheduler's queues, and queues with these names."""
    plane.kubectl("create", "-f", HERE / "kai.yaml", check=True)
    plane.wait_for_crds()
    for name in names:
        queue = {"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name}}
        plane.kubectl("create", "-f", "-", input=json.dumps(queue), check=True)
