"""Helm with the chart on a real node: install, upgrade, rollback, uninstall, and what goes wrong on the way. The operator's programs
are pods, the image of deploy/image/build is loaded into the node, and the start-up check runs. A stream of graphs and requests is created with a dry run
all the time: where the guide says that admission does not stop, none of them may fail. A graph of the real runtime answers chats all
the time: none of them may fail, and its pods stay.

Only in a full run. Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`, and a node (tests/cluster/node)."""

import sys
import time
import unittest

import certificates
import charts
import node_chats
import node_release
import render
from control_plane import ApiError
from node_release import GRAPHS, SECONDS, Admission, sample

RELEASE, NAMESPACE = "dynamo-operator", "dynamo-system"
FIRST, SECOND, MISSING = "1.0.0-first", "1.0.0-second", "1.0.0-missing"
SECRET = f"/api/v1/namespaces/{NAMESPACE}/secrets/webhook-server-cert"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
# Who may do what with the roles of the cluster: (role, verb, resource, whether).
RIGHTS = (
    ("view", "get", "dynamographdeployments", True),
    ("view", "watch", "dynamographdeploymentrequests", True),
    ("view", "list", "dynamoworkermetadatas", True),
    ("view", "create", "dynamographdeployments", False),
    ("view", "get", "secrets", False),
    ("edit", "create", "dynamographdeployments", True),
    ("edit", "patch", "dynamographdeploymentscalingadapters/scale", True),
    ("edit", "delete", "dynamocheckpoints", True),
    ("edit", "update", "dynamographdeployments/status", False),
    ("edit", "delete", "dynamoworkermetadatas", False),
    ("admin", "deletecollection", "dynamomodels", True),
    ("admin", "delete", "dynamoworkermetadatas", True),
    ("admin", "update", "dynamographdeploymentrequests/status", False),
)
cluster = None


def setUpModule():
    global cluster
    cluster = node_release.start_cluster(NAMESPACE, FIRST, [SECOND])
    node_chats.prepare(cluster)


class OnANode(node_release.Releases):
    """One life of a release. Each step starts with what the one before has left."""

    namespace = NAMESPACE

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.chart = charts.lay(cls.folder, charts.OPERATOR, notes=False)

    def upgrade(self, helm, tag, *more, fails=False, seconds=SECONDS):
        tags = ("--set", f"controllerManager.manager.image.tag={tag}") if tag else ()
        return self.helm(helm, "upgrade", RELEASE, self.chart, "--wait", f"--timeout={seconds}s", *tags, *more, fails=fails)

    def images(self):
        """Pod -> image of the pods of controller and webhook that run and are not about to end."""
        names = (f"{RELEASE}-webhook", f"{RELEASE}-controller")
        pods = {pod["metadata"]["name"]: pod for pod in cluster.api("GET", PODS)["items"]}
        return {
            name: pod["spec"]["containers"][0]["image"].rpartition(":")[2]
            for name, pod in pods.items()
            if name.startswith(names) and not pod["metadata"].get("deletionTimestamp")
        }

    def serves(self, tag):
        found = self.images()
        self.assertEqual((len(found), set(found.values())), (3, {tag}), found)

    def test_life(self):
        for helm in render.HELMS:
            with self.subTest(helm):
                self.install(helm)
                self.roles_of_users()
                graph = self.make_graph()
                chats = node_chats.Chats(cluster, self.folder, (NAMESPACE, f"{RELEASE}-facts"))
                self.addCleanup(chats.stop)
                began = time.time()
                self.upgrade_under_load(helm)
                self.check_chats(helm, chats, began)
                self.evictions_under_load(helm)
                self.values_are_kept(helm)
                self.bad_value_changes_nothing(helm)
                self.bad_image_leaves_the_old_pods(helm)
                self.full_quota_leaves_the_old_pods(helm)
                self.rollback_under_load(helm)
                self.check_chats(helm, chats, began)
                self.expired_certificate(helm)
                self.webhook_is_down(helm)
                self.check_chats(helm, chats, began)
                chats.stop()
                self.assertEqual(self.children(), graph, "no child was written or replaced")
                self.uninstall(helm)

    def install(self, helm):
        image = ("--set", f"controllerManager.manager.image.tag={FIRST}")
        output, seconds = self.helm(helm, "install", RELEASE, self.chart, "--wait", f"--timeout={SECONDS}s", *image)
        self.assertIn("NOTES:", output)
        self.serves(FIRST)
        # The start-up check has asked the webhook: a bad graph is refused the moment that Helm returns.
        with self.assertRaises(ApiError) as caught:
            cluster.api("POST", GRAPHS, {**sample("graph.yaml"), "spec": {"services": {}}})
        self.assertIn("vdynamographdeployment.kb.io", str(caught.exception))
        self.tell(f"{helm} install", seconds)
        output, seconds = self.helm(helm, "test", RELEASE, "--timeout=120s")
        self.assertRegex(output, r"Phase: +Succeeded")
        self.tell(f"{helm} test", seconds)

    def roles_of_users(self):
        """Kubernetes' own roles view, edit and admin have the rights that the chart gives them, and no others."""
        reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"

        def may(role, verb, resource):
            name, _, part = resource.partition("/")
            group = "nvidia.com" if name.startswith("dynamo") else ""
            asked = {"namespace": "default", "verb": verb, "group": group, "resource": name, "subresource": part}
            body = {"spec": {"user": f"a-user-with-{role}", "resourceAttributes": asked}}
            return cluster.api("POST", reviews, body)["status"]["allowed"]

        for role in ("view", "edit", "admin"):
            command = ("create", "rolebinding", f"a-user-with-{role}", f"--clusterrole={role}", f"--user=a-user-with-{role}", "-n", "default")
            cluster.kubectl(*command)
        cluster.wait(lambda: may("admin", "delete", "dynamoworkermetadatas"), 60, "the roles are aggregated")
        for role, verb, resource, allowed in RIGHTS:
            with self.subTest(f"{role}: {verb} {resource}"):
                self.assertEqual(may(role, verb, resource), allowed)

    def upgrade_under_load(self, helm):
        with Admission(cluster) as stream:
            _, seconds = self.upgrade(helm, SECOND, "--reset-then-reuse-values")
            cluster.wait(lambda: len(cluster.api("GET", PODS)["items"]) <= 4, 60, "the old pods are gone")
        self.tell(f"{helm} upgrade", seconds, stream)
        self.assertEqual(stream.failures, [])
        self.assertGreater(stream.calls, 50)
        self.serves(SECOND)

    def evictions_under_load(self, helm):
        """As `kubectl drain` does it: each pod of the webhook is evicted as soon as the disruption budget allows it."""
        pods = [name for name in self.images() if name.startswith(f"{RELEASE}-webhook-")]
        refused = []

        def is_evicted(name):
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": NAMESPACE}}
            try:
                cluster.api("POST", f"{PODS}/{name}/eviction", body)
            except ApiError as error:
                self.assertEqual(error.status, 429, error)
                refused.append(name)
                return False
            return True

        began = time.monotonic()
        with Admission(cluster) as stream:
            for name in pods:
                cluster.wait(lambda name=name: is_evicted(name), 60, f"{name} is evicted")
            cluster.wait(lambda: len(self.images()) == 3 and not set(pods) & set(self.images()), 60, "both pods are replaced")
        self.tell(f"{helm} eviction of {len(pods)} pods, refused at first {len(refused)} times", time.monotonic() - began, stream)
        self.assertEqual((len(pods), stream.failures), (2, []))
        self.assertIn(pods[1], refused)

    def check_chats(self, helm, chats, began):
        """Since then, no request has failed, and no pod of the graph was replaced."""
        found = chats.since(began)
        self.assertEqual((found["failed"], found["first"]), (0, []))
        self.assertGreater(found["requests"], 50)
        self.assertGreater(found["streams"], 1)
        self.assertTrue(chats.have_same_pods())
        told = f"{found['requests']} chats, {found['streams']} of them streams, 0 failed, {found['resent']} sent again, gap {found['gap']} s"
        print(f"  {helm} until here: {told}", file=sys.stderr, flush=True)

    def values_are_kept(self, helm):
        """What the user has set stays with both ways to keep it, and a plain upgrade goes back to the chart's values."""
        self.upgrade(helm, None, "--reuse-values", "--set", "controllerManager.podLabels.team=ml")
        self.upgrade(helm, None, "--reset-then-reuse-values")
        self.serves(SECOND)
        pods = cluster.api("GET", f"{PODS}?labelSelector=team=ml")["items"]
        self.assertEqual(len([pod for pod in pods if not pod["metadata"].get("deletionTimestamp")]), 1)
        self.upgrade(helm, SECOND)
        self.serves(SECOND)
        cluster.wait(lambda: not cluster.api("GET", f"{PODS}?labelSelector=team=ml")["items"], 60, "the pod with the label is gone")

    def bad_value_changes_nothing(self, helm):
        before = self.images()
        output, seconds = self.upgrade(helm, SECOND, "--set", "controllerManager.replicas=many", fails=True)
        self.assertIn("replicas", output)
        self.assertEqual(self.images(), before)
        self.tell(f"{helm} upgrade with a bad value is refused", seconds)

    def bad_image_leaves_the_old_pods(self, helm):
        before = {name: tag for name, tag in self.images().items() if tag == SECOND}
        with Admission(cluster) as stream:
            _, seconds = self.upgrade(helm, MISSING, seconds=20, fails=True)
        self.assertLessEqual(before.items(), self.images().items())
        self.assertEqual(stream.failures, [])
        self.tell(f"{helm} upgrade with a missing image fails", seconds, stream)
        with Admission(cluster) as stream:
            _, seconds = self.helm(helm, "rollback", RELEASE, "--wait", f"--timeout={SECONDS}s")
        self.assertEqual(stream.failures, [])
        self.tell(f"{helm} rollback from the missing image", seconds, stream)
        self.serves(SECOND)

    def full_quota_leaves_the_old_pods(self, helm):
        quota = {"metadata": {"name": "full"}, "spec": {"hard": {"pods": "3"}}}
        cluster.api("POST", f"/api/v1/namespaces/{NAMESPACE}/resourcequotas", quota)
        used = f"/api/v1/namespaces/{NAMESPACE}/resourcequotas/full"
        cluster.wait(lambda: cluster.api("GET", used).get("status", {}).get("used"), 60, "the quota counts")
        before = self.images()
        with Admission(cluster) as stream:
            _, seconds = self.upgrade(helm, FIRST, seconds=20, fails=True)
        self.assertEqual(self.images(), before)
        self.assertEqual(stream.failures, [])
        self.tell(f"{helm} upgrade with a full quota fails", seconds, stream)
        cluster.api("DELETE", used)

    def rollback_under_load(self, helm):
        """To the first revision of the release, whose image is another one."""
        with Admission(cluster) as stream:
            _, seconds = self.helm(helm, "rollback", RELEASE, "1", "--wait", f"--timeout={SECONDS}s")
        self.assertEqual(stream.failures, [])
        self.tell(f"{helm} rollback", seconds, stream)
        self.serves(FIRST)

    def scale(self, name, replicas):
        deployment = f"deployment/{RELEASE}-{name}"
        cluster.kubectl("scale", deployment, f"--replicas={replicas}", "-n", NAMESPACE)
        if replicas == 0:  # also those that are about to end, which still work
            names = lambda: [pod["metadata"]["name"] for pod in cluster.api("GET", PODS)["items"]]  # noqa: E731
            gone = lambda: not [one for one in names() if one.startswith(f"{RELEASE}-{name}-")]  # noqa: E731
            cluster.wait(gone, 60, f"the pods of {deployment} are gone")

    def refuses(self):
        """Nobody answers for the webhook."""
        try:
            cluster.api("POST", f"{GRAPHS}?dryRun=All", sample("graph.yaml"))
        except ApiError as error:
            return "failed calling webhook" in str(error)
        return False

    def expired_certificate(self, helm):
        """The operator was away when the certificate expired. It makes another one with the same CA, and the webhook's pods take it."""
        self.scale("controller-manager", 0)
        data = cluster.api("GET", SECRET)["data"]
        expired = certificates.expired(data, f"{RELEASE}-webhook-service.{NAMESPACE}.svc")
        cluster.api("PATCH", SECRET, {"data": expired}, "application/merge-patch+json")
        self.scale("webhook", 0)
        self.scale("webhook", 2)
        cluster.wait(self.refuses, 60, "nobody is admitted with an expired certificate")
        began = time.monotonic()
        self.scale("controller-manager", 1)
        cluster.wait(self.admits, 240, "the webhook has another certificate")
        self.tell(f"{helm}: admits again after the controller finds an expired certificate", time.monotonic() - began)
        renewed = cluster.api("GET", SECRET)["data"]
        self.assertNotEqual(renewed["tls.crt"], expired["tls.crt"])
        self.assertEqual(renewed["ca.crt"], data["ca.crt"])

    def webhook_is_down(self, helm):
        """Both ways of "When the webhook is down" in deploy/README.md, and the way back from each of them."""
        reuse = ("upgrade", RELEASE, self.chart, "--reuse-values")
        wait = ("--wait", f"--timeout={SECONDS}s")
        for way in ("without the webhook configurations", "failurePolicy Ignore"):
            self.scale("webhook", 0)
            cluster.wait(self.refuses, 60, "graphs are refused")
            began = time.monotonic()
            if way == "failurePolicy Ignore":
                self.helm(helm, *reuse, "--no-hooks", "--set", "webhook.failurePolicy=Ignore")
                back = ("--set", "webhook.failurePolicy=Fail")
                # The upgrade has brought the pods back, too.
                self.scale("webhook", 0)
            else:
                kinds = "mutatingwebhookconfiguration,validatingwebhookconfiguration"
                cluster.kubectl("delete", kinds, "-l", f"nvidia.com/dynamo-operator-namespace={NAMESPACE}")
                back = ()
            cluster.wait(lambda: not self.refuses(), 60, "graphs are no longer refused")
            self.tell(f"{helm}: {way}, graphs pass", time.monotonic() - began)
            self.scale("webhook", 2)
            cluster.kubectl("rollout", "status", f"deployment/{RELEASE}-webhook", "-n", NAMESPACE, f"--timeout={SECONDS}s", timeout=SECONDS + 10)
            self.helm(helm, *reuse, *wait, *back)
            cluster.wait(self.admits, 60, "the webhook admits again")

    def uninstall(self, helm):
        """In the order of the guide: custom resources, operator. Nothing hangs, and nothing stops later writes."""
        began = time.monotonic()
        cluster.kubectl("delete", *(f"rolebinding/a-user-with-{role}" for role in ("view", "edit", "admin")), "-n", "default")
        cluster.kubectl("delete", "dgdr,dgd,dcd,dgdsa,dm,dckpt", "--all", "-A", "--timeout=60s")
        _, seconds = self.helm(helm, "uninstall", RELEASE, "--wait", "--timeout=120s")
        self.tell(f"{helm} uninstall", time.monotonic() - began)
        cluster.wait(lambda: not self.images(), 60, "no pod is left")
        cluster.wait(lambda: not self.children(), 60, "the graph's children are gone")
        for kind in ("mutatingwebhookconfigurations", "validatingwebhookconfigurations"):
            self.assertEqual(cluster.api("GET", f"{HOOKS}/{kind}")["items"], [])
        cluster.api("POST", f"{GRAPHS}?dryRun=All", sample("graph.yaml"))
        crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
        kept = lambda: [one["metadata"]["name"] for one in cluster.api("GET", crds)["items"] if one["spec"]["group"] == "nvidia.com"]  # noqa: E731
        self.assertEqual(len(kept()), 7)
        cluster.kubectl("delete", "-k", charts.CHARTS.parent / "crds", "--timeout=60s")
        self.assertEqual(kept(), [])


if __name__ == "__main__":
    unittest.main()
