"""A stand-in for the operator of Grove 0.1.0-alpha.6. It changes existing PodCliques but keeps their replicas, which only the
scale subresource changes. It replaces one pod of a PodClique, or one replica of a PodCliqueScalingGroup, at a time."""

from actors import INDEX, REVISION, Actor, digest, label, split
from history import is_deleting, is_pod_ready


class GroveActor(Actor):
    def reconcile(self, namespace):
        for found in self.history.all(namespace, "PodCliqueSet"):
            if not is_deleting(found):
                self.sync(namespace, found)

    def sync(self, namespace, found):
        name, template = found["metadata"]["name"], found["spec"]["template"]
        cliques = {clique["name"]: clique for clique in template["cliques"]}
        generation = digest({key: self.content(clique) for key, clique in cliques.items()})
        observed = {"observedGeneration": found["metadata"]["generation"], "currentGenerationHash": generation}
        self.report("PodCliqueSet", found, {**observed, "replicas": 1})
        grouped = set()
        done = True
        for group in template.get("podCliqueScalingGroups") or []:
            grouped.update(group["cliqueNames"])
            members = {key: cliques[key] for key in group["cliqueNames"]}
            done = self.sync_group(namespace, found, f"{name}-0-{group['name']}", group, members, generation) and done
        for key, clique in cliques.items():
            if key not in grouped:
                done = self.sync_clique(namespace, found, f"{name}-0-{key}", clique, generation, 0) and done
        current = self.history.get(namespace, "PodCliqueSet", name)
        if current is not None:
            self.report("PodCliqueSet", current, {"updatedReplicas": int(done), "availableReplicas": int(done)})

    @staticmethod
    def content(clique):
        return [clique.get("labels"), clique.get("annotations"), clique["spec"]["podSpec"]]

    def sync_clique(self, namespace, owner, name, clique, generation, index, one_by_one=True):
        """Returns whether all its pods are ready and updated."""
        found = self.history.get(namespace, "PodClique", name)
        labels = {**(clique.get("labels") or {}), INDEX: str(index)}
        if found is None:
            made = self.child(owner, name, labels, clique.get("annotations"), spec=clique["spec"])
            self.create("PodClique", {**made, "apiVersion": owner["apiVersion"], "kind": "PodClique"})
            return False
        if is_deleting(found):
            return False
        metadata = {**found["metadata"], "labels": labels, "annotations": clique.get("annotations") or {}}
        spec = {**found["spec"], "podSpec": clique["spec"]["podSpec"]}
        if spec != found["spec"] or metadata != {"annotations": {}, **found["metadata"]}:
            self.replace("PodClique", {**found, "metadata": metadata, "spec": spec})
            return False
        return self.sync_pods(namespace, found, digest(self.content(clique)), generation, index, one_by_one)

    def sync_pods(self, namespace, found, revision, generation, index, one_by_one):
        metadata, replicas = found["metadata"], found["spec"]["replicas"]
        pods = self.owned(namespace, "Pod", found)
        alive, ready, new = split(pods, revision)
        old = [pod for pod in alive if label(pod, REVISION) != revision]
        surplus = len(alive) - replicas
        if surplus > 0:
            for pod in (old + new[::-1])[:surplus]:
                self.delete("Pod", pod)
        elif surplus < 0:
            template = {"metadata": metadata, "spec": found["spec"]["podSpec"]}
            used = {pod["metadata"]["name"] for pod in pods}
            free = sorted({f"{metadata['name']}-{number}" for number in range(replicas + len(used))} - used)
            for name in free[:-surplus]:
                self.create_pod(found, name, template, revision, index)
        elif old and not one_by_one:
            for pod in old:
                self.delete("Pod", pod)
        elif old:
            broken = [pod for pod in old if not is_pod_ready(pod)]
            if broken or len(ready) == replicas:
                self.delete("Pod", (broken or old)[0])
        # An update waits for minAvailable ready pods of each clique, so it does not end for one with 0 replicas.
        updated = found["status"].get("currentPodCliqueSetGenerationHash") == generation if found.get("status") else True
        enough = updated or replicas >= found["spec"].get("minAvailable", 1)
        done = surplus == 0 and not old and len(ready) == replicas and enough
        status = {
            "observedGeneration": metadata["generation"],
            "replicas": len(alive),
            "readyReplicas": len(ready),
            "updatedReplicas": len(new),
            "scheduledReplicas": len(alive),
            "scheduleGatedReplicas": 0,
        }
        if done or "currentPodCliqueSetGenerationHash" not in found.get("status", {}):
            status["currentPodCliqueSetGenerationHash"] = generation
        self.report("PodClique", found, status)
        return done

    def sync_group(self, namespace, owner, name, group, members, generation):
        """Replicas are updated one after the other, each as a whole. Returns whether all are ready and updated."""
        found = self.history.get(namespace, "PodCliqueScalingGroup", name)
        labels = next(iter(members.values())).get("labels") or {}
        if found is None:
            spec = {key: group[key] for key in ("cliqueNames", "replicas", "minAvailable") if key in group}
            made = self.child(owner, name, labels, spec=spec)
            self.create("PodCliqueScalingGroup", {**made, "apiVersion": owner["apiVersion"], "kind": "PodCliqueScalingGroup"})
            return False
        if is_deleting(found):
            return False
        replicas = found["spec"]["replicas"]
        for clique in self.owned(namespace, "PodClique", found):
            if int(label(clique, INDEX)) >= replicas:
                self.delete("PodClique", clique)
        names = [{f"{name}-{index}-{key}": clique for key, clique in members.items()} for index in range(replicas)]
        available = [all(self.is_available(namespace, one) for one in cliques) for cliques in names]
        updated = 0
        for index, cliques in enumerate(names):
            current = all(self.is_current(namespace, *one) for one in cliques.items())
            if not current and available[index] and not all(available):
                continue  # another replica is not available yet
            available[index] = available[index] and current
            synced = [self.sync_clique(namespace, found, *one, generation, index, False) for one in cliques.items()]
            updated += all(synced)
        status = {
            "observedGeneration": found["metadata"]["generation"],
            "replicas": replicas,
            "scheduledReplicas": replicas,
            "availableReplicas": sum(available),
            "updatedReplicas": updated,
        }
        if updated == replicas or "currentPodCliqueSetGenerationHash" not in found.get("status", {}):
            status["currentPodCliqueSetGenerationHash"] = generation
        self.report("PodCliqueScalingGroup", found, status)
        return updated == replicas

    def is_available(self, namespace, name):
        clique = self.history.get(namespace, "PodClique", name)
        if clique is None or is_deleting(clique):
            return False
        ready = [pod for pod in self.owned(namespace, "Pod", clique) if is_pod_ready(pod)]
        return len(ready) >= clique["spec"]["replicas"]

    def is_current(self, namespace, name, template):
        clique = self.history.get(namespace, "PodClique", name)
        pods = self.owned(namespace, "Pod", clique) if clique else []
        revision = digest(self.content(template))
        return all(label(pod, REVISION) == revision for pod in pods)
