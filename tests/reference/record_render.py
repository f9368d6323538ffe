#!/usr/bin/env python3
"""Records the output of an offline renderer for each input, in the form of record.py.

usage: record_render.py OUTDIR 'RENDER COMMAND' FILE...      (KUBECONFIG set: an API server with the CRDs of all children)

`-n NAMESPACE -f FILE` is appended to RENDER COMMAND, which prints the children as one JSON List. FILE is the user's
manifest: the renderer applies the defaults of the CRD and of admission itself. The custom resource is created as a dry run
(`dryRun=All`, strict field validation as in kubectl), so an installed webhook decides about admission. Every child is also
created as a dry run, which sets the API server's defaults. Children that the API server rejects and errors of rendering are
listed in `refused`.
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

from api import Api
from record import as_json, clean, manifests, write

JOBS = 4
NO_UID = "00000000-0000-0000-0000-000000000000"
DRY_RUN = "&dryRun=All"
STRICT = "fieldValidation=Strict&fieldManager=record"


def _rendered(command, document, namespace):
    """(children, the renderer's error)"""
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(as_json(document))
        file.flush()
        done = subprocess.run([*shlex.split(command), "-n", namespace, "-f", file.name], capture_output=True, text=True)
    if done.returncode != 0:
        return [], done.stderr[-2000:]
    return json.loads(done.stdout)["items"] if done.stdout.strip() else [], None


def create(api, namespace, document, flags=""):
    """(the stored object, the API server's error)"""
    path = api.collection(namespace, document)
    if path is None:
        return None, f"no matches for kind {document['kind']} in version {document['apiVersion']}"
    status, got = api.call("POST", f"{path}?{STRICT}{flags}", json.loads(as_json(document)))
    if status < 300:
        return got, None
    causes = (got.get("details") or {}).get("causes") or []
    return None, "\n".join(f"{cause.get('field', '')}: {cause['message']}" for cause in causes) or got.get(
        "message", f"HTTP {status}"
    )


def _record(api, out, command, path):
    case = os.path.splitext(os.path.basename(path))[0]
    # Concurrent runs have different namespaces.
    namespace = "c" + hashlib.sha1(f"{case} {os.getpid()} {time.time()}".encode()).hexdigest()[:6]
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    documents = [document for document in manifests(path) if document["kind"].startswith("Dynamo")]
    dump = {"case": case, "apply": [], "input": documents, "objects": [], "refused": []}
    for document in documents:
        name = document["metadata"].get("name")
        stored, said = create(api, namespace, document, DRY_RUN)
        said = (said or "").replace(namespace, "NS")
        dump["apply"].append({"kind": document["kind"], "name": name, "ok": stored is not None, "message": said})
        if stored is None:
            continue
        children, failure = _rendered(command, document, namespace)
        if failure is not None:
            dump["refused"].append({"render": failure})
        for child in children:
            for owner in child["metadata"].get("ownerReferences", []):
                owner.setdefault("uid", NO_UID)
            made, said = create(api, namespace, child, DRY_RUN)
            if made is None:
                dump["refused"].append({"kind": child["kind"], "name": child["metadata"].get("name"), "message": said})
            else:
                dump["objects"].append(clean(made, namespace))
    dump["objects"].sort(key=lambda item: (item["kind"], item["metadata"]["name"]))
    write(out, case, dump)
    api.call("DELETE", f"/api/v1/namespaces/{namespace}")
    return case, [said["ok"] for said in dump["apply"]], len(dump["objects"]), "refused", len(dump["refused"])


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, command = sys.argv[1:3]
    os.makedirs(out, exist_ok=True)
    api = Api(os.environ["KUBECONFIG"])
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for told in pool.map(lambda path: _record(api, out, command, path), sys.argv[3:]):
            print(*told, flush=True)


if __name__ == "__main__":
    main()
