"""What graph and Events say about workers that do not run: the graphs of broken.py on one node at once, looked at as a user looks
at them, and repaired with `kubectl apply`. `run --causes` plays them."""

import contextlib
import json
import re
import shlex
import subprocess
import time

from broken import CASES
from places import GRAPHS, NAMESPACE

TOLD_SECONDS = 120
WATCH_SECONDS = 30  # how long a message must not change after the last case was told
SEEN_SECONDS = 20  # kubelet may just remove the container of the run before
REPAIR_SECONDS = 120
COMPONENTS = GRAPHS.replace("dynamographdeployments", "dynamocomponentdeployments")
ROW = "{:<22} {:>6} {:>7} {:>7}  {}"
NATS_WARNING = "mainContainer.command[2]: the mocker of 1.0 ends without NATS"


def objects_in(text):
    """The JSON documents that follow each other in a text, as far as they are complete."""
    decoder, at = json.JSONDecoder(), 0
    with contextlib.suppress(json.JSONDecodeError):
        while at < len(text):
            found, at = decoder.raw_decode(text, at)
            yield found
            while at < len(text) and text[at].isspace():
                at += 1


def condition(found, name):
    conditions = found.get("status", {}).get("conditions", [])
    return next((one for one in conditions if one["type"] == name), {})


def says(case, ready):
    return ready.get("reason") == case.reason and re.search(case.message, ready.get("message", "")) is not None


def statuses_since(found, name, message):
    """The messages of a condition since it had this one first, until the spec changed, and the number of writes since then."""
    first = next(i for i, one in enumerate(found) if condition(one, name).get("message") == message)
    generation = found[first]["metadata"]["generation"]
    later = [one for one in found[first:] if one["metadata"]["generation"] == generation]
    return {condition(one, name).get("message") for one in later}, len(later) - 1


def play(plane, folder, problem):
    """Plays all cases on a RuntimePlane, and prints what is told. `problem` is called with what a user would complain about."""
    folder.mkdir(parents=True, exist_ok=True)
    found = Causes(plane.cluster, folder, problem)
    found.play()
    print("\n" + ROW.format("case", "told s", "writes", "Events", "message"))
    for row in found.rows:
        print(ROW.format(*map(str, row)))


class Causes:
    """`rows`: of the table, one for each case."""

    def __init__(self, cluster, folder, problem):
        self.cluster = cluster
        self.folder = folder
        self.problem = problem
        self.rows = []
        self.told = {}  # case -> (seconds, message)

    def play(self):
        with self._writes("dgd") as graphs, self._writes("dcd") as components:
            ready = [case for case in CASES if case.before]
            self._apply([case.graph(case.before) for case in ready])
            self._wait(ready, self._is_repaired, TOLD_SECONDS, "is not ready")
            begin = time.monotonic()
            applied = self._apply([case.broken() for case in CASES])
            if NATS_WARNING not in applied.stderr:
                self.problem(f"kubectl apply does not warn that the mocker has no NATS: {applied.stderr}")
            self._wait(CASES, lambda case, found: self._look(case, found, begin), TOLD_SECONDS, "does not tell the cause")
            time.sleep(WATCH_SECONDS)
            for case in CASES:
                self._follow(case)
            events = self._events()
            for case in CASES:
                self._report(case, [one for one in graphs() if one["metadata"]["name"] == case.name], components(), events)
        self._apply([case.graph(case.repaired) for case in CASES])
        self._wait(CASES, self._is_repaired, REPAIR_SECONDS, "is not ready after the repair")
        self._find_failures()
        self.cluster.kubectl("delete", "dgd", "--all", "-n", NAMESPACE, "--timeout=60s")

    # Steps

    def _apply(self, manifests):
        text = json.dumps({"apiVersion": "v1", "kind": "List", "items": manifests})
        return self.cluster.kubectl("apply", "-f", "-", input=text)

    def _wait(self, cases, done, seconds, what):
        """Until `done(case, graph)` is true for all cases, once for each."""
        left = {case.name: case for case in cases}
        end = time.monotonic() + seconds
        while left and time.monotonic() < end:
            for found in self.cluster.api("GET", GRAPHS)["items"]:
                case = left.get(found["metadata"]["name"])
                if case and done(case, found):
                    del left[case.name]
            time.sleep(0.3)
        for name in left:
            self.problem(f"{name} {what}: {condition(self.cluster.api('GET', f'{GRAPHS}/{name}'), 'Ready')}")

    def _look(self, case, found, begin):
        if not says(case, condition(found, "Ready")):
            return False
        message = condition(found, "Ready")["message"]
        self.told[case.name] = (time.monotonic() - begin, message)
        return True

    def _follow(self, case):
        """What the user sees with kubectl, and with the command that the message names."""
        if case.name not in self.told:
            return
        message = self.told[case.name][1]
        row = self.cluster.kubectl("get", "dgd", case.name, "-n", NAMESPACE).stdout
        if case.steady and not (message in row and case.reason in row):
            self.problem(f"{case.name}: kubectl get dgd prints {row!r}")
        command = re.search(r"see kubectl (.*)\)$", message)
        if not command:
            return
        end = time.monotonic() + SEEN_SECONDS
        while True:
            shown = self.cluster.kubectl("-n", NAMESPACE, *shlex.split(command[1]), check=False)
            if case.seen in shown.stdout:
                return
            if time.monotonic() > end:
                return self.problem(f"{case.name}: {command[0]} shows {shown.stdout[-600:]!r} {shown.stderr!r}")
            time.sleep(1)

    @staticmethod
    def _is_repaired(case, found):
        ready = condition(found, "Ready")
        if found.get("status", {}).get("observedGeneration") != found["metadata"]["generation"]:
            return False
        return (ready.get("status"), ready.get("message")) == ("True", "All resources are ready")

    def _find_failures(self):
        """Repaired components have no condition PodFailure."""
        for one in self.cluster.api("GET", COMPONENTS)["items"]:
            if failure := condition(one, "PodFailure"):
                self.problem(f"{one['metadata']['name']}: after the repair {failure}")

    def _events(self):
        """(kind, name) -> [(reason, count, message)] of the warnings of graphs and components."""
        events = {}
        for one in self.cluster.api("GET", f"/api/v1/namespaces/{NAMESPACE}/events")["items"]:
            about = one["involvedObject"]
            if one["type"] == "Warning" and about["kind"].startswith("Dynamo"):
                found = (one["reason"], one.get("count", 1), one["message"])
                events.setdefault((about["kind"], about["name"]), []).append(found)
        return events

    # Results

    @contextlib.contextmanager
    def _writes(self, kind):
        """Records the objects of a kind after each write. Yields a function that returns them."""
        path = self.folder / f"{kind}.json"
        argv = [self.cluster.assets / "kubectl", "get", kind, "-n", NAMESPACE, "--watch", "-o", "json"]
        with open(path, "wb") as out:
            watch = subprocess.Popen(argv, env=self.cluster.environment(), stdin=subprocess.DEVNULL, stdout=out)
        try:
            yield lambda: list(objects_in(path.read_text(encoding="utf-8")))
        finally:
            watch.terminate()
            watch.wait()

    def _report(self, case, graphs, components, events):
        if case.name not in self.told:
            return
        seconds, message = self.told[case.name]
        told, writes = statuses_since(graphs, "Ready", message)
        component, text = re.search(r": (\S+-worker\S*): (.*)$", message).groups()
        writes += statuses_since([one for one in components if one["metadata"]["name"] == component], "Available", text)[1]
        if case.steady and told != {message}:
            self.problem(f"{case.name}: the message changes: {sorted(told)}")
        if case.steady and writes > 0:
            self.problem(f"{case.name}: {writes} writes of statuses after the cause was told")
        warnings = [(kind, *one) for (kind, name), ones in events.items() for one in ones if self._is_of(case, name)]
        wanted = [(kind, case.event) for kind in ("DynamoComponentDeployment", "DynamoGraphDeployment") if case.event]
        count = sum(one[2] for one in warnings)
        if sorted(one[:2] for one in warnings) != wanted or (case.steady and count > len(wanted)):
            self.problem(f"{case.name}: {count} Events: {warnings}")
        self.rows.append([case.name, f"{seconds:.0f}", writes, count, message])

    @staticmethod
    def _is_of(case, name):
        return name == case.name or re.fullmatch(rf"{case.name}-worker(-[0-9a-f]{{8}})?", name) is not None
