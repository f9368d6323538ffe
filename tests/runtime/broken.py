"""Workers that do not run, as a table: each case is a graph that breaks in one way, what is told about it, and what repairs it.
causes.py plays it."""

import dataclasses

import image
import model
from places import NAMESPACE, SERVERS

VERSION = image.VERSIONS[0]
# Answers probes with a status, and ends after some seconds with an error.
SERVE = """
import http.server, sys, threading, time

status, seconds = int(sys.argv[1]), float(sys.argv[2])

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(status)
        self.end_headers()

    def log_message(self, *_):
        pass

for port in (8000, 9090):
    server = http.server.ThreadingHTTPServer(("", port), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
time.sleep(seconds)
raise RuntimeError("the engine is lost")
"""
FOREVER = "100000"


def python(code, *arguments):
    return {"command": ["python3", "-c", code, *arguments]}


def probe(name, **settings):
    return {f"{name}Probe": {"httpGet": {"path": "/live", "port": "system"}, "periodSeconds": 1, **settings}}


def succeeds(name):
    return {f"{name}Probe": {"exec": {"command": ["python3", "-c", ""]}, "periodSeconds": 5, "timeoutSeconds": 5}}


HEALTHY = {**python(SERVE, "200", FOREVER), **probe("startup", failureThreshold=60)}
UNHEALTHY = python(SERVE, "503", FOREVER)
MOCKER = {
    "command": ["python3", "-m", "dynamo.mocker"],
    "args": ["--model-path", model.NAME, "--model-name", model.NAME],
}
NATS = {"env": [{"name": "NATS_SERVER", "value": SERVERS["NATS_SERVER"]}]}
# No kubelet can reach a registry there.
NOWHERE = "127.0.0.1:5999/runtime:1"
EATER = "kept = []\nwhile True: kept.append(bytearray(1 << 20))"


@dataclasses.dataclass
class Case:
    """`main`: the main container; `service`: further fields of the service; `pod`: of extraPodSpec. `message`: a pattern of what
    the condition says at the end. `event`: the reason of the Event; None if there is none. `seen`: what the command that the
    message names shows. `before`: the main container with which the graph is ready at first. `repaired`: the one that repairs
    it. `steady`: the message stays, because the pod is never ready in between."""

    name: str
    main: dict
    message: str
    event: str = None
    reason: str = "some_resources_are_not_ready"
    seen: str = ""
    service: dict = dataclasses.field(default_factory=dict)
    pod: dict = dataclasses.field(default_factory=dict)
    before: dict = None
    repaired: dict = dataclasses.field(default_factory=lambda: HEALTHY)
    replicas: int = 1
    steady: bool = True

    def graph(self, main, service=None, pod=None):
        extra = {"mainContainer": {"image": image.name_of(VERSION), **main}, "terminationGracePeriodSeconds": 3, **(pod or {})}
        worker = {"componentType": "worker", "replicas": self.replicas, "extraPodSpec": extra, **(service or {})}
        return {
            "apiVersion": "nvidia.com/v1alpha1",
            "kind": "DynamoGraphDeployment",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {"services": {"Worker": worker}},
        }

    def broken(self):
        return self.graph(self.main, self.service, self.pod)


def terminating(cause, see):
    """A pattern of a container that ends again and again."""
    return rf'container "main" keeps terminating: {cause} \({see}\)$'


LOG = r"see kubectl logs --previous \S+ -c main"
EVENTS = r"see kubectl describe pod \S+"
CASES = [
    Case("crash", {**HEALTHY, **python(SERVE, "200", "20")}, terminating("exit code 1", LOG), "CrashLoop",
         seen="the engine is lost", steady=False),
    Case("never-ready",
         {**UNHEALTHY, **probe("startup", failureThreshold=3, terminationGracePeriodSeconds=1)},
         terminating("exit code 137, killed, perhaps because a probe failed", EVENTS), "CrashLoop",
         seen="Startup probe failed: HTTP probe failed with statuscode: 503"),
    Case("dies", {**UNHEALTHY, **succeeds("startup"), **succeeds("readiness"),
                  **probe("liveness", failureThreshold=3, terminationGracePeriodSeconds=1)},
         terminating("exit code 137, killed, perhaps because a probe failed", EVENTS), "CrashLoop",
         seen="Liveness probe failed: HTTP probe failed with statuscode: 503", steady=False),
    Case("starting", UNHEALTHY, rf'container "main" runs, but does not pass its startup probe \({EVENTS}\)$',
         seen="Startup probe failed: HTTP probe failed with statuscode: 503"),
    Case("silent", python("import time; time.sleep(100000)"),
         rf'container "main" runs, but does not pass its startup probe \({EVENTS}\)$', seen="connection refused"),
    Case("unready", {**UNHEALTHY, **succeeds("startup"), **succeeds("liveness")},
         rf'container "main" runs, but does not pass its readiness probe \({EVENTS}\)$',
         seen="Readiness probe failed: HTTP probe failed with statuscode: 503"),
    Case("nats", MOCKER, terminating("exit code 1", LOG), "CrashLoop", seen="Failed to connect to NATS",
         repaired={**MOCKER, **NATS}),
    Case("nats-told", {**MOCKER, "terminationMessagePolicy": "FallbackToLogsOnError"},
         terminating("exit code 1: Exception: Failed to connect to NATS: .* Verify NATS server is running.*", LOG),
         "CrashLoop", repaired={**MOCKER, **NATS}),
    Case("image", {**HEALTHY, "image": NOWHERE}, f'cannot pull image "{NOWHERE}": .*connection refused$', "ImagePullFailed"),
    Case("exit-0", python("print('done')"),
         terminating("exit code 0, ended without an error, perhaps because a probe failed", LOG), "CrashLoop", seen="done"),
    Case("exit-1", python("raise SystemExit('no model')"), terminating("exit code 1", f"2 pods; {LOG}"), "CrashLoop",
         seen="no model", replicas=2),
    Case("frontend", python("raise SystemExit('no model')"), terminating("exit code 1", LOG), "CrashLoop", seen="no model",
         service={"componentType": "frontend"}),
    Case("no-program", {"command": ["/no/such/program"]},
         'container "main" cannot be started: .*exec: "/no/such/program".*no such file or directory: unknown$',
         "ContainerNotCreated"),
    Case("memory", {**python(EATER), "resources": {"limits": {"memory": "64Mi"}}},
         terminating("OOMKilled, exceeded its memory limit, exit code 137", EVENTS), "CrashLoop", seen="OOMKilled"),
    Case("secret", {**HEALTHY, "envFrom": [{"secretRef": {"name": "absent"}}]},
         'container "main" cannot be started: secret "absent" not found$', "ContainerNotCreated"),
    Case("configmap", {**HEALTHY, "envFrom": [{"configMapRef": {"name": "absent"}}]},
         'container "main" cannot be started: configmap "absent" not found$', "ContainerNotCreated"),
    Case("volume", {**HEALTHY, "volumeMounts": [{"name": "absent", "mountPath": "/absent"}]},
         rf"pods wait for their volumes or their network \({EVENTS}\)$", seen='secret "absent" not found',
         pod={"volumes": [{"name": "absent", "secret": {"secretName": "absent"}}]}),
    Case("gpu", HEALTHY, r"pods cannot be scheduled: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu\.$",
         "PodUnschedulable", reason="insufficient_capacity", service={"resources": {"limits": {"gpu": "1"}}}),
    Case("update", {**HEALTHY, "image": NOWHERE}, f'Rolling update in progress: .*cannot pull image "{NOWHERE}": .*refused$',
         "ImagePullFailed", reason="rolling_update_in_progress", before=HEALTHY),
]  # fmt: skip
