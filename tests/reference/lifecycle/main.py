#!/usr/bin/env python3
"""Records the behaviour of an operator over the life cycle of its objects, and compares two sets of recordings.

  main.py record OUTDIR SCENARIO... [--set lws|grove] [--jobs N] [--quiet SECONDS] [--operator-metrics URL] [--http HOST:PORT]
                 [--audit FILE --user NAME] [--keep]
  main.py compare GOLDEN_DIR OUR_DIR [--accept FILE] [--scenarios DIR] [--unused-ok] [--hashes] [--messages] [-v]

record   plays each scenario (YAML, below) in its own namespace in the cluster of $KUBECONFIG with the operator that runs there, and
         writes OUTDIR/<scenario>.json. The operator, its CRDs and webhooks, kube-controller-manager, kube-scheduler and kwok nodes must
         be running. --set plays only the scenarios of that operator configuration. --http serves the LoRA endpoints of the scenarios on
         HOST:PORT; the operator needs http_proxy=http://HOST:PORT, or the addresses of the scenarios lead there. --audit/--user counts
         the operator's write requests from an audit log of level Metadata (informational).
compare  prints the differences: scenario, step, object, path, both values. FILE has accepted deviations, one per line:
           KIND PATH DIRECTION CONDITION DECISION # reason    (globs: only * and ? are special; conditions: invariants.py)
         DIR has the scenarios: the conditions of rolling updates need the strategies of their services.
         The exit status is 1 if a difference is not accepted, or if an accept line was never used (unless --unused-ok).
         Not compared: messages (--messages), the worker hashes themselves (--hashes), writes, the list of all events of a scenario.

A scenario:
  set: lws                        # operator configuration it is for: lws (Grove off) or grove
  about: one sentence
    setup: [manifest...]            # applied first, without waiting
  http: {ADDRESS: STATUS...}      # the LoRA server's answers for http://ADDRESS:9090
  unstable: [GLOB...]             # STEP/KIND/path of values that vary in the reference: recorded as ANY
  steps:
  - name: create                  # then one action, or several under do: [...]
    apply: [manifest...]          # server-side apply, forced; a rejection is recorded and no error
    patch: {kind, name, merge: {...} | json: [...], subresource: status|scale}
    scale: {kind, name, replicas} # the scale subresource
    status: {kind, name, set: {...}}      # merge patch of status in place of an absent operator; GENERATION becomes
                                          # the object's generation, NOW the time
    label: {kind, name, labels: {...}, annotations: {...}}
    delete: {kind, name, propagation: Foreground|Background|Orphan}
    pods: {match: {label: value}, ready: true|false | phase: Succeeded|Failed, count: N}     # the status from a kubelet, oldest first;
                                          # more pods are expected until the namespace is settled
    node: {labels: {...}, remove: true}   # a kwok node with these labels (NS becomes the namespace)
    http: {ADDRESS: STATUS}
    wait: {kind, name, path: status.state, is: VALUE | not: VALUE | absent: true, timeout: 60}
    sleep: SECONDS
    quiet: SECONDS                # this step's quiet time; timeout: SECONDS to wait for it (60)
A step ends when no object waits for a control loop (settled.py), nothing has changed for the quiet time, and the queues of the
operator are empty (--operator-metrics). A slow machine may take three times as long as the timeouts.
Names may be globs (`g-worker-*`). Of several matches the newest is used, with `old: true` the oldest.
"""

import argparse
import concurrent.futures
import http.server
import os
import sys
import threading
import time

import yaml

from cluster import Cluster, Watch
from lora import Lora
from play import Play
from recorded import compare


def set_of(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file).get("set")


def steps_of(path):
    with open(path, encoding="utf-8") as file:
        return len(yaml.safe_load(file)["steps"])


def record(options):
    os.makedirs(options.out, exist_ok=True)
    files = [path for path in options.scenarios if not options.set or set_of(path) == options.set]
    files.sort(key=steps_of, reverse=True)  # the longest begin first
    if options.http:
        host, port = options.http.split(":")
        server = http.server.ThreadingHTTPServer((host, int(port)), Lora)
        server.daemon_threads = True
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = Cluster(os.environ["KUBECONFIG"])
    watch = Watch(cluster)
    failed, began = 0, time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(Play(path, cluster, watch, options).run): path for path in files}
        for play in concurrent.futures.as_completed(running):
            if error := play.exception():  # the other scenarios continue
                failed += 1
                print(f"{running[play]}: {type(error).__name__}: {error}", flush=True)
                continue
            name, steps, restless, notes = play.result()
            after = f"{len(steps)} steps, recorded after {time.monotonic() - began:.0f} s"
            print(f"{name}: {after}{f'; never quiet: {restless}' if restless else ''}", flush=True)
            for note in notes:
                print(f"    {note[:300]}", flush=True)
    sys.exit(1 if failed else 0)


def main():
    top = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    sub = top.add_subparsers(required=True)
    p = sub.add_parser("record")
    p.set_defaults(main=record)
    p.add_argument("out")
    p.add_argument("scenarios", nargs="+")
    p.add_argument("--set")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--quiet", type=float, default=3)
    p.add_argument("--http")
    p.add_argument("--operator-metrics")
    p.add_argument("--audit")
    p.add_argument("--user")
    p.add_argument("--keep", action="store_true")
    p = sub.add_parser("compare")
    p.set_defaults(main=compare)
    p.add_argument("golden")
    p.add_argument("ours")
    p.add_argument("--accept")
    p.add_argument("--scenarios")
    p.add_argument("--unused-ok", action="store_true")
    p.add_argument("--hashes", action="store_true")
    p.add_argument("--messages", action="store_true")
    p.add_argument("-v", "--verbose", action="store_true")
    options = top.parse_args()
    options.main(options)


if __name__ == "__main__":
    main()
