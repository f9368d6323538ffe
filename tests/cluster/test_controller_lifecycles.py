#!/usr/bin/env python3
"""Lifecycles of graphs on the three pathways. Run: python3 tests/cluster/test_controller_lifecycles.py

All tests run at once on one control plane, each in its own namespaces; `-k NAME` chooses some. Watches report every change, so
the checks cover every moment. actors.py and grove_actor.py play the operators of LeaderWorkerSets and Grove, grove_admission.py
the webhooks of Grove. One test makes a random sequence of changes; DYNAMO_SEED repeats it. DYNAMO_FULL=1: graphs with more
workers, longer sequences.

Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import concurrent.futures
import datetime
import os
import random
import sys
import time
import unittest
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from operator_plane import OperatorPlane  # noqa: E402  (it adds the paths of modules that the following import)
from actors import LeaderWorkerSetActor  # noqa: E402
from control_plane import ApiError  # noqa: E402
from grove_actor import GroveActor  # noqa: E402
from grove_admission import GroveAdmission  # noqa: E402
from history import History, is_deleting, orphans, replay  # noqa: E402
from lifecycles import FULL, PATHWAYS, Play, component_of, graph, image_of  # noqa: E402
from plays import Plays  # noqa: E402

CONFIG = "compatibility: {autoscaling: true}\n"
ROLLED = ("Deployment", "LeaderWorkerSet")  # pathways on which the operator itself updates workers
STRATEGY = "nvidia.com/deployment-strategy"
SURGE, UNAVAILABLE = (f"nvidia.com/deployment-rolling-update-max-{which}" for which in ("surge", "unavailable"))
CHANGES = 40 if FULL else 6  # of a random sequence
SEED = int(os.environ.get("DYNAMO_SEED") or random.SystemRandom().randrange(1 << 30))

plays = Plays()
leader_worker_sets = None  # the stand-in for their operator
on = plays.on


def setUpModule():
    global leader_worker_sets
    print(f"DYNAMO_SEED={SEED}", file=sys.stderr)
    plane = OperatorPlane(child_crds=True, grove=True, config=CONFIG, kwok_config=HERE / "pods.kwok.yaml")
    unittest.addModuleCleanup(plane.close)
    unittest.addModuleCleanup(GroveAdmission(plane.cluster).stop)
    controller = plane.controller()
    controller.start()
    controller.wait_until_ready()
    history = History(plane.cluster.kubeconfig)
    unittest.addModuleCleanup(history.stop)
    leader_worker_sets = LeaderWorkerSetActor(history)
    for actor in (GroveActor(history), leader_worker_sets):
        unittest.addModuleCleanup(actor.stop)
    plays.start(lambda number, pathway: Play(plane, history, pathway, f"play-{number}-{pathway.lower()}"))


class Lifecycles(unittest.TestCase):
    def __init__(self, name):
        super().__init__(name)
        plays.loaded(self, name)

    @on(*PATHWAYS)
    def test_a_graph_lives_from_creation_to_deletion(self, play):
        # The operator keeps all pods of workers ready, and creates one more. Grove updates one replica at a time.
        least, most = (1, 2) if play.pathway == "Grove" else (2, 3)

        def check(since, about):
            for service in play.nodes:
                play.check_pods(since, least, most, service, about)

        play.wait_until_ready(play.apply())
        since = play.now()
        play.wait_until_ready(play.apply(image="runtime:2"))
        check(since, "a new image")

        since = play.now()
        play.apply(image="runtime:3")
        play.wait(lambda: any(image_of(pod) == "runtime:3" for pod in play.pods()), "a pod runs the third image")
        play.wait_until_ready(play.apply(image="runtime:4"))
        check(since, "a fourth image during the update to the third")

        since = play.now()
        play.apply(image="runtime:5")
        play.wait(lambda: play.ready_pods("runtime:5"), "a pod of the fifth image is ready")
        play.wait_until_ready(play.apply(image="runtime:4"))
        check(since, "back to the fourth image during the update to the fifth")

        since = play.now()
        order = [*play.nodes, "Frontend"]
        play.wait_until_ready(play.patch({"restart": {"id": "one", "strategy": {"type": "Sequential", "order": order}}}))
        self.assertEqual(play.get()["status"]["restart"], {"observedID": "one", "phase": "Completed"})
        for first, then in zip(order, order[1:]):
            play.check_order_of_restart(since, first, then, "one")
        play.wait_until_ready(play.patch({"restart": {"id": "two", "strategy": {"type": "Parallel", "order": None}}}))
        self.assertEqual(play.get()["status"]["restart"], {"observedID": "two", "phase": "Completed"})
        if play.pathway != "LeaderWorkerSet":  # its operator restarts a group as a whole, and each set is one group
            check(since, "restarts")

        for service in play.nodes:
            play.scale(3, service)
            play.wait_for_replicas(3, service)
        since = play.now()
        play.wait_until_ready(play.apply(image="runtime:6", replicas=None))
        self.assertEqual(play.replicas_since(since), {3})
        self.autoscale(play)
        play.delete("DynamoGraphDeployment", "g")
        play.wait_until_gone()

    def autoscale(self, play):
        """The HorizontalPodAutoscaler of a user changes the replicas, and nothing else does."""
        play.autoscaler(minimum=2, maximum=2)
        play.wait_for_replicas(2)
        since = play.now()
        play.wait_until_ready(play.apply(image="runtime:7", replicas=None))
        self.assertEqual(play.replicas_since(since), {2})
        play.delete("HorizontalPodAutoscaler", "user")

    @on("Deployment")
    def test_the_autoscaler_of_a_deprecated_block_scales_the_service(self, play):
        block = {"enabled": True, "minReplicas": 3, "maxReplicas": 4}
        play.apply(autoscaling=block, scalingAdapter=None)
        play.wait_for_replicas(3)
        since = play.now()
        play.wait_until_ready(play.apply(image="runtime:2", replicas=None, autoscaling=block, scalingAdapter=None))
        self.assertEqual(play.replicas_since(since), {3})
        play.apply(image="runtime:2", replicas=None, scalingAdapter=None)
        play.wait(lambda: not play.all("HorizontalPodAutoscaler"), "the autoscaler is deleted")
        play.wait_until_ready()
        self.assertEqual(len(play.pods()), 3)

    @on(*PATHWAYS)
    def test_no_child_returns_while_a_graph_is_deleted_in_the_foreground(self, play):
        play.wait_until_ready(play.apply())
        play.apply(image="runtime:2")
        play.wait(lambda: any(image_of(pod) == "runtime:2" for pod in play.pods()), "the update has begun")
        since = play.now()
        play.delete("DynamoGraphDeployment", "g", "Foreground")
        play.wait_until_gone()
        play.check_no_child_returns(since)

    @on(*ROLLED)
    def test_going_back_to_the_first_spec_after_two_changes_keeps_pods_ready(self, play):
        play.wait_until_ready(play.apply())
        since = play.now()
        play.apply(image="runtime:2")
        play.wait(lambda: play.ready_pods("runtime:2"), "a pod of the second image is ready")
        play.apply(image="runtime:3")
        play.wait(lambda: not play.ready_pods("runtime:1"), "no pod of the first image is ready")
        play.wait_until_ready(play.apply(image="runtime:1"))
        play.check_pods(since, 2, 3)

    @on(*ROLLED)
    def test_a_change_during_an_update_stops_no_ready_pod_when_max_unavailable_is_0(self, play):
        limits = {"annotations": {SURGE: "1", UNAVAILABLE: "0"}}
        play.wait_until_ready(play.apply(replicas=3, **limits))
        since = play.now()
        for image in ("runtime:2", "runtime:3", "runtime:4"):
            generation = play.apply(replicas=3, image=image, **limits)
            play.wait(lambda image=image: play.ready_pods(image), f"a pod of {image} is ready")
        play.wait_until_ready(generation)
        play.check_pods(since, 3, 4)

    @on(*ROLLED)
    def test_max_unavailable_1_without_surge_stops_one_pod_at_a_time(self, play):
        limits = {"annotations": {SURGE: "0", UNAVAILABLE: "1"}}
        play.wait_until_ready(play.apply(**limits))
        since = play.now()
        play.apply(image="runtime:2", **limits)
        play.wait(lambda: play.ready_pods("runtime:2"), "a pod of the second image is ready")
        play.wait_until_ready(play.apply(image="runtime:3", **limits))
        play.check_pods(since, 1, 2)

    @on("LeaderWorkerSet")
    def test_one_lost_leader_worker_set_of_two_is_created_again(self, play):
        play.wait_until_ready(play.apply())
        lost, kept = play.all("LeaderWorkerSet")
        since = play.now()
        # The pods of the new set start only after the graph has reported the loss, which a slow API server could delay.
        leader_worker_sets.pause(play.namespace)
        play.delete("LeaderWorkerSet", lost["metadata"]["name"])
        play.wait(lambda: not play.is_successful(), "the graph is not successful")
        leader_worker_sets.resume(play.namespace)
        play.wait_until_ready()
        names = [one["metadata"]["name"] for one in play.all("LeaderWorkerSet")]
        self.assertEqual(names, [lost["metadata"]["name"], kept["metadata"]["name"]])
        play.check_pods(since, 1, 2)
        said = set()
        for change in play.changes():
            if change.version > since and change.kind == "DynamoComponentDeployment":
                self.assertIn(change.object["spec"].get("replicas", 1), (1, 2))
                if "worker" in change.object["metadata"]["name"]:
                    self.assertEqual(change.object["spec"]["replicas"], 2)
            if change.version > since and change.kind == "LeaderWorkerSet":
                self.assertFalse(is_deleting(change.object) and change.object["metadata"]["uid"] == kept["metadata"]["uid"])
            if change.version > since and change.kind == "DynamoGraphDeployment":
                said.add((change.object["status"]["state"], change.object["status"]["services"]["Worker"]["readyReplicas"]))
        self.assertIn(("pending", 1), said)
        self.assertIn(("successful", 2), said)
        self.assertNotIn(("successful", 1), said)

    @on("LeaderWorkerSet")
    def test_an_update_ends_an_old_set_when_a_new_one_has_been_available_for_a_while(self, play):
        """Decision child-Q44."""
        annotations = {"annotations": {"nvidia.com/deployment-min-ready-seconds": "4", SURGE: "1", UNAVAILABLE: "0"}}
        play.wait_until_ready(play.apply(replicas=1, **annotations))
        since = play.now()
        play.wait_until_ready(play.apply(replicas=1, image="runtime:2", **annotations))
        (new,) = play.all("LeaderWorkerSet")
        (available,) = (one for one in new["status"]["conditions"] if one["type"] == "Available")
        begin = datetime.datetime.fromisoformat(available["lastTransitionTime"])
        scaled_down = next(
            change.object
            for change in play.changes()
            if change.version > since and change.kind == "DynamoComponentDeployment"
            and component_of(change.object) == "Worker" and change.object["spec"]["replicas"] == 0
        )  # fmt: skip
        end = max(datetime.datetime.fromisoformat(entry["time"]) for entry in scaled_down["metadata"]["managedFields"])
        seconds = (end - begin).total_seconds()
        self.assertTrue(4 <= seconds <= 8, f"the old set was scaled down after {seconds} s")

    @on("LeaderWorkerSet")
    def test_an_update_first_ends_the_sets_that_do_not_serve(self, play):
        """Decision ctl-Q54: whatever their numbers are."""
        leader_worker_sets.broken.add((play.namespace, "runtime:1"))
        play.apply()
        play.wait(lambda: len(play.ready_pods("runtime:1")) == 2 and len(play.pods()) == 4, "one of two sets serves")
        generation = play.apply(image="runtime:2")
        play.wait(lambda: len(play.ready_pods("runtime:2")) == 2, "one new set serves")
        since = play.now()
        play.wait_until_ready(generation)
        play.check_pods(since, 2, 3)

    @on(*ROLLED)
    def test_with_the_strategy_recreate_old_pods_end_before_new_pods_start(self, play):
        recreate = {"annotations": {STRATEGY: "Recreate"}}
        play.wait_until_ready(play.apply(**recreate))
        play.apply(image="runtime:2", **recreate)
        play.wait(lambda: any(image_of(pod) == "runtime:2" for pod in play.pods()), "a pod of the second image exists")
        play.wait_until_ready(play.apply(image="runtime:3", **recreate))
        changes = play.changes()
        ignored = orphans(changes)  # other controllers may create a pod for a set that was just deleted
        for change, live in replay(changes):
            workers = [one for (kind, _), one in live.items() if kind == "Pod" and component_of(one) == "Worker"]
            images = {image_of(one) for one in workers if one["metadata"]["uid"] not in ignored}
            self.assertLessEqual(len(images), 1, f"pods of {images} exist together at {change.version}")

    @on(*ROLLED)  # Grove: test_controller_grove.py
    def test_a_worker_with_0_replicas_is_ready_and_can_be_scaled(self, play):
        play.wait_until_ready(play.apply(replicas=0))
        play.wait_until_ready(play.apply(replicas=0, image="runtime:2"))
        added = [one.object for one in play.changes() if one.kind == "Pod" and component_of(one.object) in play.nodes]
        self.assertEqual(added, [])
        for replicas in (1, 0):
            for service in play.nodes:
                play.scale(replicas, service)
                play.wait_for_replicas(replicas, service)
                self.assertEqual(len(play.pods(service)), replicas * play.nodes[service])

    @on(*PATHWAYS)
    def test_an_image_that_cannot_be_pulled_is_reported_and_old_pods_serve(self, play):
        play.wait_until_ready(play.apply())
        since = play.now()
        play.apply(image="runtime:missing")
        cause = 'cannot pull image "runtime:missing"'
        play.wait(lambda: cause in play.message(), "the condition Ready names the cause")
        play.wait(lambda: any(cause in text for text in play.events("ImagePullFailed")), "an Event names the cause")
        self.assertFalse(play.is_successful())
        play.wait_until_ready(play.apply(image="runtime:3"))
        self.assertNotIn("missing", play.message())
        least, most = (1, 2) if play.pathway == "Grove" else (2, 3)  # Grove begins with the end of an old pod
        for service in play.nodes:
            play.check_pods(since, least, most, service)

    @on("Deployment")
    def test_a_graph_that_changes_its_pathway_leaves_nothing_of_the_other(self, play):
        play.wait_until_ready(play.apply())
        for grove, kinds in (("true", ["DynamoComponentDeployment", "Deployment"]), ("false", ["PodCliqueSet", "PodClique"])):
            play.annotate({"nvidia.com/enable-grove": grove})
            play.wait(lambda: not any(map(play.all, kinds)), f"no {' or '.join(kinds)} is left")
            play.wait(lambda: len(play.pods()) == 2, "the workers run again")
            play.wait_until_ready()

    @on("Deployment")
    def test_graphs_that_begin_to_use_one_model_at_the_same_time_all_own_its_service(self, play):
        names = {f"g{number}" for number in range(12)}

        def create(name):
            manifest = graph(play.pathway, play.namespace, replicas=0, modelRef={"name": "one/model"})
            manifest["metadata"]["name"] = name
            play.plane.apply(manifest)

        def owners():
            services = [one for one in play.all("Service") if one["metadata"]["name"].startswith("dynamo-model-")]
            return {owner["name"] for one in services for owner in one["metadata"]["ownerReferences"]}

        with concurrent.futures.ThreadPoolExecutor(len(names)) as pool:
            list(pool.map(create, names))
        play.wait(lambda: owners() == names, "all graphs own the Service of the model")
        versions = [one.object["metadata"] for one in play.changes() if one.kind == "Service"]
        counts = [len(one["ownerReferences"]) for one in versions if one["name"].startswith("dynamo-model-")]
        self.assertEqual(counts, sorted(counts), "no owner was removed")
        for name in sorted(names):
            self.assertTrue(owners(), f"{name} and the graphs after it still use the Service")
            play.delete("DynamoGraphDeployment", name)
        play.wait(lambda: not owners(), "the Service is deleted with its last owner")

    @on(*PATHWAYS)
    def test_any_sequence_of_changes_keeps_pods_ready_and_ends(self, play):
        dice = random.Random(f"{SEED} {play.pathway}")
        generation = play.apply()
        play.wait_until_ready(generation)
        since, done = play.now(), []

        def image():
            done.append(f"runtime:{dice.randint(1, 3)}")
            return play.apply(image=done[-1], replicas=None)

        def scale():
            service, replicas = dice.choice(list(play.nodes)), dice.choice((2, 3))
            done.append(f"{service} {replicas}")
            play.scale(replicas, service)
            play.wait(lambda: play.get()["spec"]["services"][service]["replicas"] == replicas, "the graph is scaled")
            return play.get()["metadata"]["generation"]

        def restart():
            done.append(f"restart {len(done)} {dice.choice(('Sequential', 'Parallel'))}")
            try:
                return play.patch({"restart": {"id": str(len(done)), "strategy": {"type": done[-1].split()[-1]}}})
            except ApiError as error:  # a restart cannot begin during a rolling update
                self.assertIn("rolling update", str(error))
                return generation

        # The operator of LeaderWorkerSets restarts each group as a whole.
        actions = [image, image, scale] + ([restart] if play.pathway != "LeaderWorkerSet" else [])
        try:
            for _ in range(CHANGES):
                generation = dice.choice(actions)()
                if dice.random() < 0.2:
                    play.wait_until_settled(generation)
                else:
                    time.sleep(dice.choice((0, 0.3, 0.6, 1, 2)))
            play.wait_until_settled(generation)
            for service in play.nodes:
                least, most = (1, 3) if play.pathway == "Grove" else (2, 4)
                play.check_pods(since, least, most, service)
            play.check_claims()
        except AssertionError as error:
            raise AssertionError(f"DYNAMO_SEED={SEED}, changes {done}: {error}") from None


if __name__ == "__main__":
    unittest.main(verbosity=2)
