#!/usr/bin/env python3
"""Records the objects that an operator creates for each input on a live cluster.

usage: record.py OUTDIR FILE...      (KUBECONFIG set)

Each file is applied in its own namespace. When the namespace is quiet, its objects are dumped to OUTDIR/<case>.json without
the fields that a server assigns, so that two operators can be compared. Claims that a graph (`create: false`) or a request
(model cache) refers to are created first, unless they are named missing-*. A ConfigMap dgdr-output-NAME beside a request
NAME is the output of its profiling: it is applied when the profiling Job runs, and the Job's pod then succeeds.
"""

import concurrent.futures
import hashlib
import json
import os
import re
import subprocess
import sys
import time

import yaml

KINDS = (
    "dynamographdeployments,dynamocomponentdeployments,dynamographdeploymentscalingadapters,"
    "dynamographdeploymentrequests,dynamomodels,dynamocheckpoints,deployments,statefulsets,services,ingresses,"
    "virtualservices.networking.istio.io,persistentvolumeclaims,leaderworkersets,podgroups.scheduling.volcano.sh,"
    "podcliquesets,serviceaccounts,roles,rolebindings,configmaps,secrets,jobs,inferencepools.inference.networking.k8s.io,"
    "horizontalpodautoscalers,poddisruptionbudgets"
)
CUSTOM = {
    "DynamoGraphDeployment": "dynamographdeployments",
    "DynamoComponentDeployment": "dynamocomponentdeployments",
    "DynamoGraphDeploymentRequest": "dynamographdeploymentrequests",
    "DynamoModel": "dynamomodels",
    "DynamoCheckpoint": "dynamocheckpoints",
    "DynamoGraphDeploymentScalingAdapter": "dynamographdeploymentscalingadapters",
}
ASSIGNED = ("uid", "resourceVersion", "creationTimestamp", "managedFields", "selfLink", "generation")
BOOKKEEPING = (
    "nvidia.com/last-applied-hash",
    "nvidia.com/last-applied-generation",
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "nvidia.com/dynamo-operator-origin-version",
    "nvidia.com/dynamo-rendered-replicas",  # ctl-Q45
)
OF_SERVICES = ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy")
OF_OWNERS = ("kind", "name", "controller", "blockOwnerDeletion")
OUTPUT = "dgdr-output-"
PATIENCE = 25  # seconds until a namespace must be quiet
QUIET = 3  # seconds without a change
JOBS = 6


def kubectl(*arguments, text=None):
    """(exit status, output, errors)"""
    done = subprocess.run(["kubectl", *arguments], input=text, capture_output=True, text=True)
    return done.returncode, done.stdout, done.stderr


def as_json(document):
    """The document as JSON, because readers of YAML 1.1 interpret an unquoted `y` or `1e3` differently."""
    return json.dumps(document, ensure_ascii=False, default=str)


def manifests(path):
    """The documents of a file. A document whose name contains a placeholder is a template of another program."""
    with open(path, encoding="utf-8") as file:
        documents = [document for document in yaml.safe_load_all(file) if document]
    for document in documents:
        document.setdefault("metadata", {}).pop("namespace", None)
    return [document for document in documents if "${" not in str(document["metadata"].get("name", ""))]


def answer(document, status, errors, namespace):
    """The API server's answer to a document in the form of a recording."""
    name = document["metadata"].get("name")
    return {"kind": document["kind"], "name": name, "ok": status == 0, "message": errors.strip().replace(namespace, "NS")}


def clean(item, namespace, uids=()):
    """An object without assigned and random fields."""
    item = json.loads(json.dumps(item))
    metadata, kind = item["metadata"], item["kind"]
    for key in ASSIGNED:
        metadata.pop(key, None)
    for key in BOOKKEEPING:
        (metadata.get("annotations") or {}).pop(key, None)
    if not metadata.get("annotations", True):
        metadata.pop("annotations")
    owners = metadata.get("ownerReferences", [])
    metadata["ownerReferences"] = [{key: owner[key] for key in OF_OWNERS if key in owner} for owner in owners]
    if kind == "Service":
        for key in OF_SERVICES:
            (item.get("spec") or {}).pop(key, None)
    if kind == "Secret":
        item["data"] = {key: "REDACTED" for key in item.get("data") or {}}
    if kind == "DynamoModel":  # the reference has a random order
        ((item.get("status") or {}).get("endpoints") or []).sort(key=lambda endpoint: str(endpoint.get("address")))
    if kind not in CUSTOM:
        item.pop("status", None)
    if kind == "Job":
        _fold_copier(item)
    text = json.dumps(item, sort_keys=True).replace(namespace, "NS")
    for uid in uids:
        text = text.replace(uid, "UID")
    return json.loads(re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text))


def _fold_copier(job):
    """Reduces the script that copies the profiling output to the names in it."""
    names = r"/data/[a-z]\w*\.\w+|\bdgdr-output-[\w.-]*\w|[\w./-]+/(?:name|managed-by): [\w.-]+"
    for container in job["spec"]["template"]["spec"]["containers"]:
        if container["name"] == "output-copier":
            arguments = container.get("args") or []
            container["args"] = [" ".join(["SCRIPT", *sorted(set(re.findall(names, text)))]) for text in arguments]


def write(out, case, dump):
    with open(f"{out}/{case}.json", "w", encoding="utf-8") as file:
        json.dump(dump, file, indent=1, sort_keys=True, default=str)


def claims_of(documents):
    """The claims that the documents expect to exist."""
    made = {document["metadata"].get("name") for document in documents if document["kind"] == "PersistentVolumeClaim"}
    named = set()
    for document in documents:
        spec = document.get("spec") or {}
        if document["kind"] == "DynamoGraphDeployment":
            made |= {claim.get("name") for claim in spec.get("pvcs") or [] if claim.get("create")}
            named |= {claim.get("name") for claim in spec.get("pvcs") or [] if claim.get("create") is False}
            named |= {name for name in _mounted_claims(spec) if name}
        if document["kind"] == "DynamoGraphDeploymentRequest":
            named |= {name for name in _model_caches(spec) if name and not name.startswith("missing-")}
    return named - made


def _mounted_claims(spec):
    """The claims that the services of a graph mount, listed in spec.pvcs or not (dec-1)."""
    for service in (spec.get("services") or {}).values():
        for mount in (service or {}).get("volumeMounts") or []:
            yield mount.get("name")


def _model_caches(spec):
    """The claim of a request's model cache, in either version."""
    yield (spec.get("modelCache") or {}).get("pvcName")
    deployment = ((spec.get("profilingConfig") or {}).get("config") or {}).get("deployment") or {}
    yield (deployment.get("modelCache") or {}).get("pvcName")


def claim(name):
    spec = {"accessModes": ["ReadWriteMany"], "resources": {"requests": {"storage": "1Gi"}}}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}


def _until(seconds, found):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.5)
    return None


def _finish_profiling(namespace, output):
    """Finishes profiling: the copier's ConfigMap is applied, then the Job's pod succeeds."""
    name = output["metadata"]["name"].removeprefix(OUTPUT)
    here = ("-n", namespace)

    def phase():
        return kubectl(*here, "get", CUSTOM["DynamoGraphDeploymentRequest"], name, "-o", "jsonpath={.status.phase}")[1]

    def running():
        chosen = ("-l", f"job-name=profile-{name}", "--field-selector=status.phase=Running")
        return kubectl(*here, "get", "pods", *chosen, "-o", "name")[1].split()

    _until(30, lambda: phase() in ("Profiling", "Failed"))
    pods = _until(20, running) or []
    time.sleep(1)
    kubectl(*here, "apply", "-f", "-", text=as_json(output))
    time.sleep(1)
    succeeded = {"status": {"phase": "Succeeded", "conditions": None, "containerStatuses": None}}
    for pod in pods:
        kubectl(*here, "patch", pod, "--subresource=status", "--type=merge", "-p", json.dumps(succeeded))
    _until(60, lambda: phase() in ("Ready", "Deployed", "Failed"))


def _objects(namespace):
    status, output, errors = kubectl("-n", namespace, "get", KINDS, "-o", "json")
    if status != 0:
        raise RuntimeError(errors)
    return json.loads(output)["items"]


def _wait_for_quiet(namespace):
    before, since = None, 0
    for _ in range(PATIENCE):
        time.sleep(1)
        now = sorted((o["kind"], o["metadata"]["name"], o["metadata"].get("generation", 0)) for o in _objects(namespace))
        since = since + 1 if now == before else 0
        before = now
        if since >= QUIET:
            return


def is_clusters_own(item):
    return (item["kind"], item["metadata"]["name"]) in (("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default"))


def _record(out, path):
    case = os.path.splitext(os.path.basename(path))[0]
    namespace = "c" + hashlib.sha1(case.encode()).hexdigest()[:6]
    kubectl("create", "ns", namespace)
    documents = manifests(path)
    for name in claims_of(documents):
        kubectl("-n", namespace, "apply", "-f", "-", text=as_json(claim(name)))
    outputs = {OUTPUT + d["metadata"]["name"] for d in documents if d["kind"] == "DynamoGraphDeploymentRequest"}
    late = [d for d in documents if d["kind"] == "ConfigMap" and d["metadata"]["name"] in outputs]
    dump = {"case": case, "apply": [], "input": [d for d in documents if d["kind"] in CUSTOM]}
    for document in (d for d in documents if d not in late):
        status, _, errors = kubectl("-n", namespace, "apply", "-f", "-", text=as_json(document))
        dump["apply"].append(answer(document, status, errors, namespace))
    for output in late:
        _finish_profiling(namespace, output)
    try:
        _wait_for_quiet(namespace)
    except RuntimeError as error:
        dump["error"] = str(error)
    found = _objects(namespace)
    uids = [item["metadata"]["uid"] for item in found]
    kept = [clean(item, namespace, uids) for item in found if not is_clusters_own(item)]
    dump["objects"] = sorted(kept, key=lambda item: (item["kind"], item["metadata"]["name"]))
    write(out, case, dump)
    for kind in ("DynamoGraphDeployment", "DynamoComponentDeployment", "DynamoGraphDeploymentRequest"):
        kubectl("-n", namespace, "delete", CUSTOM[kind], "--all", "--wait=false")
    kubectl("delete", "ns", namespace, "--wait=false")
    return case, [said["ok"] for said in dump["apply"]], len(kept)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    out = sys.argv[1]
    os.makedirs(out, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(JOBS) as pool:
        for told in pool.map(lambda path: _record(out, path), sys.argv[2:]):
            print(*told, flush=True)


if __name__ == "__main__":
    main()
