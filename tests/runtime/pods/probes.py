"""The default probes of all component types, as the kubelet judges them.

The real runtime: frontend, worker, prefill, decode, and a frontend as sidecar. server.py stands for the planner and the endpoint
picker, and for all types where a probe must fail while the process lives."""

import datetime
import time

from base import SLACK_SECONDS, PodsTest, is_ready, main_container, main_status, probes, restarts
from graphs import KINDS, VERSION, Kind, Probe, frontend, graph, mocker, served
from image import name_of



START_SECONDS = 60  # until a program answers, on a busy machine
# Own probes replace those of the type. This process ignores SIGTERM, and its liveness probe has a grace period of its own.
OWN_GRACE = 7
OWN_LIVENESS = {
    "httpGet": {"path": "/live", "port": "system"}, "initialDelaySeconds": 1, "periodSeconds": 2, "failureThreshold": 2,
    "terminationGracePeriodSeconds": OWN_GRACE,
}  # fmt: skip
OWN_READINESS = {
    "httpGet": {"path": "/health", "port": 8000}, "initialDelaySeconds": 1, "periodSeconds": 1, "failureThreshold": 2,
}  # fmt: skip


def seconds_until_ready(pod):
    """From the start of the container; the API has whole seconds."""
    ready = next(one["lastTransitionTime"] for one in pod["status"]["conditions"] if one["type"] == "Ready")
    times = [datetime.datetime.fromisoformat(text) for text in (main_status(pod)["state"]["running"]["startedAt"], ready)]
    return (times[1] - times[0]).total_seconds()


def restarted(name):
    return lambda pods, ends: name in pods and restarts(pods[name]) > 0


def gone(name):
    return lambda pods, ends: name not in pods


def unready(name):
    return lambda pods, ends: name in pods and not is_ready(pods[name])


def ready(name):
    return lambda pods, ends: name in pods and is_ready(pods[name])


def left(name):
    return lambda pods, ends: name not in ends


class RealRuntime(PodsTest):
    """Frontend and mockers of ai-dynamo 1.0.0."""

    services = {
        "Frontend": ("frontend", frontend(replicas=1)),
        "Worker": ("worker", mocker("worker", replicas=1, frontendSidecar={"image": name_of(VERSION)})),
        "Prefill": ("prefill", mocker("prefill", ["--is-prefill-worker"], replicas=1)),
        "Decode": ("decode", mocker("decode", ["--is-decode-worker"], replicas=1)),
    }

    @classmethod
    def setUpClass(cls):
        cls.name = cls.create_and_settle(graph("real", {name: service for name, (_, service) in cls.services.items()}))

    def test_1_each_type_becomes_ready_by_its_default_probes(self):
        for service, (kind, _) in self.services.items():
            with self.subTest(service):
                (pod,) = self.pods(self.name, service)
                expected = KINDS[kind]
                self.assertEqual(probes(main_container(pod)), [expected.liveness, expected.readiness, expected.startup])
                self.assertEqual(restarts(pod), 0)
                self.assert_within(f"{kind}, real: ready", expected.readiness.delay, START_SECONDS, seconds_until_ready(pod))
                self.assertIn(pod["metadata"]["name"], self.endpoints(self.name))
        (pod,) = self.pods(self.name, "Worker")
        (sidecar,) = [one for one in pod["spec"]["containers"] if one["name"] != "main"]
        self.assertEqual(probes(sidecar), [KINDS["frontend"].liveness, KINDS["frontend"].readiness, None])
        self.assertTrue(all(one["ready"] and not one["restartCount"] for one in pod["status"]["containerStatuses"]))

    def test_2_each_type_ends_within_its_grace_period(self):
        names, begin = {}, time.monotonic()
        for service in self.services:
            (pod,) = self.pods(self.name, service)
            names[service] = pod["metadata"]["name"]
            self.assertEqual(self.delete_pod(pod)["metadata"]["deletionGracePeriodSeconds"], KINDS["worker"].grace)
        begin = time.monotonic() - begin
        times = self.first_times(self.name, {service: gone(name) for service, name in names.items()}, 90)
        for service, (kind, _) in self.services.items():
            with self.subTest(service):
                self.assertIn(service, times, "the pod has not ended")
                expected = KINDS[kind]
                self.assert_within(f"{kind}, real: ended", expected.pre_stop, expected.grace - 1, times[service] + begin)
                self.assertNotIn(self.exit_code(names[service]), (None, 137))
        self.plane.wait_until_settled(self.name, dict.fromkeys(self.services, 1), 90, 0)

    def test_3_a_process_that_hangs_is_restarted(self):
        """A stopped process answers no probe and takes no SIGTERM, so its grace period passes, too. Until readiness fails, it is
        sent requests."""
        found = {service: self.pods(self.name, service)[0] for service in self.services}
        for pod in found.values():
            container = main_status(pod)["containerID"].removeprefix("containerd://")
            self.plane.cluster.node.ctr("tasks", "kill", "--signal", "SIGSTOP", container)
        names = {service: pod["metadata"]["name"] for service, pod in found.items()}
        wanted = {(service, "restarted"): restarted(name) for service, name in names.items()}
        wanted |= {(service, "out of the Service"): left(name) for service, name in names.items()}
        times = self.first_times(self.name, wanted, 150)
        for service, (kind, _) in self.services.items():
            expected = KINDS[kind]
            live, ready_ = expected.liveness, expected.readiness
            for what, least, most in (
                ("restarted", live.least() + expected.grace, live.most() + expected.grace),
                ("out of the Service", ready_.least(), ready_.most()),
            ):
                with self.subTest(f"{service} {what}"):
                    self.assertIn((service, what), times)
                    self.assert_within(f"{kind}, real: hangs, {what}", least, most, times[service, what])
        again = self.first_times(self.name, {service: ready(name) for service, name in names.items()}, 90)
        self.assertEqual(again.keys(), names.keys(), "ready again after the restart")


class Failures(PodsTest):
    """One pod of each type fails its liveness probe, the other its readiness probe."""

    services = {
        **{kind.capitalize(): (kind, served(kind, replicas=2)) for kind in ("frontend", "worker", "prefill", "decode")},
        **{kind.capitalize(): (kind, served(kind, replicas=1)) for kind in ("epp", "planner")},
        "Plain": ("", served(replicas=1)),
        "Own": ("own probes", served("worker", ["deaf"], replicas=2, livenessProbe=OWN_LIVENESS, readinessProbe=OWN_READINESS)),
    }
    unprobed = ("Planner", "Plain")
    kinds = {**KINDS, "own probes": Kind(Probe(1, 2, 1, 2), Probe(1, 1, 1, 2), KINDS["worker"].startup, pre_stop=OWN_GRACE)}

    @classmethod
    def setUpClass(cls):
        cls.name = cls.create_and_settle(graph("failing", {name: service for name, (_, service) in cls.services.items()}))

    def test_1_each_type_becomes_ready_by_its_default_probes(self):
        for service, (kind, _) in self.services.items():
            expected = self.kinds[kind]
            for pod in self.pods(self.name, service):
                with self.subTest(pod["metadata"]["name"]):
                    self.assertEqual(probes(main_container(pod)), [expected.liveness, expected.readiness, expected.startup])
                    least, most = (expected.readiness.delay, START_SECONDS) if expected.readiness else (0, 0)
                    self.assert_within(f"{kind or 'no type'}: ready", least, most, seconds_until_ready(pod))

    def test_2_failures_are_judged_by_the_rendered_numbers(self):
        wanted, windows, healed = {}, {}, {}

        def expect(title, holds, least, most):
            wanted[title], windows[title] = holds, (least, most)

        for service, (kind, _) in self.services.items():
            expected = self.kinds[kind]
            pods = self.pods(self.name, service)
            names = [pod["metadata"]["name"] for pod in pods]
            self.tell(pods[0], "/fail/live")
            self.tell(pods[-1], "/fail/health")
            if expected.liveness:
                live = expected.liveness
                most = live.failures * live.period + expected.pre_stop
                expect(f"{kind}: liveness fails, restarted", restarted(names[0]), live.least() + expected.pre_stop, most)
            if expected.readiness:
                least, most = expected.readiness.least(), expected.readiness.failures * expected.readiness.period
                expect(f"{kind}: readiness fails, unready", unready(names[-1]), least, most)
                expect(f"{kind}: readiness fails, out of the Service", left(names[-1]), least, most)
            if len(pods) > 1:
                healed[f"{kind}: readiness passes, ready"] = (pods[-1], expected.readiness.period)
        times = self.first_times(self.name, wanted, max(most for _, most in windows.values()) + 2 * SLACK_SECONDS)
        for title, window in windows.items():
            with self.subTest(title):
                self.assertIn(title, times)
                self.assert_within(title, *window, times[title])
        for service in self.unprobed:
            with self.subTest(f"nothing happens to {service}"):
                (pod,) = self.pods(self.name, service)
                self.assertTrue(is_ready(pod))
                self.assertEqual(restarts(pod), 0)
        names = {title: pod["metadata"]["name"] for title, (pod, _) in healed.items()}
        now = {pod["metadata"]["name"]: pod for pod in self.plane.pods(self.name)}
        for title, name in names.items():
            self.assertEqual(restarts(now[name]), 0, f"a failed readiness probe restarts nothing, {title}")
        for pod, _ in healed.values():
            self.tell(pod, "/heal")
        times = self.first_times(self.name, {title: ready(name) for title, name in names.items()}, 60)
        for title, (_, period) in healed.items():
            with self.subTest(title):
                self.assertIn(title, times)
                self.assert_within(title, 0, period, times[title])
