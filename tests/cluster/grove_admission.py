"""The webhooks of Grove 0.1.0-alpha.6 for PodCliqueSets: what they set and what they refuse, on CREATE and on UPDATE."""

import base64
import copy
import http.server
import json
import ssl
import subprocess
import threading

import install as installation

MOST = 45  # bytes of the names of a set, a group and a clique
ORDERED = ("CliqueStartupTypeInOrder", "CliqueStartupTypeExplicit")
RULES = [{"apiGroups": ["grove.io"], "apiVersions": ["v1alpha1"], "operations": ["CREATE", "UPDATE"],
          "resources": ["podcliquesets"]}]


def template_of(found):
    return found["spec"]["template"]


def groups_of(template):
    return template.get("podCliqueScalingGroups") or []


def defaulted(found):
    """The set with the defaults of the mutating webhook."""
    made = copy.deepcopy(found)
    template = template_of(made)
    template.setdefault("terminationDelay", "4h")
    template.setdefault("headlessServiceConfig", {"publishNotReadyAddresses": True})
    for clique in template["cliques"]:
        spec = clique["spec"]
        spec.setdefault("minAvailable", spec.get("replicas", 0))
        spec["replicas"] = spec.get("replicas") or 1
        spec["podSpec"].setdefault("restartPolicy", "Always")
        spec["podSpec"].setdefault("terminationGracePeriodSeconds", 30)
    return made


def refusals(found, old=None):
    """The reasons for which the validating webhook refuses the set; comparisons only with a set that has no others."""
    return _shape(found, old is None) or (_comparison(found, old) if old else [])


def _shape(found, create):
    template, name = template_of(found), found["metadata"]["name"]
    cliques, groups = template["cliques"], groups_of(template)
    names = [clique["name"] for clique in cliques]
    errors = [f"spec.template.cliques.name: {one} is not unique" for one in set(names) if names.count(one) > 1]
    member_of = {member: group["name"] for group in groups for member in group["cliqueNames"]}
    for one in names:
        if len(name) + len(member_of.get(one, "")) + len(one) > MOST:
            errors.append(f"{one}: the combined length of the names exceeds {MOST}")
    if len({clique["spec"]["podSpec"].get("schedulerName") or "default-scheduler" for clique in cliques}) > 1:
        errors.append("spec.template.cliques.spec.podSpec.schedulerName: must be the same")
    for clique in cliques:
        spec = clique["spec"]
        if not 0 < spec["minAvailable"] <= spec["replicas"]:
            errors.append(f"{clique['name']}: minAvailable {spec['minAvailable']} of {spec['replicas']} replicas")
        for field in ("topologySpreadConstraints", "nodeName"):
            if create and spec["podSpec"].get(field) not in (None, ""):
                errors.append(f"{clique['name']}: {field} must not be set")
    for group in groups:
        replicas, least = group.get("replicas", 1), group.get("minAvailable", 1)
        if replicas <= 0:
            errors.append(f"{group['name']}: replicas must be greater than 0")
        if not 0 < least <= replicas:
            errors.append(f"{group['name']}: minAvailable {least} of {replicas} replicas")
        errors += [f"{group['name']}: unknown clique {one}" for one in group["cliqueNames"] if one not in names]
    return errors


def _comparison(found, old):
    new, before = template_of(found), template_of(old)
    cliques = {clique["name"]: clique["spec"] for clique in before["cliques"]}
    if sorted(cliques) != sorted(clique["name"] for clique in new["cliques"]):
        return ["spec.template.cliques: may not be added or removed"]
    errors = []
    order = [[clique["name"] for clique in each["cliques"]] for each in (new, before)]
    if new["cliqueStartupType"] in ORDERED and order[0] != order[1]:
        errors.append("spec.template.cliques: the order may not change")
    if new["cliqueStartupType"] != before["cliqueStartupType"]:
        errors.append("spec.template.cliqueStartupType: field is immutable")
    for clique in new["cliques"]:
        for field in ("roleName", "minAvailable", "startsAfter"):
            if clique["spec"].get(field) != cliques[clique["name"]].get(field):
                errors.append(f"spec.template.cliques.spec.{field}: field is immutable")
    kept = [{group["name"]: (group["cliqueNames"], group.get("minAvailable", 1)) for group in groups_of(each)}
            for each in (new, before)]
    if kept[0] != kept[1]:
        errors.append("spec.template.podCliqueScalingGroups: cliqueNames and minAvailable are immutable")
    return errors


class _Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["request"]
        response = {"uid": request["uid"], "allowed": True}
        if self.path.split("?")[0] == "/default":  # the API server appends its timeout
            patch = [{"op": "replace", "path": "/spec", "value": defaulted(request["object"])["spec"]}]
            response |= {"patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}
        elif errors := refusals(request["object"], request.get("oldObject")):
            response |= {"allowed": False, "status": {"code": 403, "message": "; ".join(errors)}}
        body = json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class GroveAdmission:
    """Serves the webhooks and registers them with a control plane."""

    def __init__(self, plane):
        certs = plane.directory / "grove-certs"
        make = [installation.WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", certs]
        subprocess.run(make, check=True, capture_output=True)
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certs / "tls.crt", certs / "tls.key")
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        bundle = base64.b64encode((certs / "ca.crt").read_bytes()).decode()
        for kind, path in (("Mutating", "default"), ("Validating", "validate")):
            url = f"https://127.0.0.1:{self._server.server_port}/{path}"
            webhook = {"name": f"pcs.{path}.webhooks.grove.io", "clientConfig": {"url": url, "caBundle": bundle},
                       "rules": RULES, "matchPolicy": "Exact", "failurePolicy": "Fail", "sideEffects": "None",
                       "admissionReviewVersions": ["v1"]}
            plane.api("POST", f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}webhookconfigurations",
                      {"apiVersion": "admissionregistration.k8s.io/v1", "kind": f"{kind}WebhookConfiguration",
                       "metadata": {"name": f"grove-{path}"}, "webhooks": [webhook]})

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
