#!/usr/bin/env python3
"""Records the children that a running controller creates for each input, in the form of record.py.

usage: record_live.py OUTDIR FILE...      (KUBECONFIG set: an API server with the CRDs, webhook and controller)

All files are applied at once, each in its own namespace, with the claims that they expect to exist. The recording begins when
every graph and component has a status for its spec, and no object changes any more. It has all objects of a namespace, of
whatever kind. No other controller needs to run, so the children have no status.

A reconcile that failed, and a child whose owner does not exist, are listed in `refused`.
"""

import concurrent.futures
import hashlib
import os
import sys
import time

from api import Api, base_of
from record import claim, claims_of, clean, is_clusters_own, manifests, write
from record_render import create

JOBS = 4
TIMEOUT = 300  # seconds until everything must be reconciled
QUIET = 1  # seconds without a change
RECONCILED = ("DynamoGraphDeployment", "DynamoComponentDeployment")
NOT_RECORDED = ("Event", "Lease")
GRAPH_FAILED, COMPONENT_FAILED = "failed_to_reconcile_the_resources", "Failed to reconcile "  # a reason; a message's beginning


def namespace_of(path):
    return "c" + hashlib.sha1(case_of(path).encode()).hexdigest()[:6]


def case_of(path):
    return os.path.splitext(os.path.basename(path))[0]


def apply(api, path):
    """Creates the objects of a file. Returns a recording without objects."""
    namespace = namespace_of(path)
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    documents = manifests(path)
    given = [document for document in documents if document["kind"].startswith("Dynamo")]
    dump = {"case": case_of(path), "apply": [], "input": given, "refused": [], "live": True}
    for document in [*map(claim, claims_of(documents)), *documents]:
        stored, said = create(api, namespace, document)
        if not document["kind"].startswith("Dynamo"):
            if stored is None:
                raise RuntimeError(f"{path}: {document['kind']}: {said}")
            continue
        said = (said or "").replace(namespace, "NS")
        name = document["metadata"].get("name")
        dump["apply"].append({"kind": document["kind"], "name": name, "ok": stored is not None, "message": said})
    return dump


def collections_of(api):
    """(kind, version, path) of all kinds of namespaced objects that can be listed, each in its preferred version."""
    groups = [[version["groupVersion"] for version in group["versions"]] for group in api.call("GET", "/apis")[1]["groups"]]
    found = []
    for versions in [["v1"], *groups]:
        seen = set()
        for version in versions:
            for resource in api.call("GET", base_of(version))[1]["resources"]:
                listed = resource["namespaced"] and "list" in resource.get("verbs", [])
                if listed and resource["kind"] not in {*seen, *NOT_RECORDED}:
                    seen.add(resource["kind"])
                    found.append((resource["kind"], version, f"{base_of(version)}/{resource['name']}"))
    return found


def objects_of(api, kinds, namespaces):
    """All objects of the namespaces."""
    found = []
    for kind, version, path in kinds:
        status, got = api.call("GET", path)
        if status != 200:
            raise RuntimeError(f"{path}: {got.get('message')}")
        here = (item for item in got["items"] if item["metadata"]["namespace"] in namespaces)
        found += [{**item, "kind": kind, "apiVersion": version} for item in here]
    return found


def is_reconciled(item):
    """Whether the status, or a condition of it, describes the spec."""
    status = item.get("status") or {}
    holders = [status, *(status.get("conditions") or [])]
    return max(holder.get("observedGeneration", 0) for holder in holders) >= item["metadata"]["generation"]


def settled_objects(api, namespaces):
    """All objects of the namespaces when nothing changes any more."""
    kinds = collections_of(api)
    end, before = time.monotonic() + TIMEOUT, None
    while True:
        found = objects_of(api, kinds, namespaces)
        late = [item for item in found if item["kind"] in RECONCILED and not is_reconciled(item)]
        versions = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in found}
        if not late and versions == before:
            return found
        if time.monotonic() > end:
            names = [f"{item['kind']} {item['metadata']['namespace']}/{item['metadata']['name']}" for item in late]
            raise RuntimeError(f"not reconciled after {TIMEOUT} s: {', '.join(names) or 'objects change'}")
        before = versions
        time.sleep(QUIET)


def failures_of(item, owners):
    """The failed reconciles of an object, and its owners that do not exist. `owners`: (kind, name, uid) of all objects."""
    for condition in (item.get("status") or {}).get("conditions") or []:
        message = condition.get("message", "")
        if condition.get("reason") == GRAPH_FAILED or message.startswith(COMPONENT_FAILED):
            yield message
    for owner in item["metadata"].get("ownerReferences") or []:
        if (owner["kind"], owner["name"], owner["uid"]) not in owners:
            yield f"its owner {owner['kind']} {owner['name']} does not exist"


def record(out, dump, namespace, objects):
    owners = {(item["kind"], item["metadata"]["name"], item["metadata"]["uid"]) for item in objects}
    for item in objects:
        for message in failures_of(item, owners):
            dump["refused"].append({"kind": item["kind"], "name": item["metadata"]["name"], "message": message})
    uids = [item["metadata"]["uid"] for item in objects]
    kept = [clean(item, namespace, uids) for item in objects if not is_clusters_own(item)]
    dump["objects"] = sorted(kept, key=lambda item: (item["kind"], item["metadata"]["name"]))
    write(out, dump["case"], dump)
    print(dump["case"], [said["ok"] for said in dump["apply"]], len(kept), "refused", len(dump["refused"]), flush=True)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out, paths = sys.argv[1], sys.argv[2:]
    os.makedirs(out, exist_ok=True)
    api = Api(os.environ["KUBECONFIG"])
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        dumps = list(pool.map(lambda path: apply(api, path), paths))
    namespaces = {namespace_of(path): [] for path in paths}
    for item in settled_objects(api, namespaces):
        namespaces[item["metadata"]["namespace"]].append(item)
    for path, dump in zip(paths, dumps):
        record(out, dump, namespace_of(path), namespaces[namespace_of(path)])


if __name__ == "__main__":
    main()
