#!/usr/bin/env python3
"""Validates the same objects by a real API server with our CRDs, with the reference's CRDs, and by our own validator.

All three must agree on acceptance, except for the objects listed in deviations.txt ("object"). Without ../shared the
comparison with the reference is skipped.

Usage: differential.py CHECKER [--words]
CHECKER is the binary dynamo-schema-check; --words prints where our wording differs from the API server's.
"""
import collections
import copy
import fnmatch
import http.client
import json
import queue
import ssl
import subprocess
import sys
import threading
import time

import compare_schemas
import objects

sys.path.insert(0, str(compare_schemas.ROOT / "tests" / "cluster"))
from control_plane import ControlPlane  # noqa: E402

CONNECTIONS = 4
STORED = "stored"  # name of the objects whose status or spec is updated


class Client:
    """One keep-alive connection to the API server."""

    def __init__(self, cluster):
        host, port = cluster.api_url.removeprefix("https://").split(":")
        self.connection = http.client.HTTPSConnection(
            host, int(port), timeout=30, context=ssl.create_default_context(cadata=cluster.ca))
        self.headers = {"Authorization": f"Bearer {cluster.admin_token}", "Content-Type": "application/json"}

    def request(self, method, path, body=None):
        self.connection.request(method, path, None if body is None else json.dumps(body), self.headers)
        response = self.connection.getresponse()
        text = response.read()
        # The answer for a path that is not served yet is plain text.
        return response.status, json.loads(text) if text.startswith(b"{") else {"message": text.decode()}


def without_conversion(crd):
    crd = copy.deepcopy(crd)
    crd["spec"].pop("conversion", None)
    return crd


CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def wait(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            sys.exit(f"differential: no {what} within {seconds} s")
        time.sleep(0.05)


def install(client, crds):
    for crd in crds.values():
        status, answer = client.request("POST", CRD_PATH, without_conversion(crd))
        if status != 201:
            sys.exit(f"differential: {crd['metadata']['name']}: {answer['message']}")
    for crd in crds.values():
        for version in crd["spec"]["versions"]:
            path = f"/apis/nvidia.com/{version['name']}/{crd['spec']['names']['plural']}"
            wait(path, lambda path=path: client.request("GET", path)[0] == 200)


def uninstall(client, crds):
    for crd in crds.values():
        client.request("DELETE", f"{CRD_PATH}/{crd['metadata']['name']}")
    for crd in crds.values():
        path = f"{CRD_PATH}/{crd['metadata']['name']}"
        wait(f"end of {path}", lambda path=path: client.request("GET", path)[0] == 404)


def collection(crds, case):
    plural = crds[case["kind"]]["spec"]["names"]["plural"]
    return f"/apis/nvidia.com/{case['version']}/namespaces/default/{plural}"


def store_objects(client, crds):
    """Stores one object of each kind. The cases update its status and spec."""
    for kind, crd in crds.items():
        version = crd["spec"]["versions"][-1]
        root = version["schema"]["openAPIV3Schema"]
        obj = objects.header(kind, version["name"])
        obj["metadata"]["name"] = STORED
        obj["spec"] = (objects.minimal_spec(kind) if kind == "DynamoCheckpoint"
                       else objects.sample(root["properties"]["spec"]))
        path = collection(crds, {"kind": kind, "version": version["name"]})
        status, answer = client.request("POST", path, obj)
        if status != 201:
            sys.exit(f"differential: cannot store a {kind}: {answer['message']}")


def send(client, crds, case):
    """(accepted, causes) of one case, as a dry run."""
    query = "?dryRun=All&fieldValidation=" + ("Strict" if case.get("strict") else "Ignore")
    path = collection(crds, case)
    if not case.get("status") and not case.get("update"):
        status, answer = client.request("POST", path + query, case["object"])
    else:
        _, stored = client.request("GET", f"{path}/{STORED}")
        body = {**case["object"], "metadata": stored["metadata"]}
        if case.get("status"):
            body["spec"] = stored["spec"]
        sub = "/status" if case.get("status") else ""
        status, answer = client.request("PUT", f"{path}/{STORED}{sub}{query}", body)
    if status >= 500:
        sys.exit(f"differential: {case['name']}: {status} {answer}")
    causes = (answer.get("details") or {}).get("causes") or []
    return status < 300, [f"{c.get('field')}: {c['message']}" for c in causes], answer.get("message", "")


def send_all(cluster, crds, cases):
    client = Client(cluster)
    install(client, crds)
    store_objects(client, crds)
    work, results, failures = queue.SimpleQueue(), {}, []
    for case in cases:
        work.put(case)

    def run():
        mine = Client(cluster)
        try:
            while True:
                case = work.get_nowait()
                results[case["name"]] = send(mine, crds, case)
        except queue.Empty:
            pass
        except BaseException as error:  # report errors of threads
            failures.append(error)

    threads = [threading.Thread(target=run) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"differential: {failures[0]!r}")
    uninstall(Client(cluster), crds)  # the connection of the first client has been idle for a long time
    return results


def check_offline(checker, cases):
    lines = []
    for case in cases:
        line = {key: case[key] for key in ("object", "strict", "status") if key in case}
        if case.get("update"):
            line["old"] = {"spec": objects.minimal_spec("DynamoCheckpoint")}
        lines.append(json.dumps(line))
    text = "\n".join(lines) + "\n"
    run = subprocess.run([checker], input=text, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        sys.exit(run.stderr)
    return {case["name"]: json.loads(line) for case, line in zip(cases, run.stdout.splitlines(), strict=True)}


def is_accepted_deviation(name):
    return any(what == "object" and fnmatch.fnmatchcase(name, pattern.replace("[", "[[]"))
               for pattern, what, _ in compare_schemas.deviations())


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--words"]):
        sys.exit(__doc__)
    ours = compare_schemas.load(compare_schemas.OURS)
    theirs = compare_schemas.load(compare_schemas.THEIRS) if compare_schemas.THEIRS.is_dir() else None
    if theirs is None:
        print(f"skipped: objects under the reference's schemas: {compare_schemas.THEIRS} is absent")
    cases = [*objects.systematic(ours), *objects.by_hand(), *objects.transitions()]
    cases = list({case["name"]: case for case in cases}.values())
    offline = check_offline(sys.argv[1], cases)
    with ControlPlane(components=("etcd", "apiserver")) as cluster:
        started = time.monotonic()
        with_ours = send_all(cluster, ours, cases)
        with_theirs = send_all(cluster, theirs, cases) if theirs else with_ours
        seconds = time.monotonic() - started
    return report(cases, with_ours, with_theirs, offline, seconds)


def report(cases, with_ours, with_theirs, offline, seconds):
    crd, validator, deviations, same_words, refused = [], [], 0, 0, 0
    for case in cases:
        name = case["name"]
        accepted, causes, message = with_ours[name]
        if accepted != with_theirs[name][0]:
            if is_accepted_deviation(name):
                deviations += 1
            else:
                verb = "accepts" if accepted else "refuses"
                crd.append(f"{name}: ours {verb} it: {message}{with_theirs[name][2]}")
        if accepted != (not offline[name]):
            verb = "accepts" if accepted else "refuses"
            validator.append(f"{name}: the API server {verb} it: {message} | the validator: {offline[name]}")
        elif not accepted and causes:
            refused += 1
            same = set(offline[name]) <= set(causes)
            same_words += same
            if not same and "--words" in sys.argv:
                print(f"words: {name}: ours {offline[name]}, API server's {causes}")
    for line in (*crd, *validator):
        print(line)
    counts = collections.Counter(case["kind"] for case in cases)
    kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(counts.items()))
    accepted = sum(1 for result in with_ours.values() if result[0])
    refusals = len(cases) - accepted
    print(f"{len(cases)} objects ({kinds}), {accepted} accepted, {refusals} refused, {seconds:.0f} s")
    print(f"CRDs: {len(crd)} differences, {deviations} accepted deviations")
    print(f"validator: {len(validator)} differences; {same_words} of {refused} refusals with the same messages")
    return 1 if crd or validator else 0


if __name__ == "__main__":
    sys.exit(main())
