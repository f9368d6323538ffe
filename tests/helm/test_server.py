"""The rendered objects on a real API server: it takes each of them, calls the webhook through the Service of the release, and has
after `helm upgrade --reuse-values` what the tables of cases/ assume.

Needs `cmake --build build/release --target dynamo-webhook`."""

import base64
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

import yaml

import charts
import plane
import programs
import reference_release
import render
import schemas
from control_plane import ApiError
from variants import VARIANTS

HERE = Path(__file__).resolve().parent
SAMPLES = plane.ROOT / "deploy/samples"
NAMESPACES = ("inference-system", "dynamo-system", "team-a", "team-a-system", "graphs")
GRAPHS = "/apis/nvidia.com/v1alpha1/namespaces/graphs/dynamographdeployments?dryRun=All"
# The best grade of kube-score.
ALL_IS_WELL = 10


def setUpModule():
    global cluster
    cluster = unittest.enterModuleContext(plane.api_server())
    plane.add_kinds(cluster)
    for name in NAMESPACES:
        cluster.create_namespace(name)


class Scratch(unittest.TestCase):
    """Copies of the charts, and Helm with the cluster."""

    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="dynamo-charts-")))
        cls.charts = {name: charts.lay(cls.folder, name, notes=False) for name in (charts.OPERATOR, charts.PLATFORM)}

    def render(self, name):
        chart, release, namespace, values = VARIANTS[name]
        rendered = render.template("helm3", self.charts[chart], values, release, namespace, render.MONITORING)
        self.assertEqual(rendered.refusal, "")
        return rendered.objects

    def helm(self, helm, *arguments, values=None):
        """Runs Helm with the cluster; it must succeed. Returns its output."""
        environment = render.with_cluster(helm, cluster.kubeconfig, self.folder)
        text = ""
        if values is not None:
            arguments, text = (*arguments, "--values", "-"), json.dumps(values)
        done = render.run(helm, *arguments, text=text, environment=environment)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout


class Accepted(Scratch):
    def test_the_server_takes_every_object(self):
        for name in VARIANTS:
            with self.subTest(name):
                text = json.dumps({"apiVersion": "v1", "kind": "List", "items": self.render(name)})
                done = cluster.kubectl("apply", "--dry-run=server", "--server-side", "--validate=strict", "-f", "-", input=text, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_pods_keep_the_strictest_standard(self):
        """A namespace with Pod Security `restricted` warns about no template."""
        labels = {"pod-security.kubernetes.io/warn": "restricted", "pod-security.kubernetes.io/enforce": "restricted"}
        for name, (_, _, namespace, _) in VARIANTS.items():
            cluster.api("PATCH", f"/api/v1/namespaces/{namespace}", {"metadata": {"labels": labels}}, "application/merge-patch+json")
            owners = [o for o in self.render(name) if o["kind"] in ("Deployment", "Job")]
            with self.subTest(name):
                self.assertGreater(len(owners), 2)
                text = json.dumps({"apiVersion": "v1", "kind": "List", "items": owners})
                done = cluster.kubectl("create", "--dry-run=server", "-f", "-", input=text, check=False)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_kubeconform(self):
        """Schemas of this server, strict."""
        schema_folder = self.folder / "schemas"
        schema_folder.mkdir()
        pattern, kinds = schemas.write(cluster, schema_folder)
        self.assertGreater(kinds, 60)
        objects = [one for name in VARIANTS for one in self.render(name)]
        command = [programs.built("kubeconform"), "-strict", "-summary", "-schema-location", pattern, "-output", "json", "-"]
        done = subprocess.run(command, input=yaml.safe_dump_all(objects), capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        summary = json.loads(done.stdout)["summary"]
        self.assertEqual((summary["valid"], summary["skipped"]), (len(objects), 0))

    def test_kubeconform_finds_errors(self):
        schema_folder = self.folder / "schemas-for-errors"
        schema_folder.mkdir()
        pattern, _ = schemas.write(cluster, schema_folder)
        command = [programs.built("kubeconform"), "-strict", "-schema-location", pattern, "-"]
        deployment = next(o for o in self.render("alone") if o["kind"] == "Deployment")
        for changes in ({"replica": 1}, {"replicas": "two"}):
            wrong = {**deployment, "spec": {**deployment["spec"], **changes}}
            done = subprocess.run(command, input=yaml.safe_dump(wrong), capture_output=True, text=True, check=False)
            self.assertNotEqual(done.returncode, 0, changes)

    @unittest.skipUnless(os.environ.get("DYNAMO_FULL"), "kube-score only in a full run")
    def test_kube_score(self):
        """Advice that the charts do not follow is named here, with the reason. In each variant they follow all other advice."""
        declined = {
            "container-image-pull-policy",  # IfNotPresent, because tags of releases do not change
            "container-ephemeral-storage-request-and-limit",  # nothing is written
            # Off by default, as a cluster may not enforce any. Controller and start-up check connect to the API server, whose address
            # no policy can name.
            "pod-networkpolicy",
            "deployment-has-host-podantiaffinity",  # topology spread constraints instead
            "container-resources",  # no CPU limit: it only delays
            "deployment-replicas",  # one controller by default, as in the reference
        }
        given = set()
        for name in VARIANTS:
            with self.subTest(name):
                command = [programs.built("kube-score"), "score", "--output-format", "json", "-"]
                done = subprocess.run(command, input=yaml.safe_dump_all(self.render(name)), capture_output=True, text=True, check=False)
                checks = [(one["object_name"], check) for one in json.loads(done.stdout) for check in one["checks"] or ()]
                found = {(check["check"]["id"], title) for title, check in checks if not check["skipped"] and check["grade"] < ALL_IS_WELL}
                self.assertEqual({one for one in found if one[0] not in declined}, set())
                given |= {advice for advice, _ in found}
        self.assertEqual(declined, given)


class Released(Scratch):
    """Real releases. Hooks are left out, because no pod runs their Jobs."""

    def manifest(self, helm, release, namespace):
        text = self.helm(helm, "get", "manifest", release, "--namespace", namespace)
        return [o for o in yaml.load_all(text, Loader=render.LOADER) if o]

    @staticmethod
    def in_order(objects):
        hooks = [o for o in objects if "helm.sh/hook" in o["metadata"].get("annotations", {})]
        return sorted((o for o in objects if o not in hooks), key=lambda o: (o["kind"], o["metadata"].get("namespace", ""), o["metadata"]["name"]))

    def stand_in(self):
        """A chart with the values of the reference's, and one object."""
        target = self.folder / "before" / charts.PLATFORM
        charts.stub(target, charts.PLATFORM, "1.0.0")
        (target / "values.yaml").write_bytes((HERE / "values-of-the-reference.yaml").read_bytes())
        (target / "templates/values.yaml").write_text(
            'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: "{{ .Release.Name }}-before"}\n', encoding="utf-8"
        )
        return target

    def test_upgrades_with_the_values_of_a_release_of_the_reference(self):
        """`--reuse-values` gives what the tables have as `reused`; `--reset-then-reuse-values` gives a fresh installation."""
        namespace = "inference-system"
        before = self.stand_in()
        old = yaml.safe_load((HERE / "values-of-the-reference.yaml").read_text(encoding="utf-8"))
        (self.folder / "reused").mkdir()
        simulated = charts.lay(self.folder / "reused", charts.PLATFORM, old, notes=False)
        users = {"dynamo-operator": {"controllerManager": {"replicas": 2}}}
        more = {"dynamo-operator": {"upgradeCRD": False}}
        # Without a flag Helm keeps the values of the users, and with other values it forgets them.
        ways = (
            (("--reuse-values",), None, simulated, users),
            (("--reset-then-reuse-values",), None, self.charts[charts.PLATFORM], users),
            ((), None, self.charts[charts.PLATFORM], users),
            ((), more, self.charts[charts.PLATFORM], more),
        )
        for number, (helm, (flags, given, chart, values)) in enumerate((h, w) for h in render.HELMS for w in ways):
            release = f"upgraded-{number}"
            with self.subTest(helm=helm, flags=flags, values=given):
                place = ("--namespace", namespace)
                self.helm(helm, "install", release, before, *place, values=users)
                self.helm(helm, "upgrade", release, self.charts[charts.PLATFORM], *place, "--no-hooks", *flags, values=given)
                expected = render.template(helm, chart, values, release, namespace, render.MONITORING)
                self.assertEqual(self.in_order(self.manifest(helm, release, namespace)), self.in_order(expected.objects))
                self.helm(helm, "rollback", release, "1", *place, "--no-hooks")
                self.assertEqual([o["metadata"]["name"] for o in self.manifest(helm, release, namespace)], [f"{release}-before"])
                self.helm(helm, "uninstall", release, *place, "--no-hooks")

    def test_the_switch_of_an_operator_of_one_namespace(self):
        """What has the same name keeps its uid. The accounts of planners, endpoint pickers and profiling Jobs move to the namespace of the
        graphs, if it is another one: there are their pods (inst-Q22)."""
        release, space = "restricted", "inference-system"
        full = charts.fullname(release)
        for number, (helm, target) in enumerate((h, t) for h in render.HELMS for t in (space, "team-a")):
            with self.subTest(helm=helm, target=target):
                chart = self.folder / f"restricted-{number}" / charts.PLATFORM
                charts.stub(chart, charts.PLATFORM, "1.0.0")
                made = reference_release.objects(full, space, reference_release.restricted_bindings(full, space, target), True)
                (chart / "templates/values.yaml").unlink()
                (chart / "templates/objects.yaml").write_text(yaml.safe_dump_all(made), encoding="utf-8")
                values = {"dynamo-operator": {"namespaceRestriction": {"enabled": True, "targetNamespace": target}}}
                place = ("--namespace", space)
                self.helm(helm, "install", release, chart, *place, values=values)
                before = self.uids(made)
                self.helm(helm, "upgrade", release, self.charts[charts.PLATFORM], *place, "--no-hooks", "--reset-then-reuse-values")
                after = self.uids(made)
                moved = {key for key in before if before[key] != after[key]}
                self.assertEqual({after[key] for key in moved}, {None} if moved else set())
                names = {name for _, name in moved}
                fixed = {"dgdr-profiling-job", *(f"{one}-{rest}" for one in reference_release.FIXED for rest in ("serviceaccount", "role", "binding"))}
                self.assertEqual(names, set() if target == space else {*fixed, f"{full}-component"})
                for name in ("planner-serviceaccount", "epp-serviceaccount", "dgdr-profiling-job"):
                    self.assertTrue(cluster.exists(f"/api/v1/namespaces/{target}/serviceaccounts/{name}"), name)
                self.helm(helm, "rollback", release, "1", *place, "--no-hooks")
                back = self.uids(made)
                self.assertEqual({key for key in back if back[key] is None}, set())
                self.assertEqual({key for key in back if back[key] != before[key]}, moved)
                self.helm(helm, "uninstall", release, *place, "--no-hooks")

    @staticmethod
    def uids(objects):
        """(kind, name) -> uid of these objects, None if there is none."""
        found = {}
        for one in objects:
            name = one["metadata"]["name"]
            place = ("-n", one["metadata"]["namespace"]) if "namespace" in one["metadata"] else ()
            command = ("get", one["kind"].lower(), name, *place, "--ignore-not-found", "-o", "jsonpath={.metadata.uid}")
            found[one["kind"], name] = cluster.kubectl(*command).stdout or None
        return found

    def test_the_webhook_through_the_service_of_the_release(self):
        """The API server finds the webhook by what the chart renders, trusts its certificate for the name of the Service, and asks
        it for admission and conversion. With a certificate for another name nothing is admitted."""
        address = plane.outer_address()
        if address is None:
            self.skipTest("this machine has only loopback addresses, which EndpointSlices do not accept")
        release, namespace = "dynamo-operator", "dynamo-system"
        service = f"{release}-webhook-service"
        config = next(o for o in self.render("alone") if o["metadata"]["name"] == f"{release}-config")["data"]["config.yaml"]
        served = plane.Served(cluster.directory, service, namespace, address, config)
        self.addCleanup(served.stop)
        served.start()
        values = {"webhook": {"certificateSecret": {"external": True}, "caBundle": served.bundle, "timeoutSeconds": 30}}
        for helm in render.HELMS:
            with self.subTest(helm):
                place = ("--namespace", namespace)
                notes = self.helm(helm, "install", release, self.charts[charts.OPERATOR], *place, "--no-hooks", values=values)
                self.assertIn("NOTES:", notes)
                self.assertIn("uninstall", notes)
                served.serve(cluster)
                served.convert(cluster)
                self.ask()
                # The chart has the CA of the administrator, so an upgrade with another one takes effect.
                other = {"webhook": {**values["webhook"], "caBundle": base64.b64encode(cluster.ca_file.read_bytes()).decode()}}
                self.helm(helm, "upgrade", release, self.charts[charts.OPERATOR], *place, "--no-hooks", values=other)
                cluster.wait(lambda: "certificate" in (self.refusal("graph.yaml") or ""), 30, "another CA is not trusted")
                self.helm(helm, "uninstall", release, *place, "--no-hooks")
                cluster.api("DELETE", f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices/{service}-of-the-test")

    def ask(self):
        """A good graph is admitted and stamped, a bad one refused, and an old request converted."""
        cluster.wait(lambda: self.refusal("graph.yaml") is None, 60, f"a good graph is admitted: {self.refusal('graph.yaml')}")
        graph = self.sample("graph.yaml")
        stamped = cluster.api("POST", GRAPHS, graph)["metadata"].get("annotations", {})
        self.assertIn("nvidia.com/dynamo-operator-origin-version", stamped)
        with self.assertRaises(ApiError) as caught:
            cluster.api("POST", GRAPHS, {**graph, "spec": {"services": {}}})
        self.assertIn("vdynamographdeployment.kb.io", str(caught.exception))
        request = self.sample("dgdr-v1alpha1.yaml")
        request["metadata"]["namespace"] = "graphs"
        path = "/apis/nvidia.com/v1alpha1/namespaces/graphs/dynamographdeploymentrequests?dryRun=All"
        self.assertEqual(cluster.api("POST", path, request)["apiVersion"], "nvidia.com/v1alpha1")

    def sample(self, file):
        (document,) = [one for one in yaml.safe_load_all((SAMPLES / file).read_text(encoding="utf-8")) if one]
        document["metadata"]["namespace"] = "graphs"
        return document

    def refusal(self, file):
        """Why the API server refuses the sample; None if it does not."""
        try:
            cluster.api("POST", GRAPHS, self.sample(file))
        except ApiError as error:
            return str(error)
        return None


if __name__ == "__main__":
    unittest.main()
