"""Common mistakes and kubectl's output for each. Every row of mistakes.yaml is one mistake; its header describes the format.
Most rows only send kubectl's request and print the answer as kubectl does; for every tenth of them kubectl itself must print
the same. kubectl answers the rows that change a stored object and those that it refuses by itself.

DYNAMO_REGENERATE=1 rewrites the `says` and `warns` of mistakes.yaml from the current output, for review as a diff.
DYNAMO_MISTAKES=WORD only runs the rows that contain the word."""

import copy
import json
import os
import pathlib
import re
import sys
import unittest
from concurrent.futures import ThreadPoolExecutor

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import dry_run  # noqa: E402
from requests import alpha, beta, start_cluster  # noqa: E402

TABLE = pathlib.Path(__file__).resolve().parent / "mistakes.yaml"
NAME = "graph"
LEAST = 700
AT_ONCE = 4
COMPARED = 10  # every tenth row
V1 = "nvidia.com/v1alpha1"
# The API server adds this message to each error of a schema with CEL rules.
NOISE = "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid"
# The API server prints this warning for every request of v1alpha1.
DEPRECATED = "nvidia.com/v1alpha1 DynamoGraphDeploymentRequest is deprecated"

cluster = None


def setUpModule():
    global cluster
    cluster = start_cluster()


def worker():
    return {"componentType": "worker", "resources": {"limits": {"gpu": "1"}}, "extraPodSpec": {"mainContainer": {
        "image": "vllm:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}}}


def graph():
    """A valid graph, which the rows change."""
    return {
        "apiVersion": V1, "kind": "DynamoGraphDeployment", "metadata": {"name": NAME},
        "spec": {"services": {
            "Frontend": {"componentType": "frontend", "extraPodSpec": {"mainContainer": {"image": "frontend:1"}}},
            "Worker": worker(),
        }},
    }


def good(kind):
    """The valid object that the rows `of` a kind change."""
    if kind == "graph":
        return graph()
    if kind == "request":
        return beta("request")
    if kind == "request of v1alpha1":
        return alpha("request")
    container = {"name": "main", "image": "vllm:1", "command": ["python3", "-m", "dynamo.vllm"]}
    identity = {"model": "m", "backendFramework": "vllm"}
    full_kind, spec = {
        "component": ("DynamoComponentDeployment", {"backendFramework": "vllm", "serviceName": "Worker", **worker()}),
        "model": ("DynamoModel", {"modelName": "adapter-1", "baseModelName": "Qwen/Qwen3-0.6B", "modelType": "lora",
                                  "source": {"uri": "s3://adapters/one"}}),
        "checkpoint": ("DynamoCheckpoint", {"identity": identity, "job": {
            "podTemplateSpec": {"spec": {"containers": [container]}}}}),
        "adapter": ("DynamoGraphDeploymentScalingAdapter", {"replicas": 2, "dgdRef": {
            "name": NAME, "serviceName": "Worker"}}),
    }[kind]
    return {"apiVersion": V1, "kind": full_kind, "metadata": {"name": kind}, "spec": spec}


def spoiled(made, changes, without=()):
    """`made` with the value at each path ("spec/services/Worker/replicas") replaced or removed."""
    made = copy.deepcopy(made)
    for path, value in list(changes.items()) + [(path, None) for path in without]:
        at = made
        *parents, last = path.split("/")
        for name in parents:
            at = at[int(name)] if isinstance(at, list) else at.setdefault(name, {})
        if path in without:
            del at[last]
        else:
            at[last] = copy.deepcopy(value)
    return made


def parse_output(lines, ns):
    """The causes that kubectl prints, or the lines of another error, and the warnings without their prefix."""
    lines = [line.replace(ns.name, "NS") for line in lines if line.strip()]
    warnings = [line.removeprefix("Warning: ") for line in lines if line.startswith("Warning: ")]
    warnings = [warning for warning in warnings if not warning.startswith(DEPRECATED)]
    lines = [line for line in lines if not line.startswith("Warning: ")]
    head = next((i for i, line in enumerate(lines) if re.match(r'The \w+ "[^"]*" is invalid: ', line)), None)
    if head is None:
        return lines, warnings
    first = lines[head].partition(" is invalid: ")[2]
    causes = ([first] if first else []) + [line.removeprefix("* ") for line in lines[head + 1:]]
    return sorted(cause for cause in causes if not cause.startswith(NOISE)), warnings  # the schema's have no stable order


class Row:
    """The result of one row: the output, and whether the object was admitted. `both` asks kubectl, too, if it is not the
    only one that can be asked."""

    def __init__(self, row, ns, both):
        base = good(row.get("of", "graph"))
        if "stored" in row:
            ns = cluster.namespace()
            base = spoiled(base, row["stored"])
            ns.kubectl("apply", "-f", "-", input=base, check=True)
            if "status" in row:
                ns.set_status(base["metadata"]["name"], row["status"], base["kind"])
        made = spoiled(base, row.get("set", {}), row.get("without", ()))
        is_sent = "stored" not in row and "text" not in row and dry_run.reaches_the_server(made)
        self.answers = []
        if is_sent:
            admitted, lines = dry_run.create(cluster.plane, ns.name, made)
            self.answers.append((admitted, *parse_output(lines, ns)))
        if both or not is_sent:
            verb = "apply" if "stored" in row else "create"
            done = ns.kubectl(verb, "--dry-run=server", "-f", "-", input=row.get("text") or json.dumps(made))
            self.answers.append((done.returncode == 0, *parse_output(done.stderr.splitlines(), ns)))
        self.admitted, self.said, self.warned = self.answers[0]


class Mistakes(unittest.TestCase):
    def test_each_mistake_is_reported_with_its_path(self):
        text = TABLE.read_text(encoding="utf-8")
        rows = yaml.safe_load(text)
        names = [row["mistake"] for row in rows]
        self.assertEqual(len(names), len(set(names)), "duplicate mistake")
        self.assertGreaterEqual(len(rows), LEAST)
        word = os.environ.get("DYNAMO_MISTAKES", "")
        wanted = [row for row in rows if word in json.dumps(row)]
        ns = cluster.namespace()
        for kind in ("graph", "component", "request", "request of v1alpha1", "model", "checkpoint", "adapter"):
            done = ns.kubectl("create", "--dry-run=server", "-f", "-", input=good(kind))
            self.assertEqual((done.returncode, parse_output(done.stderr.splitlines(), ns)), (0, ([], [])))
        with ThreadPoolExecutor(AT_ONCE) as pool:
            tried = list(pool.map(lambda i: Row(wanted[i], ns, i % COMPARED == 0), range(len(wanted))))
        if os.environ.get("DYNAMO_REGENERATE"):
            TABLE.write_text(regenerated(text, {id(r): t for r, t in zip(wanted, tried)}, rows), encoding="utf-8")
            return
        for row, one in zip(wanted, tried):
            with self.subTest(row["mistake"]):
                self.assertTrue(all(answer == one.answers[0] for answer in one.answers), one.answers)
                self.assertEqual(one.said, row.get("says", []))
                self.assertEqual(one.admitted, "says" not in row)
                if "warns" in row:
                    self.assertEqual(one.warned, row["warns"])
                self.assertTrue(row.get("says") or row.get("warns"), "no message")
        if not word:
            compared = [one for one in tried if len(one.answers) == 2]
            self.assertGreaterEqual(len(compared), LEAST / COMPARED / 2)


def regenerated(text, tried, rows):
    """The table with new answers. Comments and all other lines stay unchanged."""
    rows = iter(rows)
    pieces = re.split(r"(?m)^(?=- mistake: |#)", text)
    for i, piece in enumerate(pieces):
        one = tried.get(id(next(rows))) if piece.startswith("- mistake: ") else None
        if one is None:
            continue
        answers = {"warns": one.warned} if one.admitted else {"says": one.said}
        lines = yaml.safe_dump(answers, sort_keys=False, width=1000, allow_unicode=True).splitlines()
        kept = re.split(r"(?m)^  (?:says|warns):", piece)[0].rstrip("\n")
        pieces[i] = "\n  ".join([kept, *lines]) + ("\n\n" if piece.endswith("\n\n") else "\n")
    return "".join(pieces)


if __name__ == "__main__":
    unittest.main()
