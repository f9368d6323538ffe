"""The switch from the Go operator on a real node, and the way back. A stand-in chart has what that operator's chart installs: the
names and selectors of KEPT, the bindings of reference_release.py, the queues of the KAI scheduler, which are hooks, one pod with the
webhook in the controller's Deployment, and the strategy Recreate. What the Go operator makes at run time is made here: the
certificate's Secret, the CA in the webhook configurations, the conversion. Then
`helm upgrade` of the same release leads to our chart, and `helm rollback` back. Meanwhile graphs and requests are created with a dry
run: the test tells for how long nobody admits them, and bounds it.

The CRD of requests stores v1alpha1 before the switch, as earlier versions of it did, and a request is stored like this. It can be read
in both versions all the time.

Before the switch the cluster has recorded graphs with their children, as the Go operator has written them. Our operator may restart
only the workloads that the ledgers of tests/reference list, and those with a script that waits for other pods. After the way back, the
updates that the Go operator makes at its start are played from its recordings: they roll the same workloads back, and no others. The pods
of these graphs stay unscheduled, because the node admits pods of the operator only.
tests/cluster/test_controller_takeover.py does the same with pods that run, on fake nodes. Neither shows the Go operator at work: how
long it takes to start, what it logs, or what it does with pods of others.

Only in a full run. Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`, and a node (tests/cluster/node)."""

import collections
import json
import sys
import tempfile
import unittest

import yaml

import charts
import node_release
import plane
import reference_release
import render
from backends import Backends
from child_crds import install_child_crds, install_queues
from node_release import GRAPHS, OLD_REQUESTS, SECONDS, Admission, sample
from operator_plane import AuditLog, wait_for_rest

import takeover
from reference_objects import call

# The release and the namespace of the recordings: the children contain these names.
RELEASE, NAMESPACE = "dynamo", "dynamo-system"
F = charts.fullname(RELEASE)
OLD, OURS = "1.0.0-old", "1.0.0-ours"
SERVICE, SECRET = f"{F}-webhook-service", "webhook-server-cert"
# What keeps its name and its uid: (kind, name).
KEPT = (
    ("ServiceAccount", f"{F}-controller-manager"),
    ("ServiceAccount", f"{F}-component"),
    ("ConfigMap", f"{F}-config"),
    ("Deployment", f"{F}-controller-manager"),
    ("Service", SERVICE),
    ("MutatingWebhookConfiguration", f"{F}-mutating"),
    ("ValidatingWebhookConfiguration", f"{F}-validating"),
    ("ClusterRole", f"{F}-manager-role"),
    ("ClusterRoleBinding", f"{F}-manager-rolebinding"),
    ("ClusterRole", f"{F}-{NAMESPACE}-queue-reader"),
    ("ClusterRoleBinding", f"{F}-{NAMESPACE}-queue-reader-binding"),
    ("Role", f"{F}-webhook-cert-manager"),
    ("RoleBinding", f"{F}-webhook-cert-manager"),
    ("Service", F),
    ("ClusterRole", f"{F}-planner"),
    ("ClusterRole", f"{F}-epp"),
    ("ClusterRole", f"{F}-dgdr-profiling"),
)
SELECTOR = {"control-plane": "controller-manager", "app.kubernetes.io/name": "dynamo-operator", "app.kubernetes.io/instance": RELEASE}
BINDINGS = reference_release.cluster_bindings(F, NAMESPACE)
# The leader election of the Go operator has a role of the cluster, ours one of kube-system. The profiling Jobs of its namespace have
# rights of the cluster, too; ours bind them in each namespace, as it does (decision inst-Q34).
GONE = (f"clusterrole/{F}-leader-election-role", f"clusterrolebinding/{F}-leader-election-rolebinding", f"clusterrolebinding/{F}-dgdr-profiling")
QUEUES = ("dynamo-default", "dynamo")
SECRETS = f"/api/v1/namespaces/{NAMESPACE}/secrets"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
# Without the pull of an image. The guide says 2 to 4 seconds.
GAP_SECONDS = 20
NEWER_FIELD = "searchStrategy"
TAINT = "tests.example.com/pods-of-the-operator-only=:NoSchedule"
TOLERATIONS = [{"operator": "Exists"}]
# The set of recordings that goes through the switch with each Helm.
RECORDED = {"helm3": "lws", "helm4": "grove"}
REST_SECONDS = 5
cluster = None
audit = None


def setUpModule():
    global cluster, audit
    audit = AuditLog(unittest.enterModuleContext(tempfile.TemporaryDirectory()))
    cluster = node_release.start_cluster(NAMESPACE, OURS, [OLD], audit.flags)
    plane.add_kinds(cluster)
    install_child_crds(cluster)
    install_queues(cluster)
    cluster.wait_for_garbage_collector()
    cluster.kubectl("taint", "node", "--all", TAINT)


def settings(recorded):
    """The values of a set of recordings, and of the pods of the operator."""
    return ("--set", f"global.grove.enabled={'true' if recorded == 'grove' else 'false'}", "--set", "global.kai-scheduler.enabled=false",
            "--set-json", f"dynamo-operator.controllerManager.tolerations={json.dumps(TOLERATIONS)}")  # fmt: skip


def image(tag):
    return ("--set", "dynamo-operator.controllerManager.manager.image.repository=dynamo-operator",
            "--set", f"dynamo-operator.controllerManager.manager.image.tag={tag}")  # fmt: skip


def fields_of(versions, name):
    """The fields of the spec in a version of the CRD of requests."""
    (schema,) = [one["schema"]["openAPIV3Schema"] for one in versions if one["name"] == name]
    return schema["properties"]["spec"]["properties"]


class Switch(node_release.Releases, takeover.Checks):
    namespace = NAMESPACE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.ours = charts.lay(cls.folder, charts.PLATFORM, notes=False)
        cls.stand_in = cls.make_stand_in()

    @classmethod
    def make_stand_in(cls):
        """The chart of the Go operator: the values of its users, and its objects."""
        manager = {"image": {"repository": "dynamo-operator", "tag": OLD}}
        values = {"dynamo-operator": {"controllerManager": {"manager": manager, "tolerations": TOLERATIONS}}}
        rendered = render.template("helm3", cls.ours, values, RELEASE, NAMESPACE)
        objects = [one for one in (rendered.find(*key) for key in KEPT) if one]
        missing = set(KEPT) - {(one["kind"], one["metadata"]["name"]) for one in objects}
        if missing:
            raise AssertionError(f"our chart does not have {missing}")
        webhook = rendered.find("Deployment", f"{F}-webhook")["spec"]["template"]["spec"]
        for one in objects:
            if one["kind"] == "Service":
                one["spec"]["selector"] = SELECTOR
            if one["kind"].endswith("Binding"):
                key = (one["kind"], one["metadata"].get("namespace"), one["metadata"]["name"])
                one["roleRef"] = reference_release.role_ref(BINDINGS[key])
            if one["kind"] == "Deployment":
                one["spec"]["strategy"] = {"type": "Recreate"}
                one["spec"]["selector"] = {"matchLabels": SELECTOR}
                pod = {**webhook, "containers": [{**webhook["containers"][0], "name": "manager"}]}
                one["spec"]["template"]["spec"] = {**pod, "serviceAccountName": f"{F}-controller-manager"}
        has = {(one["kind"], one["metadata"]["name"]) for one in objects}
        others = reference_release.objects(F, NAMESPACE, BINDINGS, False)
        objects += [one for one in others if (one["kind"], one["metadata"]["name"]) not in has]
        hook = {"helm.sh/hook": "post-install,post-upgrade", "helm.sh/hook-delete-policy": "before-hook-creation"}
        for weight, name in zip((100, 110), QUEUES):
            annotations = {**hook, "helm.sh/hook-weight": str(weight)}
            objects.append({"apiVersion": "scheduling.run.ai/v2", "kind": "Queue", "metadata": {"name": name, "annotations": annotations}})
        target = cls.folder / "before" / charts.PLATFORM
        charts.stub(target, charts.PLATFORM, "1.0.0")
        (target / "values.yaml").write_bytes((plane.HERE / "values-of-the-reference.yaml").read_bytes())
        (target / "templates/values.yaml").unlink()
        (target / "objects.yaml").write_text(yaml.safe_dump_all(objects), encoding="utf-8")
        (target / "templates/objects.yaml").write_text('{{ .Files.Get "objects.yaml" }}', encoding="utf-8")
        return target

    def inject(self, bundle):
        """What the Go operator writes at its start: the CA, and who converts requests."""
        for kind in ("mutating", "validating"):
            path = f"/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/{F}-{kind}"
            hooks = cluster.api("GET", path)["webhooks"]
            patch = [{"op": "add", "path": f"/webhooks/{i}/clientConfig/caBundle", "value": bundle} for i in range(len(hooks))]
            cluster.api("PATCH", path, patch, "application/json-patch+json")
        plane.convert(cluster, NAMESPACE, SERVICE, bundle)

    def store_old_request(self):
        """A request that is stored as v1alpha1, by a CRD that lacks a field of ours. Returns its spec."""
        versions = cluster.api("GET", plane.CONVERTED)["spec"]["versions"]
        for version in versions:
            version["storage"] = version["name"] == "v1alpha1"
        del fields_of(versions, "v1beta1")[NEWER_FIELD]
        cluster.api("PATCH", plane.CONVERTED, {"spec": {"versions": versions}}, "application/merge-patch+json")
        document = sample("dgdr-v1alpha1.yaml")
        document["metadata"]["name"] = "stored"
        cluster.wait(lambda: "v1alpha1" in cluster.api("GET", plane.CONVERTED)["status"]["storedVersions"], 30, "v1alpha1 is stored")
        return cluster.api("POST", OLD_REQUESTS, document)["spec"]

    def check_old_request(self, spec):
        self.assertEqual(cluster.api("GET", f"{OLD_REQUESTS}/stored")["spec"], spec)
        newer = cluster.api("GET", f"{OLD_REQUESTS.replace('v1alpha1', 'v1beta1')}/stored")
        self.assertEqual(newer["spec"]["model"], spec["model"])

    def knows_newer_field(self):
        return NEWER_FIELD in fields_of(cluster.api("GET", plane.CONVERTED)["spec"]["versions"], "v1beta1")

    def stored_version(self):
        (stored,) = [one["name"] for one in cluster.api("GET", plane.CONVERTED)["spec"]["versions"] if one["storage"]]
        return stored

    def uids(self):
        """(kind, name) -> uid of what is kept, and of the queues, which no release owns."""
        names = [f"{kind.lower()}/{name}" for kind, name in KEPT] + [f"queue/{name}" for name in QUEUES]
        found = json.loads(cluster.kubectl("get", *names, "-n", NAMESPACE, "-o", "json").stdout)["items"]
        return {(one["kind"], one["metadata"]["name"]): one["metadata"]["uid"] for one in found}

    def command(self):
        """The program in the pods of the controller's Deployment that stay."""
        labels = ",".join(f"{key}={value}" for key, value in SELECTOR.items())
        pods = [one for one in cluster.api("GET", f"{PODS}?labelSelector={labels}")["items"] if not one["metadata"].get("deletionTimestamp")]
        return [one["spec"]["containers"][0]["command"] for one in pods]

    @staticmethod
    def pods(chosen):
        """(case, Deployment) -> uids of its pods."""
        found = collections.defaultdict(set)
        for case in chosen.cases:
            for pod in call(cluster, "GET", f"/api/v1/namespaces/{case.namespace}/pods")["items"]:
                deployment = pod["metadata"]["ownerReferences"][0]["name"].rpartition("-")[0]
                found[case.name, deployment].add(pod["metadata"]["uid"])
        return found

    def check_pods(self, before, after, pods, now):
        """A Deployment has the same pods as before if the number of its replicas and its pod template are the same."""

        def spec(state, case, name):
            found = state[case].get(("Deployment", name))
            return found and (found["spec"]["replicas"], found["spec"]["template"])

        def had_all(case, name):
            return before[case]["Deployment", name]["spec"]["replicas"] == len(pods[case, name])

        kept = {key for key in pods if spec(before, *key) == spec(after, *key) and had_all(*key)}
        self.assertTrue(kept)
        self.assertEqual([key for key in kept if now[key] != pods[key]], [])
        print(f"  {len(kept)} of {len(pods)} Deployments have the same pods", file=sys.stderr)

    def writes(self, chosen):
        """What our controller has written in the namespaces of the recorded graphs."""
        namespaces = {case.namespace for case in chosen.cases}
        entries = audit.entries(f"system:serviceaccount:{NAMESPACE}:{F}-controller-manager")
        return [one for one in entries if one["objectRef"].get("namespace") in namespaces]

    def has_taken_over(self, chosen):
        """Whether our controller has taken all children over."""
        return not any(self.marked(chosen, case, case.live(cluster)) for case in chosen.cases)

    def wait_until_taken_over(self, chosen, before):
        """Waits until our controller has written more than the `before` writes, has taken all children over, and writes nothing any
        more."""
        cluster.wait(lambda: len(self.writes(chosen)) > before, 120, "the controller writes")
        wait_for_rest(lambda: self.writes(chosen), REST_SECONDS, 300)
        cluster.wait(lambda: self.has_taken_over(chosen), 120, "no child has the marks of the Go operator")
        wait_for_rest(lambda: self.writes(chosen), REST_SECONDS, 300)

    def test_switch_and_way_back(self):
        for helm in render.HELMS:
            with self.subTest(helm):
                chosen = self.create(RECORDED[helm])
                bundle = plane.make_secret(cluster, NAMESPACE, SECRET, SERVICE)
                flags = (*settings(chosen.name), "--wait", f"--timeout={SECONDS}s")
                self.helm(helm, "install", RELEASE, self.stand_in, *flags)
                self.inject(bundle)
                cluster.wait(self.admits, 60, "the old webhook admits")
                request = self.store_old_request()
                before, theirs = self.uids(), self.state(chosen)
                replica_sets, pods = self.replica_sets(chosen), self.pods(chosen)
                self.assertFalse(self.knows_newer_field())

                self.switch(helm, "switch", "--reset-then-reuse-values")
                self.assertTrue(self.knows_newer_field())
                self.assertEqual(self.uids(), before)
                self.assertEqual(self.stored_version(), "v1beta1")
                self.check_old_request(request)
                self.assertEqual(cluster.api("GET", f"{SECRETS}/{SECRET}")["data"]["ca.crt"], bundle, "the CA stays")
                self.wait_until_taken_over(chosen, 0)
                ours = self.state(chosen)
                restarted = self.check_upgrade(chosen, theirs, ours)
                self.check_replica_sets(chosen, replica_sets, restarted)
                self.check_graphs(chosen, theirs, ours)
                self.check_pods(theirs, ours, pods, self.pods(chosen))
                children = self.make_graph()

                self.way_back(helm)
                self.assertEqual((self.uids(), self.children()), (before, children))
                self.check_old_request(request)
                self.check_way_back(chosen, theirs, restarted)

                writes = len(self.writes(chosen))
                self.switch(helm, "second switch", "--reuse-values")
                self.wait_until_taken_over(chosen, writes)
                self.assertEqual((self.uids(), self.children()), (before, children))
                self.check_second_upgrade(chosen, theirs, ours, self.state(chosen), restarted)
                self.check_deletion(chosen)
                self.uninstall(helm)

    def switch(self, helm, what, reuse):
        """As deploy/README.md says it, with one of the flags that it names."""
        with Admission(cluster) as stream, Backends(cluster, NAMESPACE, SERVICE) as backends:
            flags = (reuse, *image(OURS), "--wait", f"--timeout={SECONDS}s")
            _, seconds = self.helm(helm, "upgrade", RELEASE, self.ours, *flags)
        self.tell(f"{helm} {what}, no ready pod for {backends.gap:.2f} s", seconds, stream)
        self.assertLess(max(stream.gap, backends.gap), GAP_SECONDS)
        self.assertTrue(self.admits())
        self.assertEqual(self.command(), [["/dynamo-controller"]])
        for name in GONE:
            self.assertIn("NotFound", cluster.kubectl("get", name, check=False).stderr)

    def way_back(self, helm):
        with Admission(cluster) as stream, Backends(cluster, NAMESPACE, SERVICE) as backends:
            _, seconds = self.helm(helm, "rollback", RELEASE, "1", "--wait", f"--timeout={SECONDS}s")
            cluster.wait(self.admits, 120, "the old webhook admits")
        self.tell(f"{helm} way back, no ready pod for {backends.gap:.2f} s", seconds, stream)
        self.assertLess(max(stream.gap, backends.gap), GAP_SECONDS)
        cluster.wait(lambda: self.command() == [["/dynamo-webhook"]], 60, "only the old operator is left")
        gone = cluster.kubectl("get", f"deployment/{F}-webhook", "-n", NAMESPACE, check=False)
        self.assertIn("NotFound", gone.stderr)

    def uninstall(self, helm):
        cluster.kubectl("delete", "dgdr,dgd,dcd,dgdsa,dm,dckpt", "--all", "-A", "--timeout=60s")
        self.helm(helm, "uninstall", RELEASE, "--wait", "--timeout=120s")
        cluster.wait(lambda: not self.command(), 60, "no pod is left")
        cluster.api("POST", f"{GRAPHS}?dryRun=All", sample("graph.yaml"))
        cluster.api("DELETE", f"{SECRETS}/{SECRET}")


if __name__ == "__main__":
    unittest.main()
