"""Recorded reviews: our answers compared with the reference's. Each difference needs a line with its reason and must equal
its line in the ledger (tests/reference). DYNAMO_REGENERATE=1 rewrites the ledger, for review as a diff."""

import json
import os
import pathlib
import ssl
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / path) for path in ("tests/cluster", "deploy/lib", "tests/reference")]

import recordings  # noqa: E402
import replay_reviews  # noqa: E402
from install import Webhook  # noqa: E402


class Replay(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = cls.enterClassContext(tempfile.TemporaryDirectory())
        webhook = Webhook(folder)
        webhook.start()
        cls.addClassCleanup(webhook.stop)
        tls = ssl.create_default_context(cadata=webhook.ca.decode())
        url = f"https://127.0.0.1:{webhook.port}"
        cls.answers = list(replay_reviews.ask(url, recordings.reviews(), tls))
        cls.deviations = replay_reviews.load_deviations()
        if os.environ.get("DYNAMO_REGENERATE"):
            accepted = replay_reviews.judge(cls.answers, cls.deviations).accepted
            replay_reviews.write_ledger(found.entry() for found in accepted)
        cls.ledger = replay_reviews.load_ledger()

    def test_every_difference_is_accepted_and_still_occurs(self):
        outcome = replay_reviews.judge(self.answers, self.deviations, self.ledger)
        text = "\n".join(replay_reviews.told(outcome))
        print(text[-1500:])
        self.assertTrue(outcome.passed(), text[:8000])
        self.assertEqual(sum(outcome.totals.values()), 2500)

    def test_a_changed_answer_is_detected(self):
        """The tested changes are an inverted decision and another model in a converted object."""
        for number, review, ours in self.answers[::10]:
            changed = json.loads(json.dumps(ours))
            if review["path"] == "/convert":
                changed["convertedObjects"][0].setdefault("spec", {})["model"] = "another"
            else:
                changed["allowed"] = not changed["allowed"]
            lines = {line: count for line, count in self.ledger.items() if line.startswith(f"{number}\t")}
            outcome = replay_reviews.judge([(number, review, changed)], self.deviations, type(self.ledger)(lines))
            self.assertTrue(outcome.unexplained or outcome.gone, f"review {number}: {changed}")


if __name__ == "__main__":
    unittest.main()
