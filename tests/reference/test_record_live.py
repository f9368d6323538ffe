"""Tests of the recording of live children: when an object is reconciled, and what counts as a failure."""

import unittest

from record_live import failures_of, is_reconciled


def graph(generation=1, **fields):
    return {"kind": "DynamoGraphDeployment", "metadata": {"name": "g", "uid": "1", "generation": generation}, **fields}


def owned_by(uid, name="g"):
    owner = {"kind": "DynamoGraphDeployment", "name": name, "uid": uid, "controller": True}
    return {"kind": "Service", "metadata": {"name": "s", "uid": "2", "ownerReferences": [owner]}}


class Reconciled(unittest.TestCase):
    def test_table(self):
        old, new = {"observedGeneration": 1}, {"observedGeneration": 2}
        for title, item, expected in (
            ("without a status", graph(), False),
            ("with an empty status", graph(status={}), False),
            ("with a status of its spec", graph(status=old), True),
            ("with a status of an older spec", graph(2, status=old), False),
            ("with a condition about its spec", graph(2, status={**old, "conditions": [new]}), True),
        ):
            with self.subTest(title):
                self.assertEqual(is_reconciled(item), expected)


class Failures(unittest.TestCase):
    def test_table(self):
        failed = {"reason": "failed_to_reconcile_the_resources", "message": "no Service"}
        component = {"reason": "Reconciling", "message": "Failed to reconcile DynamoComponentDeployment: no Service"}
        owners = {("DynamoGraphDeployment", "g", "1")}
        for title, item, expected in (
            ("a graph that waits", graph(status={"conditions": [{"reason": "some_resources_are_not_ready"}]}), 0),
            ("a graph that failed", graph(status={"conditions": [failed]}), 1),
            ("a component that failed", graph(status={"conditions": [component]}), 1),
            ("a child of the graph", owned_by("1"), 0),
            ("a child of an earlier graph", owned_by("0"), 1),
            ("a child of another graph", owned_by("1", "h"), 1),
        ):
            with self.subTest(title):
                self.assertEqual(len(list(failures_of(item, owners))), expected)


if __name__ == "__main__":
    unittest.main()
