#!/usr/bin/env python3
"""Records how an operator behaves over the life of its objects, and compares two sets of recordings.

  main.py record OUTDIR SCENARIO... [--set lws|grove] [--jobs N] [--quiet SECONDS] [--http PORT] [--audit FILE --user NAME] [--keep]
  main.py compare GOLDEN_DIR OUR_DIR [--accept FILE] [--unused-ok] [--hashes] [--messages] [-v]

record   plays each scenario (YAML, below) in a namespace of its own in the cluster of $KUBECONFIG, whatever operator runs there, and
         writes OUTDIR/<scenario>.json. The operator, its CRDs and webhooks, kube-controller-manager, kube-scheduler and kwok nodes must
         be up. --set plays only the scenarios of that operator configuration. --http serves the LoRA endpoints of the scenarios on
         127.0.0.1:PORT: give the operator http_proxy=http://127.0.0.1:PORT. --audit/--user counts the operator's write requests from an
         audit log of level Metadata (informational).
compare  prints what differs: scenario, step, object, path, both values. FILE holds accepted deviations, one a line:
           SCENARIO-GLOB STEP-GLOB KIND PATH-GLOB DECISION # reason           (globs: only * and ? are special; KIND is one kind or *)
         Exit status 1 when anything differs that is not accepted, or when an accept line was never used (unless --unused-ok).
         Not compared: messages (--messages), the worker hashes themselves (--hashes), writes, the list of all events of a scenario.

A scenario:
  set: lws                        # operator configuration it is for: lws (Grove off) or grove
  about: one sentence
  setup: [manifest...]            # applied first; nobody waits for quiet
  http: {ADDRESS: STATUS...}      # what the LoRA server answers for http://ADDRESS:9090
  unstable: [GLOB...]             # STEP/KIND/path that even the reference does not repeat: recorded as ANY
  steps:
  - name: create                  # then one action, or several under do: [...]
    apply: [manifest...]          # server-side apply, forced; a refusal is recorded, not an error
    patch: {kind, name, merge: {...} | json: [...], subresource: status|scale}
    scale: {kind, name, replicas} # the scale subresource
    status: {kind, name, set: {...}}      # merge patch of status, in the place of an operator that is not there; GENERATION becomes
                                          # the object's generation, NOW the time
    label: {kind, name, labels: {...}, annotations: {...}}
    delete: {kind, name, propagation: Foreground|Background|Orphan}
    pods: {match: {label: value}, ready: true|false | phase: Succeeded|Failed, count: N}     # what a kubelet would say, oldest first;
                                          # waits for a second of quiet before
    node: {labels: {...}, remove: true}   # a kwok node with these labels (NS becomes the namespace)
    http: {ADDRESS: STATUS}
    wait: {kind, name, path: status.state, is: VALUE | not: VALUE | absent: true, timeout: 60}
    sleep: SECONDS
    quiet: SECONDS                # this step's quiet time; timeout: SECONDS, how long to wait for it (60)
Names may be globs (`g-worker-*`); of several matches the newest counts, with `old: true` the oldest.
"""

import argparse
import concurrent.futures
import http.server
import os
import sys
import threading

import yaml

from cluster import Cluster, Watch
from lora import Lora
from play import Play
from recorded import compare


def set_of(path):
    with open(path, encoding="utf-8") as file:
        return yaml.safe_load(file).get("set")


def record(options):
    os.makedirs(options.out, exist_ok=True)
    files = [path for path in options.scenarios if not options.set or set_of(path) == options.set]
    if options.http:
        server = http.server.ThreadingHTTPServer(("127.0.0.1", options.http), Lora)
        server.daemon_threads = True
        server.handle_error = lambda *_: None
        threading.Thread(target=server.serve_forever, daemon=True).start()
    cluster = Cluster(os.environ["KUBECONFIG"])
    watch = Watch(cluster)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(Play(path, cluster, watch, options).run): path for path in files}
        for play in concurrent.futures.as_completed(running):
            if error := play.exception():  # the other scenarios go on
                failed += 1
                print(f"{running[play]}: {type(error).__name__}: {error}", flush=True)
                continue
            name, steps, restless, notes = play.result()
            print(f"{name}: {steps} steps{f'; never quiet: {restless}' if restless else ''}", flush=True)
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
    p.add_argument("--http", type=int)
    p.add_argument("--audit")
    p.add_argument("--user")
    p.add_argument("--keep", action="store_true")
    p = sub.add_parser("compare")
    p.set_defaults(main=compare)
    p.add_argument("golden")
    p.add_argument("ours")
    p.add_argument("--accept")
    p.add_argument("--unused-ok", action="store_true")
    p.add_argument("--hashes", action="store_true")
    p.add_argument("--messages", action="store_true")
    p.add_argument("-v", "--verbose", action="store_true")
    options = top.parse_args()
    options.main(options)


if __name__ == "__main__":
    main()
