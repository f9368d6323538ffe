"""The webhook under attack: requests of the API server are answered all the same, and memory stays bounded.

DYNAMO_ATTACK_SECONDS is how long each attack goes on. Attackers, load and webhook share the machine, which other machines
may hold up for a second: half of the legitimate answers must come at once all the same, which no webhook can do that works
off an attack first. DYNAMO_ATTACK_P99 is how many milliseconds the 99th percentile may take. What the machine itself takes,
which runs the attackers too, is told by a second webhook that is asked as often and attacked by nobody: where its 99th
percentile is longer, the attacked one's may be that long, and half as much again; so with half of the answers.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "tests/bench")]

import attackers  # noqa: E402
import reviews  # noqa: E402
from requests import Webhook  # noqa: E402

LOADER = ROOT / "build/release/bin/bench_loader"
SECONDS = float(os.environ.get("DYNAMO_ATTACK_SECONDS", "3"))
P50 = 100  # ms; usually 0.3
P99 = float(os.environ.get("DYNAMO_ATTACK_P99", "inf"))
BESIDE = 2  # times the 99th percentile of the webhook that nobody attacks, which has its share of the processor left
RATE = 300
# Idle, and what connections and bodies may hold besides: 20 KiB each; 64 bodies of 7 MiB with what is read of them;
# what is rendered of a graph; replies that nobody reads, 64 MiB, and who does not.
MOST_MIB = {"idle_connections": 500, "largest_bodies": 1100, "hostile_graphs": 300, "unread_replies": 300}
USUAL_MIB = 160
IDLE_MIB = 96  # afterwards


def rss_mib(pid):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise AssertionError("no VmRSS")


class Attacked(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.directory = pathlib.Path(folder.name)
        cls.webhook, cls.beside = (cls.started(cls.directory / name) for name in ("attacked", "beside"))
        cls.body = cls.directory / "review.json"
        cls.body.write_bytes(reviews.admission(False))

    @classmethod
    def started(cls, directory):
        directory.mkdir()
        webhook = Webhook(directory)
        webhook.start()
        cls.addClassCleanup(webhook.stop)
        return webhook

    def load(self, webhook, seconds):
        argv = [LOADER, "--port", webhook.port, "--path", reviews.VALIDATE_PATH, "--body", self.body, "--expect", reviews.UID,
                "--connections", 8, "--rate", RATE, "--seconds", seconds]
        return subprocess.Popen(list(map(str, argv)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_every_attack(self):
        for name in attackers.ATTACKS:
            with self.subTest(name):
                self.wait_for_memory()  # of the attack before
                attacker = subprocess.Popen([sys.executable, HERE / "attackers.py", name, str(self.webhook.port), str(SECONDS + 1)],
                                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                most = 0
                try:
                    time.sleep(0.5)
                    load, beside = self.load(self.webhook, SECONDS), self.load(self.beside, SECONDS)
                    while load.poll() is None:
                        most = max(most, rss_mib(self.webhook.pid))
                        time.sleep(0.05)
                    out, err = load.communicate()
                    out_beside, err_beside = beside.communicate(timeout=60)
                    strikes, problem = attacker.communicate(timeout=60)
                finally:
                    attacker.kill()
                self.assertEqual(problem, "")
                self.assertGreater(int(strikes), 10)
                self.assertEqual((err, err_beside), ("", ""))
                figures = json.loads(out)
                p50, p99 = figures["p50_us"] / 1000, figures["p99_us"] / 1000
                p50_beside, p99_beside = (json.loads(out_beside)[key] / 1000 for key in ("p50_us", "p99_us"))
                print(f"{name}: {strikes.strip()} times, p50 {p50:.1f} ms, p99 {p99:.1f} ms, not attacked {p99_beside:.1f} ms, "
                      f"at most {most:.0f} MiB")
                self.assertEqual(figures["error_kinds"], {})
                self.assertLessEqual(p50, max(P50, BESIDE * p50_beside))
                self.assertLessEqual(p99, max(P99, BESIDE * p99_beside))
                self.assertLess(most, MOST_MIB.get(name, USUAL_MIB))

    def wait_for_memory(self):
        deadline = time.monotonic() + 30
        while rss_mib(self.webhook.pid) > IDLE_MIB and time.monotonic() < deadline:
            time.sleep(0.2)
        self.assertLessEqual(rss_mib(self.webhook.pid), IDLE_MIB)

    def test_memory_is_given_back(self):
        # After every attack, whichever came before: tests run in the order of their names.
        self.wait_for_memory()
        out, err = self.load(self.webhook, 1).communicate(timeout=30)
        self.assertEqual((err, json.loads(out)["error_kinds"]), ("", {}))
        print(f"afterwards {rss_mib(self.webhook.pid):.0f} MiB")


if __name__ == "__main__":
    unittest.main()
