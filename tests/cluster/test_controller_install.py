#!/usr/bin/env python3
"""The command `dynamo-controller crds apply` against a real API server. Run: python3 tests/cluster/test_controller_install.py

The command runs as a service account with no other rights than those of the chart. `smoke` is in test_controller_smoke.py.
Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`; DYNAMO_CONTROLLER and DYNAMO_WEBHOOK name
other builds of them."""

import base64
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "deploy/lib")]
import install as installation  # noqa: E402
from control_plane import ApiError, ControlPlane  # noqa: E402
from fault_proxy import REPLIES, Call, FaultProxy  # noqa: E402

CRDS = ROOT / "deploy/crds"
API = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
VERSION = "dynamo.nvidia.com/operator-version"
REQUESTS = "dynamographdeploymentrequests.nvidia.com"
MODELS = "dynamomodels.nvidia.com"
# They have few fields, so the API server installs them in a fraction of the time.
SMALL = ["dynamographdeploymentscalingadapters.nvidia.com", MODELS, "dynamoworkermetadatas.nvidia.com"]
FILES = {found["metadata"]["name"]: found for found in (
    yaml.load(path.read_text(encoding="utf-8"), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    for path in sorted(CRDS.glob("*.yaml")))}
NAMES = list(FILES)
WITH_REQUESTS = [REQUESTS, *SMALL]
ALPHA = {"model": "m", "backend": "vllm", "profilingConfig": {"profilerImage": "i:1", "outputPVC": "p"}}


def rules(verbs, create):
    """The rules of the chart for CRDs."""
    group = {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"]}
    return [{**group, "resourceNames": NAMES, "verbs": verbs}] + ([{**group, "verbs": ["create"]}] if create else [])


class Crds(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.plane = ControlPlane(components={"etcd", "apiserver"})
        cls.plane.start()
        cls.addClassCleanup(cls.plane.stop)
        cls.plane.api("POST", "/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "installer"}})
        subject = {"kind": "ServiceAccount", "namespace": "default", "name": "installer"}
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "installer"}
        cls.plane.api("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "installer"}, "rules": []})
        binding = {"metadata": {"name": "installer"}, "roleRef": reference, "subjects": [subject]}
        cls.plane.api("POST", f"{RBAC}/clusterrolebindings", binding)
        cls.kubeconfig = cls.plane.service_account_kubeconfig("default", "installer")
        cls.small, cls.with_requests = cls.folder_of(SMALL), cls.folder_of(WITH_REQUESTS)

    @classmethod
    def folder_of(cls, names):
        """A folder with these CRDs."""
        folder = cls.plane.directory / f"crds-{len(names)}-{names[0]}"
        folder.mkdir()
        for name in names:
            shutil.copy(CRDS / f"nvidia.com_{name.split('.')[0]}.yaml", folder)
        return folder

    def setUp(self):
        self.grant(["get", "patch"], create=True)

    def tearDown(self):
        # The API server first deletes the objects of a kind. If their storage has just started, it may wait for minutes before it
        # tries again.
        for found in self.plane.api("GET", API)["items"]:
            if self.established(found["metadata"]["name"]):
                self.plane.wait(lambda: self.lists(found), 60, f"{found['metadata']['name']} is served")
        self.plane.kubectl("delete", "crd", "--all", "--wait=false", "--ignore-not-found")
        self.plane.wait(lambda: not self.plane.api("GET", API)["items"], 180, "the CRDs are gone")

    def lists(self, crd):
        """Whether the API server lists the objects of this CRD."""
        try:
            version = crd["spec"]["versions"][-1]["name"]
            return self.plane.exists(f"/apis/nvidia.com/{version}/{crd['spec']['names']['plural']}")
        except ApiError as error:
            if error.status not in (429, 503):
                raise
            return False

    def grant(self, verbs, create):
        """Changes the rights of the service account and waits until the API server has noticed."""
        patch = {"rules": [rule for rule in rules(verbs, create) if rule["verbs"]]}
        self.plane.api("PATCH", f"{RBAC}/clusterroles/installer", patch, "application/merge-patch+json")
        user = {"user": "system:serviceaccount:default:installer"}
        for verb, name, wanted in (("get", MODELS, "get" in verbs), ("patch", MODELS, "patch" in verbs), ("create", "", create)):
            attributes = {"group": "apiextensions.k8s.io", "resource": "customresourcedefinitions", "verb": verb, "name": name}
            review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
                      "spec": {**user, "resourceAttributes": attributes}}
            path = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
            self.plane.wait(lambda: self.plane.api("POST", path, review)["status"]["allowed"] == wanted, 120, f"{verb}: {wanted}")

    def command(self, version="1.0.0", directory=None, timeout="240s"):
        """By default it applies the small CRDs."""
        directory = directory or self.small
        return [installation.CONTROLLER, "crds", "apply", f"--directory={directory}", f"--operator-version={version}",
                f"--timeout={timeout}"]

    def run_apply(self, *args, kubeconfig=None, **options):
        environment = self.plane.environment(kubeconfig or self.kubeconfig)
        return subprocess.run(self.command(*args, **options), env=environment, capture_output=True, text=True, timeout=300)

    def apply(self, *args, **options):
        """Applies the CRDs. Returns {name: outcome}, in the order of the lines."""
        ran = self.run_apply(*args, **options)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran.stdout)
        return self.outcomes(ran.stdout)

    def outcomes(self, text):
        return dict(line.split(" ", 1) for line in text.splitlines() if " waiting: " not in line)

    def all_of(self, outcome, names=SMALL):
        return {name: outcome for name in names}

    def get(self, name):
        return self.plane.api("GET", f"{API}/{name}")

    def patch(self, name, patch, manager, kind="merge-patch+json"):
        return self.plane.api("PATCH", f"{API}/{name}?fieldManager={manager}", patch, f"application/{kind}")

    def versions(self, names=SMALL):
        return {name: self.get(name)["metadata"]["resourceVersion"] for name in names}

    @contextlib.contextmanager
    def proxied(self):
        """A proxy to the API server, and a kubeconfig of the service account through it."""
        certs = self.plane.directory / "proxy-certs"
        make = [installation.WEBHOOK, "certs", "--ip", "127.0.0.1", "--out", certs, "--force"]
        subprocess.run(make, check=True, capture_output=True)
        proxy = FaultProxy(self.plane.api_url, self.plane.ca_file, certs / "tls.crt", certs / "tls.key")
        proxy.start()
        try:
            document = json.loads(Path(self.kubeconfig).read_text(encoding="utf-8"))
            ca = base64.b64encode((certs / "ca.crt").read_bytes()).decode()
            document["clusters"][0]["cluster"] = {"server": proxy.url, "certificate-authority-data": ca}
            target = self.plane.directory / "proxied-kubeconfig"
            target.write_text(json.dumps(document), encoding="utf-8")
            yield proxy, target
        finally:
            proxy.stop()

    def test_an_empty_cluster_and_once_more(self):
        self.assertEqual(self.apply(directory=CRDS), self.all_of("created", NAMES))
        for name, file in FILES.items():
            found = self.get(name)
            self.assertEqual(found["metadata"]["annotations"], {**file["metadata"]["annotations"], VERSION: "1.0.0"})
            self.assertEqual(found["spec"]["versions"], file["spec"]["versions"], name)
            conditions = {one["type"]: one["status"] for one in found["status"]["conditions"]}
            self.assertEqual(conditions["Established"], "True")
        before = self.versions(NAMES)
        self.assertEqual(self.apply(directory=CRDS), self.all_of("unchanged", NAMES))
        self.assertEqual(self.versions(NAMES), before)
        self.assertEqual(self.apply("1.0.1", CRDS), self.all_of("configured", NAMES))
        self.assertEqual(self.get(MODELS)["metadata"]["annotations"][VERSION], "1.0.1")

    def test_a_newer_operator_is_left_alone(self):
        self.apply("1.1.0-rc.10")
        before = self.versions()
        why = "version 1.1.0-rc.10 of the operator has applied it, which is newer than {}"
        for older in ("1.0.9", "1.1.0-rc.9"):
            self.assertEqual(self.apply(older), self.all_of(f"left alone: {why.format(older)}"))
            self.assertEqual(self.versions(), before)
        self.assertEqual(self.apply("1.1.0"), self.all_of("configured"))
        self.patch(MODELS, {"metadata": {"annotations": {VERSION: "latest"}}}, "somebody")
        outcomes = self.apply("1.1.0")
        told = outcomes.pop(MODELS)
        self.assertEqual(told, f'configured: its annotation {VERSION} is "latest", which is no version and does not count as newer')
        self.assertEqual(set(outcomes.values()), {"unchanged"})
        self.assertEqual(self.get(MODELS)["metadata"]["annotations"][VERSION], "1.1.0")

    def test_a_newer_operator_that_applies_at_the_same_time_is_not_overwritten(self):
        self.apply("1.0.0")
        with self.proxied() as (proxy, kubeconfig):
            # After the first request, which reads the first CRD.
            newer = {"metadata": {"annotations": {VERSION: "3.0.0"}}}
            proxy.on_request[1] = Call(lambda: self.patch(SMALL[0], newer, "newer"))
            ran = self.run_apply("2.0.0", kubeconfig=kubeconfig)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        outcomes = self.outcomes(ran.stdout)
        self.assertRegex(outcomes.pop(SMALL[0]), "^left alone: version 3.0.0 ")
        self.assertEqual(set(outcomes.values()), {"configured"})
        self.assertEqual(self.get(SMALL[0])["metadata"]["annotations"][VERSION], "3.0.0")

    def test_crds_of_other_managers_are_taken_over(self):
        models, requests = (json.loads(json.dumps(FILES[name])) for name in (MODELS, REQUESTS))
        models["spec"]["names"]["shortNames"] = ["model"]
        models["spec"]["versions"][0]["additionalPrinterColumns"] = []
        models["metadata"]["annotations"]["team"] = "a"
        self.plane.kubectl("apply", "--server-side", "--field-manager=helm", "-f", "-", input=json.dumps(models))
        requests["spec"]["versions"][1]["additionalPrinterColumns"] = []
        self.plane.api("POST", f"{API}?fieldManager=helm", requests)
        theirs = self.get(REQUESTS)["spec"]["conversion"]
        path = CRDS / f"nvidia.com_{MODELS.split('.')[0]}.yaml"
        conflict = self.plane.kubectl("apply", "--server-side", "--field-manager=dynamo-crd-apply", "-f", path, check=False)
        self.assertIn('conflicts with "helm"', conflict.stderr)

        outcomes = self.apply(directory=self.with_requests)
        self.assertEqual((outcomes.pop(MODELS), outcomes.pop(REQUESTS)), ("configured", "configured"))
        self.assertEqual(set(outcomes.values()), {"created"})
        for name in (MODELS, REQUESTS):
            found = self.get(name)
            self.assertEqual(found["spec"]["versions"], FILES[name]["spec"]["versions"])
            self.assertEqual(found["spec"]["names"]["shortNames"], FILES[name]["spec"]["names"]["shortNames"])
        self.assertEqual(self.get(MODELS)["metadata"]["annotations"]["team"], "a")
        self.assertEqual(self.get(REQUESTS)["spec"]["conversion"], theirs)

    def test_conversion_keeps_working(self):
        webhook = installation.Webhook(self.folder())
        self.addCleanup(webhook.stop)
        webhook.start()
        self.apply(directory=self.with_requests)
        # Nobody has written the CA yet: requests fail, and are not stored with fewer fields.
        stanza = self.get(REQUESTS)["spec"]["conversion"]
        self.assertEqual(stanza["strategy"], "Webhook")
        self.assertNotIn("caBundle", stanza["webhook"]["clientConfig"])
        path = "/apis/nvidia.com/{}/namespaces/default/dynamographdeploymentrequests"
        request = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentRequest",
                   "metadata": {"name": "one"}, "spec": ALPHA}

        def converts():
            """Stores a request in the other version, and reads it in both."""
            answer = self.plane.api("GET", path.format("v1beta1") + "/one")
            return answer["spec"]["image"] == "i:1" and \
                self.plane.api("GET", path.format("v1alpha1") + "/one")["spec"]["profilingConfig"]["outputPVC"] == "p"

        # What the controller writes, with a URL in place of the Service.
        ours = {"url": f"https://127.0.0.1:{webhook.port}/convert", "caBundle": base64.b64encode(webhook.ca).decode()}
        self.patch(REQUESTS, [{"op": "replace", "path": "/spec/conversion/webhook/clientConfig", "value": ours}],
                   "dynamo-controller", "json-patch+json")

        def created():
            ran = self.plane.kubectl("create", "-f", "-", input=json.dumps(request), check=False)
            return ran.returncode == 0

        self.plane.wait(created, 120, "a request in v1alpha1 is stored")
        self.addCleanup(self.plane.kubectl, "delete", "dgdr", "--all", check=False)
        self.assertTrue(converts())
        injected = self.get(REQUESTS)["spec"]["conversion"]
        for version, outcome in (("1.0.0", "unchanged"), ("1.0.1", "configured")):
            self.assertEqual(self.apply(version, self.with_requests)[REQUESTS], outcome)
            self.assertEqual(self.get(REQUESTS)["spec"]["conversion"], injected)
            self.assertTrue(converts())
        # Somebody has applied the conversion with the name of the field manager.
        whole = {**FILES[REQUESTS], "spec": {**FILES[REQUESTS]["spec"], "conversion": injected}}
        self.plane.kubectl("apply", "--server-side", "--force-conflicts", "--field-manager=dynamo-crd-apply", "-f", "-",
                           input=json.dumps(whole))
        self.apply("1.0.2", self.with_requests)
        self.assertEqual(self.get(REQUESTS)["spec"]["conversion"], injected)
        self.assertTrue(converts())
        self.plane.kubectl("delete", "dgdr", "one")

    def folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return folder.name

    def test_a_crd_that_exists_needs_no_right_to_create(self):
        self.apply()
        self.grant(["get", "patch"], create=False)
        self.assertEqual(self.apply("1.0.1"), self.all_of("configured"))

    def test_missing_rights_end_soon(self):
        for verbs, create, missing in (([], True, "get"), (["get"], True, "patch"), (["get", "patch"], False, "create")):
            self.grant(verbs, create)
            began = time.monotonic()
            ran = self.run_apply(timeout="240s")
            self.assertLess(time.monotonic() - began, 90)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertIn(f"CustomResourceDefinition {SMALL[0]}: a right is missing: ", ran.stderr)
            self.assertIn(f'"system:serviceaccount:default:installer" cannot {missing} resource', ran.stderr)

    def test_killed_in_between(self):
        # The writes are that of the CRD of requests, that of its conversion, and those of the other three CRDs.
        for number in (1, 2, 4, 5):
            with self.subTest(killed_after_write=number), self.proxied() as (proxy, kubeconfig):
                command = self.command(directory=self.with_requests)
                process = subprocess.Popen(command, env=self.plane.environment(kubeconfig), stdout=subprocess.DEVNULL)
                self.addCleanup(process.kill)
                proxy.on_write[number] = Call(process.kill)
                self.assertEqual(process.wait(240), -9)
                outcomes = list(self.apply(directory=self.with_requests).items())
                done = max(number - 1, 1)
                self.assertEqual([outcome for _, outcome in outcomes[done:]], ["created"] * (len(WITH_REQUESTS) - done))
                # Killed before it could write the conversion.
                first = "configured" if number == 1 else "unchanged"
                self.assertEqual(outcomes[:done], list({**self.all_of("unchanged", WITH_REQUESTS[:done]), REQUESTS: first}.items()))
                self.assertEqual(self.get(REQUESTS)["spec"]["conversion"]["strategy"], "Webhook")
                self.assertEqual(self.apply(directory=self.with_requests), self.all_of("unchanged", WITH_REQUESTS))
            self.tearDown()

    def test_errors_that_pass_are_repeated(self):
        faults = [fault for name, fault in REPLIES.items() if name != "410"]
        with self.proxied() as (proxy, kubeconfig):
            # At reads, and at writes with and without effect.
            for start in (1, 2):
                proxy.reset()
                proxy.on_request.update({start + 2 * i: fault for i, fault in enumerate(faults)})
                self.assertEqual(self.apply(kubeconfig=kubeconfig), self.all_of("created"))
                self.assertEqual(proxy.triggered, len(faults))
                self.tearDown()

    def test_the_api_server_is_away(self):
        self.plane.kill_apiserver()
        try:
            ran = self.run_apply(timeout="1s")
            self.assertEqual(ran.returncode, 1)
            self.assertIn(f"CustomResourceDefinition {SMALL[0]}: not in time: ", ran.stderr)
            process = subprocess.Popen(self.command(), env=self.plane.environment(self.kubeconfig), text=True,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            self.addCleanup(process.kill)
            self.assertIn(" waiting: ", process.stdout.readline())
        finally:
            self.plane.restart_apiserver()
        out, errors = process.communicate(timeout=300)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual(self.outcomes(out), self.all_of("created"))

    def established(self, name):
        conditions = self.get(name).get("status", {}).get("conditions") or []
        return any((one["type"], one["status"]) == ("Established", "True") for one in conditions)

    def test_names_that_another_crd_has(self):
        other = json.loads(json.dumps(FILES[MODELS]))
        other["metadata"] = {"name": "others.nvidia.com"}
        other["spec"]["names"] = {"kind": "Other", "listKind": "OtherList", "plural": "others", "singular": "other",
                                  "shortNames": FILES[MODELS]["spec"]["names"]["shortNames"]}
        self.plane.api("POST", API, other)
        self.plane.wait(lambda: self.established("others.nvidia.com"), 180, "the other CRD is established")
        ran = self.run_apply(directory=self.folder_of([MODELS]), timeout="10s")
        self.assertEqual(ran.returncode, 1)
        self.assertIn(f"CustomResourceDefinition {MODELS}: not in time: NamesAccepted is False: ShortNamesConflict", ran.stderr)

    def test_a_crd_that_is_being_deleted(self):
        self.apply()
        kept = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoModel",
                "metadata": {"name": "kept", "finalizers": ["example.com/kept"]},
                "spec": {"modelName": "m", "baseModelName": "m", "modelType": "base"}}
        models = "/apis/nvidia.com/v1alpha1/namespaces/default/dynamomodels"
        self.plane.api("POST", models, kept)
        self.plane.api("DELETE", f"{API}/dynamomodels.nvidia.com")
        process = subprocess.Popen(self.command(), env=self.plane.environment(self.kubeconfig), text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.kill)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if " waiting: it is being deleted" in line:
                break
        self.assertIn("dynamomodels.nvidia.com waiting: it is being deleted", lines[-1], "".join(lines))
        self.plane.api("PATCH", f"{models}/kept", {"metadata": {"finalizers": []}}, "application/merge-patch+json")
        out, errors = process.communicate(timeout=300)
        self.assertEqual((process.returncode, errors), (0, ""))
        expected = {**self.all_of("unchanged"), "dynamomodels.nvidia.com": "created"}
        self.assertEqual(self.outcomes("".join(lines) + out), expected)

    def test_wrong_files(self):
        folder = Path(self.folder())
        good = (CRDS / "nvidia.com_dynamomodels.yaml").read_text(encoding="utf-8")

        def ended(files, error, directory=folder):
            shutil.rmtree(folder)
            folder.mkdir()
            for name, text in files.items():
                (folder / name).write_text(text, encoding="utf-8")
            ran = self.run_apply(directory=directory)
            self.assertEqual((ran.returncode, ran.stdout), (1, ""))
            self.assertIn(error, ran.stderr)
            self.assertEqual(self.plane.api("GET", API)["items"], [])

        ended({}, f"{folder}/none: No such file or directory", folder / "none")
        ended({"a.yml": good, "README.md": "# CRDs"}, f"{folder}: there is no file *.yaml")
        ended({"a.yaml": good, "b.yaml": "kind: ConfigMap"}, f"{folder}/b.yaml: is no CustomResourceDefinition but a ConfigMap")
        ended({"a.yaml": good, "b.yaml": "---\n"}, f"{folder}/b.yaml: has no CustomResourceDefinition")
        ended({"a.yaml": good, "b.yaml": "kind: ["}, f"{folder}/b.yaml")
        ended({"a.yaml": good, "b.yaml": good}, f"{folder}/b.yaml: dynamomodels.nvidia.com is in {folder}/a.yaml, too")
        refused = self.run_apply("unknown")
        self.assertEqual(refused.returncode, 1)
        self.assertIn('--operator-version: Invalid value: "unknown"', refused.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
