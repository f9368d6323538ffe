"""The configuration of the operator in the recordings, and what it needs in the cluster."""

import contextlib
import json
from unittest import mock

import install as installation
from control_plane import ApiError

CONFIG = """
orchestrators: {{{{kaiScheduler: {{{{enabled: false}}}}, grove: {{{{enabled: {grove}, terminationDelay: 4h}}}}}}}}
infrastructure: {{{{natsAddress: "nats://dynamo-nats.dynamo-system.svc.cluster.local:4222"}}}}
rbac:
  plannerClusterRoleName: dynamo-dynamo-operator-planner
  dgdrProfilingClusterRoleName: dynamo-dynamo-operator-dgdr-profiling
  eppClusterRoleName: dynamo-dynamo-operator-epp
mpi: {{{{sshSecretName: mpi-run-ssh-secret, sshSecretNamespace: dynamo-system}}}}
"""
KEYS = ("orchestrators", "infrastructure", "rbac", "mpi")
ROLES = ("planner", "dgdr-profiling", "epp")


# In the recordings, workers count as available at once. Tests on nodes that only simulate pods would take longer with the default.
AVAILABLE_AT_ONCE = "defaults: {types: {worker: &now {minReadySeconds: 0}, prefill: *now, decode: *now}}\n"


def text_of(name):
    """The installation's configuration with the settings of the set. It still has the placeholder {delay}."""
    kept = [line for line in installation.CONFIG.splitlines() if not line.startswith(KEYS)]
    return "\n".join(kept) + CONFIG.format(grove="true" if name == "grove" else "false")


@contextlib.contextmanager
def config_of(name, more="", workers=AVAILABLE_AT_ONCE):
    """While it is active, webhooks start with the configuration of the set, the text `more`, and `workers`, which sets the defaults of
    workers: an empty text leaves those of the operator, with which the ledgers were written. Returns the text for the controller."""
    text = text_of(name) + (workers + more).replace("{", "{{").replace("}", "}}")
    with mock.patch.object(installation, "CONFIG", text):
        yield text.format(delay="0s")


def role_names(cluster):
    """Creates the ClusterRoles that the configuration names. Anybody may bind them, because they have no rules."""
    roles = [
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": f"dynamo-dynamo-operator-{role}"},
            "rules": [],
        }
        for role in ROLES
    ]
    cluster.kubectl("apply", "-f", "-", input=json.dumps({"apiVersion": "v1", "kind": "List", "items": roles}))


def wait_until_served(cluster):
    """Waits until all custom resources can be read. A CRD that was changed a moment ago answers 429 while its storage starts
    anew."""
    cluster.wait(lambda: _all_are_served(cluster), 120, "all kinds are served")


def _all_are_served(cluster):
    crds = cluster.api("GET", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions")["items"]
    for spec in (crd["spec"] for crd in crds):
        version = next(version["name"] for version in spec["versions"] if version["served"])
        try:
            cluster.api("GET", f"/apis/{spec['group']}/{version}/{spec['names']['plural']}?limit=1")
        except ApiError:
            return False
    return True
