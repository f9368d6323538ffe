"""Recorded reviews: our answers against the reference's. Each difference has a reasoned line, and is exactly the
one that the line speaks of."""

import contextlib
import gzip
import http.client
import json
import pathlib
import re
import ssl
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests/cluster"), str(ROOT / "deploy/lib")]

from install import Webhook  # noqa: E402

SHARED = ROOT.parent / "shared"
RECORDED = SHARED / "reference/reviews.jsonl.gz"
REPLAY = SHARED / "tools/replay_reviews.py"
DEVIATIONS = ROOT / "tests/e2e/review-deviations.txt"
# The deviation file names fields; these are the values: field -> the reference's, ours. A lost or invented value in
# such a field is no accepted difference.
ACCEPTED = {
    "spec.searchStrategy": (None, "rapid"),
    "spec.workload.isl": (None, 4000),
    "spec.workload.osl": (None, 1000),
    "spec.modelCache": (None, {"pvcMountPath": "/opt/model-cache"}),
    "spec.modelCache.pvcMountPath": (None, "/opt/model-cache"),
    "status.deployment.state": (None, "initializing"),
}


def differences(theirs, ours, where=""):
    """(path, their value, our value) of each differing leaf; a missing one is None."""
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for key in sorted(theirs.keys() | ours.keys()):
            yield from differences(theirs.get(key), ours.get(key), f"{where}.{key}" if where else key)
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for i, pair in enumerate(zip(theirs, ours)):
            yield from differences(*pair, f"{where}[{i}]")
    elif theirs != ours:
        yield where, theirs, ours


def comparable(value, where=""):
    """Without annotations and empty members: the reference's typed objects write the latter out."""
    if isinstance(value, list):
        return [comparable(item, "[]") for item in value]
    if not isinstance(value, dict):
        return value
    members = {key: comparable(member, key) for key, member in value.items()
               if not (where == "metadata" and key == "annotations")}
    return {key: member for key, member in members.items() if member not in (None, {}, [], "", False)}


@unittest.skipUnless(RECORDED.exists() and REPLAY.exists(), f"recorded reviews are absent: {RECORDED}")
class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.files = contextlib.ExitStack()
        cls.addClassCleanup(cls.files.close)
        cls.folder = cls.files.enter_context(tempfile.TemporaryDirectory())
        cls.chosen = pathlib.Path(cls.folder, "reviews.jsonl.gz")
        cls.reviews = []
        with gzip.open(RECORDED, "rt") as recorded, gzip.open(cls.chosen, "wt") as out:
            for line in recorded:
                out.write(line)
                cls.reviews.append(json.loads(line))
        cls.webhook = Webhook(cls.folder)
        cls.webhook.start()
        cls.files.callback(cls.webhook.stop)

    def answer(self, review):
        self.connection.request("POST", review["path"], json.dumps(review["req"]), {"Content-Type": "application/json"})
        return json.loads(self.connection.getresponse().read())["response"]

    def setUp(self):
        tls = ssl.create_default_context(cadata=self.webhook.ca.decode())
        self.connection = http.client.HTTPSConnection("127.0.0.1", self.webhook.port, context=tls, timeout=20)
        self.addCleanup(self.connection.close)

    def test_every_difference_is_accepted(self):
        self.assertGreater(len(self.reviews), 1000)
        replay = [sys.executable, str(REPLAY), f"https://127.0.0.1:{self.webhook.port}", str(self.chosen)]
        done = subprocess.run([*replay, "--accept", str(DEVIATIONS), "-v"], capture_output=True, text=True)
        print(done.stdout[-1500:])
        self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)

    def test_converted_values_differ_as_told(self):
        seen = set()
        for review in self.reviews:
            if review["path"] != "/convert":
                continue
            theirs, ours = review["res"]["response"], self.answer(review)
            self.assertEqual(ours["uid"], review["req"]["request"]["uid"])
            self.assertEqual(ours["result"]["status"], theirs["result"]["status"])
            pair = ([comparable(item) for item in side.get("convertedObjects") or []] for side in (theirs, ours))
            for where, their_value, our_value in differences(*pair):
                field = re.sub(r"^\[\d+\]\.", "", where)
                self.assertEqual((their_value, our_value), ACCEPTED.get(field), f"{where} of {review['req']}")
                seen.add(field)
        self.assertEqual(seen, set(ACCEPTED), "an accepted difference that no longer occurs")

    def test_requests_stricter_only_in_phase_ready(self):
        seen = 0
        for review in self.reviews:
            if not review["path"].endswith("-dynamographdeploymentrequest"):
                continue
            theirs, ours = review["res"]["response"], self.answer(review)
            if ours["allowed"] == theirs["allowed"]:
                continue
            old = review["req"]["request"]["oldObject"]
            self.assertEqual((theirs["allowed"], old["status"]["phase"]), (True, "Ready"), ours)
            self.assertEqual([cause["field"] for cause in ours["status"]["details"]["causes"]], ["spec"])
            seen += 1
        self.assertGreater(seen, 0)

    def test_laxer_only_where_the_old_object_has_the_defect(self):
        seen = 0
        for review in self.reviews:
            theirs, ours = review["res"]["response"], self.answer(review)
            if review["path"] == "/convert" or theirs["allowed"] or not ours["allowed"]:
                continue
            request = review["req"]["request"]
            self.assertEqual(request["operation"], "UPDATE")
            told = [warning.split(": ")[0] for warning in ours["warnings"]]
            self.assertTrue(told, ours)
            for path in told:
                field = path.removeprefix("spec.").split(".")[0]
                self.assertEqual(request["object"]["spec"].get(field), request["oldObject"]["spec"].get(field), path)
            seen += 1
        self.assertGreater(seen, 0)


if __name__ == "__main__":
    unittest.main()
