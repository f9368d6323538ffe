#!/usr/bin/env python3
"""Records what an offline renderer makes of each input, in the form of record.py.

usage: record_render.py OUTDIR 'RENDER COMMAND' FILE...      (KUBECONFIG set: an API server with the CRDs of all children)

RENDER COMMAND gets `-n NAMESPACE -f FILE` appended and prints the children as one JSON List or a stream of YAML documents.
FILE is the manifest as the user wrote it: the renderer applies defaults of the CRD and of admission itself. The custom
resource is created for trial (`--dry-run=server`), so an installed webhook decides. So is every child, which fills in the
API server's own defaults; a child that the API server refuses stands in `refused`, and so does a failure to render.
"""

import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time

import yaml

from record import answer, as_json, clean, kubectl, manifests, write

JOBS = 4
NO_UID = "00000000-0000-0000-0000-000000000000"


def _rendered(command, document, namespace):
    """(children, what the renderer said when it failed)"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(as_json(document))
        file.flush()
        done = subprocess.run([*shlex.split(command), "-n", namespace, "-f", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        return [], done.stderr[-2000:]
    printed = [item for item in yaml.load_all(done.stdout, getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if item]
    return [child for item in printed for child in (item["items"] if item["kind"] == "List" else [item])], None


def _try(namespace, document, *flags):
    return kubectl("-n", namespace, "create", "--dry-run=server", *flags, "-f", "-", text=as_json(document))


def _record(out, command, path):
    case = os.path.splitext(os.path.basename(path))[0]
    # Two runs at once do not meet.
    namespace = "c" + hashlib.sha1(f"{case} {os.getpid()} {time.time()}".encode()).hexdigest()[:6]
    kubectl("create", "ns", namespace)
    documents = [document for document in manifests(path) if document["kind"].startswith("Dynamo")]
    dump = {"case": case, "apply": [], "input": documents, "objects": [], "refused": []}
    for document in documents:
        status, _, errors = _try(namespace, document)
        dump["apply"].append(answer(document, status, errors, namespace))
        if status != 0:
            continue
        children, failure = _rendered(command, document, namespace)
        if failure is not None:
            dump["refused"].append({"render": failure})
        for child in children:
            for owner in child["metadata"].get("ownerReferences", []):
                owner.setdefault("uid", NO_UID)
            status, stored, errors = _try(namespace, child, "-o", "json")
            if status != 0:
                name = child["metadata"].get("name")
                dump["refused"].append({"kind": child["kind"], "name": name, "message": errors.strip()})
            else:
                dump["objects"].append(clean(json.loads(stored), namespace))
    dump["objects"].sort(key=lambda item: (item["kind"], item["metadata"]["name"]))
    write(out, case, dump)
    kubectl("delete", "ns", namespace, "--wait=false")
    return case, [said["ok"] for said in dump["apply"]], len(dump["objects"]), "refused", len(dump["refused"])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, command = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for told in pool.map(lambda path: _record(out, command, path), sys.argv[3:]):
            print(*told, flush=True)


if __name__ == "__main__":
    main()
