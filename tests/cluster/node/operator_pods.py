"""Webhook and controller as pods of a real node: the base of deploy/kustomize as it is, with an image of the programs of this
build."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from node import images

ROOT = Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "deploy/lib"))
import install as installation  # noqa: E402

NAMESPACE = "dynamo-system"
# Where containerd looks for an image without a registry in its name.
REGISTRY = "docker.io/library"
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}
REPLICAS = {"dynamo-operator-webhook": 2, "dynamo-operator-controller-manager": 1}
# As deploy/image/build arranges them.
PROGRAMS = {"/dynamo-webhook": installation.WEBHOOK, "/dynamo-controller": installation.CONTROLLER}
FOLDERS = {"/opt/dynamo-operator/crds": installation.CRDS}


def load_image(cluster, name):
    """Loads the image of the operator into the node, under this name without a registry."""
    cluster.node.load(images.image_of_programs(f"{REGISTRY}/{name}", PROGRAMS, [], folders=FOLDERS))


def load_shipped_image(cluster, name):
    """Builds the image that users get, with deploy/image/build, and loads it under this name without a registry."""
    with tempfile.TemporaryDirectory(prefix="dynamo-image-") as folder:
        command = [ROOT / "deploy/image/build", "--name", f"{REGISTRY}/{name}", "--output", folder]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        cluster.node.load(Path(folder) / "dynamo-operator.tar")


def install_operator(cluster, folder=installation.BASE, timeout=180):
    """Applies a folder of deploy/kustomize and waits until webhook and controller are ready and the API server calls the webhook. The
    init container of the controller applies the CRDs. Pod Security admits only pods of the level `restricted`."""
    objects = installation.rendered(cluster, folder)
    for name in sorted({image_of(one) for one in objects if one["kind"] == "Deployment"}):
        load_image(cluster, name)
    for item in objects:
        if item["kind"] == "Namespace":
            item["metadata"]["labels"] = {**item["metadata"].get("labels", {}), **RESTRICTED}
            cluster.create_namespace(item["metadata"]["name"], item["metadata"]["labels"])
    cluster.kubectl("apply", "--server-side", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": objects}))
    for name in REPLICAS:
        cluster.kubectl("rollout", "status", f"deployment/{name}", "-n", NAMESPACE, f"--timeout={timeout}s", timeout=timeout + 10)
    cluster.wait(lambda: installation.webhook_is_called(cluster), timeout, "the API server calls the webhook")


def image_of(deployment):
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return container["image"]
