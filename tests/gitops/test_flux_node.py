#!/usr/bin/env python3
"""Flux's own kustomize-controller installs the operator on a real node, from a repository as deploy/gitops/README.md makes it, with the
Kustomizations of deploy/gitops/flux.yaml as they are. Then it applies a graph, whose pods run. Webhook and controller are pods of the image
of deploy/image/build. Nothing is written at rest, edits are healed, and admission never stops while Flux replaces the operator.

Only in a full run. Needs `cmake --build build/release --target dynamo-webhook dynamo-controller`, and a node (tests/cluster/node)."""

import json
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "cluster"), str(HERE.parent / "helm")]

import engines  # noqa: E402
import page  # noqa: E402
from control_plane import ApiError, ControlPlane  # noqa: E402
from kustomize_controller import KUSTOMIZATIONS, MERGE, KustomizeController  # noqa: E402
from node import images, requirements  # noqa: E402
from node.operator_pods import NAMESPACE, REGISTRY, load_shipped_image  # noqa: E402
from node_release import ORIGIN, Admission  # noqa: E402

OPERATOR, GRAPHS = "dynamo-operator", "dynamo-graphs"
TARGET = "demo"
# As the page has them. There is no image with the last tag.
IMAGE, FIRST, SECOND, MISSING = "registry.example.com/dynamo-operator", "0.1.0", "0.1.1", "0.1.2-missing"
RUNTIME = "localhost/runtime:1"
# Answers all probes of the frontend and the worker.
SERVER = """
import http.server, os, signal, threading
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
    def log_message(self, *_): pass
signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
threading.Thread(target=http.server.ThreadingHTTPServer(("", 9090), Handler).serve_forever).start()
http.server.ThreadingHTTPServer(("", 8000), Handler).serve_forever()
"""
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
DEPLOYMENTS = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments"
OF_GRAPHS = f"/apis/nvidia.com/v1alpha1/namespaces/{TARGET}/dynamographdeployments"
CHILDREN = f"/apis/apps/v1/namespaces/{TARGET}/deployments"
HOOKS = "/apis/admissionregistration.k8s.io/v1"
CRD_PATH = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
CRD = f"{CRD_PATH}/dynamographdeploymentrequests.nvidia.com"
CRDS = list((page.ROOT / "deploy/crds").glob("*.yaml"))
WRITER = "kustomize-controller"
DEPLOYED = (f"{OPERATOR}-webhook", f"{OPERATOR}-controller-manager")
SECONDS = 240
QUIET = 3
SHORT = "30s"  # how long Flux waits for pods that never get ready

cluster = flux = None


def setUpModule():
    if os.environ.get("DYNAMO_FULL") != "1":
        raise unittest.SkipTest("kustomize-controller runs only in a full run")
    global cluster, flux
    requirements.require_node()
    cluster = ControlPlane(node=True)
    unittest.addModuleCleanup(cluster.stop)
    cluster.start()
    load_shipped_image(cluster, "dynamo-operator:shipped")
    for tag in (FIRST, SECOND):
        cluster.node.ctr("images", "tag", f"{REGISTRY}/dynamo-operator:shipped", f"{IMAGE}:{tag}")
    cluster.node.load(images.python_image(RUNTIME))
    folder = unittest.enterModuleContext(tempfile.TemporaryDirectory(prefix="dynamo-flux-"))
    flux = KustomizeController(cluster, folder)
    unittest.addModuleCleanup(flux.close)


def graph(version):
    """`version`: of the graph, in the environment of its pods."""
    main = {"image": RUNTIME, "command": [images.PYTHON, "-c", SERVER], "env": [{"name": "VERSION", "value": version}]}
    services = {kind.capitalize(): {"componentType": kind, "extraPodSpec": {"mainContainer": main}} for kind in ("frontend", "worker")}
    metadata = {"name": "served"}
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": metadata, "spec": {"services": services}}


def tell(what, seconds, stream=None):
    more = f", {stream.calls} calls, {len(stream.failures)} failed, the slowest {stream.longest:.2f} s" if stream else ""
    print(f"  {what}: {seconds:.1f} s{more}", file=sys.stderr, flush=True)


def pods(path=PODS):
    """Name -> pod, without those that are about to end."""
    found = {one["metadata"]["name"]: one for one in cluster.api("GET", path)["items"]}
    return {name: one for name, one in found.items() if not one["metadata"].get("deletionTimestamp")}


def tags():
    """Pod of the operator -> tag of its image."""
    return {name: one["spec"]["containers"][0]["image"].rpartition(":")[2] for name, one in pods().items()}


def bundles():
    """What the controller has written into webhooks and conversion."""
    found = []
    for kind, name in (("mutating", f"{OPERATOR}-mutating"), ("validating", f"{OPERATOR}-validating")):
        stored = cluster.api("GET", f"{HOOKS}/{kind}webhookconfigurations/{name}")
        found += [(one["clientConfig"]["caBundle"], one.get("namespaceSelector")) for one in stored["webhooks"]]
    found.append(cluster.api("GET", CRD)["spec"]["conversion"])
    return found


class Repository:
    """The clone of the user, whose files are what Flux gets."""

    def __init__(self, folder):
        _, environment = page.remote(cluster, folder)
        page.run(page.blocks()[0], folder, environment, SECONDS)
        self.folder = Path(folder) / page.CLONE
        (self.folder / "graphs/qwen.yaml").unlink()  # its image is not here
        self.write_graph("1")

    def write(self, path, text):
        (self.folder / path).write_text(text, encoding="utf-8")

    def write_graph(self, version):
        self.write("graphs/served.yaml", yaml.safe_dump(graph(version)))

    def change(self, **changes):
        """Members of the kustomization.yaml of the operator."""
        path = self.folder / "operator/kustomization.yaml"
        made = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.write("operator/kustomization.yaml", yaml.safe_dump({**made, **changes}))

    def take(self, tag):
        self.change(images=[{"name": "dynamo-operator", "newName": IMAGE, "newTag": tag}])

    def push(self):
        """Returns the revision."""
        paths = [path for folder in ("operator", "graphs") for path in sorted((self.folder / folder).iterdir())]
        return flux.push({str(path.relative_to(self.folder)): path.read_text(encoding="utf-8") for path in paths})


class OnANode(unittest.TestCase):
    """One life of the operator. Each step starts with what the one before has left."""

    maxDiff = None

    def until(self, what, condition, seconds=SECONDS):
        began = time.monotonic()
        try:
            found = cluster.wait(condition, seconds, what)
        except Exception as error:
            told = [(one["metadata"]["name"], one.get("status")) for one in cluster.api("GET", KUSTOMIZATIONS)["items"]]
            shown = cluster.kubectl("get", "pods,dgd,dcd", "-A", check=False).stdout
            raise AssertionError(f"{what}: {told}\n{shown}\n{flux.log_tail()}") from error
        return found, time.monotonic() - began

    def applied(self, name, revision):
        return self.until(f"{name} is applied", lambda: flux.has_applied(name, revision))[1]

    def reconcile(self, *names):
        for name in names:
            at = flux.reconcile(name)
            handled = lambda name=name, at=at: flux.get(name)["status"].get("lastHandledReconcileAt") == at  # noqa: E731
            self.until(f"{name} is reconciled", lambda: handled() and flux.ready(name).get("status") == "True")

    def applied_objects(self, *names):
        """What Flux says that it applies, as it is stored."""
        asked = []
        for entry in (one for name in names for one in flux.get(name)["status"]["inventory"]["entries"]):
            namespace, named, group, kind = entry["id"].split("_")
            metadata = {"name": named.replace("__", ":"), **({"namespace": namespace} if namespace else {})}
            asked.append({"apiVersion": f"{group}/{entry['v']}".lstrip("/"), "kind": kind, "metadata": metadata})
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": asked})
        found = json.loads(cluster.kubectl("get", "-f", "-", "-o", "json", "--show-managed-fields", input=text).stdout)["items"]
        self.assertEqual(len(found), len(asked))
        return found

    def written(self, *names):
        """Of each object of these Kustomizations: its version, its generation, and what Flux has written when."""
        found = {}
        for one in self.applied_objects(*names):
            metadata = one["metadata"]
            entries = [entry for entry in metadata["managedFields"] if entry["manager"] == WRITER]
            versions = (metadata["uid"], metadata["resourceVersion"], metadata.get("generation"))
            found[one["kind"], metadata["name"]] = (versions, entries)
        return found

    def changed(self, before, after):
        self.assertEqual(before.keys(), after.keys())
        return [(key, before[key][0], after[key][0]) for key in before if before[key] != after[key]]

    def settled(self, *names):
        """As written(), as soon as nobody has written a status for some seconds."""
        found = [self.written(*names)]

        def is_quiet():
            time.sleep(QUIET)
            found.append(self.written(*names))
            return found[-1] == found[-2]

        self.until("nobody writes a status", is_quiet)
        return found[-1]

    def is_at_rest(self, *names):
        self.until("no pod of the operator ends", lambda: len(cluster.api("GET", PODS)["items"]) == 3)
        before = self.settled(*names)
        self.assertTrue(all(entries for _, entries in before.values()), "Flux has applied each object")
        began = time.monotonic()
        for _ in range(3):
            self.reconcile(*names)
        self.assertEqual(self.changed(before, self.written(*names)), [], "nothing is written")
        return len(before), time.monotonic() - began

    def serves(self, tag):
        """One controller and two webhooks with this tag, and no other pod."""
        wanted = [tag] * 3
        _, seconds = self.until(f"the pods have the tag {tag}", lambda: sorted(tags().values()) == wanted)
        return seconds

    def refuses(self):
        """Whether admission refuses a graph without services."""
        wrong = {**graph("0"), "metadata": {"name": "wrong"}, "spec": {"services": {}}}
        try:
            cluster.api("POST", f"{OF_GRAPHS}?dryRun=All", wrong)
        except ApiError as error:
            self.assertIn("vdynamographdeployment.kb.io", str(error))
            return True
        return False

    def versions(self):
        """The version of the graph in each of its children."""
        found = [one["spec"]["template"]["spec"]["containers"][0]["env"] for one in cluster.api("GET", CHILDREN)["items"]]
        return {each["value"] for env in found for each in env if each["name"] == "VERSION"}

    def test_life(self):
        self.repository = Repository(self.enterContext(tempfile.TemporaryDirectory(prefix="dynamo-flux-")))
        self.the_first_commit()
        self.crds_in_git()
        self.edits_are_healed()
        self.a_restart_is_undone()
        self.another_graph()
        self.another_image()
        self.another_configuration()
        self.a_missing_image()
        self.crds_leave_git()
        self.the_kustomizations_are_deleted()

    def the_first_commit(self):
        """Both Kustomizations are there at once. Without the operator there is not even the kind of graphs."""
        cluster.create_namespace(TARGET)
        began = time.monotonic()
        revision = self.repository.push()
        cluster.kubectl("apply", "-f", engines.KUSTOMIZATIONS)
        reasons, operator_ready = set(), []

        def graph_is_there():
            is_there = cluster.exists(f"{OF_GRAPHS}/served")
            reasons.add(flux.ready(GRAPHS).get("reason"))
            if not operator_ready and flux.has_applied(OPERATOR, revision):
                operator_ready.append(time.monotonic() - began)
            return is_there

        self.until("the graph is applied", graph_is_there)
        to_graph = time.monotonic() - began
        self.assertTrue(operator_ready, "the operator was ready before")
        self.assertIn("DependencyNotReady", reasons)
        for one in cluster.api("GET", DEPLOYMENTS)["items"]:
            self.assertEqual(one["status"].get("availableReplicas"), one["spec"]["replicas"], one["metadata"]["name"])
        stored = cluster.api("GET", f"{OF_GRAPHS}/served")
        self.assertIn(ORIGIN, stored["metadata"]["annotations"])
        seen = []

        def healthy():
            is_applied, reason = flux.has_applied(GRAPHS, revision), flux.ready(GRAPHS).get("reason")
            seen.append((cluster.api("GET", f"{OF_GRAPHS}/served").get("status", {}).get("state"), reason))
            return is_applied

        self.until("the graph is healthy", healthy)
        tell("commit until the operator is ready", operator_ready[0])
        tell("commit until the graph is applied", to_graph)
        tell("commit until Flux says that the graph is healthy", time.monotonic() - began)
        self.assertEqual(seen[-1][0], "successful")
        self.assertIn("Progressing", {reason for state, reason in seen if state != "successful"}, "Flux has waited for the graph")
        running = pods(f"/api/v1/namespaces/{TARGET}/pods")
        self.assertEqual(len(running), 2)
        for one in running.values():
            self.assertEqual([(each["ready"], each["restartCount"]) for each in one["status"]["containerStatuses"]], [(True, 0)])
        self.assertEqual(self.versions(), {"1"})
        self.assertTrue(all(bundle for bundle, _ in bundles()[:-1]))
        count, seconds = self.is_at_rest(OPERATOR, GRAPHS)
        tell(f"three reconciles of {count} objects, nothing written", seconds)

    def crds_in_git(self):
        """The page says how. Flux then owns fields of the CRDs together with the controller, which writes the conversion."""
        before = bundles()
        text = cluster.kubectl("kustomize", page.ROOT / "deploy/kustomize/crds").stdout
        self.repository.write("operator/crds.yaml", text)
        self.repository.change(resources=["operator.yaml", "crds.yaml"])
        seconds = self.applied(OPERATOR, self.repository.push())
        tell("commit with the CRDs until the operator is ready", seconds)
        self.assertEqual(bundles(), before)
        count, seconds = self.is_at_rest(OPERATOR, GRAPHS)
        tell(f"three reconciles of {count} objects, nothing written", seconds)
        # The controller applies the CRDs again when it starts.
        writes = self.written(OPERATOR)
        for name in [name for name in pods() if "controller-manager" in name]:
            cluster.api("DELETE", f"{PODS}/{name}")
        self.until("another pod is ready", lambda: self.available(DEPLOYED[1]))
        self.reconcile(OPERATOR)
        changed = self.changed(writes, self.written(OPERATOR))
        self.assertEqual([one for one in changed if one[0][0] == "CustomResourceDefinition"], [])
        self.assertEqual(len([key for key in writes if key[0] == "CustomResourceDefinition"]), len(CRDS))
        self.assertEqual(bundles(), before)

    def available(self, name):
        """Whether its new pods are available, and no others are left."""
        found = cluster.api("GET", f"{DEPLOYMENTS}/{name}")
        status, wanted = found["status"], found["spec"]["replicas"]
        counts = {status.get(f"{which}eplicas", 0) for which in ("r", "updatedR", "availableR")}
        return status.get("observedGeneration") == found["metadata"]["generation"] and counts == {wanted}

    def edits_are_healed(self):
        """Edits of a user with kubectl, and of another program. The CA, which the controller has written, stays."""
        injected, webhook = bundles(), DEPLOYED[0]
        deployment, there = f"{DEPLOYMENTS}/{webhook}", cluster.api("GET", f"{DEPLOYMENTS}/{webhook}")
        hook = f"{HOOKS}/validatingwebhookconfigurations/{OPERATOR}-validating"
        cluster.kubectl("scale", f"deployment/{webhook}", "--replicas=1", "-n", NAMESPACE)
        cluster.kubectl("label", f"deployment/{webhook}", "app.kubernetes.io/name=mine", "--overwrite", "-n", NAMESPACE)
        added = [{"op": "replace", "path": "/spec/template/spec/containers/0/args/0", "value": "wrong"}]
        cluster.api("PATCH", f"{deployment}?fieldManager=user", added, "application/json-patch+json")
        first = cluster.api("GET", hook)["webhooks"][0]["name"]
        changed = {"webhooks": [{"name": first, "failurePolicy": "Ignore"}]}
        cluster.api("PATCH", f"{hook}?fieldManager=user", changed, "application/strategic-merge-patch+json")
        cluster.api("DELETE", f"/api/v1/namespaces/{NAMESPACE}/services/{OPERATOR}")
        with Admission(cluster) as stream:
            began = time.monotonic()
            self.reconcile(OPERATOR)
            tell("edits are healed", time.monotonic() - began, stream)
        healed = cluster.api("GET", deployment)
        self.assertEqual(healed["spec"], there["spec"])
        self.assertEqual(healed["metadata"]["labels"], there["metadata"]["labels"])
        self.assertEqual({one["failurePolicy"] for one in cluster.api("GET", hook)["webhooks"]}, {"Fail"})
        self.assertTrue(cluster.exists(f"/api/v1/namespaces/{NAMESPACE}/services/{OPERATOR}"))
        self.assertEqual(bundles(), injected)
        self.assertEqual(stream.failures, [])
        # The controller writes the CA into a new configuration, too.
        cluster.api("DELETE", hook)
        began = time.monotonic()
        self.reconcile(OPERATOR)
        self.until("the CA is in it", lambda: bundles() == injected)
        self.until("it is called", self.refuses)
        tell("a deleted webhook configuration refuses graphs again", time.monotonic() - began)
        self.serves(FIRST)
        self.is_at_rest(OPERATOR, GRAPHS)

    def a_restart_is_undone(self):
        """kubectl writes an annotation into the template of the pods. Flux removes it, and so replaces the pods again."""
        names = set(pods())
        with Admission(cluster) as stream:
            for name in DEPLOYED:
                cluster.kubectl("rollout", "restart", f"deployment/{name}", "-n", NAMESPACE)
            for name in DEPLOYED:
                self.until("the pods are replaced", lambda name=name: self.available(name))
            restarted = set(pods())
            self.reconcile(OPERATOR)
        self.assertEqual((names & restarted, restarted & set(pods())), (set(), set()))
        self.assertEqual(stream.failures, [])

    def another_graph(self):
        """Graphs wait until the operator is at the same commit, and Flux looks twice a minute."""
        self.repository.write_graph("2")
        began, revision = time.monotonic(), self.repository.push()
        at = flux.reconcile(GRAPHS)
        self.until("it is handled", lambda: flux.get(GRAPHS)["status"].get("lastHandledReconcileAt") == at)
        self.assertEqual(flux.ready(GRAPHS).get("reason"), "DependencyNotReady")
        self.applied(GRAPHS, revision)
        self.assertEqual(self.versions(), {"2"})
        tell("commit with another graph", time.monotonic() - began)
        self.repository.write_graph("3")
        began, revision = time.monotonic(), self.repository.push()
        self.applied(OPERATOR, revision)
        self.reconcile(GRAPHS)
        self.assertTrue(flux.has_applied(GRAPHS, revision))
        self.assertEqual(self.versions(), {"3"})
        tell("the same, with a request after the operator is ready", time.monotonic() - began)

    def another_image(self):
        children = cluster.api("GET", CHILDREN)["items"]
        self.repository.take(SECOND)
        revision = self.repository.push()
        with Admission(cluster) as stream:
            seconds = self.applied(OPERATOR, revision)
            self.assertEqual(set(tags().values()), {SECOND}, "Flux has waited for the new pods")
            self.until("the old pods are gone", lambda: len(cluster.api("GET", PODS)["items"]) == 3)
        tell("commit with another image", seconds, stream)
        self.assertEqual(stream.failures, [])
        self.assertGreater(stream.calls, 50)
        self.applied(GRAPHS, revision)
        kept = {one["metadata"]["uid"]: one["metadata"]["generation"] for one in children}
        self.assertEqual({one["metadata"]["uid"]: one["metadata"]["generation"] for one in cluster.api("GET", CHILDREN)["items"]}, kept)

    def another_configuration(self):
        """As the page says, a file replaces the text, and then the pods are replaced. Then nothing is refused any more."""
        self.assertTrue(self.refuses())
        text = yaml.safe_load((page.ROOT / "deploy/kustomize/base/config.yaml").read_text(encoding="utf-8"))["data"]["config.yaml"]
        self.repository.write("operator/config.yaml", text + "validation: {mode: warn}\n")
        made = {"name": f"{OPERATOR}-config", "namespace": NAMESPACE, "behavior": "replace", "files": ["config.yaml"]}
        self.repository.change(configMapGenerator=[made])
        before, revision = set(tags()), self.repository.push()
        with Admission(cluster) as stream:
            seconds = self.applied(OPERATOR, revision)
        tell("commit with another configuration", seconds, stream)
        self.assertEqual(stream.failures, [])
        self.assertFalse(before & set(tags()))
        self.until("nothing is refused", lambda: not self.refuses())
        self.repository.write("operator/config.yaml", text)
        with Admission(cluster) as stream:
            seconds = self.applied(OPERATOR, self.repository.push())
        tell("commit with the former configuration", seconds, stream)
        self.assertEqual(stream.failures, [])
        self.until("it is refused again", self.refuses)
        self.is_at_rest(OPERATOR, GRAPHS)

    def a_missing_image(self):
        """The old pods serve. Graphs wait, because they depend on the operator."""
        cluster.api("PATCH", f"{KUSTOMIZATIONS}/{OPERATOR}", {"spec": {"timeout": SHORT}}, MERGE)
        self.reconcile(OPERATOR)
        before = tags()
        self.repository.take(MISSING)
        self.repository.write_graph("4")
        self.repository.push()
        with Admission(cluster) as stream:
            _, seconds = self.until("Flux says that it has failed", lambda: flux.ready(OPERATOR).get("reason") == "HealthCheckFailed")
            message = flux.ready(OPERATOR)["message"]
            self.until("graphs wait", lambda: flux.ready(GRAPHS).get("reason") == "DependencyNotReady")
        tell("commit with a missing image until Flux says that it has failed", seconds, stream)
        print(f"  {message}", file=sys.stderr, flush=True)
        for name in DEPLOYED:
            self.assertIn(f"Deployment/{NAMESPACE}/{name}", message)
        self.assertLessEqual(before.items(), tags().items())
        self.assertEqual(stream.failures, [])
        self.assertEqual(self.versions(), {"3"})
        self.repository.take(SECOND)
        revision = self.repository.push()
        with Admission(cluster) as stream:
            seconds = self.applied(OPERATOR, revision)
        tell("the next commit heals it", seconds, stream)
        self.assertEqual(stream.failures, [])
        self.assertEqual(tags(), before)
        tell("and then the graph is applied", self.applied(GRAPHS, revision))
        self.assertEqual(self.versions(), {"4"})

    def crds_leave_git(self):
        """They stay, and so do the graphs."""
        self.repository.change(resources=["operator.yaml"])
        (self.repository.folder / "operator/crds.yaml").unlink()
        revision = self.repository.push()
        self.applied(OPERATOR, revision)
        self.applied(GRAPHS, revision)
        self.assertTrue(all(cluster.exists(f"{CRD_PATH}/{path.stem.partition('_')[2]}.nvidia.com") for path in CRDS))
        self.assertEqual(self.versions(), {"4"})

    def the_kustomizations_are_deleted(self):
        """Only what `prune` says is deleted: the graphs, and nothing of the operator."""
        left = {key: versions for key, (versions, _) in self.written(OPERATOR).items()}
        objects = self.applied_objects(OPERATOR)
        cluster.kubectl("-n", "flux-system", "delete", "kustomization", OPERATOR, "--timeout=60s")
        cluster.kubectl("-n", "flux-system", "delete", "kustomization", GRAPHS, "--timeout=60s")
        self.until("the graph is gone", lambda: not cluster.api("GET", OF_GRAPHS)["items"])
        self.until("its children are gone", lambda: not cluster.api("GET", CHILDREN)["items"])
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})
        found = json.loads(cluster.kubectl("get", "-f", "-", "-o", "json", input=text).stdout)["items"]
        uids = {(one["kind"], one["metadata"]["name"]): one["metadata"]["uid"] for one in found}
        self.assertEqual(uids, {key: uid for key, (uid, *_) in left.items()})
        self.serves(SECOND)
        self.assertTrue(self.refuses())


if __name__ == "__main__":
    unittest.main()
