"""The command `flux reconcile kustomization NAME --with-source --timeout=30m` of test_page.py: applies the graphs of a Git repository
with Flux's library and waits, as Flux does with the settings of flux.yaml.

    python3 reconcile.py REPOSITORY KUBECONFIG NAMESPACE"""

import json
import subprocess
import sys
import tempfile
import time
import types
from pathlib import Path

import yaml

import engines

SECONDS = 120


def stored(kubeconfig, one):
    metadata = one["metadata"]
    group, _, version = one["apiVersion"].partition("/")
    resource = f"{one['kind'].lower()}.{version}.{group}"
    command = ["kubectl", "--kubeconfig", kubeconfig, "-n", metadata["namespace"], "get", resource, metadata["name"], "-o", "json"]
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def main(repository, kubeconfig, namespace):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "clone", "-q", "-b", "main", repository, folder], check=True)
        texts = [path.read_text(encoding="utf-8") for path in sorted(Path(folder, "graphs").glob("*.yaml"))]
    objects = [one for text in texts for one in yaml.safe_load_all(text) if one]
    for one in objects:
        one["metadata"]["namespace"] = namespace
    for name, action in engines.flux_apply(types.SimpleNamespace(kubeconfig=kubeconfig), objects).items():
        print(f"{name} {action}")
    deadline = time.monotonic() + SECONDS
    while True:
        found = engines.flux_status([stored(kubeconfig, one) for one in objects])
        if any(line["health"] == "Failed" for line in found) or time.monotonic() > deadline:
            print(f"not healthy: {found}", file=sys.stderr)
            return 1
        if all(line["health"] == "Current" for line in found):
            return 0
        time.sleep(0.2)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
