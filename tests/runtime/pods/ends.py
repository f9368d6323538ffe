"""How pods end: preStop, SIGTERM, and SIGKILL at the end of the grace period."""

import time

from base import PodsTest, main_container
from graphs import KINDS, graph, served

DEAF_GRACE, SHORT_GRACE = 12, 4


class Ends(PodsTest):
    # service -> type, definition, grace period, preStop, whether the process ignores SIGTERM
    services = {
        **{
            kind.capitalize() or "Plain": (kind, served(kind, replicas=1), KINDS[kind].grace, KINDS[kind].pre_stop, False)
            for kind in KINDS
        },
        "Deaf": ("worker", served("worker", ["deaf"], {"terminationGracePeriodSeconds": DEAF_GRACE}), DEAF_GRACE, 5, True),
        # Decision pod-Q42: a preStop would take all of such a grace period.
        "Short": ("worker", served("worker", ["deaf"], {"terminationGracePeriodSeconds": SHORT_GRACE}), SHORT_GRACE, 0, True),
    }

    @classmethod
    def setUpClass(cls):
        cls.name = cls.create_and_settle(graph("ending", {name: one[1] for name, one in cls.services.items()}))

    def sigterm(self, pod):
        """When server.py got SIGTERM, in seconds since the epoch; None if it did not."""
        log = self.timeline.logs / f"{pod}.main.0.log"
        lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        times = [line.split("SIGTERM ")[1] for line in lines if "SIGTERM " in line]
        return float(times[0]) if times else None

    def test_each_type_ends_within_its_grace_period(self):
        pods, begins = {}, {}
        for service, (_, _, grace, pre_stop, _) in self.services.items():
            with self.subTest(service):
                (pod,) = self.pods(self.name, service)
                hook = {"preStop": {"sleep": {"seconds": pre_stop}}} if pre_stop else None
                self.assertEqual(main_container(pod).get("lifecycle"), hook)
                self.assertEqual(pod["spec"]["terminationGracePeriodSeconds"], grace)
                begins[service] = time.time()
                self.assertEqual(self.delete_pod(pod)["metadata"]["deletionGracePeriodSeconds"], grace)
                pods[service] = pod["metadata"]["name"]
        begin = time.time()
        gone = {service: lambda found, ends, name=name: name not in found for service, name in pods.items()}
        times = self.first_times(self.name, gone, 2 * DEAF_GRACE + 20)
        for service, (kind, _, grace, pre_stop, deaf) in self.services.items():
            title = f"{kind or 'no type'}, grace period {grace} s"
            with self.subTest(service):
                self.assertIn(service, times, "the pod has not ended")
                asked = self.sigterm(pods[service])
                self.assertIsNotNone(asked, "no SIGTERM")
                self.assert_within(f"{title}: SIGTERM", pre_stop, pre_stop, asked - begins[service])
                end = grace if deaf else pre_stop
                ended = times[service] + begin - begins[service]
                self.assert_within(f"{title}: {'SIGKILL' if deaf else 'ended'}", end, end, ended)
                self.assertEqual(self.exit_code(pods[service]), 137 if deaf else 0)
