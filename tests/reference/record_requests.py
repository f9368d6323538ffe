#!/usr/bin/env python3
"""Records what a running operator makes of requests, checkpoints and models, in the form of record.py.

usage: record_requests.py OUTDIR METRICS_URL FILE...      (KUBECONFIG set: a whole control plane whose pods of Jobs run until
                                                           they are ended)

All files are applied at once, each in its own namespace, with the claims that they expect to exist. A ConfigMap
dgdr-output-NAME beside a request NAME is the output of its profiling: it is applied when the profiling Job runs, and the Job's
pod then succeeds. The recording begins when no object changes any more and the operator, with its metrics at METRICS_URL, is
idle.
"""

import concurrent.futures
import os
import pathlib
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lifecycle"))

from api import Api  # noqa: E402
from cluster import Operator  # noqa: E402
from record import OUTPUT, claim, claims_of, clean, is_clusters_own, manifests, write  # noqa: E402
from record_live import case_of, collections_of, namespace_of, objects_of  # noqa: E402
from record_render import create  # noqa: E402

JOBS = 4
TIMEOUT = 180  # seconds until everything must be at rest
QUIET = 2  # seconds without a change
REQUEST = "DynamoGraphDeploymentRequest"
ENDED = ("Ready", "Deployed", "Failed")
# Objects of these kinds are made by Kubernetes itself, or come with the input.
NOT_RECORDED = ("Pod", "ReplicaSet", "EndpointSlice", "Endpoints", "ControllerRevision", "Event", "Lease")
SUCCEEDED = {"status": {"phase": "Succeeded", "conditions": None, "containerStatuses": None}}


class Rest:
    """Waits until nothing changes in the namespaces and the operator is idle."""

    def __init__(self, api, operator, namespaces):
        self.api, self.operator, self.namespaces = api, operator, namespaces
        self.kinds = collections_of(api)

    def wait(self, is_done=lambda objects: True):
        """All objects when they have not changed for QUIET seconds and `is_done` is true of them."""
        end, before, since = time.monotonic() + TIMEOUT, None, time.monotonic()
        while time.monotonic() < end:
            idle = self.operator.is_idle()
            found = objects_of(self.api, self.kinds, self.namespaces)
            versions = {item["metadata"]["uid"]: item["metadata"]["resourceVersion"] for item in found}
            if versions != before or not idle:
                since = time.monotonic()
            before = versions
            if time.monotonic() - since >= QUIET and is_done(found):
                return found
            time.sleep(0.3)
        raise RuntimeError(f"not at rest after {TIMEOUT} s")


def apply(api, path):
    """Creates the objects of a file. Returns a recording without objects, and the output of profiling, if there is one."""
    namespace = namespace_of(path)
    api.call("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
    documents = manifests(path)
    outputs = {OUTPUT + document["metadata"]["name"] for document in documents if document["kind"] == REQUEST}
    late = [one for one in documents if one["kind"] == "ConfigMap" and one["metadata"]["name"] in outputs]
    given = [document for document in documents if document["kind"].startswith("Dynamo")]
    dump = {"case": case_of(path), "apply": [], "input": given, "live": True}
    for document in map(claim, claims_of(documents)):
        create(api, namespace, document)
    for document in (document for document in documents if document not in late):
        stored, said = create(api, namespace, document)
        name = document["metadata"].get("name")
        answer = {"kind": document["kind"], "name": name, "ok": stored is not None}
        dump["apply"].append({**answer, "message": (said or "").replace(namespace, "NS")})
    return dump, late


def finish_profiling(api, namespace, output, objects):
    """Applies the output of profiling and ends the pods of the Job."""
    request = output["metadata"]["name"].removeprefix(OUTPUT)
    stored, said = create(api, namespace, output)
    if stored is None:
        raise RuntimeError(f"{namespace}: {output['metadata']['name']}: {said}")
    for pod in (item for item in objects if item["kind"] == "Pod" and item["metadata"]["namespace"] == namespace):
        if pod["metadata"]["labels"].get("job-name") != f"profile-{request}":
            continue
        path = f"/api/v1/namespaces/{namespace}/pods/{pod['metadata']['name']}/status"
        status, got = api.call("PATCH", path, SUCCEEDED, "application/merge-patch+json")
        if status != 200:
            raise RuntimeError(f"{path}: {got.get('message')}")


def have_ended(namespaces, objects):
    """Whether the requests of the namespaces have the phase that follows profiling."""
    here = [item for item in objects if item["kind"] == REQUEST and item["metadata"]["namespace"] in namespaces]
    return all((item.get("status") or {}).get("phase") in ENDED for item in here)


def record(out, dump, namespace, objects):
    kept = [item for item in objects if item["kind"] not in NOT_RECORDED and not is_clusters_own(item)]
    uids = [item["metadata"]["uid"] for item in kept]
    dump["objects"] = sorted(
        (clean(item, namespace, uids) for item in kept), key=lambda item: (item["kind"], item["metadata"]["name"])
    )
    write(out, dump["case"], dump)
    print(dump["case"], [said["ok"] for said in dump["apply"]], len(kept), flush=True)


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    out, metrics, paths = sys.argv[1], sys.argv[2], sys.argv[3:]
    os.makedirs(out, exist_ok=True)
    api = Api(os.environ["KUBECONFIG"])
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        applied = list(pool.map(lambda path: apply(api, path), paths))
    rest = Rest(api, Operator(metrics), {namespace_of(path) for path in paths})
    found = rest.wait()
    finished = {namespace_of(path) for path, (_, late) in zip(paths, applied) if late}
    for path, (_, late) in zip(paths, applied):
        for output in late:
            finish_profiling(api, namespace_of(path), output, found)
    if finished:
        found = rest.wait(lambda objects: have_ended(finished, objects))
    for path, (dump, _) in zip(paths, applied):
        namespace = namespace_of(path)
        record(out, dump, namespace, [item for item in found if item["metadata"]["namespace"] == namespace])


if __name__ == "__main__":
    main()
