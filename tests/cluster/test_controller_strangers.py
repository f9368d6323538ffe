#!/usr/bin/env python3
"""Objects of strangers, forgers and administrators with the names of children.
Run: python3 tests/cluster/test_controller_strangers.py

Decisions ctl-Q51, ctl-Q66 and ctl-Q68. Needs `cmake --build build/release --target dynamo-controller dynamo-webhook`."""

import sys
import time
import unittest
from pathlib import Path

import yaml

sys.path.insert(0, str(Path(__file__).resolve().parent))
from every_child import NODES, WORKER  # noqa: E402
from operator_plane import graph  # noqa: E402
from ownership import COMPONENT, EVERY_KIND, GRAPH, Namespace  # noqa: E402

GRAPH_LABEL = "nvidia.com/dynamo-graph-deployment-name"
MANAGED_BY = {"app.kubernetes.io/managed-by": "dynamo-operator"}
HASH = "nvidia.com/last-applied-hash"  # an annotation of the reference operator
ACCOUNT = "g-k8s-service-discovery"
RBAC = "rbac.authorization.k8s.io"
SETTINGS = "compatibility: {autoscaling: true}\ningress: {virtualServiceGateway: istio/gateway}\n"
POD = {"containers": [{"name": "main", "image": "other:1"}]}
EPP = """
componentType: epp
eppConfig:
  config:
    plugins: [{type: kv-aware-scorer}]
    schedulingProfiles: [{name: default, plugins: [{pluginRef: kv-aware-scorer}]}]
extraPodSpec: {mainContainer: {image: "epp:1.0.0"}}
"""
ROUTES = {
    "enabled": True,
    "host": "chat",
    "hostSuffix": "example.com",
    "ingressControllerClassName": "nginx",
    "useVirtualService": True,
    "virtualServiceGateway": "istio/gateway",
}
# The emptiest objects that the API server accepts, by kind and the name of a child.
EMPTIEST = {
    # Children of the graph "a".
    ("DynamoComponentDeployment", "a-frontend"): {"spec": {"extraPodSpec": {"mainContainer": {"image": "other:1"}}}},
    ("DynamoGraphDeploymentScalingAdapter", "a-worker"): {
        "spec": {"replicas": 1, "dgdRef": {"name": "none", "serviceName": "none"}}
    },
    ("HorizontalPodAutoscaler", "a-worker"): {
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"}, "maxReplicas": 1}
    },
    ("ConfigMap", "a-epp-config"): {},
    ("InferencePool", "a-pool"): {
        "spec": {
            "selector": {"matchLabels": {"app": "x"}},
            "targetPorts": [{"number": 1}],
            "endpointPickerRef": {"name": "none", "port": {"number": 1}},
        }
    },
    ("ServiceAccount", "a-k8s-service-discovery"): {},
    ("Role", "a-k8s-service-discovery-role"): {},
    ("RoleBinding", "a-k8s-service-discovery-binding"): {
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": "a-k8s-service-discovery-role"}
    },
    # Children of the component "b-frontend".
    ("Deployment", "b-frontend"): {
        "spec": {
            "replicas": 0,
            "selector": {"matchLabels": {"app": "x"}},
            "template": {"metadata": {"labels": {"app": "x"}}, "spec": POD},
        }
    },
    ("Service", "b-frontend"): {"spec": {"clusterIP": "None"}},
    ("Ingress", "b-frontend"): {"spec": {"defaultBackend": {"service": {"name": "none", "port": {"number": 1}}}}},
    ("VirtualService", "b-frontend"): {},
    # Children of the graph "c", which Grove runs.
    ("PodCliqueSet", "c"): {"spec": {"template": {"cliques": []}}},
    ("Service", "c-frontend"): {"spec": {"type": "ExternalName", "externalName": "example.com"}},
    # Children of the component "d".
    ("LeaderWorkerSet", "d-0"): {"spec": {"leaderWorkerTemplate": {"workerTemplate": {"spec": POD}}}},
    ("PodGroup", "d-0"): {},
}


def setUpModule():
    Namespace.start(child_crds=True, grove=True, config=SETTINGS)


def text_of(kind, namespace, name):
    """How conditions name an object."""
    base = EVERY_KIND[kind][0]
    group = base.split("/")[2] if base.startswith("/apis/") else ""
    return f"{kind}{'.' if group else ''}{group} {namespace}/{name}"


def version_of(found):
    return found and (found["metadata"]["uid"], found["metadata"]["resourceVersion"])


class Strangers(Namespace):
    """A test with objects that exist before the graph."""

    WITHOUT_GRAPH = True

    def stranger(self, kind, name, manager="kubectl-create", metadata=None, **members):
        base = EVERY_KIND[kind][0]
        api_version = base.removeprefix("/apis/").removeprefix("/api/")
        metadata = {"name": name, "namespace": self.namespace, **(metadata or {})}
        return self.create({"apiVersion": api_version, "kind": kind, "metadata": metadata, **members}, manager)

    def on_deployments(self, name="g", **services):
        """A graph with these services that Grove does not run; without services that of operator_plane."""
        made = graph(name, self.namespace)
        made["metadata"]["annotations"] = {"nvidia.com/enable-grove": "false"}
        if services:
            made["spec"]["services"] = services
        return made

    def service_of(self, **fields):
        """A service; `fields`: other fields than those of a frontend."""
        return {"componentType": "frontend", **fields, "extraPodSpec": {"mainContainer": {"image": "runtime:1"}}}

    def versions(self, strangers):
        names = [(one["kind"], one["metadata"]["name"]) for one in strangers]
        return {(kind, name): version_of(self.get(kind, name)) for kind, name in names}

    def versions_at_rest(self, strangers):
        """When other controllers have written their status."""
        seen = [None]

        def same():
            before, seen[0] = seen[0], self.versions(strangers)
            time.sleep(1)
            return before == seen[0]

        self.wait(same, "strangers are at rest")
        return seen[0]


    def wait_until_told(self, refusals):
        def untold():
            told = self.told()
            return [each for each in refusals if each not in told]

        try:
            self.wait(lambda: not untold(), "all refusals are told", 30)
        except Exception as error:
            missing = untold()
            raise AssertionError(f"not told: {missing}\ntold: {self.told()}") from error


class EveryKind(Strangers):
    def test_the_emptiest_object_of_every_kind_stays(self):
        strangers = [self.stranger(kind, name, **members) for (kind, name), members in EMPTIEST.items()]
        before = self.versions_at_rest(strangers)
        worker = yaml.safe_load(WORKER)
        worker["scalingAdapter"] = {"enabled": True}
        worker["autoscaling"] = {"enabled": True, "minReplicas": 1, "maxReplicas": 2}
        grove = self.on_deployments("c", Frontend=self.service_of())
        del grove["metadata"]["annotations"]
        self.plane.apply(self.on_deployments("a", Frontend=self.service_of(), Epp=yaml.safe_load(EPP), Worker=worker))
        self.plane.apply(self.on_deployments("b", Frontend=self.service_of(ingress=ROUTES)))
        self.plane.apply(grove)
        self.stranger(COMPONENT, "d", spec={"backendFramework": "vllm", **yaml.safe_load(NODES)})
        refusals = [
            f"{text_of(kind, self.namespace, name)} exists, but this operator did not create it" for kind, name in EMPTIEST
        ]
        self.wait_until_told(refusals)
        self.assertEqual(self.versions(strangers), before)
        for name in "abc":
            self.delete(GRAPH, name)
        self.delete(COMPONENT, "d")
        time.sleep(3)
        self.assertEqual(self.versions(strangers), before)


class Forgers(Strangers):
    def test_the_operators_labels_and_somebodys_uid(self):
        """Quirk ctl-Q51: the objects look as if the operator had made them for another owner."""
        somebody = self.stranger("ConfigMap", "somebody")
        other = self.plane.apply(self.on_deployments("h"))
        self.wait_until_ready("h")

        def owned(owner, labels, **controls):
            about = {"apiVersion": owner["apiVersion"], "kind": owner["kind"]}
            about.update(name=owner["metadata"]["name"], uid=owner["metadata"]["uid"], **controls)
            return {"labels": labels, "ownerReferences": [about]}

        of_graph = {GRAPH_LABEL: "g", "nvidia.com/dynamo-component": "Frontend"}
        somebody = {**somebody, "apiVersion": "v1", "kind": "ConfigMap"}
        ports = {"ports": [{"port": 1}]}
        strangers = [
            self.stranger("Service", "g-frontend", metadata=owned(somebody, of_graph), spec=ports),
            self.stranger("Service", "g-processor", metadata=owned(somebody, of_graph, controller=True), spec=ports),
            self.stranger("Role", ACCOUNT + "-role", metadata=owned(other, MANAGED_BY)),
            self.stranger("ServiceAccount", ACCOUNT, metadata=owned(other, MANAGED_BY, controller=True)),
        ]
        before = self.versions(strangers)
        self.plane.apply(self.on_deployments())
        unmade = "exists, but this operator did not create it"
        refusals = (
            f"Service {self.namespace}/g-frontend {unmade}",
            f"Service {self.namespace}/g-processor is controlled by ConfigMap somebody",
            f"Role.{RBAC} {self.namespace}/{ACCOUNT}-role {unmade}",
            f"ServiceAccount {self.namespace}/{ACCOUNT} {unmade}",
        )
        self.wait_until_told(refusals)
        self.assertEqual(self.versions(strangers), before)
        self.delete(GRAPH, "g")
        time.sleep(2)
        self.assertEqual(self.versions(strangers), before)


class Administrators(Strangers):
    """Quirk ctl-Q68: reserved names."""

    def binding(self, account, role="view", **members):
        subject = {"kind": "ServiceAccount", "name": account, "namespace": self.namespace}
        role = {"apiGroup": RBAC, "kind": "ClusterRole", "name": role}
        return self.stranger("RoleBinding", account + "-binding", roleRef=role, subjects=[subject], **members)

    def test_objects_with_reserved_names_are_used_as_they_are(self):
        made = [
            self.stranger("ServiceAccount", "planner-serviceaccount"),
            self.stranger("ServiceAccount", "epp-serviceaccount", manager="helm"),
            self.binding("planner-serviceaccount"),
            self.binding("epp-serviceaccount", manager="helm"),
        ]
        before = self.versions(made)
        planner, processor = self.service_of(componentType="planner"), self.service_of(componentType="default")
        processor["extraPodSpec"]["serviceAccountName"] = "planner-serviceaccount"
        services = {"Epp": yaml.safe_load(EPP), "Planner": planner, "Processor": processor}
        self.plane.apply(self.on_deployments(Frontend=self.service_of(), **services))
        self.wait_until_ready()
        self.assertEqual(self.versions(made), before)
        self.wait(lambda: len(self.warnings("ForeignObjectUsed")) == len(made), "an Event tells of each object")
        told = self.warnings("ForeignObjectUsed")
        for one in made:
            name = text_of(one["kind"], self.namespace, one["metadata"]["name"])
            self.assertIn((f"{name} was not made by this operator and is used as it is", 1), told)
        # Once: neither the next reconcile nor the end of their use is told.
        self.change("Processor", extraPodSpec={"serviceAccountName": None})
        self.change("Planner", componentType="default")
        self.change("Epp", componentType="default", eppConfig=None)
        self.wait_until_ready()
        self.wait(lambda: self.get("ConfigMap", "g-epp-config") is None, "what belonged to the picker is gone")
        self.assertEqual(self.versions(made), before)
        self.assertEqual(self.warnings("ForeignObjectUsed"), told)
        self.delete(GRAPH, "g")
        time.sleep(2)
        self.assertEqual(self.versions(made), before)

    def test_a_binding_of_the_reference_operator_is_replaced(self):
        made = self.binding("epp-serviceaccount", manager="manager", metadata={"annotations": {HASH: "x"}, "labels": MANAGED_BY})
        self.plane.apply(self.on_deployments(Frontend=self.service_of(), Epp=yaml.safe_load(EPP)))
        self.wait_until_ready()
        now = self.get("RoleBinding", "epp-serviceaccount-binding")
        self.assertNotEqual(now["metadata"]["uid"], made["metadata"]["uid"])
        self.assertEqual(now["roleRef"]["name"], "dynamo-dynamo-operator-epp")
        self.assertEqual(self.warnings("ForeignObjectUsed"), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
