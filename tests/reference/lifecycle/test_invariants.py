"""Each condition of the accepted deviations: a difference that it covers, and ones that it must not cover."""

import unittest

from invariants import CONDITIONS, SURGE, UNAVAILABLE, Difference, Scene, limits
from recorded import direction_of


def graph(ready="True", reason="all_resources_are_ready", state="successful", replicas=None, **rest):
    status = {"state": state, "conditions": [{"type": "Ready", "status": ready, "reason": reason}]}
    status.update({key: rest.pop(key) for key in ("restart", "rollingUpdate", "services") if key in rest})
    return {"spec": {"replicas": replicas or {"Frontend": 1, "Worker": 4}, "restart": rest.get("request")}, "status": status}


def workers(replicas, ready):
    return {"replicas": replicas, "pods": {"readyReplicas": ready, "availableReplicas": ready}}


def component(replicas, available=None):
    status = {"conditions": [{"type": "Available", "status": available}]} if available else {}
    return {"spec": {"replicas": replicas}, "status": status}


def step(objects, code=None):
    return {"objects": objects, "answers": [{"ok": False, "code": code}] if code else [{"ok": True}]}


G = "DynamoGraphDeployment/g"
OLD, NEW = "Deployment/g-worker-HASH-1", "Deployment/g-worker-HASH-2"
ROLLING = {"rollingUpdate": {"phase": "InProgress"}}
SET = {"owner": ["DynamoComponentDeployment/g-w"]}


class Invariants(unittest.TestCase):
    def holds(self, condition, ours, theirs=None, kind="DynamoGraphDeployment", name="g", path="", strategies=None):
        scene = Scene(theirs if theirs is not None else ours, ours, strategies or {})
        return CONDITIONS[condition](Difference(kind, name, path, None, None, scene))

    def rolling(self, before, now, replicas=4, phase="InProgress", strategies=None):
        """before, now: (replicas, ready) of the old and the new generation."""
        def at(generations):
            objects = {name: workers(*counts) for name, counts in zip((OLD, NEW), generations) if counts}
            return step({G: graph(replicas={"Worker": replicas}, rollingUpdate={"phase": phase}), **objects})

        return self.holds("keeps_capacity", [at(before), at(now)], strategies=strategies)

    def test_capacity_of_a_rolling_update(self):
        # One of four may be unavailable, and one more may exist.
        for about, before, now, kept in (
            ("the new generation starts", [(4, 4), None], [(4, 4), (1, 0)], True),
            ("one old pod stops", [(4, 4), None], [(3, 3), (2, 0)], True),
            ("two old pods stop", [(4, 4), None], [(2, 2), (2, 0)], False),
            ("more than the surge", [(4, 4), None], [(4, 4), (2, 0)], False),
            ("an old pod fails by itself", [(3, 3), (2, 0)], [(3, 2), (2, 0)], True),
            ("an old pod stops while another does not serve", [(3, 3), (2, 0)], [(2, 2), (3, 0)], False),
            ("its successor serves", [(3, 3), (2, 0)], [(2, 2), (3, 1)], True),
            ("few served before", [(4, 1), None], [(3, 1), (2, 0)], True),
            ("the graph was scaled down", [(8, 8), None], [(8, 8), None], True),
        ):
            with self.subTest(about):
                self.assertEqual(self.rolling(before, now), kept)
        self.assertFalse(self.rolling([(4, 4), None], [(4, 4), (1, 0)], phase="Completed"), "no update")
        half = {"Worker": {SURGE: "0", UNAVAILABLE: "50%"}}
        self.assertTrue(self.rolling([(4, 4), None], [(2, 2), (2, 0)], strategies=half))
        self.assertFalse(self.rolling([(4, 4), None], [(3, 3), (2, 0)], strategies=half))

    def test_limits(self):
        for annotations, replicas, expected in (
            ({}, 4, (1, 1)),
            ({}, 2, (1, 0)),
            ({SURGE: "0", UNAVAILABLE: "10%"}, 4, (0, 1)),
            ({SURGE: "2", UNAVAILABLE: "50%"}, 3, (2, 1)),
        ):
            self.assertEqual(limits(annotations, replicas), expected, annotations)

    def test_sets_of_replicas(self):
        def at(sets, groups, replicas):
            made = {f"LeaderWorkerSet/g-w-{i}": SET for i in sets} | {f"PodGroup/g-w-{i}": SET for i in groups}
            return [step({G: graph(), "DynamoComponentDeployment/g-w": component(replicas), **made})]

        self.assertTrue(self.holds("one_set_a_replica", at([0, 1], [0, 1], 2)))
        self.assertFalse(self.holds("one_set_a_replica", at([0], [0], 2)))
        self.assertFalse(self.holds("one_set_a_replica", at([0, 1], [0], 2)))
        self.assertFalse(self.holds("one_set_a_replica", at([0, 2], [0, 2], 2)))
        self.assertFalse(self.holds("one_set_a_replica", at([], [], 0)))

    def test_refusals(self):
        admitted, none = step({G: graph()}), step({})
        self.assertTrue(self.holds("refused", [step({}, 422), none], [admitted, admitted]))
        self.assertFalse(self.holds("refused", [none, none], [admitted, admitted]), "nothing was refused")
        self.assertFalse(self.holds("refused", [step({}, 422)], [step({}, 403)]), "both refused")
        self.assertFalse(self.holds("refused", [step({}, 422), admitted], [admitted, admitted]), "it exists")

    def test_what_returns(self):
        pool = {"InferencePool/p": {}}
        there, gone = step({G: graph(), **pool}), step({G: graph()})
        at = {"kind": "InferencePool", "name": "p"}
        self.assertTrue(self.holds("was_back", [there, there], [gone, there], **at))
        self.assertFalse(self.holds("was_back", [gone, there], [gone, there], **at))
        self.assertFalse(self.holds("was_back", [there, there], [there, there], **at))
        self.assertTrue(self.holds("returned", [there, there], [there, gone], **at))
        self.assertFalse(self.holds("returned", [gone, there], [gone, gone], **at), "it is new")
        self.assertFalse(self.holds("returned", [there, step(pool)], [there, step({})], **at), "its graph is gone")

    def test_phases(self):
        def holds(theirs, ours):
            found = Difference("DynamoCheckpoint", "c", "went.phase", theirs, ours, Scene([], [], {}))
            return CONDITIONS["without_pending"](found)

        self.assertTrue(holds(["Pending", "Creating"], ["Creating"]))
        self.assertFalse(holds(["Pending", "Creating"], ["Ready"]))
        self.assertFalse(holds(["Pending", "Creating", "Failed"], ["Creating"]))

    def test_components_without_a_graph(self):
        def at(available, ready):
            solo = {"DynamoComponentDeployment/solo": component(1, available), "Deployment/solo": workers(1, ready)}
            return [step(solo)]

        self.assertTrue(self.holds("without_graph", at("True", 1)))
        self.assertTrue(self.holds("without_graph", at("False", 0)))
        self.assertFalse(self.holds("without_graph", at("True", 0)))
        self.assertFalse(self.holds("without_graph", at("False", 1)))
        self.assertFalse(self.holds("without_graph", at("True", 1), [step({G: graph()})]))

    def test_failures(self):
        services = {"Worker": {"replicas": 4}}
        fine, failed = step({G: graph(services=services)}), step({G: graph(state="failed", services=services)})
        claim = {"PersistentVolumeClaim/c": {}}
        self.assertTrue(self.holds("tells_failure", [fine, failed]))
        self.assertFalse(self.holds("tells_failure", [failed, failed]), "it is told already")
        self.assertFalse(self.holds("tells_failure", [fine, fine]))
        self.assertTrue(self.holds("keeps_status", [fine, failed], path="status.services"))
        changed = step({G: graph(state="failed", services={})})
        self.assertFalse(self.holds("keeps_status", [fine, changed], path="status.services"))
        self.assertFalse(self.holds("keeps_status", [fine, fine], path="status.services"))
        had = step({G: graph(), **claim})
        self.assertTrue(self.holds("lost_a_claim", [had, failed]))
        self.assertFalse(self.holds("lost_a_claim", [had, fine]), "the failure is not told")
        self.assertFalse(self.holds("lost_a_claim", [fine, failed]), "no claim is lost")

    def test_restarts(self):
        ended = {"restart": {"phase": "Superseded"}}
        self.assertTrue(self.holds("superseded", [step({G: graph(**ended)})]))
        self.assertFalse(self.holds("superseded", [step({G: graph(**ended, request={"id": "r"})})]))
        self.assertFalse(self.holds("superseded", [step({G: graph(restart={"phase": "Completed"})})]))
        theirs = [step({G: graph("False", "some_resources_are_not_ready")})]
        restarting = {"restart": {"phase": "Restarting"}}
        for status, reason, rest, told in (
            ("False", "restart_in_progress", restarting, True),
            ("False", "rolling_update_in_progress", restarting, False),
            ("False", "rolling_update_in_progress", {}, True),
            ("False", "restart_in_progress", {}, False),
            ("True", "restart_in_progress", restarting, False),
        ):
            ours = [step({G: graph(status, reason, **rest)})]
            self.assertEqual(self.holds("tells_what_is_replaced", ours, theirs), told, (status, reason, rest))
        ours = [step({G: graph("False", "rolling_update_in_progress")})]
        self.assertFalse(self.holds("tells_what_is_replaced", ours, [step({G: graph()})]), "theirs is ready")

    def test_grove(self):
        cliques = {"PodCliqueSet/g": {}}
        self.assertTrue(self.holds("on_grove", [step(cliques)]))
        self.assertFalse(self.holds("on_grove", [step({G: graph()})]))
        self.assertTrue(self.holds("waits_for_grove", [step({G: graph("False", state="pending"), **cliques})]))
        self.assertFalse(self.holds("waits_for_grove", [step({G: graph(), **cliques})]), "ours is ready")
        self.assertFalse(self.holds("waits_for_grove", [step({G: graph("False", state="pending")})]), "not on Grove")
        left = {G: graph(), "DynamoComponentDeployment/g-w": component(1)}
        theirs = [step({**left, **cliques})]
        self.assertTrue(self.holds("left_grove", [step(left)], theirs))
        self.assertFalse(self.holds("left_grove", theirs, theirs), "the set remains")
        self.assertFalse(self.holds("left_grove", [step({G: graph()})], theirs), "no component")
        incomplete = {**left, "LeaderWorkerSet/g-w-0": SET}
        self.assertFalse(self.holds("left_grove", [step(incomplete)], theirs), "a PodGroup is missing")

    def test_names(self):
        self.assertTrue(self.holds("ssh_key", [step({})], kind="Secret", name="mpi-run-ssh-secret"))
        self.assertFalse(self.holds("ssh_key", [step({})], kind="Secret", name="registry"))

    def test_directions(self):
        rows = (("<absent>", 1, "ours"), (1, "<absent>", "theirs"), (1, 2, "both"), ("seen", "not seen", "theirs"))
        for theirs, ours, direction in rows:
            self.assertEqual(direction_of(theirs, ours), direction)


if __name__ == "__main__":
    unittest.main()
