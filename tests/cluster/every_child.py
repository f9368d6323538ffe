"""Graphs that make the controller create, change and delete each kind of child."""

import json

import yaml

DYNAMO = "/apis/nvidia.com/v1alpha1/namespaces/{}/{}"
GROVE = "/apis/grove.io/v1alpha1/namespaces/{}/{}"
CORE = "/api/v1/namespaces/{}/{}"
BATCH = "/apis/batch/v1/namespaces/{}/{}"
APPS = "/apis/apps/v1/namespaces/{}/{}"
AUTOSCALING = "/apis/autoscaling/v2/namespaces/{}/{}"
INFERENCE = "/apis/inference.networking.k8s.io/v1/namespaces/{}/{}"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/{}/{}"
LWS = "/apis/leaderworkerset.x-k8s.io/v1/namespaces/{}/{}"
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/{}/{}"
MANAGED_BY = "app.kubernetes.io/managed-by"
MERGE = "application/merge-patch+json"
SECONDS = 60

WORKER = """
      componentType: worker
      resources: {limits: {gpu: "1"}}
      extraPodSpec:
        mainContainer: {image: "runtime:1.0.0", command: [python3, -m, dynamo.vllm], args: [--model, m]}
"""
NODES = """
      componentType: worker
      multinode: {nodeCount: 2}
      resources: {limits: {gpu: "1"}}
      extraPodSpec:
        mainContainer:
          image: runtime:1.0.0
          command: [python3, -m, dynamo.vllm]
          args: [--model, m, --tensor-parallel-size, "2"]
"""
# Its pods mount the SSH key.
TENSORRT = NODES.replace("dynamo.vllm", "dynamo.trtllm").replace("--model,", "--model-path,")
# All services of one node, with everything that a graph can have beside pods. The finalizer is that of the reference.
SERVE = f"""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata:
  name: serve
  annotations: {{nvidia.com/enable-grove: "false"}}
  finalizers: [nvidia.com/finalizer]
spec:
  pvcs: [{{name: models, create: true, size: 1Gi, storageClass: fast, volumeAccessMode: ReadWriteOnce}}]
  services:
    Frontend:
      componentType: frontend
      ingress:
        enabled: true
        host: chat
        hostSuffix: example.com
        ingressControllerClassName: nginx
        useVirtualService: true
        virtualServiceGateway: istio/gateway
      extraPodSpec: {{mainContainer: {{image: "runtime:1.0.0"}}}}
    Planner:
      componentType: planner
      extraPodSpec: {{mainContainer: {{image: "runtime:1.0.0", command: [python3, -m, dynamo.planner.planner_sla]}}}}
    Epp:
      componentType: epp
      eppConfig:
        config:
          plugins: [{{type: kv-aware-scorer}}]
          schedulingProfiles: [{{name: default, plugins: [{{pluginRef: kv-aware-scorer}}]}}]
      extraPodSpec: {{mainContainer: {{image: "epp:1.0.0"}}}}
    Worker:
      scalingAdapter: {{enabled: true}}
      modelRef: {{name: Qwen/Qwen3-0.6B}}{WORKER}
"""
# A worker with a checkpoint and an autoscaler.
SAVED = f"""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: saved, annotations: {{nvidia.com/enable-grove: "false"}}}}
spec:
  services:
    Worker:
      autoscaling: {{enabled: true, minReplicas: 1, maxReplicas: 2}}
      checkpoint: {{enabled: true, identity: {{model: Qwen/Qwen3-0.6B, backendFramework: vllm}}}}{WORKER}
"""
# Its Job fails when its time is over.
TAKEN = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoCheckpoint
metadata: {name: taken}
spec:
  identity: {model: m, backendFramework: vllm}
  job:
    activeDeadlineSeconds: 3600
    podTemplateSpec: {spec: {containers: [{name: main, image: "runtime:1.0.0"}]}}
"""
# The pods of Jobs succeed at once here.
MET = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata: {name: met}
spec:
  model: m
  backend: vllm
  image: "runtime:1.0.0"
  hardware: {gpuSku: h200_sxm, vramMb: 141000, numGpusPerNode: 8, totalGpus: 8}
"""
# Its Job has no pods. One is said to have failed.
UNMET = MET.replace("met}", "unmet}") + "  overrides: {profilingJob: {suspend: true, template: {spec: {containers: []}}}}\n"
CLAIMLESS = MET.replace("met}", "claimless}") + "  modelCache: {pvcName: absent}\n"
# What the profiler of `met` leaves.
PROFILED = """
kind: ConfigMap
metadata: {name: planner-config}
data: {a: b}
---
kind: DynamoGraphDeployment
metadata: {name: profiled, annotations: {nvidia.com/enable-grove: "false"}}
spec: {services: {Frontend: {componentType: frontend, extraPodSpec: {mainContainer: {image: "runtime:1.0.0"}}}}}
"""
# An adapter for the pods of the graph `serve`, and a pod of no graph at the same endpoints.
TUNED = """
apiVersion: nvidia.com/v1alpha1
kind: DynamoModel
metadata: {name: tuned}
spec: {modelName: tuned, baseModelName: Qwen/Qwen3-0.6B, modelType: lora, source: {uri: "s3://bucket/tuned"}}
"""
OTHER = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: other}
spec:
  serviceName: other
  selector: {matchLabels: {other: pod}}
  template:
    metadata: {labels: {other: pod}}
    spec: {containers: [{name: main, image: "runtime:1.0.0"}]}
"""
# No exporter and no node tells its hardware.
UNKNOWN = """
apiVersion: nvidia.com/v1beta1
kind: DynamoGraphDeploymentRequest
metadata: {name: unknown}
spec: {model: m, image: "runtime:1.0.0"}
"""
CLIQUES = f"""
apiVersion: nvidia.com/v1alpha1
kind: DynamoGraphDeployment
metadata: {{name: cliques}}
spec:
  services:
    Frontend: {{componentType: frontend, extraPodSpec: {{mainContainer: {{image: "runtime:1.0.0"}}}}}}
    Worker:{TENSORRT}
"""
ALONE = f"""
apiVersion: nvidia.com/v1alpha1
kind: DynamoComponentDeployment
metadata: {{name: alone}}
spec:
  backendFramework: vllm
{WORKER.replace("      ", "  ")}
"""


class Player:
    """Plays everything in one namespace. Each step waits until the controller has done its part."""

    def __init__(self, cluster, namespace):
        self.cluster = cluster
        self.namespace = namespace

    def play(self):
        self.earlier_objects()
        self.earlier_output()
        for text in (SERVE, SAVED, TAKEN, UNMET, MET, UNKNOWN, CLAIMLESS, CLIQUES, ALONE):
            self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", input=text)
        self.until("the graph is up", lambda: self.graph("serve").get("status", {}).get("state") == "successful")
        self.until("the graph's claim exists", lambda: self.has("pvc models"))
        self.until("a checkpoint exists", lambda: self.count("dynamocheckpoints") == 2)
        self.until("hardware was looked for", lambda: self.phase_of_request("unknown") == "Failed")
        self.until("a claim was looked for", lambda: self.phase_of_request("claimless") == "Failed")
        self.checkpoint()
        self.requests()
        self.models()
        self.scale()
        self.rolling_update()
        self.hide()
        self.remove_parts()
        self.one_node_and_two()
        self.cliques()
        self.delete_everything()

    def earlier_objects(self):
        """Objects with the names of children that this operator has applied for an earlier owner. The controller adds itself to
        the owners of the account and its Role, and replaces the binding, because its role differs."""
        name = "serve-k8s-service-discovery"
        owner = self.api("POST", CORE, "configmaps", {"metadata": {"name": "earlier"}})["metadata"]
        owned = {
            "labels": {"app.kubernetes.io/managed-by": "dynamo-operator"},
            "ownerReferences": [{"apiVersion": "v1", "kind": "ConfigMap", "name": "earlier", "uid": owner["uid"]}],
        }
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, **owned}}
        role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": {"name": f"{name}-role", **owned}}
        for base, resource, body in ((CORE, "serviceaccounts", account), (RBAC, "roles", {**role, "rules": []})):
            path = f"{resource}/{body['metadata']['name']}?fieldManager=dynamo-controller"
            self.api("PATCH", base, path, body, "application/apply-patch+yaml")
        other = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "another"}
        ours = {"annotations": {"nvidia.com/last-applied-hash": "x"}}  # but no label that a watch selects
        self.api("POST", RBAC, "rolebindings", {"metadata": {"name": f"{name}-binding", **ours}, "roleRef": other})

    def scale(self):
        """The same change again and again, until an Event is added to an earlier one. An Event may be missing, because the
        controller records it after its last write, which may fail with a conflict."""
        for replicas in (2, 1) * 10:
            self.patch(DYNAMO, "dynamographdeploymentscalingadapters/serve-worker/scale", {"spec": {"replicas": replicas}})
            self.until(f"the graph has {replicas} workers", lambda replicas=replicas: self.replicas_of_worker() == replicas)
            events = self.api("GET", CORE, "events?fieldSelector=reason=Scaled")["items"]
            if any(event["count"] > 1 for event in events):
                return
        raise AssertionError("no Event is counted")

    def replicas_of_worker(self):
        return self.graph("serve")["spec"]["services"]["Worker"].get("replicas", 1)

    def rolling_update(self):
        before = self.workers()
        self.patch_graph("serve", {"Worker": {"extraPodSpec": {"mainContainer": {"image": "runtime:2.0.0"}}}})

        def replaced():
            now = self.workers()
            return len(now) == 1 and now != before

        self.until("the workers are replaced", replaced)

    def checkpoint(self):
        """A Job that is deleted, one that fails, and a changed spec, which replaces it."""
        self.until("a Job takes the checkpoint", lambda: self.uid_of_job())
        first = self.uid_of_job()
        self.api("DELETE", BATCH, "jobs/checkpoint-taken?propagationPolicy=Background")
        self.until("another Job exists", lambda: self.uid_of_job() not in (None, first))
        second = self.uid_of_job()
        self.patch(BATCH, "jobs/checkpoint-taken", {"spec": {"activeDeadlineSeconds": 1}})
        self.until("the checkpoint has failed", lambda: self.phase_of_checkpoint() == "Failed")
        self.patch(DYNAMO, "dynamocheckpoints/taken", {"spec": {"job": {"activeDeadlineSeconds": 1800}}})
        self.until("a third Job exists", lambda: self.uid_of_job() not in (None, first, second))

    def models(self):
        """Nothing answers at the addresses of the pods. The pod of a StatefulSet is not asked, but its owner is read."""
        for text in (TUNED, OTHER):
            self.cluster.kubectl("-n", self.namespace, "apply", "-f", "-", input=text)
        self.until("the pods of the worker were asked", lambda: "pod serve-worker-" in self.message_of_model())
        self.until("the pod of the StatefulSet runs", lambda: self.address_of("other-0"))
        body = {
            "metadata": {"name": "other", "labels": {"nvidia.com/dynamo-base-model-hash": "fb68f5a6"}},
            "addressType": "IPv4",
            "endpoints": [{"addresses": [self.address_of("other-0")], "targetRef": {"kind": "Pod", "name": "other-0"}}],
        }
        self.api("POST", SLICES, "endpointslices", body)
        self.until("it is told", lambda: "pod other-0 belongs to no graph" in self.message_of_model())
        self.api("DELETE", DYNAMO, "dynamomodels/tuned")
        self.until("no models", lambda: self.count("dynamomodels") == 0)

    def message_of_model(self):
        conditions = self.api("GET", DYNAMO, "dynamomodels/tuned").get("status", {}).get("conditions", [])
        return next((one["message"] for one in conditions if one["type"] == "EndpointsReady"), "")

    def address_of(self, pod):
        found = self.api("GET", CORE, "pods")["items"]
        return next((one["status"].get("podIP") for one in found if one["metadata"]["name"] == pod), None)

    def phase_of_checkpoint(self):
        return self.api("GET", DYNAMO, "dynamocheckpoints/taken").get("status", {}).get("phase")

    def uid_of_job(self):
        jobs = self.api("GET", BATCH, "jobs")["items"]
        return next((one["metadata"]["uid"] for one in jobs if one["metadata"]["name"] == "checkpoint-taken"), None)

    def earlier_output(self):
        """The output of an earlier request of the same name. The controller removes it."""
        self.output("met", {"final_config.yaml": "earlier"})

    def output(self, name, data):
        labels = {"dgdr.nvidia.com/name": name, "nvidia.com/managed-by": "dynamo-operator"}
        self.api("POST", CORE, "configmaps", {"metadata": {"name": f"dgdr-output-{name}", "labels": labels}, "data": data})

    def requests(self):
        """A Job that fails and is not repeated, and one whose output becomes a graph."""
        self.until("the earlier output is gone", lambda: not self.has("configmap dgdr-output-met"))
        self.output("met", {"final_config.yaml": PROFILED})
        self.until("the generated graph runs", lambda: self.phase_of_request("met") == "Deployed")
        self.until("a Job profiles", lambda: self.has("job profile-unmet"))
        self.output("unmet", {"output_copier_error.txt": "why"})
        self.patch(BATCH, "jobs/profile-unmet/status", {"status": {"failed": 1}})
        self.until("it will not be repeated", lambda: self.api("GET", BATCH, "jobs/profile-unmet")["spec"]["backoffLimit"] == 0)

    def phase_of_request(self, name):
        return self.request(name).get("status", {}).get("phase")

    def hide(self):
        """Takes the labels of children away, so that the controller's watches no longer see them, and changes one field. The
        controller then has to read them."""
        self.until("all routes exist", lambda: all(self.has(route) for route in ROUTES))
        self.until("an autoscaler exists", lambda: self.has("hpa saved-worker"))
        key = next(iter(self.api("GET", CORE, "configmaps/serve-epp-config")["data"]))
        hidden = {"labels": None}
        for base, resource, change in (
            (APPS, "deployments/serve-frontend", {"metadata": hidden, "spec": {"replicas": 2}}),
            (AUTOSCALING, "horizontalpodautoscalers/saved-worker", {"metadata": hidden, "spec": {"maxReplicas": 5}}),
            (INFERENCE, "inferencepools/serve-pool", {"metadata": hidden, "spec": {"endpointPickerRef": {"name": "other"}}}),
            (CORE, "services/serve-frontend", {"metadata": hidden, "spec": {"selector": {"other": "label"}}}),
            (CORE, "configmaps/serve-epp-config", {"metadata": hidden, "data": {key: "other"}}),
            (CORE, "serviceaccounts/serve-k8s-service-discovery", {"metadata": {"labels": {MANAGED_BY: "other"}}}),
        ):
            self.hide_one(base, resource, change)

    def hide_one(self, base, resource, change):
        """Waits until the labels are back."""
        before = self.api("GET", base, resource)["metadata"]["labels"]
        self.patch(base, resource, change)
        self.until(f"{resource} is repaired", lambda: self.api("GET", base, resource)["metadata"].get("labels") == before)

    def remove_parts(self):
        """The services stay, but without routes, adapter and endpoint picker."""
        changes = {"Epp": {"componentType": "planner", "eppConfig": None}, "Frontend": {"ingress": {"enabled": False}}}
        self.patch_graph("serve", {**changes, "Worker": {"scalingAdapter": None}})
        self.patch_graph("saved", {"Worker": {"autoscaling": None}})
        gone = (*ROUTES, "configmap serve-epp-config", "dgdsa serve-worker", "dgdsa saved-worker", "hpa saved-worker")
        self.until("what belonged to them is gone", lambda: not any(self.has(each) for each in gone))

    def one_node_and_two(self):
        """A component moves between a Deployment and a LeaderWorkerSet. With etcd it needs no Service."""
        self.until("a Deployment runs it", lambda: self.has("deployment alone"))
        two = yaml.safe_load(NODES)
        etcd = {"annotations": {"nvidia.com/dynamo-discovery-backend": "etcd"}}
        self.patch(DYNAMO, "dynamocomponentdeployments/alone", {"metadata": etcd, "spec": {**two, **etcd}})
        self.until("a LeaderWorkerSet runs it", lambda: self.has("lws alone-0") and self.has("podgroup alone-0"))
        self.hide_one(LWS, "leaderworkersets/alone-0", {"metadata": {"labels": None}, "spec": {"replicas": 2}})
        self.until("the Deployment is gone", lambda: not self.has("deployment alone"))
        self.until("the Service is gone", lambda: not self.has("service alone"))
        one = {**yaml.safe_load(WORKER), "multinode": None}
        self.patch(DYNAMO, "dynamocomponentdeployments/alone", {"spec": one})
        self.until("the set and its group are gone", lambda: not self.has("lws alone-0") and not self.has("podgroup alone-0"))

    def cliques(self):
        """Creates what Grove would create, scales it through the graph, then moves the graph off Grove."""
        self.until("the set exists", lambda: self.has("podcliqueset cliques") and self.has("secret mpi-run-ssh-secret"))
        labels = {"nvidia.com/dynamo-graph-deployment-name": "cliques"}
        pod = {"containers": [{"name": "main", "image": "runtime:1.0.0"}]}
        clique = {"roleName": "frontend", "replicas": 1, "minAvailable": 1, "podSpec": pod}
        group = {"replicas": 1, "minAvailable": 1, "cliqueNames": ["worker-ldr", "worker-wkr"]}
        self.grove("PodClique", "podcliques", "cliques-0-frontend", labels, clique)
        self.grove("PodCliqueScalingGroup", "podcliquescalinggroups", "cliques-0-worker", labels, group)
        self.patch_graph("cliques", {"Frontend": {"replicas": 2}, "Worker": {"replicas": 2}})
        for path in ("podcliques/cliques-0-frontend", "podcliquescalinggroups/cliques-0-worker"):
            self.until(f"{path} is scaled", lambda path=path: self.api("GET", GROVE, path)["spec"]["replicas"] == 2)
        off = {"annotations": {"nvidia.com/enable-grove": "false"}}
        self.patch(DYNAMO, "dynamographdeployments/cliques", {"metadata": off})
        self.until("the set is gone", lambda: not self.has("podcliqueset cliques"))

    def grove(self, kind, resource, name, labels, spec):
        body = {"apiVersion": "grove.io/v1alpha1", "kind": kind, "metadata": {"name": name, "labels": labels}, "spec": spec}
        self.api("POST", GROVE, resource, body)

    def delete_everything(self):
        for resource in ("dynamographdeployments", "dynamocomponentdeployments"):
            self.api("DELETE", DYNAMO, resource)
            self.until(f"no {resource}", lambda resource=resource: self.count(resource) == 0)

    # Requests of the administrator

    def api(self, method, base, resource, body=None, content_type="application/json"):
        return self.cluster.api(method, base.format(self.namespace, resource), body, content_type)

    def patch(self, base, resource, body):
        return self.api("PATCH", base, resource, body, MERGE)

    def patch_graph(self, name, services):
        self.patch(DYNAMO, f"dynamographdeployments/{name}", {"spec": {"services": services}})

    def graph(self, name):
        return self.api("GET", DYNAMO, f"dynamographdeployments/{name}")

    def request(self, name):
        return self.api("GET", DYNAMO.replace("v1alpha1", "v1beta1"), f"dynamographdeploymentrequests/{name}")

    def count(self, resource):
        return len(self.api("GET", DYNAMO, resource)["items"])

    def workers(self):
        labels = "nvidia.com/dynamo-graph-deployment-name=serve,nvidia.com/dynamo-component=Worker"
        found = self.api("GET", DYNAMO, f"dynamocomponentdeployments?labelSelector={labels}")
        return [item["metadata"]["name"] for item in found["items"]]

    def has(self, what):
        """`what` is "kind name"; an object that is being deleted does not count."""
        found = self.cluster.kubectl("-n", self.namespace, "get", *what.split(), "-o", "json", check=False)
        return found.returncode == 0 and "deletionTimestamp" not in json.loads(found.stdout)["metadata"]

    def until(self, what, condition):
        self.cluster.wait(condition, SECONDS, f"{what} in {self.namespace}")


ROUTES = ("ingress serve-frontend", "virtualservice serve-frontend", "inferencepool serve-pool")
