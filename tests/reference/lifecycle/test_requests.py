"""Conditions of the accepted deviations of requests: a difference that each covers, and ones that it must not cover."""

import unittest

from invariants import CONDITIONS, REQUEST, Difference, Scene
from recorded import ABSENT

R, MADE, CONFIG = f"{REQUEST}/r", "DynamoGraphDeployment/made", "ConfigMap/c"
LOCKED = 'denied the request: DynamoGraphDeploymentRequest.nvidia.com "r" is invalid: spec: Forbidden: may not be changed in phase Ready'


def request(phase, **reasons):
    """A request with conditions that are all False."""
    conditions = [{"type": kind, "status": "False", "reason": reason} for kind, reason in reasons.items()]
    return {"status": {"phase": phase, "dgdName": "made", "conditions": conditions}}


def step(objects, *answers):
    return {"objects": objects, "answers": list(answers)}


class Requests(unittest.TestCase):
    def holds(self, condition, ours, theirs=(), kind=REQUEST, name="r", sides=(ABSENT, ABSENT)):
        return CONDITIONS[condition](Difference(kind, name, "", *sides, Scene(list(theirs), list(ours), {})))

    def test_causes(self):
        told = step({R: request("Failed", Succeeded="ProfilingFailed", Profiling="ProfilingFailed")})
        untold = step({R: request("Failed", Succeeded="ProfilingFailed", Profiling="JobCreationFailed")})
        for about, ours, sides, holds in (
            ("the cause", [told], ("Failed", "ProfilingFailed"), True),
            ("another reason", [told], ("Failed", "JobCreationFailed"), False),
            ("a reason that no condition has", [untold], ("Failed", "ProfilingFailed"), False),
            ("theirs has not failed", [told], ("Profiling", "ProfilingFailed"), False),
            ("its history", [told], (["False Profiling", "False Failed"], ["False Profiling", "False ProfilingFailed"]), True),
            ("another history", [told], (["False Profiling", "False Failed"], ["False ProfilingFailed"]), False),
            ("the step deletes it", [told, step({})], (["False Failed"], ["False ProfilingFailed"]), True),
        ):
            with self.subTest(about):
                self.assertEqual(self.holds("has_cause", ours, sides=sides), holds)

    def test_locked_specs(self):
        refused, admitted = {"ok": False, "message": LOCKED}, {"ok": True}
        self.assertTrue(self.holds("locked", [step({}, refused), step({})], [step({}, admitted), step({})]))
        self.assertFalse(self.holds("locked", [step({}, refused)], [step({}, {"ok": False})]), "both refused")
        self.assertFalse(self.holds("locked", [step({}, admitted)], [step({}, admitted)]))
        self.assertFalse(self.holds("locked", [step({}, refused)], [step({}, admitted)], name="s"), "another request")

    def test_late_output(self):
        failed = [step({R: request("Failed", SpecGenerated="GenerationFailed")})]
        waits = {R: request("Profiling"), "Job/profile-r": {"pods": {"succeeded": 1}}}
        self.assertTrue(self.holds("waits_for_output", [step(waits)], failed))
        self.assertFalse(self.holds("waits_for_output", [step({**waits, "ConfigMap/dgdr-output-r": {}})], failed))
        self.assertFalse(self.holds("waits_for_output", [step({**waits, "Job/profile-r": {"pods": {"succeeded": 0}}})], failed))
        self.assertFalse(self.holds("waits_for_output", [step({**waits, R: request("Failed")})], failed))
        other = [step({R: request("Failed", Profiling="ProfilingFailed")})]
        self.assertFalse(self.holds("waits_for_output", [step(waits)], other), "theirs failed for another reason")

    def test_config_maps_of_a_made_graph(self):
        def owned(owner):
            return {R: request("Deployed"), MADE: {}, CONFIG: {"owner": [owner]}}

        at = {"kind": "ConfigMap", "name": "c"}
        self.assertTrue(self.holds("owned_by_made_graph", [step(owned(MADE))], sides=(ABSENT, [MADE]), **at))
        self.assertFalse(self.holds("owned_by_made_graph", [step(owned(MADE))], sides=(ABSENT, ["DynamoGraphDeployment/other"]), **at))
        gone = step({R: request("Failed")})
        self.assertFalse(self.holds("owned_by_made_graph", [step(owned(MADE)), gone], sides=(ABSENT, [MADE]), **at))
        self.assertTrue(self.holds("went_with_made_graph", [step(owned(MADE)), gone, gone], **at))
        self.assertFalse(self.holds("went_with_made_graph", [step(owned(R)), gone], **at), "another owner")
        self.assertFalse(self.holds("went_with_made_graph", [step(owned(MADE)), step(owned(MADE))], **at), "the graph is there")


if __name__ == "__main__":
    unittest.main()
