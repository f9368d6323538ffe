"""DynamoGraphDeployments on a real API server: defaults at admission, every way of writing, accepted children."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from child_crds import install_child_crds  # noqa: E402
from requests import ROOT, ClusterTest, start_cluster, unique  # noqa: E402
from test_mistakes import graph  # noqa: E402

DGD = "dynamographdeployments.nvidia.com"
PLUGIN = ROOT / "build/release/bin/kubectl-dynamo"
RECORD = "nvidia.com/dynamo-defaulted"
cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()
    install_child_crds(cluster.plane)


class Base(ClusterTest):
    def graph(self):
        made = graph()
        made["metadata"]["name"] = unique("g")
        return made

    def get(self, name):
        return self.ns.get(name, DGD)

    def write(self, *arguments, **options):
        done = self.ns.kubectl(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done


class Defaults(Base):
    def test_a_dry_run_shows_the_defaults(self):
        made = self.graph()
        done = self.write("create", "--dry-run=server", "-o", "json", "-f", "-", input=made)
        worker = json.loads(done.stdout)["spec"]["services"]["Worker"]
        self.assertEqual(worker["replicas"], 1)
        self.assertEqual(worker["extraPodSpec"]["securityContext"], {"fsGroup": 1000})
        main = worker["extraPodSpec"]["mainContainer"]
        self.assertEqual(main["startupProbe"]["failureThreshold"], 720)
        self.assertEqual(main["args"], ["--model", "m"])
        self.assertIn({"name": "DYN_NAMESPACE", "value": f"{self.ns.name}-{made['metadata']['name']}"}, main["env"])

    def test_apply_twice_changes_nothing(self):
        for flags in ((), ("--server-side",)):
            with self.subTest(flags):
                made = self.graph()
                made["spec"]["services"]["Worker"]["envs"] = [{"name": "B", "value": "1"}, {"name": "A", "value": "2"}]
                name = made["metadata"]["name"]
                self.write("apply", *flags, "-f", "-", input=made)
                before = self.get(name)
                self.write("apply", *flags, "-f", "-", input=made)
                self.assertEqual(self.get(name)["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"])
                done = self.ns.kubectl("diff", *flags, "-f", "-", input=made)
                self.assertEqual((done.returncode, done.stdout), (0, ""), done.stdout + done.stderr)

    def test_fields_changed_by_the_user_belong_to_the_user(self):
        made = self.graph()
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        patch = {"spec": {"services": {"Worker": {"extraPodSpec": {"terminationGracePeriodSeconds": 5}}}}}
        self.write("patch", DGD, name, "--type=merge", "-p", json.dumps(patch))
        again = {"spec": {"services": {"Worker": {"envFromSecret": "s"}}}}
        self.write("patch", DGD, name, "--type=merge", "-p", json.dumps(again))
        pod = self.get(name)["spec"]["services"]["Worker"]["extraPodSpec"]
        self.assertEqual((pod["terminationGracePeriodSeconds"], pod["restartPolicy"]), (5, "Always"))

    def test_a_changed_type_gets_its_own_defaults(self):
        made = self.graph()
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        patch = {"spec": {"services": {"Worker": {"componentType": "planner"}}}}
        self.write("patch", DGD, name, "--type=merge", "-p", json.dumps(patch))
        pod = self.get(name)["spec"]["services"]["Worker"]["extraPodSpec"]
        self.assertEqual(pod["serviceAccountName"], "planner-serviceaccount")
        self.assertNotIn("startupProbe", pod["mainContainer"])
        self.assertEqual([port["name"] for port in pod["mainContainer"]["ports"]], ["metrics"])

    def test_replace_label_scale(self):
        made = self.graph()
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        before = self.get(name)
        self.write("label", DGD, name, "team=ml")
        self.assertEqual(self.get(name)["spec"], before["spec"])
        self.write("replace", "-f", "-", input=made)
        after = self.get(name)
        self.assertEqual(after["spec"], before["spec"])
        self.assertEqual(after["metadata"]["annotations"], before["metadata"]["annotations"])
        patch = {"spec": {"services": {"Worker": {"replicas": 4}}}}
        self.write("patch", DGD, name, "--type=merge", "-p", json.dumps(patch))
        scaled = self.get(name)["spec"]["services"]["Worker"]
        self.assertEqual(scaled, {**before["spec"]["services"]["Worker"], "replicas": 4})

    def test_kubectl_edit(self):
        made = self.graph()
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        # The editor shows the defaults too. Only changed fields become the user's.
        with mock.patch.dict(os.environ, KUBE_EDITOR="sed -i s/failureThreshold:.720/failureThreshold:\\ 99/"):
            self.write("edit", DGD, name)
        edited = self.get(name)
        main = edited["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]
        self.assertEqual(main["startupProbe"]["failureThreshold"], 99)
        with mock.patch.dict(os.environ, KUBE_EDITOR="true"):
            done = self.write("edit", DGD, name)
        self.assertIn("no changes made", done.stderr + done.stdout)
        with mock.patch.dict(os.environ, KUBE_EDITOR="sed -i s/componentType:.worker/componentType:\\ planner/"):
            self.write("edit", DGD, name)
        pod = self.get(name)["spec"]["services"]["Worker"]["extraPodSpec"]
        self.assertEqual(pod["mainContainer"]["startupProbe"]["failureThreshold"], 99)
        self.assertEqual(pod["serviceAccountName"], "planner-serviceaccount")

    def test_scaling_an_adapter(self):
        made = {"apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeploymentScalingAdapter",
                "metadata": {"name": unique("a")},
                "spec": {"replicas": 1, "dgdRef": {"name": "g", "serviceName": "Worker"}}}
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        adapters = "dynamographdeploymentscalingadapters.nvidia.com"
        self.write("scale", adapters, name, "--replicas=3")
        self.assertEqual(self.ns.get(name, adapters)["spec"]["replicas"], 3)

    def test_an_exported_graph_under_another_name(self):
        made = self.graph()
        self.write("create", "-f", "-", input=made)
        exported = self.get(made["metadata"]["name"])
        for field in ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"):
            exported["metadata"].pop(field, None)
        exported.pop("status", None)
        exported["metadata"]["name"] = unique("copy")
        self.write("create", "-f", "-", input=exported)
        copied = self.get(exported["metadata"]["name"])
        env = copied["spec"]["services"]["Worker"]["extraPodSpec"]["mainContainer"]["env"]
        self.assertIn({"name": "DYN_PARENT_DGD_K8S_NAME", "value": exported["metadata"]["name"]}, env)

    def test_the_record_stays_small(self):
        made = self.graph()
        self.write("create", "-f", "-", input=made)
        record = self.get(made["metadata"]["name"])["metadata"]["annotations"][RECORD]
        self.assertLessEqual(len(record), 1024 * len(made["spec"]["services"]))


class Locks(Base):
    def test_replicas_belong_to_the_scaling_adapter(self):
        made = self.graph()
        made["spec"]["services"]["Worker"]["scalingAdapter"] = {"enabled": True}
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        patch = json.dumps({"spec": {"services": {"Worker": {"replicas": 4}}}})
        done = self.ns.kubectl("patch", DGD, name, "--type=merge", "-p", patch)
        self.assertEqual(done.returncode, 1)
        self.assertIn("spec.services[Worker].replicas: Forbidden", done.stderr)

    def test_users_that_may_set_replicas_of_a_scaling_adapter(self):
        made = self.graph()
        made["spec"]["services"]["Worker"]["scalingAdapter"] = {"enabled": True}
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        rule = {"apiGroups": ["nvidia.com"], "resources": ["*"], "verbs": ["*"]}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": {"name": unique("scale")}}
        self.write("create", "-f", "-", input={**role, "rules": [rule]})
        role = role["metadata"]["name"]
        table = [("dynamo-system:dynamo-operator-controller-manager", True),
                 (f"{self.ns.name}:planner-serviceaccount", True),
                 ("elsewhere:planner-serviceaccount", False),
                 (f"{self.ns.name}:dynamo-operator-controller-manager", False)]
        for replicas, (account, allowed) in enumerate(table, 2):
            with self.subTest(account):
                self.write("create", "rolebinding", unique("b"), f"--clusterrole={role}", f"--serviceaccount={account}")
                who = f"--as=system:serviceaccount:{account}"

                def may(who=who):
                    return self.ns.kubectl("auth", "can-i", "patch", DGD, who).stdout == "yes\n"

                cluster.plane.wait(may, 60, f"{account} may patch graphs")  # authorizers are updated a moment later
                patch = json.dumps({"spec": {"services": {"Worker": {"replicas": replicas}}}})
                done = self.ns.kubectl("patch", DGD, name, "--type=merge", "-p", patch, who)
                self.assertEqual(done.returncode == 0, allowed, done.stderr)
                if not allowed:
                    self.assertIn("spec.services[Worker].replicas: Forbidden", done.stderr)

    def test_topology_and_backend(self):
        made = self.graph()
        name = made["metadata"]["name"]
        self.write("create", "-f", "-", input=made)
        table = [({"backendFramework": "vllm"}, "spec.backendFramework: "),
                 ({"services": {"Worker": {"multinode": {"nodeCount": 2}}}}, "spec.services[Worker]"),
                 ({"services": {"More": {"extraPodSpec": {"mainContainer": {"image": "i"}}}}}, "spec.services: "),
                 ({"services": {"Worker": None}}, "spec.services: ")]
        for change, words in table:
            with self.subTest(change):
                done = self.ns.kubectl("patch", DGD, name, "--type=merge", "-p", json.dumps({"spec": change}))
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn(words, done.stderr)


class Children(Base):
    def test_samples_are_admitted_and_their_children_accepted(self):
        rendered = 0
        for sample in sorted((ROOT / "deploy/samples").glob("*.yaml")):
            documents = [d for d in yaml.safe_load_all(sample.read_text(encoding="utf-8")) if d]
            if not any(d.get("kind") == "DynamoGraphDeployment" for d in documents):
                continue
            self.write("create", "--dry-run=server", "-f", str(sample))
            for pathway in ("deployment", "lws", "grove"):
                with self.subTest(sample=sample.name, pathway=pathway), tempfile.NamedTemporaryFile("w", suffix=".json") as out:
                    command = [PLUGIN, "render", "-f", sample, "-n", self.ns.name, "--pathway", pathway, "-o", "json"]
                    out.write(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
                    out.flush()
                    self.write("create", "--dry-run=server", "-f", out.name)
                    rendered += 1
        self.assertGreater(rendered, 0)


if __name__ == "__main__":
    unittest.main()
