"""An API server with the kinds that the charts use, and our webhook behind the Service of a release. The server calls it by its
Service, as on a real cluster: there are no pods, so the addresses of the Service are those of the process."""

import base64
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE.parent / "cluster"), str(ROOT / "deploy/lib")]

import install  # noqa: E402
import other_crds  # noqa: E402
from control_plane import ControlPlane  # noqa: E402

# A Service then leads to the addresses of its EndpointSlices instead of its own, behind which nothing is.
FLAGS = ("--enable-aggregator-routing=true",)
CRDS = ROOT / "deploy/crds"
CONVERTED = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeploymentrequests.nvidia.com"


def api_server(flags=()):
    return ControlPlane(components={"etcd", "apiserver"}, apiserver_flags=[*FLAGS, *flags])


def add_kinds(cluster):
    """The operator's CRDs, and those of monitors and certificates."""
    cluster.kubectl("apply", "--server-side", "-k", CRDS)
    other_crds.install(cluster)


def convert(cluster, namespace, service, bundle):
    """The CRD of requests names the Service that converts, and its CA."""
    client = {"caBundle": bundle, "service": {"name": service, "namespace": namespace, "path": "/convert", "port": 443}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]}}
    cluster.api("PATCH", CONVERTED, {"spec": {"conversion": conversion}}, "application/merge-patch+json")


def make_secret(cluster, namespace, name, service):
    """The Secret of the webhook's certificate, as a controller makes it. Returns the CA as a clientConfig has it."""
    with tempfile.TemporaryDirectory() as folder:
        command = [install.WEBHOOK, "certs", "--dns", f"{service}.{namespace}.svc", "--out", folder]
        subprocess.run(command, check=True, capture_output=True)
        data = {path.name: base64.b64encode(path.read_bytes()).decode() for path in Path(folder).iterdir()}
    secret = {"metadata": {"name": name}, "type": "kubernetes.io/tls", "data": data}
    cluster.api("POST", f"/api/v1/namespaces/{namespace}/secrets", secret)
    return data["ca.crt"]


def outer_address():
    """An address of this machine that is not a loopback one, which EndpointSlices do not accept. None if there is none. No
    packet is sent."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
        except OSError:
            return None
        address = probe.getsockname()[0]
    return None if address.startswith("127.") else address


class Served(install.Webhook):
    """Our webhook with a certificate for a Service, on an address that an EndpointSlice may have."""

    def __init__(self, directory, service, namespace, address, config=None):
        super().__init__(directory, config=config)
        self.service = service
        self.namespace = namespace
        self.host = address

    def make_certificate(self, *flags):
        name = f"{self.service}.{self.namespace}.svc"
        command = [install.WEBHOOK, "certs", "--dns", name, "--out", self.directory / "webhook-certs", *flags]
        subprocess.run(command, check=True, capture_output=True)

    @property
    def bundle(self):
        """The CA as a clientConfig has it."""
        return base64.b64encode(self.ca).decode()

    def serve(self, cluster):
        """Makes the process the only pod of the Service, as far as the API server knows."""
        body = {
            "metadata": {
                "name": f"{self.service}-of-the-test",
                "labels": {"kubernetes.io/service-name": self.service, "endpointslice.kubernetes.io/managed-by": "tests.example.com"},
            },
            "addressType": "IPv4",
            "ports": [{"name": "webhook", "port": self.port, "protocol": "TCP"}],
            "endpoints": [{"addresses": [self.host], "conditions": {"ready": True}}],
        }
        cluster.api("POST", f"/apis/discovery.k8s.io/v1/namespaces/{self.namespace}/endpointslices", body)

    def convert(self, cluster):
        """What the controller does at its start: the CRD names the Service of its release."""
        convert(cluster, self.namespace, self.service, self.bundle)
