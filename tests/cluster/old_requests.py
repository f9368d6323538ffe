"""Requests that a release before 1.0 has stored: in v1alpha1, with other fields, and without our webhook."""

import contextlib

import install as installation
from control_plane import ApiError
from operator_plane import path_of

REQUEST = "DynamoGraphDeploymentRequest"
CRD = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/dynamographdeploymentrequests.nvidia.com"
REGISTRATIONS = "/apis/admissionregistration.k8s.io/v1"
FINALIZER = "nvidia.com/finalizer"


def _without_server_fields(found):
    kept = {key: value for key, value in found["metadata"].items() if key in ("name", "labels", "annotations")}
    return {**found, "metadata": kept}


@contextlib.contextmanager
def _webhooks_are_gone(cluster):
    paths = [f"{REGISTRATIONS}/{kind}webhookconfigurations" for kind in ("validating", "mutating")]
    found = [(path, one) for path in paths for one in cluster.api("GET", path)["items"]]
    for path, one in found:
        cluster.api("DELETE", f"{path}/{one['metadata']['name']}")
    yield
    for path, one in found:
        cluster.api("POST", path, _without_server_fields(one))


def _update(cluster, change):
    definition = cluster.api("GET", CRD)
    change(definition["spec"])
    cluster.api("PUT", CRD, definition)


@contextlib.contextmanager
def earlier_release(cluster):
    """The API server stores requests in v1alpha1 with any field while the context lasts."""
    today = cluster.api("GET", CRD)["spec"]

    def old(spec):
        spec["conversion"] = {"strategy": "None"}
        for version in spec["versions"]:
            version["storage"] = version["name"] == "v1alpha1"
            if version["storage"]:
                version["schema"] = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
                version.pop("additionalPrinterColumns", None)

    with _webhooks_are_gone(cluster):
        _update(cluster, old)
        yield
        _update(cluster, lambda spec: (spec.clear(), spec.update(today)))
    cluster.wait(lambda: installation.webhook_is_called(cluster), 120, "the API server calls the webhook")


class OldRequests:
    """Requests in the states of that release. `wait(what, condition)` waits."""

    def __init__(self, plane, namespace):
        self.plane, self.namespace = plane, namespace

    def path(self, name=None, subresource=None):
        return path_of(REQUEST, self.namespace, name, subresource).replace("v1beta1", "v1alpha1")

    def create(self, name, status=None, **spec):
        metadata = {"name": name, "namespace": self.namespace, "finalizers": [FINALIZER]}
        spec = {
            "modelName": "meta/llama",
            "backend": "trtllm",
            "sla": {"ttft": 200, "itl": 20},
            "gpu": {"type": "h200_sxm"},
            "online": True,
            "autoApply": True,
            "profilingConfig": {"configMapRef": {"name": "base", "key": "disagg.yaml"}},
            **spec,
        }
        self.plane.cluster.api("POST", self.path(), {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, "metadata": metadata, "spec": spec})
        if status is not None:
            change = {"status": {"observedGeneration": 1, **status}}
            self.plane.cluster.api("PATCH", self.path(name, "status"), change, "application/merge-patch+json")

    def is_stored_as_before(self):
        """Whether the API server keeps the fields of that release, which it does soon after the change."""
        body = {"apiVersion": "nvidia.com/v1alpha1", "kind": REQUEST, "metadata": {"name": "probe"}, "spec": {"modelName": "m"}}
        try:
            return "modelName" in self.plane.cluster.api("POST", self.path() + "?dryRun=All", body)["spec"]
        except ApiError:
            return False

    def write(self, graph):
        """`graph(name)`: the graph that was generated for a request."""
        with earlier_release(self.plane.cluster):
            self.plane.cluster.wait(self.is_stored_as_before, 60, "the API server stores what the earlier release did")
            self.create("old-new")
            self.create("old-pending", {"state": "Pending"})
            self.create("old-profiling", {"state": "Profiling"})
            generated = lambda name: {"generatedDeployment": graph(name), "profilingResults": f"configmap/dgdr-output-{name}"}  # noqa: E731
            self.create("old-ready", {"state": "Ready", **generated("old-ready")}, autoApply=False)
            overrides = {"name": "chosen", "labels": {"team": "a"}}
            self.create("old-deploying", {"state": "Deploying", **generated("old-deploying")}, deploymentOverrides=overrides)
            made = lambda name, state: {"name": f"{name}-graph", "namespace": self.namespace, "state": state, "created": True}  # noqa: E731
            self.create("old-deployed", {"state": "Ready", **generated("old-deployed"), "deployment": made("old-deployed", "Ready")})
            self.create("old-deleted", {"state": "DeploymentDeleted", **generated("old-deleted"), "deployment": made("old-deleted", "Deleted")})
            self.create("old-failed", {"state": "Failed"})
