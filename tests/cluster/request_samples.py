"""Requests, models and checkpoints of one namespace, and what ends their Jobs: the profiler's output, pods that end."""

from operator_plane import KINDS, OURS, path_of

KINDS.update(DynamoModel=(OURS, "dynamomodels"))
GRAPH, REQUEST, MODEL, CHECKPOINT = "DynamoGraphDeployment", "DynamoGraphDeploymentRequest", "DynamoModel", "DynamoCheckpoint"
SECONDS = 120


class Samples:
    def __init__(self, plane, namespace):
        self.plane, self.namespace = plane, namespace

    def _object(self, kind, name, spec, version="v1alpha1"):
        metadata = {"name": name, "namespace": self.namespace}
        return {"apiVersion": f"nvidia.com/{version}", "kind": kind, "metadata": metadata, "spec": spec}

    def request(self, name, **spec):
        hardware = {"gpuSku": "h200_sxm", "vramMb": 141000, "numGpusPerNode": 8, "totalGpus": 8}
        spec = {"model": "m", "backend": "vllm", "image": "runtime:1", "hardware": hardware, **spec}
        return self._object(REQUEST, name, spec, "v1beta1")

    def checkpoint(self, name, image="runtime:1", **job):
        pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": image, "command": ["sleep"]}]}
        identity = {"model": name, "backendFramework": "vllm"}
        return self._object(CHECKPOINT, name, {"identity": identity, "job": {**job, "podTemplateSpec": {"spec": pod}}})

    def adapter(self, name, base):
        spec = {"modelName": f"org/{name}", "baseModelName": base, "modelType": "lora", "source": {"uri": f"s3://bucket/{name}"}}
        return self._object(MODEL, name, spec)

    def base_model(self, name, base):
        return self._object(MODEL, name, {"modelName": base, "baseModelName": base, "modelType": "base"})

    def workers(self, name, base, replicas=2):
        """A graph whose pods serve a base model."""
        main = {"image": "runtime:1", "command": ["python3", "-m", "dynamo.vllm"], "args": ["--model", "m"]}
        worker = {"componentType": "worker", "replicas": replicas, "modelRef": {"name": base}, "extraPodSpec": {"mainContainer": main}}
        return self._object(GRAPH, name, {"services": {"Worker": worker}})

    def addresses(self, graph):
        """name -> address of the pods of a graph that have one."""
        path = path_of("Pod", self.namespace) + f"?labelSelector=nvidia.com/dynamo-graph-deployment-name%3D{graph}"
        pods = [one for one in self.plane.cluster.api("GET", path)["items"] if "deletionTimestamp" not in one["metadata"]]
        return {one["metadata"]["name"]: one["status"]["podIP"] for one in pods if one["status"].get("podIP")}

    def get(self, kind, name):
        return self.plane.get(kind, self.namespace, name)

    def status(self, kind, name):
        return (self.get(kind, name) or {}).get("status", {})

    def wait_for_phase(self, kind, name, *phases):
        try:
            self.plane.cluster.wait(lambda: self.status(kind, name).get("phase") in phases, SECONDS, f"{name} is {phases}")
        except Exception as error:
            raise AssertionError(f"{kind} {name} has {self.status(kind, name)}") from error

    def write_output(self, name, image="runtime:1"):
        """The output of the profiler: a graph NAME-graph of one frontend."""
        text = f"""
            apiVersion: nvidia.com/v1alpha1
            kind: DynamoGraphDeployment
            metadata: {{name: {name}-graph}}
            spec:
              services:
                Frontend: {{componentType: frontend, replicas: 1, extraPodSpec: {{mainContainer: {{image: "{image}"}}}}}}"""
        labels = {"dgdr.nvidia.com/name": name, "nvidia.com/managed-by": "dynamo-operator"}
        body = {"metadata": {"name": f"dgdr-output-{name}", "labels": labels}, "data": {"final_config.yaml": text}}
        self.plane.cluster.api("POST", path_of("ConfigMap", self.namespace), body)

    def end_pod(self, job, container, phase, exit_code=0):
        """The only pod of a Job that runs ends. `exit_code`: of the container."""
        path = path_of("Pod", self.namespace) + f"?labelSelector=job-name%3D{job}"
        pods = lambda: self.plane.cluster.api("GET", path)["items"]  # noqa: E731
        running = lambda: [one for one in pods() if one["status"].get("phase") == "Running"]  # noqa: E731
        self.plane.cluster.wait(running, SECONDS, f"a pod of {job} runs")
        (pod,) = running()
        ended = {"exitCode": exit_code, "reason": "Error" if exit_code else "Completed"}
        others = {"exitCode": 0, "reason": "Completed"}
        containers = [
            {**one, "ready": False, "state": {"terminated": ended if one["name"] == container else others}}
            for one in pod["status"]["containerStatuses"]
        ]
        change = {"status": {"phase": phase, "containerStatuses": containers}}
        self.plane.patch("Pod", self.namespace, pod["metadata"]["name"], change, "status")
