"""The manifests of graphs, components, requests, models and checkpoints that the repository holds, as one keeps them in Git."""

import copy
import os
import sys
import tempfile
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "tests/reference"), str(ROOT / "tests/cluster")]

import recordings  # noqa: E402
from control_plane import ApiError  # noqa: E402
from operator_plane import path_of  # noqa: E402

FULL = os.environ.get("DYNAMO_FULL") == "1"
TEAM = "team"  # a label of every manifest

# Kinds of which the folders below have no manifest.
OTHERS = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata: {name: adapter}
spec: {modelName: org/tuned, baseModelName: Qwen/Qwen3-0.6B, modelType: lora, source: {uri: "s3://bucket/tuned"}}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata: {name: base}
spec: {modelName: Qwen/Qwen3-0.6B, baseModelName: Qwen/Qwen3-0.6B}
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoCheckpoint
metadata: {name: checkpoint}
spec:
  identity: {model: Qwen/Qwen3-0.6B, backendFramework: vllm}
  job:
    podTemplateSpec:
      spec:
        containers:
          - name: main
            image: runtime:1
            env: [{name: HF_HOME, value: /cache}]
            volumeMounts: [{name: cache, mountPath: /cache}]
        volumes: [{name: cache, emptyDir: {}}]
---
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeploymentScalingAdapter
metadata: {name: by-hand}
spec: {replicas: 2, dgdRef: {name: absent, serviceName: Worker}}
"""


def _documents(text):
    return [one for one in yaml.safe_load_all(text) if one and one.get("apiVersion", "").startswith("nvidia.com/")]


def _files():
    yield from (ROOT / "deploy/samples").glob("*.yaml")
    yield from (ROOT / "tests/runtime").glob("*.yaml")
    yield from (ROOT / "tests/runtime/workspace").glob("**/*.yaml")
    yield ROOT / "tests/unit/render/user-lists/manifests.yaml"
    # The others of this folder are what the operator makes of these.
    yield from (path for path in (ROOT / "tests/golden").glob("*.yaml") if path.name.count(".") == 1)


def _texts():
    for path in sorted(_files()):
        # All of these objects are refused.
        if path.name != "mistakes.yaml":
            yield path.read_text(encoding="utf-8")
    yield OTHERS
    if FULL:
        with tempfile.TemporaryDirectory() as folder:
            for path in sorted((recordings.unpack("graphs", folder) / "input").glob("*.yaml")):
                yield path.read_text(encoding="utf-8")


def _with_protocols(value):
    """Ports with their protocol. The page about manifests in Git says to write it: it is a key of the list, so the API server has
    a default for it."""
    if isinstance(value, list):
        return [_with_protocols(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _with_protocols(member) for name, member in value.items()}
    return {"protocol": "TCP", **made} if isinstance(made.get("containerPort"), int) else made


def examples(namespace):
    """All manifests, in this namespace and with a label. Several of the same name get numbers."""
    found, names = [], set()
    for one in (document for text in _texts() for document in _documents(text)):
        made = _with_protocols(copy.deepcopy(one))
        metadata = made["metadata"]
        name = metadata.get("name") or metadata.pop("generateName").rstrip("-")
        if (made["kind"], name) in names:
            name = f"{name}-{len(found)}"
        names.add((made["kind"], name))
        metadata.update(name=name, namespace=namespace, labels={**metadata.get("labels", {}), TEAM: "a"})
        found.append(made)
    return found


def is_accepted(plane, manifest):
    """Whether admission accepts it. Some recorded graphs are refused."""
    version = manifest["apiVersion"].rpartition("/")[2]
    path = path_of(manifest["kind"], manifest["metadata"]["namespace"])
    base, _, rest = path.partition("/namespaces/")
    try:
        plane.cluster.api("POST", f"{base.rpartition('/')[0]}/{version}/namespaces/{rest}?dryRun=All", manifest)
        return True
    except ApiError as error:
        if error.status not in (400, 403, 422):
            raise
        return False
