"""The overlays of deploy/kustomize: each builds, changes what it says and nothing else, and suits the API server."""

import pathlib
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cluster"))

from control_plane import ControlPlane  # noqa: E402

KUSTOMIZE = pathlib.Path(__file__).resolve().parents[2] / "deploy/kustomize"

plane = None


def setUpModule():
    global plane
    plane = ControlPlane(components=("etcd", "apiserver"))
    plane.start()


def tearDownModule():
    plane.stop()


def built(folder):
    text = plane.kubectl("kustomize", KUSTOMIZE / folder).stdout
    objects = yaml.load_all(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    return {(item["kind"], item["metadata"]["name"]): item for item in objects if item}


class ControlPlaneOnly(unittest.TestCase):
    def test_only_the_webhook_port_changes_hands(self):
        base, overlay = built("base"), built("overlays/control-plane-only")
        policy = ("NetworkPolicy", "dynamo-operator-webhook")
        self.assertEqual(base.keys(), overlay.keys())
        self.assertEqual([key for key in base if base[key] != overlay[key]], [policy])
        before, after = (objects[policy]["spec"] for objects in (base, overlay))
        self.assertEqual({**before, "ingress": None}, {**after, "ingress": None})
        webhook, *others = after["ingress"]
        self.assertEqual(webhook, {"from": [{"ipBlock": {"cidr": "192.0.2.1/32"}}], "ports": [{"port": "webhook"}]})
        self.assertEqual(before["ingress"], [{"ports": [{"port": "webhook"}, *others[0]["ports"]]}, *others[1:]])

    def test_the_api_server_takes_it(self):
        plane.create_namespace("dynamo-system")
        policy = built("overlays/control-plane-only")["NetworkPolicy", "dynamo-operator-webhook"]
        done = plane.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", input=yaml.safe_dump(policy))
        self.assertIn("networkpolicy.networking.k8s.io/dynamo-operator-webhook created (server dry run)", done.stdout)


if __name__ == "__main__":
    unittest.main()
