"""The operator on a local control plane: the webhook as a process on loopback, the manifests of
deploy/kustomize/base with its URL in place of the Service."""

import base64
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/cluster"))

from control_plane import ApiError  # noqa: E402

WEBHOOK = Path(os.environ.get("DYNAMO_WEBHOOK") or ROOT / "build/release/bin/dynamo-webhook")
BASE = ROOT / "deploy/kustomize/base"
START_SECONDS = 60
STOP_SECONDS = 20
PR_SET_PDEATHSIG = 1
CONTROLLER_ACCOUNT = "dynamo-system/dynamo-operator-controller-manager"
CONFIG = """\
apiVersion: operator.config.dynamo.nvidia.com/v1alpha1
kind: OperatorConfiguration
server:
  webhook: {{certProvisionMode: manual, serviceName: dynamo-operator-webhook-service, shutdownDelay: {delay}}}
"""


class InstallError(Exception):
    """The message is for the user; it holds what the failing program said."""


class Webhook:
    """`dynamo-webhook serve` with `flags` on free loopback ports, with a certificate of its own. Files go to
    `directory`, which must exist. Attributes after start(): pid, port, health_port, metrics_port, ca (PEM, bytes)."""

    def __init__(self, directory, shutdown_delay="0s", flags=()):
        self.directory = Path(directory)
        self.shutdown_delay = shutdown_delay
        self.flags = flags
        self.log = self.directory / "webhook.log"
        self._process = None

    def start(self, port=0):
        """A started webhook may be started again after stop() or kill(), on the same port if it is given; it
        keeps its certificate."""
        certs = self.directory / "webhook-certs"
        if not certs.exists():
            self.make_certificate()
        self.ca = (certs / "ca.crt").read_bytes()
        config = self.directory / "operator-config.yaml"
        config.write_text(CONFIG.format(delay=self.shutdown_delay), encoding="utf-8")
        argv = [WEBHOOK, "serve", "--config", config, "--cert-dir", certs]
        argv += ["--listen", f"127.0.0.1:{port}", "--controller-service-account", CONTROLLER_ACCOUNT]
        for flag in ("--health-listen", "--metrics-listen"):
            argv += [flag, "127.0.0.1:0"]
        argv += self.flags
        libc = ctypes.CDLL(None)
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C is for us; stop() ends the webhook after its last request
                preexec_fn=lambda: libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0),
            )
        self.pid = self._process.pid
        ports = self._wait_until_serving()
        self.port, self.health_port, self.metrics_port = (
            int(ports[name]) for name in ("webhookPort", "healthPort", "metricsPort")
        )

    def make_certificate(self, *flags):
        """A serving certificate; with "--force" a new one from the same CA, under the running webhook."""
        make = [WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", self.directory / "webhook-certs", *flags]
        made = subprocess.run(make, capture_output=True, text=True, check=False)
        if made.returncode != 0:
            raise InstallError(f"dynamo-webhook certs failed:\n{made.stderr}")

    def kill(self):
        """SIGKILL, as a crash."""
        self._process.kill()
        self._process.wait()
        self._process = None

    def stop(self):
        """SIGTERM, then SIGKILL when it does not end. The exit status; None when it was not running."""
        process, self._process = self._process, None
        if process is None:
            return None
        process.terminate()
        try:
            return process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            return process.wait()

    def _wait_until_serving(self):
        """The members of the log line that tells the ports."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            ended = self._process.poll() is not None
            text = self.log.read_text(encoding="utf-8", errors="replace")
            for line in text.splitlines():
                if line.startswith("{") and line.endswith("}"):
                    entry = json.loads(line)
                    if entry.get("msg") == "serving":
                        return entry
            if ended or time.monotonic() > deadline:
                raise InstallError(f"the webhook does not serve; its log:\n{text}")
            time.sleep(0.03)


def manifests(cluster, url, ca_bundle):
    """The objects of deploy/kustomize/base, every clientConfig with `url` and `ca_bundle` (base64). The API server waits
    for an answer as long as it may: a machine that is held up is not what is shown here."""
    rendered = cluster.kubectl("kustomize", BASE).stdout
    objects = [o for o in yaml.load_all(rendered, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)) if o]
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
    """Applies the base and returns once the API server asks the webhook: registrations and conversion take
    effect a moment after they are stored."""
    ca_bundle = base64.b64encode(webhook.ca).decode()
    objects = manifests(cluster, f"https://127.0.0.1:{webhook.port}", ca_bundle)
    for item in objects:
        if item["kind"] == "Namespace":
            cluster.create_namespace(item["metadata"]["name"])
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
    cluster.kubectl("apply", "--server-side", "-f", "-", input=text)
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=120s")
    cluster.wait(lambda: _webhook_is_asked(cluster), 120, "the API server asks the webhook")


def _webhook_is_asked(cluster):
    path = "/apis/nvidia.com/{version}/namespaces/default/dynamographdeploymentrequests?dryRun=All"

    def create(version, spec):
        body = {"apiVersion": f"nvidia.com/{version}", "kind": "DynamoGraphDeploymentRequest", "spec": spec}
        body["metadata"] = {"name": "is-the-webhook-asked"}
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
