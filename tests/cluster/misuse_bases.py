"""The correct objects that misuse_changes.py changes. They set as many optional fields as one object may, so that the removal
of each is a change."""

import yaml

MAIN = """
image: "runtime:1"
command: [python3, -m, dynamo.vllm]
args: [--model, m]
workingDir: /workspace
env: [{name: MODE, value: fast}, {name: NODE, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]
envFrom: [{configMapRef: {name: settings, optional: true}}]
ports: [{name: metrics, containerPort: 9400, protocol: TCP}]
resources: {limits: {memory: 4Gi}, requests: {memory: 2Gi}}
livenessProbe: {httpGet: {path: /live, port: 9090}, periodSeconds: 5, timeoutSeconds: 3, failureThreshold: 3}
readinessProbe: {httpGet: {path: /health, port: 9090}, initialDelaySeconds: 1, successThreshold: 1}
startupProbe: {tcpSocket: {port: 9090}, failureThreshold: 60}
lifecycle: {preStop: {exec: {command: [sleep, "1"]}}}
securityContext: {runAsUser: 1000, allowPrivilegeEscalation: false, capabilities: {drop: [ALL]}}
volumeMounts: [{name: scratch, mountPath: /scratch}]
imagePullPolicy: IfNotPresent
terminationMessagePolicy: FallbackToLogsOnError
"""
POD = """
terminationGracePeriodSeconds: 5
nodeSelector: {kubernetes.io/os: linux}
tolerations: [{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}]
affinity:
  podAntiAffinity:
    preferredDuringSchedulingIgnoredDuringExecution:
    - weight: 10
      podAffinityTerm: {topologyKey: kubernetes.io/hostname, labelSelector: {matchLabels: {tier: gpu}}}
topologySpreadConstraints:
- {maxSkew: 1, topologyKey: kubernetes.io/hostname, whenUnsatisfiable: ScheduleAnyway, labelSelector: {matchLabels: {a: b}}}
imagePullSecrets: [{name: registry}]
securityContext: {fsGroup: 1000, runAsNonRoot: true}
dnsPolicy: ClusterFirst
dnsConfig: {options: [{name: ndots, value: "2"}]}
hostAliases: [{ip: 10.0.0.1, hostnames: [cache.local]}]
serviceAccountName: default
schedulerName: default-scheduler
enableServiceLinks: false
volumes: [{name: scratch, emptyDir: {sizeLimit: 1Gi}}]
initContainers:
- {name: fetch, image: "busybox:1", command: ["true"], volumeMounts: [{name: scratch, mountPath: /scratch}]}
containers: [{name: log, image: "busybox:1", command: [tail], resources: {limits: {cpu: 100m}}}]
"""
COMPONENT = """
componentType: worker
subComponentType: decode
globalDynamoNamespace: false
replicas: 1
labels: {team: serving}
annotations: {example.com/owner: serving}
envFromSecret: tokens
envs: [{name: HF_HOME, value: /models}]
resources: {requests: {cpu: "1", memory: 2Gi}, limits: {cpu: "2", memory: 4Gi, gpu: "1", custom: {example.com/nic: "1"}}}
volumeMounts: [{name: models, mountPoint: /models}, {name: cache, useAsCompilationCache: true}]
sharedMemory: {size: 2Gi}
modelRef: {name: Qwen/Qwen3-0.6B, revision: main}
checkpoint: {enabled: false, mode: Auto, identity: {model: Qwen/Qwen3-0.6B, backendFramework: vllm, dtype: bf16}}
livenessProbe: {httpGet: {path: /live, port: 9090}, periodSeconds: 5}
readinessProbe: {httpGet: {path: /health, port: 9090}, initialDelaySeconds: 1}
extraPodMetadata: {labels: {tier: gpu}, annotations: {example.com/scrape: "true"}}
"""
AUTOSCALING = """
enabled: true
minReplicas: 1
maxReplicas: 3
metrics: [{type: Resource, resource: {name: cpu, target: {type: Utilization, averageUtilization: 80}}}]
behavior:
  scaleDown: {stabilizationWindowSeconds: 60, policies: [{type: Pods, value: 1, periodSeconds: 60}]}
  scaleUp: {stabilizationWindowSeconds: 0, selectPolicy: Max, policies: [{type: Percent, value: 100, periodSeconds: 30}]}
"""
INGRESS = """
enabled: true
host: chat
hostPrefix: eu-
hostSuffix: example.com
ingressControllerClassName: nginx
labels: {team: edge}
annotations: {example.com/rate: "10"}
tls: {secretName: chat-tls}
useVirtualService: true
virtualServiceGateway: istio/gateway
"""
PICKER = """
config:
  apiVersion: inference.networking.x-k8s.io/v1alpha1
  kind: EndpointPickerConfig
  plugins: [{type: kv-aware-scorer, name: scorer, parameters: {weight: 1}}]
  schedulingProfiles: [{name: default, plugins: [{pluginRef: scorer, weight: 1}]}]
"""
CLAIMS = """
- {name: models, create: false}
- {name: cache, create: true, size: 1Gi, storageClass: fast, volumeAccessMode: ReadWriteOnce}
"""
NAME = "base"


def read(text):
    return yaml.safe_load(text)


def worker(**more):
    return {**read(COMPONENT), "extraPodSpec": {**read(POD), "mainContainer": read(MAIN)}, **more}


def plain(component, **more):
    pod = {"mainContainer": {"image": "runtime:1"}}
    return {"componentType": component, "replicas": 1, "extraPodSpec": pod, **more}


def aggregated():
    """A frontend and one worker with every part of a pod."""
    frontend = plain("frontend", ingress=read(INGRESS), autoscaling=read(AUTOSCALING))
    return graph({"Frontend": frontend, "Worker": worker()})


def disaggregated():
    """One service of each kind. The endpoint picker routes to workers with a frontend as sidecar."""
    decode = plain("worker", **{"resources": {"limits": {"gpu": "1"}}})
    sidecar = {"image": "runtime:1", "args": ["--router"], "envs": [{"name": "A", "value": "b"}], "envFromSecret": "s"}
    decode["frontendSidecar"] = sidecar
    decode["extraPodSpec"]["mainContainer"].update(command=["python3", "-m", "dynamo.vllm"], args=["--model", "m"])
    prefill = plain("worker", subComponentType="prefill", scalingAdapter={"enabled": True})
    picker = plain("epp", eppConfig=read(PICKER))
    services = {"Decode": decode, "Prefill": prefill, "Epp": picker, "Planner": plain("planner")}
    return graph(services, restart={"id": "1", "strategy": {"type": "Sequential", "order": sorted(services)}})


def graph(services, **more):
    spec = {"backendFramework": "vllm", "envs": [{"name": "LEVEL", "value": "info"}], "pvcs": read(CLAIMS), **more}
    return manifest("DynamoGraphDeployment", {**spec, "services": services})


def manifest(kind, spec):
    return {"apiVersion": "nvidia.com/v1alpha1", "kind": kind, "metadata": {"name": NAME}, "spec": spec}


def component():
    """A component deployment without a graph."""
    spec = worker(backendFramework="vllm", dynamoNamespace="ns", serviceName="alone")
    return manifest("DynamoComponentDeployment", spec)


def claims(namespace, kind):
    """Volumes for the claims of a namespace, and the claims that the object does not create."""
    spec = {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"}
    names = ("models", "cache")
    found = []
    for name in names:
        bound = {"claimRef": {"namespace": namespace, "name": name}, "hostPath": {"path": "/x"}, "capacity": {"storage": "1Gi"}}
        metadata = {"name": f"{namespace}-{name}"}
        found.append({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": {**spec, **bound}})
    for name in names if kind == "DynamoComponentDeployment" else ("models",):
        metadata = {"name": name, "namespace": namespace}
        request = {"resources": {"requests": {"storage": "1Gi"}}}
        found.append({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": {**spec, **request}})
    return found


# The service whose fields are changed, where it is not the worker.
OWNER = {
    "ingress": "Frontend",
    "autoscaling": "Frontend",
    "eppConfig": "Epp",
    "frontendSidecar": "Decode",
    "scalingAdapter": "Prefill",
}


def of_aggregated(path):
    """The fields of the pods and of ingress, each once."""
    if path[1] != "services" or len(path) < 4:
        return path[1] not in ("services", "restart")
    return path[3] not in ("eppConfig", "frontendSidecar", "scalingAdapter") and path[2] == OWNER.get(path[3], "Worker")


def of_disaggregated(path):
    """The fields of the graph and those of services above the pod template."""
    if path[1] != "services" or len(path) < 4:
        return path[1] in ("services", "restart")
    if path[3] in ("eppConfig", "frontendSidecar", "scalingAdapter"):
        return path[2] == OWNER[path[3]]
    return len(path) == 4 and path[2] == "Prefill"


BASES = {
    "aggregated": (aggregated, of_aggregated),
    "disaggregated": (disaggregated, of_disaggregated),
    "component": (component, lambda path: True),
}
