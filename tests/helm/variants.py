"""Sets of values that between them render every object of the charts."""

# name -> (chart, release, namespace, values, whether the cluster is said to have the Prometheus operator)
OPERATOR, PLATFORM = "dynamo-operator", "dynamo-platform"
MONITORS = {"metricsService": {"enabled": True}, "dynamo": {"metrics": {"podMonitors": {"enabled": True}}}}
REGISTRY = {"useKubernetesSecret": True, "server": "registry.example.com", "username": "me", "password": "secret"}
RESTRICTED = {"namespaceRestriction": {"enabled": True, "targetNamespace": "team-a"}}
EVERYTHING = {
    **MONITORS,
    "dynamo": {**MONITORS["dynamo"], "dockerRegistry": REGISTRY, "istio": {"enabled": True, "gateway": "mesh/gateway"}},
    "controllerManager": {"replicas": 2},
    "webhook": {"certManager": {"enabled": True}},
    "networkPolicy": {"enabled": True},
    "monitoring": {"alerts": {"enabled": True}, "dashboards": {"enabled": True}},
}
VARIANTS = {
    "default": (PLATFORM, "dynamo-platform", "inference-system", {}),
    "alone": (OPERATOR, "dynamo-operator", "dynamo-system", {}),
    "everything": (PLATFORM, "dynamo-platform", "inference-system", {"dynamo-operator": EVERYTHING}),
    "restricted": (OPERATOR, "team-a", "team-a-system", RESTRICTED),
    "restricted everything": (OPERATOR, "team-a", "team-a-system", {**EVERYTHING, **RESTRICTED}),
    "without cluster scope": (OPERATOR, "team-a", "team-a", {"namespaceRestriction": {"enabled": True}, "rbac": {"clusterScoped": False}}),
    "schedulers": (PLATFORM, "dynamo-platform", "inference-system", {"global": {"grove": {"enabled": True}, "kai-scheduler": {"enabled": True}}}),
}
# Kinds that exist once for the whole cluster.
CLUSTER_KINDS = {
    "ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition", "MutatingWebhookConfiguration", "Namespace",
    "PriorityClass", "ValidatingWebhookConfiguration", "Queue", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding",
}  # fmt: skip
