"""The RBAC permissions of a service account in rendered manifests, and its requests in the audit log of an API server."""

import json
from typing import NamedTuple

# Watches are logged when they start and when they end. The log has no bodies, so no secrets.
POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules: [{level: Metadata}]
"""


class Permission(NamedTuple):
    """One verb on one resource ("pods", "pods/log"). `namespace` and `name` are empty for all."""

    namespace: str
    group: str
    resource: str
    name: str
    verb: str

    def __str__(self):
        place = f" in {self.namespace}" if self.namespace else ""
        which = f" {self.name}" if self.name else ""
        return f"{self.verb} {self.resource}{'.' + self.group if self.group else ''}{which}{place}"


class Request(NamedTuple):
    permission: Permission
    status: int
    message: str


def permissions_of(objects, namespace, account):
    """What the bindings in `objects` grant to the service account."""
    roles = {(o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]): o for o in objects}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": namespace}
    found = set()
    for binding in (o for o in objects if o["kind"] in ("RoleBinding", "ClusterRoleBinding") and subject in o["subjects"]):
        place = binding["metadata"].get("namespace", "")
        role, reference = None, binding["roleRef"]
        for candidate in (place, "") if reference["kind"] == "Role" else ("",):
            role = role or roles.get((reference["kind"], candidate, reference["name"]))
        for rule in role["rules"]:
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for name in rule.get("resourceNames", [""]):
                        found |= {Permission(place, group, resource, name, verb) for verb in rule["verbs"]}
    return found


def covers(granted, needed):
    """Whether the permission `granted` allows the request `needed`."""
    return (
        granted.namespace in ("", needed.namespace)
        and granted.name in ("", needed.name)
        and granted[1:3] == needed[1:3]
        and granted.verb == needed.verb
    )


def audit_flags(directory):
    """Flags of kube-apiserver for an audit log in `directory`, which has each request when it is answered."""
    policy = directory / "audit-policy.yaml"
    policy.write_text(POLICY, encoding="utf-8")
    flags = {"policy-file": policy, "log-path": directory / "audit.log", "log-mode": "blocking", "log-format": "json"}
    return [f"--audit-{name}={value}" for name, value in flags.items()]


def complete_lines(log):
    """The lines of a log. Its end may be a part of a line that is being written."""
    return log.read_text(encoding="utf-8", errors="replace").rpartition("\n")[0].splitlines()


def requests_of(directory, user):
    """The requests of the user for resources. A patch that created an object counts as `create`, too, because the API server
    checks both."""
    found = []
    for event in map(json.loads, complete_lines(directory / "audit.log")):
        reference = event.get("objectRef")
        if event["user"]["username"] != user or reference is None:
            continue
        resource = "/".join(part for part in (reference["resource"], reference.get("subresource")) if part)
        permission = Permission(
            reference.get("namespace", ""), reference.get("apiGroup", ""), resource, reference.get("name", ""), event["verb"]
        )
        status = event.get("responseStatus", {})
        found.append(Request(permission, status.get("code", 0), status.get("message", "")))
        if event["verb"] == "patch" and status.get("code") == 201:
            found.append(Request(permission._replace(verb="create"), 201, ""))
    return found
