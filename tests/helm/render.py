"""Runs Helm 3 and Helm 4 without a cluster, and holds what they render or say."""

import json
import os
import subprocess
from typing import NamedTuple

import yaml

import charts
import programs

FULL = bool(os.environ.get("DYNAMO_FULL"))
# Helm 4 takes minutes to build.
HELMS = ("helm3", "helm4") if FULL else ("helm3",)
SECONDS = 120
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
# Each run has its settings, plugins and caches in an empty place, and no cluster.
NOWHERE = "/nonexistent"
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", ""),
    "HOME": NOWHERE,
    "KUBECONFIG": f"{NOWHERE}/kubeconfig",
    "HELM_CACHE_HOME": f"{NOWHERE}/cache",
    "HELM_CONFIG_HOME": f"{NOWHERE}/config",
    "HELM_DATA_HOME": f"{NOWHERE}/data",
    # A run is over before a garbage collection pays.
    "GOGC": "off",
    "GOMAXPROCS": "1",
}
# What `helm template` knows of a cluster with the Prometheus operator.
MONITORING = ("--api-versions", "monitoring.coreos.com/v1")
OPENSHIFT = ("--api-versions", "security.openshift.io/v1")


class Rendered(NamedTuple):
    """What Helm makes of values. `refusal` is its message when it refuses them; then there are no objects."""

    objects: list
    notes: str
    refusal: str

    def find(self, kind, name):
        """The object of this kind and name; None if there is none."""
        return next((o for o in self.objects if (o["kind"], o["metadata"]["name"]) == (kind, name)), None)

    def of_kind(self, *kinds):
        return [o for o in self.objects if o["kind"] in kinds]


def with_cluster(helm, kubeconfig, folder):
    """The environment of a Helm that uses a cluster and keeps what it writes in `folder`."""
    homes = {f"HELM_{kind}_HOME": str(folder / helm / kind) for kind in ("CACHE", "CONFIG", "DATA")}
    return {**ENVIRONMENT, "KUBECONFIG": str(kubeconfig), **homes}


def run(helm, *arguments, text="", environment=None, timeout=SECONDS):
    """Runs a Helm with `text` as its standard input."""
    command = [programs.built(helm), *map(str, arguments)]
    surroundings = environment or ENVIRONMENT
    return subprocess.run(command, input=text, capture_output=True, text=True, timeout=timeout, check=False, env=surroundings)


def template(helm, chart, values, release="dynamo-platform", namespace="inference-system", flags=()):
    """Renders the chart at the path `chart` with `values`, which are the user's."""
    done = run(helm, "template", release, chart, "--namespace", namespace, "--values", "-", *flags, text=json.dumps(values))
    if done.returncode:
        return Rendered([], "", done.stderr)
    objects = [o for o in yaml.load_all(done.stdout, Loader=LOADER) if o]
    notes = "".join(o["data"]["notes"] for o in objects if o["metadata"]["name"] == charts.NOTES)
    return Rendered([o for o in objects if o["metadata"]["name"] != charts.NOTES], notes, "")
