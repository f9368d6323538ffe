"""A graph of the real runtime (tests/runtime) whose clients chat while the operator is replaced."""

import sys
import time
from pathlib import Path

import plane

sys.path.append(str(plane.ROOT / "tests/runtime"))
import chat  # noqa: E402
import image  # noqa: E402
import model  # noqa: E402
import scenarios  # noqa: E402
from serving import Load, RuntimeGraphs  # noqa: E402
from places import GRAPHS, NAMESPACE  # noqa: E402

VERSION, NAME = "1.0.0", "chats"
# Streams take some seconds, so that each step of a release meets several of them.
OPTIONS = ("--stream-tokens", "200")
SECONDS = 180


def prepare(cluster):
    """Gives the node the image of the runtime, and the cluster what its graphs need."""
    cluster.node.load(image.runtime_image(VERSION))
    cluster.create_namespace(NAMESPACE)
    RuntimeGraphs(cluster).add_servers(image.name_of(VERSION))


class Chats:
    """Deploys the graph and begins to chat. `operator`: the namespace and the name of a ConfigMap, as of
    RuntimeGraphs.wait_for_facts."""

    def __init__(self, cluster, folder, operator):
        self.graphs = RuntimeGraphs(cluster)
        self.graphs.wait_for_facts(*operator)
        cluster.api("POST", GRAPHS, scenarios.graph(NAME, VERSION, 1))
        self.graphs.wait_until_settled(NAME, {"Frontend": 1, "Worker": 1}, SECONDS)
        cluster.wait(lambda: self.graphs.models(NAME) == [model.NAME], SECONDS, "the frontend lists the model")
        self.pods = self._pods()
        self._load = Load(cluster.node, self.graphs.address(NAME), model.NAME, Path(folder) / f"chats-{time.monotonic_ns()}", *OPTIONS)

    def since(self, begin):
        """What became of the requests that were decided since then, as chat.summary says it."""
        return chat.summary(self._load.records, begin, time.time())

    def have_same_pods(self):
        return self._pods() == self.pods

    def _pods(self):
        """Name -> (uid, restarts)."""
        found = self.graphs.pods(NAME)
        return {one["metadata"]["name"]: (one["metadata"]["uid"], one["status"]["containerStatuses"][0]["restartCount"]) for one in found}

    def stop(self):
        self._load.stop()
