"""Installs the operator on a local control plane: webhook and controller are processes on loopback. The manifests of
deploy/kustomize have the URL of the webhook instead of its Service. The Deployments are applied, too, but their pods only
exist on fake nodes."""

import base64
import copy
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from built import CONTROLLER, WEBHOOK  # noqa: E402
from control_plane import ApiError  # noqa: E402

KUSTOMIZE = ROOT / "deploy/kustomize"
BASE, RESTRICTED = KUSTOMIZE / "base", KUSTOMIZE / "restricted"
CRDS = ROOT / "deploy/crds"
START_SECONDS = 60
STOP_SECONDS = 20
PR_SET_PDEATHSIG = 1
CONTROLLER_ACCOUNT = "dynamo-system/dynamo-operator-controller-manager"
CONFIG = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
server:
  metrics: {{secure: false}}
  webhook: {{certProvisionMode: manual, serviceName: dynamo-operator-webhook-service, shutdownDelay: {delay}}}
"""


class InstallError(Exception):
    """The message is for the user and contains the output of the failing program."""


class Program:
    """A process that logs JSON lines. Attributes after start: pid and the members of its first line with `message`."""

    def __init__(self, directory, name):
        self.directory = Path(directory)
        self.name = name
        self.log = self.directory / f"{name}.log"
        self._process = None

    def _spawn(self, argv, message, environment=None):
        """Starts the program and returns the log line with `message`."""
        libc = ctypes.CDLL(None)
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,  # Ctrl-C only reaches this program; stop() ends the process after its last request
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0),
            )
        self.pid = self._process.pid
        return self._wait_for(message)

    def log_tail(self, lines=15):
        try:
            return "\n".join(self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:])
        except OSError:
            return "(no log)"

    def kill(self):
        """Sends SIGKILL, to simulate a crash."""
        self._process.kill()
        self._process.wait()
        self._process = None

    def exit_status(self):
        """The exit status of a program that has ended by itself; None while it runs."""
        return None if self._process is None else self._process.poll()

    def stop(self, seconds=STOP_SECONDS):
        """Sends SIGTERM, and SIGKILL after the timeout. Returns the exit status, or None if the program was not running."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.terminate()
        try:
            return process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _wait_for(self, message):
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended = self._process.poll() is not None
            text = self.log.read_text(encoding="utf-8", errors="replace")
            for line in text.splitlines():
                if line.startswith("{") and line.endswith("}"):
                    entry = json.loads(line)
                    if entry.get("msg") == message:
                        return entry
            if ended or time.monotonic() > deadline:
                raise InstallError(f"the {self.name} does not start; its log:\n{text}")
            time.sleep(0.03)


class Webhook(Program):
    """Runs `dynamo-webhook serve` with `flags` on free loopback ports and with its own certificate. Files go to
    `directory`, which must exist. `config` is the text of its OperatorConfiguration, `account` that of the controller.
    Attributes after start(): pid, port, health_port, metrics_port, ca (PEM, bytes)."""

    host = "127.0.0.1"  # the address of its HTTPS port

    def __init__(self, directory, shutdown_delay="0s", flags=(), config=None, account=CONTROLLER_ACCOUNT):
        super().__init__(directory, "webhook")
        self.shutdown_delay = shutdown_delay
        self.flags = flags
        self.config = config
        self.account = account

    def start(self, port=0):
        """Starts the webhook. It may be started again after stop() or kill(), on the same port if `port` is given. It keeps
        its certificate."""
        certs = self.directory / "webhook-certs"
        if not certs.exists():
            self.make_certificate()
        self.ca = (certs / "ca.crt").read_bytes()
        config = self.directory / "operator-config.yaml"
        config.write_text(self.config or CONFIG.format(delay=self.shutdown_delay), encoding="utf-8")
        argv = [WEBHOOK, "serve", "--config", config, "--cert-dir", certs]
        argv += ["--listen", f"{self.host}:{port}", "--controller-service-account", self.account]
        for flag in ("--health-listen", "--metrics-listen"):
            argv += [flag, "127.0.0.1:0"]
        argv += self.flags
        ports = self._spawn(argv, "serving")
        self.port, self.health_port, self.metrics_port = (
            int(ports[name]) for name in ("webhookPort", "healthPort", "metricsPort")
        )

    def make_certificate(self, *flags):
        """Creates a serving certificate. With "--force" it replaces that of the running webhook by one of the same CA."""
        make = [WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", self.directory / "webhook-certs", *flags]
        made = subprocess.run(make, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise InstallError(f"dynamo-webhook certs failed:\n{made.stderr}")


class Controller(Program):
    """Runs `dynamo-controller run` with `flags` under its service account, on free loopback ports. Account and roles are those
    of the manifests. `config` is the text of its OperatorConfiguration, by default that of the manifests. Attributes after
    start(): pid, health_port, metrics_port."""

    def __init__(self, cluster, config=None, flags=(), name="controller", account=CONTROLLER_ACCOUNT):
        super().__init__(cluster.directory, name)
        self.cluster = cluster
        self.account = account
        self.config = config or installed_config(cluster, account.split("/")[0])
        self.flags = flags

    def start(self):
        """Starts the controller. It may be started again after stop() or kill()."""
        config = self.directory / f"{self.name}-config.yaml"
        config.write_text(self.config, encoding="utf-8")
        argv = [CONTROLLER, "run", "--config", config, "--kubeconfig", self.kubeconfig()]
        for flag in ("--health-listen", "--metrics-listen"):
            argv += [flag, "127.0.0.1:0"]
        environment = {**os.environ, "POD_NAMESPACE": self.account.split("/")[0]}
        ports = self._spawn([*argv, *self.flags], "started", environment)
        self.health_port, self.metrics_port = int(ports["healthPort"]), int(ports["metricsPort"])

    def kubeconfig(self):
        """The path of a kubeconfig with a new token of its service account."""
        return self.cluster.service_account_kubeconfig(*self.account.split("/"), seconds=86400)

    def wait_until_ready(self):
        """Waits until its caches are in sync."""
        self.cluster.wait(self._is_ready, START_SECONDS, f"the {self.name} is ready")

    def metrics(self):
        """The text of its metrics."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics", timeout=30) as answer:
            return answer.read().decode()

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.health_port}/readyz", timeout=5) as answer:
                return answer.status == 200
        except OSError:
            return False


def installed_config(cluster, namespace="dynamo-system"):
    """The OperatorConfiguration of the manifests, except that metrics are served by plain HTTP: who reads them here has no token."""
    path = f"/api/v1/namespaces/{namespace}/configmaps/dynamo-operator-config"
    config = yaml.safe_load(cluster.api("GET", path)["data"]["config.yaml"])
    config["server"]["metrics"]["secure"] = False
    return yaml.safe_dump(config)


def rendered(cluster, folder=BASE):
    """The objects of a folder of deploy/kustomize, or of CRDS."""
    text = cluster.kubectl("kustomize", folder).stdout
    return [o for o in yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o]


def complete(cluster):
    """The CRDs and the objects of the base. On a real node the init container of the controller applies the CRDs."""
    return [*rendered(cluster, CRDS), *rendered(cluster)]


def manifests(cluster, url, ca_bundle):
    """The CRDs and the objects of the base with `url` and `ca_bundle`."""
    return with_url(complete(cluster), url, ca_bundle)


def with_url(objects, url, ca_bundle):
    """Copies of the objects with `url` and `ca_bundle` (base64) in every clientConfig. The webhooks have the maximum timeout, so
    a slow machine does not fail requests."""
    objects = copy.deepcopy(objects)
    for client_config in _client_configs(objects):
        service = client_config.pop("service")
        client_config["url"] = url + service["path"]
        client_config["caBundle"] = ca_bundle
    for webhook in (webhook for item in objects for webhook in item.get("webhooks", [])):
        webhook["timeoutSeconds"] = 30
    return objects


def _client_configs(objects):
    for item in objects:
        for webhook in item.get("webhooks", []):
            yield webhook["clientConfig"]
        conversion = item["spec"].get("conversion", {}) if item["kind"] == "CustomResourceDefinition" else {}
        if "webhook" in conversion:
            yield conversion["webhook"]["clientConfig"]


def install(cluster, webhook):
    """Applies the CRDs and the base, and waits until the API server calls the webhook. Registrations and conversion take effect a
    moment after they are stored."""
    apply_objects(cluster, webhook, complete(cluster))
    cluster.wait(lambda: webhook_is_called(cluster), 120, "the API server calls the webhook")


def apply(cluster, webhook, folder):
    """Applies a folder of deploy/kustomize, or CRDS, with the URL of the webhook."""
    apply_objects(cluster, webhook, rendered(cluster, folder))


def apply_objects(cluster, webhook, objects):
    """Applies objects with the URL of the webhook."""
    ca_bundle = base64.b64encode(webhook.ca).decode()
    objects = with_url(objects, f"https://127.0.0.1:{webhook.port}", ca_bundle)
    for item in objects:
        if item["kind"] == "Namespace":
            cluster.create_namespace(item["metadata"]["name"])
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
    cluster.wait_for_crds(120)


def webhook_is_called(cluster):
    """Whether the API server calls the webhook for defaults, conversion and validation."""
    path = "/apis/nvidia.com/{version}/namespaces/default/dynamographdeploymentrequests?dryRun=All"

    def create(version, spec):
        body = {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeploymentRequest", "spec": spec}
        body["metadata"] = {"name": "is-the-webhook-called"}
        return cluster.api("POST", path.format(version=version), body)

    defaulted = converted = False
    try:
        defaulted = "image" in create("v1beta1", {"model": "m"})["spec"]
        alpha = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i", "outputPVC": "p"}}
        converted = create("v1alpha1", alpha)["spec"]["profilingConfig"].get("outputPVC") == "p"
        create("v1beta1", {"model": "m", "backend": "auto", "searchStrategy": "thorough"})
        return False
    except ApiError as error:
        if error.status == 422:
            return defaulted and converted
        if error.status in (404, 500, 503):
            return False
        raise
