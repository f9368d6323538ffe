"""The roles, bindings and accounts of a release of the Go operator's chart, by their names. Those of our chart have the same names where
they have the same purpose: what a binding refers to cannot be changed, so an upgrade would fail.

`full` is the prefix of all names of the release, `space` its namespace, `target` that of the graphs of a restricted operator."""

RBAC = "rbac.authorization.k8s.io"
FIXED = ("planner", "epp")  # prefixes of names that are the same in each release


def cluster_bindings(full, space):
    """(kind, namespace, name) of a binding -> (kind, name) of its role, of an operator of the cluster."""
    return {
        ("ClusterRoleBinding", None, f"{full}-manager-rolebinding"): ("ClusterRole", f"{full}-manager-role"),
        ("ClusterRoleBinding", None, f"{full}-leader-election-rolebinding"): ("ClusterRole", f"{full}-leader-election-role"),
        ("ClusterRoleBinding", None, f"{full}-{space}-queue-reader-binding"): ("ClusterRole", f"{full}-{space}-queue-reader"),
        ("ClusterRoleBinding", None, f"{full}-dgdr-profiling"): ("ClusterRole", f"{full}-dgdr-profiling"),
        ("RoleBinding", space, f"{full}-webhook-cert-manager"): ("Role", f"{full}-webhook-cert-manager"),
    }


def restricted_bindings(full, space, target):
    """The same of a restricted operator."""
    found = {
        ("RoleBinding", target, f"{full}-manager-rolebinding"): ("Role", f"{full}-manager-role"),
        ("RoleBinding", target, f"{full}-leader-election-rolebinding"): ("Role", f"{full}-leader-election-role"),
        ("RoleBinding", space, f"{full}-webhook-cert-manager"): ("Role", f"{full}-webhook-cert-manager"),
        ("RoleBinding", space, "dgdr-profiling-job"): ("Role", "dgdr-profiling-job"),
        ("ClusterRoleBinding", None, f"{full}-{space}-queue-reader-binding"): ("ClusterRole", f"{full}-{space}-queue-reader"),
        ("ClusterRoleBinding", None, f"{full}-{space}-webhook-injector-binding"): ("ClusterRole", f"{full}-{space}-webhook-injector"),
    }
    for name in ("gpu-discovery", "metrics-auth"):
        found["ClusterRoleBinding", None, f"{full}-{space}-{name}"] = ("ClusterRole", f"{full}-{space}-{name}")
    for name in FIXED:
        found["RoleBinding", space, f"{name}-binding"] = ("Role", f"{name}-role")
    return found


def accounts(full, restricted):
    """The names of the accounts, all in the namespace of the release."""
    fixed = ["dgdr-profiling-job", *(f"{name}-serviceaccount" for name in FIXED)]
    return [f"{full}-controller-manager", f"{full}-component", *(fixed if restricted else ())]


def role_ref(role):
    kind, name = role
    return {"apiGroup": RBAC, "kind": kind, "name": name}


def objects(full, space, bindings, restricted):
    """The accounts, the bindings, and roles without rules."""
    subject = {"kind": "ServiceAccount", "name": f"{full}-controller-manager", "namespace": space}
    made = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": space}} for name in accounts(full, restricted)
    ]
    for (kind, namespace, name), role in bindings.items():
        place = {"namespace": namespace} if namespace else {}
        made += [
            {"apiVersion": f"{RBAC}/v1", "kind": role[0], "metadata": {"name": role[1], **place}, "rules": []},
            {"apiVersion": f"{RBAC}/v1", "kind": kind, "metadata": {"name": name, **place}, "subjects": [subject], "roleRef": role_ref(role)},
        ]
    return made
