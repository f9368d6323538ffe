"""Recorded reviews: our answers against the reference's; each difference has a reasoned line."""

import gzip
import json
import pathlib
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
# Kinds whose rules are built.
PATHS = ("/convert", "dynamographdeploymentrequest")


@unittest.skipUnless(RECORDED.exists(), f"recorded reviews are absent: {RECORDED}")
class Replay(unittest.TestCase):
    def test_every_difference_is_accepted(self):
        with tempfile.TemporaryDirectory() as folder:
            chosen = pathlib.Path(folder, "reviews.jsonl.gz")
            count = 0
            with gzip.open(RECORDED, "rt") as recorded, gzip.open(chosen, "wt") as out:
                for line in recorded:
                    if json.loads(line)["path"].endswith(PATHS):
                        out.write(line)
                        count += 1
            self.assertGreater(count, 1000)
            webhook = Webhook(folder)
            webhook.start()
            try:
                replay = [sys.executable, str(REPLAY), f"https://127.0.0.1:{webhook.port}", str(chosen)]
                done = subprocess.run([*replay, "--accept", str(DEVIATIONS), "-v"], capture_output=True, text=True)
            finally:
                webhook.stop()
            print(done.stdout[-1500:])
            self.assertEqual(done.returncode, 0, done.stdout[-4000:] + done.stderr)


if __name__ == "__main__":
    unittest.main()
