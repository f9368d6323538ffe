"""Which objects show that a control loop has not finished."""

import unittest

from settled import NOT_TRUSTED, unfinished

KINDS = ("DynamoGraphDeployment", "Deployment", "ReplicaSet", "Service", "Pod")


def made(kind, name, owner=None, controller=True, generation=1, **fields):
    """An object whose uid is its name."""
    metadata = {"name": name, "uid": name, "generation": generation}
    if owner:
        metadata["ownerReferences"] = [{"kind": owner[0], "name": owner[1], "uid": owner[1], "controller": controller}]
    return {"kind": kind, "metadata": {**metadata, **fields.pop("metadata", {})}, "spec": {}, **fields}


def deployment(observed=1, **status):
    return made("Deployment", "d", status={"observedGeneration": observed, **status})


def replica_set(wanted, **status):
    status = {"observedGeneration": 1, **status}
    return made("ReplicaSet", "r", ("Deployment", "d"), spec={"replicas": wanted}, status=status)


def pod(name="p", node="n", owner=("ReplicaSet", "r"), **status):
    return made("Pod", name, owner, spec={"nodeName": node} if node else {}, status=status)


def ready(name="p"):
    return pod(name, podIP="10.0.0.1", conditions=[{"type": "Ready", "status": "True"}])


class Unfinished(unittest.TestCase):
    def test_table(self):
        counted = {"replicas": 1, "readyReplicas": 1}
        failed = {"conditions": [{"type": "ReplicaFailure", "status": "True"}]}
        no_node = {"conditions": [{"type": "PodScheduled", "status": "False"}]}
        graph = made("DynamoGraphDeployment", "g", generation=2)
        for title, objects, expected in (
            ("nothing", [], []),
            ("an object that is being deleted", [made("Service", "s", metadata={"deletionTimestamp": "t"})], ["Service s"]),
            ("an owner that is gone", [made("Service", "s", ("Deployment", "d"))], ["Service s"]),
            ("another owner that is gone", [made("Service", "s", ("Deployment", "d"), controller=False)], ["Service s"]),
            ("an owner that lives", [deployment(), made("Service", "s", ("Deployment", "d"))], []),
            ("an owner of a kind that is not watched", [made("Service", "s", ("Node", "n"))], []),
            ("a Deployment without status", [made("Deployment", "d")], ["Deployment d"]),
            ("a graph without status, whose operator may report none", [graph], []),
            ("a graph with an old status", [{**graph, "status": {"observedGeneration": 1}}], ["DynamoGraphDeployment g"]),
            (
                "a graph with an old status and a condition about its spec",
                [{**graph, "status": {"observedGeneration": 1, "conditions": [{"observedGeneration": 2}]}}],
                [],
            ),
            (
                "a graph that does not trust a status yet",
                [{**graph, "status": {"conditions": [{"observedGeneration": 2, "message": f"g-0 {NOT_TRUSTED}"}]}}],
                ["DynamoGraphDeployment g"],
            ),
            ("a missing pod", [deployment(), replica_set(1)], ["ReplicaSet r"]),
            ("a missing pod that cannot be created", [deployment(**failed), replica_set(1, **failed)], []),
            ("a superfluous pod", [deployment(**counted), replica_set(0, **counted), ready()], ["ReplicaSet r"]),
            (
                "a ready pod that is not counted",
                [deployment(), replica_set(1, replicas=1), ready()],
                ["Deployment d", "ReplicaSet r"],
            ),
            ("a ready pod that the Deployment lacks", [deployment(), replica_set(1, **counted), ready()], ["Deployment d"]),
            ("a ready pod that is counted", [deployment(**counted), replica_set(1, **counted), ready()], []),
            ("a pod before scheduling", [pod(node=None, owner=None)], ["Pod p"]),
            ("a pod that fits no node", [pod(node=None, owner=None, **no_node)], []),
            ("a pod that was not started", [pod(owner=None)], ["Pod p"]),
            ("a pod that has ended", [pod(owner=None, phase="Succeeded")], []),
        ):
            with self.subTest(title):
                lines = unfinished(objects, KINDS)
                self.assertEqual([" ".join(line.split(" ")[:2]) for line in lines], expected)


if __name__ == "__main__":
    unittest.main()
