"""CRDs that only some values of the charts need, from pinned Go modules: monitors of the Prometheus operator, and cert-manager's."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "cluster"))

from child_crds import module_folder  # noqa: E402

PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# module -> (version, checksum as in a go.sum, files that hold the CRDs)
MODULES = {
    "github.com/prometheus-operator/prometheus-operator": (
        "v0.85.0",
        "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
        [f"example/prometheus-operator-crd/monitoring.coreos.com_{kind}.yaml" for kind in ("podmonitors", "prometheusrules", "servicemonitors")],
    ),
    "github.com/cert-manager/cert-manager": (
        "v1.19.1",
        "h1:Txh8L/nLWTDcb7ZnXuXbTe15BxQnLbLirXmbNk0fGgY=",
        [f"deploy/crds/cert-manager.io_{kind}.yaml" for kind in ("certificates", "issuers")],
    ),
}


def install(cluster):
    """Creates the CRDs and waits until they are served."""
    for module, (version, checksum, files) in MODULES.items():
        folder = module_folder(module, version, checksum)
        for file in files:
            cluster.kubectl("create", "-f", folder / file)
    cluster.wait(lambda: all(map(_is_established, cluster.api("GET", PATH)["items"])), 120, "all CRDs are established")


def _is_established(crd):
    # A CRD that was created a moment ago has no conditions.
    conditions = crd.get("status", {}).get("conditions") or ()
    return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)
