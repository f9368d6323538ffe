"""The programs of engines/: what Flux and Argo CD decide, with their own libraries."""

import functools
import json
import subprocess
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
DEPLOY = HERE.parents[1] / "deploy/gitops"
ARGOCD_CM = DEPLOY / "argocd-cm.yaml"
KUSTOMIZATIONS = DEPLOY / "flux.yaml"
MANAGER = "argocd-controller"
APPLICATION = "app"
SECONDS = 300


@functools.cache
def _folder():
    built = subprocess.run([HERE / "build", "--print"], check=True, stdout=subprocess.PIPE, text=True)
    return Path(built.stdout.strip())


def _run(program, *arguments, objects):
    """The lines of the output. `objects` are written to a file, whose path is the last argument."""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml", encoding="utf-8") as file:
        file.write("\n---\n".join(map(json.dumps, objects)))
        file.flush()
        return _lines(program, *arguments, file.name)


def _lines(program, *arguments):
    done = subprocess.run([_folder() / program, *arguments], capture_output=True, text=True, timeout=SECONDS, check=False)
    if done.returncode != 0:
        raise AssertionError(f"{program} {arguments[0]} ends with {done.returncode}: {done.stderr[-4000:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def _named(line):
    return f"{line['kind']}/{line['name']}"


def paths_of_difference(left, right, path=""):
    """The paths at which two values differ."""
    if left == right:
        return []
    if isinstance(left, dict) and isinstance(right, dict):
        names = sorted(left.keys() | right.keys())
        return [each for name in names for each in paths_of_difference(left.get(name), right.get(name), f"{path}.{name}")]
    if isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        pairs = enumerate(zip(left, right, strict=True))
        return [each for index, pair in pairs for each in paths_of_difference(*pair, f"{path}[{index}]")]
    return [path]


def flux_apply(cluster, objects):
    """Applies the objects as kustomize-controller does. Returns "Kind/name" -> what it has done, such as "created"."""
    return {_named(line): line["action"] for line in _run("flux", "apply", cluster.kubeconfig, objects=objects)}


def flux_drift(cluster, objects):
    """"Kind/name" -> where the cluster differs, of the objects that Flux would change."""
    lines = _run("flux", "diff", cluster.kubeconfig, objects=objects)
    if len(lines) != len(objects):
        raise AssertionError(f"flux compares {len(lines)} of {len(objects)} objects")
    drifted = [line for line in lines if line["action"] != "unchanged"]
    return {_named(line): paths_of_difference(line.get("live"), line.get("merged")) for line in drifted}


def tracked(objects):
    """The objects as Argo CD applies them: with its annotation, and with its label unless they have a label of this key."""
    found = []
    for one in objects:
        metadata = one["metadata"]
        group = one["apiVersion"].rpartition("/")[0]
        identity = f"{APPLICATION}:{group}/{one['kind']}:{metadata.get('namespace', '')}/{metadata['name']}"
        annotations = {**metadata.get("annotations", {}), "argocd.argoproj.io/tracking-id": identity}
        labels = {"app.kubernetes.io/instance": APPLICATION, **metadata.get("labels", {})}
        found.append({**one, "metadata": {**metadata, "annotations": annotations, "labels": labels}})
    return found


def argo_drift(cluster, how, objects, config=ARGOCD_CM):
    """"Kind/name" -> where the cluster differs, of the objects that are out of sync. `how`: client, merge, server or
    webhooks."""
    lines = _run("argo", "diff", config, cluster.kubeconfig, how, objects=objects)
    if len(lines) != len(objects):
        raise AssertionError(f"argo compares {len(lines)} of {len(objects)} objects")
    modified = [line for line in lines if line.get("modified")]
    return {_named(line): paths_of_difference(line["live"], line["predicted"]) for line in modified}


def argo_managed(cluster, namespace):
    """"Kind/name" of the objects in the namespace that Argo CD takes for those of its application."""
    return {_named(line) for line in _lines("argo", "managed", cluster.kubeconfig, namespace, APPLICATION)}


def argo_health(objects):
    """(health, message) of each object; None where Argo CD has no check."""
    lines = _run("argo", "health", ARGOCD_CM, objects=objects)
    return [(line["health"], line.get("message", "")) if "health" in line else None for line in lines]


def argo_order(objects):
    """(phases, wave) of each object in a sync of Argo CD. No phase: it is applied with all others."""
    return [(line.get("hooks", []), line.get("wave", 0)) for line in _run("argo", "order", objects=objects)]


def flux_status(objects):
    """What `flux status` says of each object: kstatus, upstream, message, health."""
    return _run("flux", "status", KUSTOMIZATIONS, objects=objects)
