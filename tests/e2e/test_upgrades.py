"""Defaults that differ from those of stored objects: an upgrade, and two replicas with different configurations."""

import json
import pathlib
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import install as installation  # noqa: E402
from requests import start_cluster, unique  # noqa: E402
from test_mistakes import graph  # noqa: E402

DGD = "dynamographdeployments.nvidia.com"
OTHER = installation.CONFIG + """\
defaults:
  common:
    podSpec: {{terminationGracePeriodSeconds: 90, securityContext: null}}
    mainContainer: {{env: {{SITE: here}}}}
  types:
    worker: {{mainContainer: {{startupProbe: null}}}}
"""
cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


def serve(config):
    """Restarts the webhook at the same address with another configuration."""
    cluster.webhook.stop()
    with mock.patch.object(installation, "CONFIG", config):
        cluster.webhook.start(port=cluster.port)


class Upgrades(unittest.TestCase):
    def setUp(self):
        serve(installation.CONFIG)
        self.ns = cluster.namespace()
        self.made = graph()
        self.name = self.made["metadata"]["name"] = unique("g")

    def write(self, *arguments, **options):
        done = self.ns.kubectl(*arguments, **options)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def get(self, name=None):
        return self.ns.get(name or self.name, DGD)

    def worker(self):
        return self.get()["spec"]["services"]["Worker"]

    def patch(self, change):
        self.write("patch", DGD, self.name, "--type=merge", "-p", json.dumps(change))

    def test_new_defaults_apply_to_new_objects_only(self):
        self.write("apply", "-f", "-", input=self.made)
        before = self.get()
        serve(OTHER)
        done = self.write("apply", "-f", "-", input=self.made)
        self.assertIn("unchanged", done.stdout)
        self.write("label", DGD, self.name, "team=ml")
        self.patch({"spec": {"services": {"Worker": {"replicas": 3}}}})
        self.assertEqual(self.worker(), {**before["spec"]["services"]["Worker"], "replicas": 3})
        fresh = graph()
        fresh["metadata"]["name"] = unique("new")
        self.write("apply", "-f", "-", input=fresh)
        pod = self.get(fresh["metadata"]["name"])["spec"]["services"]["Worker"]["extraPodSpec"]
        self.assertEqual(pod["terminationGracePeriodSeconds"], 90)
        self.assertNotIn("securityContext", pod)
        self.assertNotIn("startupProbe", pod["mainContainer"])

    def test_new_defaults_on_request(self):
        self.write("apply", "-f", "-", input=self.made)
        serve(OTHER)
        self.write("annotate", DGD, self.name, "nvidia.com/dynamo-redefault=1")
        pod = self.worker()["extraPodSpec"]
        self.assertEqual(pod["terminationGracePeriodSeconds"], 90)
        self.assertNotIn("securityContext", pod)
        self.assertIn({"name": "SITE", "value": "here"}, pod["mainContainer"]["env"])
        self.assertEqual(pod["mainContainer"]["args"], ["--model", "m"])

    def test_replicas_with_different_defaults_do_not_alternate(self):
        for flags in ((), ("--server-side",)):
            with self.subTest(flags):
                self.made["metadata"]["name"] = self.name = unique("g")
                self.write("apply", *flags, "-f", "-", input=self.made)
                stored = self.get()
                for config in (OTHER, installation.CONFIG, OTHER):
                    serve(config)
                    self.write("apply", *flags, "-f", "-", input=self.made)
                    again = self.get()
                    self.assertEqual(again["metadata"]["resourceVersion"], stored["metadata"]["resourceVersion"])
                    done = self.ns.kubectl("diff", *flags, "-f", "-", input=self.made)
                    self.assertEqual((done.returncode, done.stdout), (0, ""), done.stdout + done.stderr)
                # The second replica does not change the result of the first one.
                self.patch({"spec": {"services": {"Worker": {"envFromSecret": "s"}}}})
                edited = self.get()
                serve(installation.CONFIG)
                self.patch({"metadata": {"labels": {"a": "b"}}})
                self.assertEqual(self.get()["spec"], edited["spec"])


if __name__ == "__main__":
    unittest.main()
