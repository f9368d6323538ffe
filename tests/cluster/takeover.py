"""What the upgrade from the reference operator, and the way back, does to recorded graphs."""

import collections
import sys
import tempfile
import time
import unittest

import recordings
from operator_plane import difference, normalised
from reference_objects import GENERATION, GRAPH, HASH, call, key_of
from reference_sets import Set, changed, templates, without_scripts

HASH_ANNOTATION = "nvidia.com/current-worker-hash"
HASH_LABEL = "nvidia.com/dynamo-worker-hash"


class Checks(unittest.TestCase):
    """Checks of a Set of recordings in the cluster `cluster`."""

    cluster = None

    def create(self, name, dice=None, size=None):
        """Creates the objects of a set, or of a part of it, as the reference has written them. Returns the Set."""
        with tempfile.TemporaryDirectory() as folder:
            chosen = Set(name, recordings.unpack("graphs", folder), dice, size)
        for case in chosen.cases:
            case.create(self.cluster)
        self.wait_for_deployments(chosen)
        return chosen

    def state(self, chosen):
        return {case.name: case.live(self.cluster) for case in chosen.cases}

    def replica_sets(self, chosen):
        """case -> Deployment -> names of its ReplicaSets."""
        found = {}
        for case in chosen.cases:
            found[case.name] = owned = collections.defaultdict(set)
            for one in call(self.cluster, "GET", f"/apis/apps/v1/namespaces/{case.namespace}/replicasets")["items"]:
                owned[one["metadata"]["ownerReferences"][0]["name"]].add(one["metadata"]["name"])
        return found

    def wait_for_deployments(self, chosen):
        def settled():
            for case in chosen.cases:
                for one in call(self.cluster, "GET", f"/apis/apps/v1/namespaces/{case.namespace}/deployments")["items"]:
                    if one.get("status", {}).get("observedGeneration") != one["metadata"]["generation"]:
                        return False
            return True

        self.cluster.wait(settled, 120, "all Deployments are observed")

    def check_upgrade(self, chosen, before, after):
        """Returns the restarted workloads: (case, kind, name)."""
        restarted, workloads, scripts, kept = set(), 0, 0, 0
        for case in chosen.cases:
            old, new = before[case.name], after[case.name]
            accepted, others = chosen.differences(case, new)
            with self.subTest(f"{case.name}: differences from the reference"):
                text = [f"{f.kind} {f.name} {'.'.join(f.path)}: {f.theirs!r:.200} -> {f.ours!r:.200}" for f, _ in others]
                self.assertEqual(text, [])
            with self.subTest(f"{case.name}: restarts"):
                moved, text = changed(templates(old), templates(new))
                more, _ = changed(*map(without_scripts, (templates(old), templates(new))))
                restarted |= {(case.name, *key) for key in moved}
                scripts += len(moved - more)
                workloads += len({key[:2] for key in templates(old)})
                expected = {(f.kind, f.name) for f, context in accepted if context.template_path() is not None}
                self.assertEqual(more, expected & old.keys(), text)
            with self.subTest(f"{case.name}: nothing is lost"):
                gone = {(f.kind, f.name) for f, _ in accepted if f.path == () and f.direction == "theirs"}
                self.assertEqual(old.keys() - new.keys() - gone, set())
                both = old.keys() & new.keys()
                kept += len(both)
                replaced = [key for key in both if old[key]["metadata"]["uid"] != new[key]["metadata"]["uid"]]
                self.assertEqual(replaced, [])
            with self.subTest(f"{case.name}: marks of the reference"):
                self.assertEqual(self.marked(chosen, case, new), [])
        about = f"{len(restarted)} of {workloads} workloads restarted, {scripts} of them because of the text of a script"
        print(f"  {about}; {kept} objects kept", file=sys.stderr)
        return restarted

    @staticmethod
    def marked(chosen, case, live):
        """The keys of the children that should have lost the marks of the reference (child-Q4) and have one."""
        if chosen.is_denied(case):
            return []
        children = [live[key_of(one)] for one in case.children() if "spec" in one and key_of(one) in live]
        return [key_of(one) for one in children if {HASH, GENERATION} & (one["metadata"].get("annotations") or {}).keys()]

    def check_second_upgrade(self, chosen, before, after, again, restarted):
        """After the way back, the upgrade has the same result as before."""
        self.assertEqual(self.check_upgrade(chosen, before, again), restarted)
        for case in chosen.cases:
            first, second = (
                {key: normalised({**one, "status": None}) for key, one in state[case.name].items()} for state in (after, again)
            )
            with self.subTest(f"{case.name}: the second upgrade"):
                self.assertEqual(first.keys(), second.keys())
                different = {key: difference(one, second[key]) for key, one in first.items() if one != second[key]}
                self.assertEqual(different, {})

    def check_replica_sets(self, chosen, before, restarted):
        """Only restarted Deployments get another ReplicaSet."""
        expected = {(case, name) for case, kind, name in restarted if kind == "Deployment"}

        def moved():
            now = self.replica_sets(chosen)
            return {(case, name) for case in before for name, sets in before[case].items() if now[case][name] != sets}

        self.cluster.wait(lambda: moved() >= expected, 60, "new ReplicaSets of the restarted Deployments")
        self.assertEqual(moved(), expected)

    def check_graphs(self, chosen, before, after):
        for case in chosen.cases:
            key = key_of(case.graph())
            old, new = before[case.name][key], after[case.name][key]
            with self.subTest(f"{case.name}: the graph"):
                self.assertEqual(new["spec"], old["spec"])
                self.assertEqual(new["metadata"]["finalizers"], old["metadata"]["finalizers"])
                current = new["metadata"]["annotations"].get(HASH_ANNOTATION)
                with_current = {**old["metadata"]["annotations"], HASH_ANNOTATION: current}
                self.assertEqual({HASH_ANNOTATION: None, **new["metadata"]["annotations"]}, with_current)
                # The worker hash is that of the reference, so no rolling update starts.
                labels = [one["metadata"].get("labels") or {} for one in before[case.name].values()]
                hashes = {each[HASH_LABEL] for each in labels if HASH_LABEL in each}
                recorded = old["metadata"]["annotations"].get(HASH_ANNOTATION)
                if recorded or hashes:
                    self.assertEqual({current}, {recorded} if recorded else hashes)
                self.assertNotIn("rollingUpdate", new["status"])
                if old.get("status", {}).get("state") != "failed":
                    self.assertNotEqual(new["status"]["state"], "failed", new["status"])

    def check_way_back(self, chosen, before, restarted):
        """The reference updates the children as it does after a restart. Their templates are its own again."""
        updates, created, back = [], [], set()
        for case in chosen.cases:
            live = case.live(self.cluster)
            with self.subTest(f"{case.name}: the way back"):
                for child in case.children():
                    if "spec" not in child and key_of(child) in live:
                        # The reference fails on an object without a spec that lacks the annotation.
                        self.assertIn(HASH, live[key_of(child)]["metadata"]["annotations"], key_of(child))
                did, made = case.reconcile(self.cluster)
                updates += did
                created += made
                now = case.live(self.cluster)
                moved, _ = changed(templates(live), templates(now))
                moved = {key for key in moved if key in before[case.name]}
                back |= {(case.name, *key) for key in moved}
                wrong, text = changed(templates(before[case.name]), templates(now))
                self.assertEqual(wrong, set(), text)
        self.assertEqual(back, restarted)
        kinds = collections.Counter(kind for kind, _ in updates)
        print(f"  the reference updates {len(updates)} children ({dict(kinds)}) and creates {len(created)}", file=sys.stderr)

    def check_deletion(self, chosen):
        """All children go with their graphs; the finalizer of the reference does not keep them."""
        for case in chosen.cases:
            call(self.cluster, "DELETE", case.path(GRAPH, case.graph()["metadata"]["name"]))

        def left():
            return [
                f"{case.name} {' '.join(key)}"
                for case in chosen.cases
                for key, one in case.live(self.cluster).items()
                if one["metadata"].get("ownerReferences") or key[0] == GRAPH
            ]

        deadline = time.monotonic() + 120
        while found := left():
            if time.monotonic() > deadline:
                self.fail(f"these objects stay: {found}")
            time.sleep(0.3)
