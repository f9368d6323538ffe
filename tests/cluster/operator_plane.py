"""A control plane with our webhook and the rights of our controller, and what tests of the controller need: graphs of three
services, normalised objects, kubeconfigs through a proxy, the audit log."""

import base64
import contextlib
import copy
import datetime
import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "deploy/lib"), str(ROOT / "tests/reference")]

import install as installation  # noqa: E402
from child_crds import install_child_crds  # noqa: E402
from control_plane import ApiError, ControlPlane  # noqa: E402
from fault_proxy import FaultProxy  # noqa: E402
from permissions import complete_lines  # noqa: E402
from operator_config import config_of, role_names  # noqa: E402

OURS = "/apis/nvidia.com/v1alpha1"
APPS = "/apis/apps/v1"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
KINDS = {
    "DynamoGraphDeployment": (OURS, "dynamographdeployments"),
    "DynamoComponentDeployment": (OURS, "dynamocomponentdeployments"),
    "DynamoGraphDeploymentScalingAdapter": (OURS, "dynamographdeploymentscalingadapters"),
    "DynamoCheckpoint": (OURS, "dynamocheckpoints"),
    "DynamoGraphDeploymentRequest": ("/apis/nvidia.com/v1beta1", "dynamographdeploymentrequests"),
    "Job": ("/apis/batch/v1", "jobs"),
    "Deployment": (APPS, "deployments"),
    "ReplicaSet": (APPS, "replicasets"),
    "Service": ("/api/v1", "services"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Pod": ("/api/v1", "pods"),
    "Role": (RBAC, "roles"),
    "RoleBinding": (RBAC, "rolebindings"),
    "Ingress": ("/apis/networking.k8s.io/v1", "ingresses"),
}
# Objects that kube-controller-manager creates in every namespace.
PROVIDED = {("ConfigMap", "kube-root-ca.crt"), ("ServiceAccount", "default")}
# Members that depend on the time, on random numbers or on the number of writes.
VOLATILE = {
    "uid", "resourceVersion", "creationTimestamp", "generation", "observedGeneration", "managedFields",
    "lastTransitionTime", "lastUpdateTime", "lastScaleTime", "startTime", "endTime", "clusterIP", "clusterIPs",
    "deployment.kubernetes.io/revision", "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/max-replicas", "deployment.kubernetes.io/desired-replicas",
    "collisionCount", "pod-template-hash",
}  # fmt: skip
# A ReplicaSet has the name of its Deployment and a hash. kube-controller-manager counts a collision and takes another hash while
# a ReplicaSet of that name is left from a Deployment that was deleted and created again.
REPLICA_SET_NAME = re.compile(r'(ReplicaSet ".*)-[a-z0-9]+"')
AUDIT_POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [{"level": "Metadata", "verbs": ["create", "update", "patch", "delete", "deletecollection"]}],
}


def path_of(kind, namespace, name=None, subresource=None):
    base, plural = KINDS[kind]
    parts = [base, "namespaces", namespace, plural, name, subresource]
    return "/".join(part for part in parts if part)


def graph(name, namespace, image="runtime:1"):
    """A graph of three services: a frontend, a worker with two replicas, and one that an adapter scales."""

    def service(**fields):
        return {**fields, "extraPodSpec": {"mainContainer": {"image": image}}}

    worker = service(componentType="worker", replicas=2, resources={"limits": {"gpu": "1"}})
    worker["extraPodSpec"]["mainContainer"].update(command=["python3", "-m", "dynamo.vllm"], args=["--model", "m"])
    return {
        "apiVersion": "nvidia.com/v1alpha1",
        "kind": "DynamoGraphDeployment",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "services": {
                "Frontend": service(componentType="frontend", replicas=1),
                "Worker": worker,
                "Processor": service(replicas=1, scalingAdapter={"enabled": True}),
            }
        },
    }


def is_ready(found):
    """Whether the status of a graph describes its spec and reports readiness."""
    status = found.get("status", {})
    return status.get("state") == "successful" and status.get("observedGeneration") == found["metadata"]["generation"]


def condition_of(found, kind):
    """The condition of this type in the status of an object; an empty one if there is none."""
    conditions = found.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == kind), {})


def normalised(value):
    """The value without volatile members; lists of conditions sorted by type."""
    if isinstance(value, dict):
        return {name: normalised(member) for name, member in sorted(value.items()) if name not in VOLATILE}
    if isinstance(value, list):
        items = [normalised(item) for item in value]
        if items and all(isinstance(item, dict) and {"type", "status"} <= item.keys() for item in items):
            items.sort(key=lambda item: item["type"])
        return items
    if isinstance(value, str):
        return REPLICA_SET_NAME.sub(r'\1"', value)
    return value


def objects_of(cluster, namespace):
    """All objects of the namespace with their kinds."""
    found = []
    for kind in KINDS:
        for one in cluster.api("GET", path_of(kind, namespace))["items"]:
            if (kind, one["metadata"]["name"]) not in PROVIDED:
                found.append({**one, "kind": kind})
    return found


def snapshot(objects):
    """"Kind/name" -> normalised object. Pods are counted by their Deployment. ReplicaSets are listed by their owner, without
    their names; empty ones are left out."""
    seen = {}
    for found in objects:
        kind, metadata = found["kind"], found["metadata"]
        if kind == "Pod":
            ready = any(c["type"] == "Ready" and c["status"] == "True" for c in found["status"].get("conditions", []))
            ending = "deletionTimestamp" in metadata
            key = f"Pod/{metadata.get('labels', {}).get('nvidia.com/selector')} ready={ready} ending={ending}"
            seen[key] = seen.get(key, 0) + 1
        elif kind == "ReplicaSet":
            if found["spec"]["replicas"]:
                owner = metadata["ownerReferences"][0]["name"]
                nameless = {**found, "metadata": {**metadata, "name": None}}
                seen.setdefault(f"ReplicaSets/{owner}", []).append(normalised(nameless))
        else:
            seen[f"{kind}/{metadata['name']}"] = normalised(found)
    return seen


def unfinished(objects):
    """Objects whose status does not describe their generation, and objects that wait for the garbage collector."""
    uids = {found["metadata"]["uid"] for found in objects}
    late = []
    for found in objects:
        metadata = found["metadata"]
        name = f"{found['kind']}/{metadata['name']}"
        if "observedGeneration" in found.get("status", {}):
            if found["status"]["observedGeneration"] != metadata["generation"]:
                late.append(f"{name} has the status of an older generation")
        elif found["kind"] in ("DynamoGraphDeployment", "DynamoComponentDeployment"):
            late.append(f"{name} has no status")
        if any(owner["uid"] not in uids for owner in metadata.get("ownerReferences", [])):
            late.append(f"{name} has an owner that is gone")
    return late


class AuditLog:
    """The writes that an API server has logged. Give `flags` to the ControlPlane."""

    def __init__(self, directory):
        self._log = Path(directory) / "audit.log"
        policy = Path(directory) / "audit-policy.json"
        policy.write_text(json.dumps(AUDIT_POLICY), encoding="utf-8")
        self.path = self._log
        self.flags = [f"--audit-policy-file={policy}", f"--audit-log-path={self._log}"]

    def entries(self, user=None):
        """The writes of `user` (all users if None), without Leases, in the order in which they ended."""
        found = []
        for line in complete_lines(self._log):
            entry = json.loads(line)
            if entry.get("objectRef", {}).get("resource") == "leases":
                continue
            if user is None or entry["user"]["username"] == user:
                found.append(entry)
        return found


def described(entry):
    """One line about an entry of the audit log."""
    about = entry["objectRef"]
    where = "/".join(about.get(key, "") for key in ("resource", "namespace", "name", "subresource")).rstrip("/")
    return f"{entry['requestReceivedTimestamp']} {entry['verb']} {where} {entry['responseStatus']['code']}"


CONTROLLER_USER = "system:serviceaccount:" + installation.CONTROLLER_ACCOUNT.replace("/", ":")


class ProxiedController(installation.Controller):
    """A controller that reaches the API server through `proxy`, if there is one."""

    def __init__(self, cluster, config, proxy=None, proxy_ca=None, name="controller", flags=()):
        super().__init__(cluster, config, flags, name)
        self.proxy = proxy
        self._proxy_ca = proxy_ca

    def kubeconfig(self):
        document = json.loads(Path(super().kubeconfig()).read_text(encoding="utf-8"))
        self.token = document["users"][0]["user"]["token"]
        if self.proxy is not None:
            document["clusters"][0]["cluster"] = {
                "server": self.proxy.url,
                "certificate-authority-data": base64.b64encode(self._proxy_ca).decode(),
            }
        target = self.directory / f"{self.name}-kubeconfig"
        target.write_text(json.dumps(document), encoding="utf-8")
        return target

    def leads(self):
        """Whether it reports that it leads."""
        return '"msg":"acquired the lease"' in self.log.read_text(encoding="utf-8", errors="replace")

    def writes(self, audit):
        """The entries of an audit log with its token, without Leases. Refused ones count, too."""
        credential, key = self.credential(), "authentication.kubernetes.io/credential-id"
        return [entry for entry in audit.entries() if credential in entry["user"].get("extra", {}).get(key, [])]

    def credential(self):
        """What the audit log calls the token of this process."""
        payload = self.token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return f"JTI={claims['jti']}"


class Objects:
    """Reads and writes objects as a user. Attribute of the derived class: cluster."""

    def get(self, kind, namespace, name):
        """The object; None if there is none."""
        try:
            return self.cluster.api("GET", path_of(kind, namespace, name))
        except ApiError as error:
            if error.status == 404:
                return None
            raise

    def apply(self, manifest):
        """Server-side apply as a user."""
        metadata = manifest["metadata"]
        path = path_of(manifest["kind"], metadata["namespace"], metadata["name"])
        flags = "?fieldManager=user&force=true"
        return self.cluster.api("PATCH", path + flags, manifest, "application/apply-patch+yaml")

    def patch(self, kind, namespace, name, patch, subresource=None):
        """A merge patch, or a JSON patch if `patch` is a list, as a user."""
        path = path_of(kind, namespace, name, subresource) + "?fieldManager=user"
        how = "json-patch" if isinstance(patch, list) else "merge-patch"
        return self.cluster.api("PATCH", path, patch, f"application/{how}+json")

    @contextlib.contextmanager
    def quota(self, namespace, name, hard):
        """A quota of the namespace, such as {"pods": "0"}, while the context lasts."""
        quotas = f"/api/v1/namespaces/{namespace}/resourcequotas"
        self.cluster.api("POST", quotas, {"metadata": {"name": name}, "spec": {"hard": hard}})
        try:
            self.cluster.wait(lambda: "hard" in self.cluster.api("GET", f"{quotas}/{name}").get("status", {}), 30, "the quota")
            yield
        finally:
            self.cluster.api("DELETE", f"{quotas}/{name}")

    def delete(self, kind, namespace, name):
        options = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Background"}
        return self.cluster.api("DELETE", path_of(kind, namespace, name), options)


class OperatorPlane(Objects):
    """A control plane with CRDs, webhook and the controller's account; with `child_crds` also the CRDs of other operators.
    Without `grove`, graphs run as Deployments. `config`: text that follows the configuration. Attributes: cluster, webhook,
    audit."""

    def __init__(self, nodes=4, gpus=64, child_crds=False, grove=False, config="", kwok_config=None):
        self._running = contextlib.ExitStack()
        try:
            self.audit = AuditLog(self._running.enter_context(tempfile.TemporaryDirectory()))
            self.cluster = self._running.enter_context(ControlPlane(apiserver_flags=self.audit.flags, kwok_config=kwok_config))
            self.cluster.add_nodes(nodes, gpus=gpus, cpu=512)
            self.webhook = installation.Webhook(self.cluster.directory)
            self._running.callback(self.webhook.stop)
            with config_of("grove" if grove else "lws", config) as self._config:
                self.webhook.start()
            installation.install(self.cluster, self.webhook)
            if child_crds:
                install_child_crds(self.cluster)
            self.cluster.wait_for_garbage_collector()
            role_names(self.cluster)
        except BaseException:
            self._running.close()
            raise

    def close(self):
        self._running.close()

    def config(self, leader_election=False):
        # The Lease for which the controller has a Role.
        lease = "leaderElection: {enabled: true, id: dynamo.nvidia.com, namespace: kube-system}\n"
        return self._config + (lease if leader_election else "")

    def controller(self, name="controller", leader_election=False):
        """A controller that is not started. It is stopped with the control plane."""
        made = ProxiedController(self.cluster, self.config(leader_election), name=name)
        self._running.callback(made.stop)
        return made

    def proxied_controller(self, name="controller", leader_election=False):
        """A controller behind a proxy, not started. There can be one."""
        certs = self.cluster.directory / "proxy-certs"
        make = [installation.WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", certs]
        subprocess.run(make, check=True, capture_output=True)
        proxy = FaultProxy(self.cluster.api_url, self.cluster.ca_file, certs / "tls.crt", certs / "tls.key")
        proxy.start()
        self._running.callback(proxy.stop)
        config = self.config(leader_election)
        made = ProxiedController(self.cluster, config, proxy, (certs / "ca.crt").read_bytes(), name)
        self._running.callback(made.stop)
        return made


def received(entry):
    """When the API server received the request of an entry of the audit log."""
    return datetime.datetime.fromisoformat(entry["requestReceivedTimestamp"].replace("Z", "+00:00"))


def wait_for_rest(writes, seconds=3.0, timeout=120):
    """Waits until the entries that `writes()` returns have not grown for `seconds`. Returns their number."""
    count, since, deadline = len(writes()), time.monotonic(), time.monotonic() + timeout
    while time.monotonic() - since < seconds:
        time.sleep(0.1)
        if (now := len(writes())) != count:
            count, since = now, time.monotonic()
        if time.monotonic() > deadline:
            raise AssertionError("the controller does not come to rest:\n" + "\n".join(map(described, writes()[-20:])))
    return count


def difference(expected, found):
    """The paths at which two normalised values differ, one per line."""
    lines = []

    def walk(path, left, right):
        if left == right:
            return
        if isinstance(left, dict) and isinstance(right, dict):
            for name in sorted(left.keys() | right.keys()):
                walk(f"{path}.{name}", left.get(name), right.get(name))
        elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
            for index, pair in enumerate(zip(left, right)):
                walk(f"{path}[{index}]", *pair)
        else:
            lines.append(f"{path}: {json.dumps(left)[:300]} expected, found {json.dumps(right)[:300]}")

    walk("", copy.deepcopy(expected), copy.deepcopy(found))
    return "\n".join(lines)
