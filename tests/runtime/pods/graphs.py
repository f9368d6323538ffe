"""Graphs whose pods the kubelet judges, and what the rendered pods must say."""

import dataclasses
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "cluster")]

import image  # noqa: E402
import model  # noqa: E402
from node import images  # noqa: E402
from places import NAMESPACE, SERVERS  # noqa: E402

SERVER_IMAGE = "localhost/pod-server:1"
VERSION = "1.0.0"  # of the real runtime
SERVER = "/opt/pods/server.py"
MOCKER = ["python3", "-m", "dynamo.mocker"]
MODEL = ["--model-path", model.NAME, "--model-name", model.NAME]


@dataclasses.dataclass(frozen=True)
class Probe:
    """Seconds, and failures after which the kubelet acts. The kubelet's own defaults are filled in."""

    delay: int
    period: int
    timeout: int
    failures: int

    def most(self):
        """Seconds from the moment from which a program does not answer until the kubelet acts. A probe may just have passed."""
        return self.failures * self.period + self.timeout

    def least(self):
        """The same for a program that answers with a failure, from a moment just before a probe."""
        return (self.failures - 1) * self.period


@dataclasses.dataclass(frozen=True)
class Kind:
    """The defaults of a component type. Probes are those of the main container; None: there is none."""

    liveness: Probe = None
    readiness: Probe = None
    startup: Probe = None
    grace: int = 60
    pre_stop: int = 0
    port: int = 8000


WORKER = Kind(Probe(0, 5, 4, 1), Probe(0, 10, 4, 3), Probe(0, 10, 5, 720), pre_stop=5, port=9090)
KINDS = {
    "frontend": Kind(Probe(15, 10, 1, 3), Probe(10, 10, 3, 3), pre_stop=5),
    "worker": WORKER,
    "prefill": WORKER,
    "decode": WORKER,
    "epp": Kind(Probe(5, 10, 1, 3), Probe(5, 10, 1, 3), Probe(0, 10, 1, 180), grace=130),
    "planner": Kind(),
    "": Kind(),
}


def probe_of(found):
    """A probe of a stored pod; the API server has filled in what was left out."""
    if found is None:
        return None
    others = (found[what] for what in ("periodSeconds", "timeoutSeconds", "failureThreshold"))
    return Probe(found.get("initialDelaySeconds", 0), *others)


def server_image():
    """The path of the archive of an image that runs server.py by itself, as the endpoint picker's does."""
    return images.python_image(SERVER_IMAGE, {"/opt/pods": HERE}, [SERVER])


def service(kind="", main=None, pod=None, **fields):
    """A service. `main`: members of its main container; `pod`: other members of extraPodSpec."""
    made = {"extraPodSpec": {"mainContainer": main or {}, **(pod or {})}, **fields}
    return {**made, "componentType": kind} if kind else made


def served(kind="", arguments=(), pod=None, main=None, **fields):
    """A service whose pods run server.py. The endpoint picker has no command: its image knows its program."""
    run = {} if kind == "epp" else {"command": ["python3", "-B", SERVER], "args": ["server", *arguments]}
    if kind == "epp":
        profiles = [{"name": "default", "plugins": [{"pluginRef": "queue-scorer"}]}]
        fields["eppConfig"] = {"config": {"plugins": [{"type": "queue-scorer"}], "schedulingProfiles": profiles}}
    return service(kind, {"image": SERVER_IMAGE, **run, **(main or {})}, pod, **fields)


def mocker(kind, arguments=(), **fields):
    """A service whose pods run the mocker of the real runtime."""
    return service(kind, {"image": image.name_of(VERSION), "command": MOCKER, "args": [*MODEL, *arguments]}, **fields)


def frontend(**fields):
    return service("frontend", {"image": image.name_of(VERSION)}, **fields)


def graph(name, services, **annotations):
    envs = [{"name": name, "value": value} for name, value in SERVERS.items() if name == "NATS_SERVER"]
    metadata = {"name": name, "namespace": NAMESPACE, "annotations": annotations}
    spec = {"envs": envs, "services": services}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": spec}
