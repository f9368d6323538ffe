"""Everyday mistakes in a DynamoGraphDeployment, and what kubectl prints of each: mistakes.yaml, one a row.

DYNAMO_REGENERATE=1 rewrites the `says` of mistakes.yaml from what is printed now, for review as a diff."""

import copy
import json
import os
import pathlib
import sys
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from requests import Cluster  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parent / "mistakes.yaml"
NAME = "graph"
LEAST = 150

cluster = None


def setUpModule():
    global cluster
    cluster = Cluster(components=("etcd", "apiserver")).start()


def tearDownModule():
    cluster.stop()


def graph():
    """A good graph; each row spoils it."""
    return {
        "apiVersion": "nvidia.com/v1alpha1", "kind": "DynamoGraphDeployment", "metadata": {"name": NAME},
        "spec": {"services": {
            "Frontend": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "frontend:1"}}},
            "Worker": {"componentType": "worker", "resources": {"limits": {"gpu": "1"}}, "extraPodSpec": {"mainContainer": {
                "image": "vllm:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}}},
        }},
    }


def spoiled(changes):
    """The good graph with the value at each path ("spec/services/Worker/replicas") replaced."""
    made = graph()
    for path, value in changes.items():
        at = made
        *parents, last = path.split("/")
        for name in parents:
            at = at.setdefault(name, {})
        at[last] = copy.deepcopy(value)
    return made


def said(stderr, name):
    """The causes that kubectl prints, or the line of another error; warnings left out."""
    lines = [line for line in stderr.splitlines() if line and not line.startswith("Warning: ")]
    head = f'The DynamoGraphDeployment "{name}" is invalid: '
    if not lines or not lines[0].startswith(head):
        return lines
    first = lines[0].removeprefix(head)
    causes = ([first] if first else []) + [line.removeprefix("* ") for line in lines[1:]]
    return sorted(causes)  # those of the schema come in no stable order


class Mistakes(unittest.TestCase):
    def test_each_is_told_with_its_path(self):
        rows = yaml.safe_load(TABLE.read_text(encoding="utf-8"))
        self.assertGreaterEqual(len({row["mistake"] for row in rows}), LEAST)
        space = cluster.namespace()
        self.assertEqual(space.kubectl("create", "--dry-run=server", "-f", "-", input=graph()).returncode, 0)
        for row in rows:
            with self.subTest(row["mistake"]):
                made = spoiled(row["set"])
                done = space.kubectl("create", "--dry-run=server", "-f", "-", input=json.dumps(made))
                told = [line.replace(space.name, "NS") for line in said(done.stderr, made["metadata"]["name"])]
                if os.environ.get("DYNAMO_REGENERATE"):
                    row["says"] = told
                    continue
                self.assertEqual(done.returncode, 1, f"admitted: {done.stderr}")
                self.assertEqual(told, row["says"])
        if os.environ.get("DYNAMO_REGENERATE"):
            head = "".join(line for line in TABLE.open(encoding="utf-8") if line.startswith("#"))
            text = "".join(yaml.safe_dump([row], sort_keys=False, width=1000, allow_unicode=True) for row in rows)
            TABLE.write_text(head + text, encoding="utf-8")


if __name__ == "__main__":
    unittest.main()
