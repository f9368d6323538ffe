"""What deploy/kustomize had before it was made from the chart: names, labels and selectors of its objects. Their contents are shortened,
because only these matter for the way from it."""

from typing import NamedTuple

WEBHOOK, CONTROLLER = "dynamo-operator-webhook", "dynamo-operator-controller-manager"
SERVICE = f"{WEBHOOK}-service"
SECRET = "dynamo-operator-webhook-cert"
RBAC = "rbac.authorization.k8s.io"
RULES = [{"apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["nothing"], "verbs": ["get"]}]
COMPONENTS = {WEBHOOK: "webhook", CONTROLLER: "manager"}


class Folder(NamedTuple):
    """The objects of a folder whose names differ. Roles are (name, namespace of its binding or "", name of its binding or None)."""

    namespace: str
    suffix: str  # of webhook configurations
    roles: tuple
    accounts: tuple = ()


def _roles(namespace, *names):
    return tuple((f"dynamo-operator-{name}-role", namespace, f"dynamo-operator-{name}-rolebinding") for name in names)


def _bound(*names):
    """ClusterRoles whose bindings have their names."""
    return tuple((f"dynamo-operator-{name}", "", f"dynamo-operator-{name}") for name in names)


BASE = Folder(
    "dynamo-system",
    "",
    (
        *_roles("", "cluster-wide", "manager"),
        *_bound("webhook-injector", "queue-reader", "gpu-discovery"),
        *((f"dynamo-operator-{name}", "", None) for name in ("planner", "epp", "dgdr-profiling")),
        *_roles("dynamo-system", "own-objects"),
        *_roles("kube-system", "leader-election"),
    ),
)
RESTRICTED = Folder(
    "team-a",
    "-team-a",
    (
        *_bound("team-a-webhook-injector", "team-a-queue-reader", "team-a-gpu-discovery"),
        *_roles("team-a", "manager", "own-objects", "leader-election", "namespace-scope"),
        ("planner-role", "team-a", "planner-binding"),
        ("epp-role", "team-a", "epp-binding"),
        ("dgdr-profiling-job", "team-a", "dgdr-profiling-job"),
    ),
    ("planner-serviceaccount", "epp-serviceaccount", "dgdr-profiling-job"),
)


def labels(component):
    return {"app.kubernetes.io/name": "dynamo-operator", "app.kubernetes.io/component": component}


def item(kind, name, namespace, api="v1", component=None, **content):
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    if component:
        metadata["labels"] = labels(component)
    return {"apiVersion": api, "kind": kind, "metadata": metadata, **content}


def deployment(name, namespace):
    selected = labels(COMPONENTS[name])
    pod = {"containers": [{"name": "c", "image": "dynamo-operator:0.1.0"}], "serviceAccountName": name, "automountServiceAccountToken": False}
    spec = {"replicas": 2, "selector": {"matchLabels": selected}, "template": {"metadata": {"labels": selected}, "spec": pod}}
    return item("Deployment", name, namespace, "apps/v1", COMPONENTS[name], spec=spec)


def access(folder):
    """Roles and bindings."""
    for name, namespace, bound in folder.roles:
        kind = "Role" if namespace else "ClusterRole"
        yield item(kind, name, namespace, f"{RBAC}/v1", "manager", rules=RULES)
        if bound:
            account = next((each for each in folder.accounts if each.split("-")[0] == name.split("-")[0]), CONTROLLER)
            subject = {"kind": "ServiceAccount", "name": account, "namespace": folder.namespace}
            reference = {"apiGroup": RBAC, "kind": kind, "name": name}
            yield item(f"{kind}Binding", bound, namespace, f"{RBAC}/v1", "manager", roleRef=reference, subjects=[subject])


def webhooks(folder, bundle):
    rule = {"apiGroups": ["nvidia.com"], "apiVersions": ["v1alpha1"], "operations": ["CREATE"], "resources": ["dynamomodels"], "scope": "*"}
    service = {"name": SERVICE, "namespace": folder.namespace, "path": "/", "port": 443}
    for kind in ("Mutating", "Validating"):
        hook = {
            "name": "vdynamomodel.kb.io", "admissionReviewVersions": ["v1"], "sideEffects": "None", "rules": [rule],
            "clientConfig": {"service": service, "caBundle": bundle},
        }  # fmt: skip
        name = f"dynamo-operator-{kind.lower()}{folder.suffix}"
        found = item(f"{kind}WebhookConfiguration", name, "", "admissionregistration.k8s.io/v1", "webhook", webhooks=[hook])
        found["metadata"]["labels"]["nvidia.com/dynamo-operator-namespace"] = folder.namespace
        yield found


def service(name, namespace, component, port):
    ports = [{"name": port, "port": 8080, "targetPort": port}]
    return item("Service", name, namespace, component=component, spec={"selector": labels(component), "ports": ports})


def objects(folder, bundle):
    """All objects of a folder, except the Namespace, the CRDs and what the controller made. `bundle`: the CA as a clientConfig has it."""
    place = folder.namespace
    made = [item("ConfigMap", "dynamo-operator-config", place, data={"config.yaml": "old"})]
    made += [item("ServiceAccount", name, place) for name in (*COMPONENTS, *folder.accounts)]
    for name, component in COMPONENTS.items():
        selector = {"matchLabels": labels(component)}
        made += [
            deployment(name, place),
            item("PodDisruptionBudget", name, place, "policy/v1", spec={"minAvailable": 1, "selector": selector}),
            item("NetworkPolicy", name, place, "networking.k8s.io/v1", spec={"podSelector": selector, "policyTypes": ["Ingress"]}),
        ]
    made += [
        service(SERVICE, place, "webhook", "webhook"),
        service("dynamo-operator-webhook-metrics", place, "webhook", "metrics"),
        service("dynamo-operator-controller-metrics", place, "manager", "metrics"),
    ]
    return [*made, *access(folder), *webhooks(folder, bundle)]
