"""The watched kinds, and their fields that are bookkeeping or random."""

import re

NV, GROVE = "/apis/nvidia.com/v1alpha1", "/apis/grove.io/v1alpha1"
CUSTOM = {
    "DynamoGraphDeployment": (NV, "dynamographdeployments"),
    "DynamoComponentDeployment": (NV, "dynamocomponentdeployments"),
    "DynamoGraphDeploymentScalingAdapter": (NV, "dynamographdeploymentscalingadapters"),
    "DynamoModel": (NV, "dynamomodels"),
    "DynamoCheckpoint": (NV, "dynamocheckpoints"),
    "DynamoGraphDeploymentRequest": ("/apis/nvidia.com/v1beta1", "dynamographdeploymentrequests"),
}
CHILD = {
    "Deployment": ("/apis/apps/v1", "deployments"),
    "Service": ("/api/v1", "services"),
    "ConfigMap": ("/api/v1", "configmaps"),
    "Secret": ("/api/v1", "secrets"),
    "ServiceAccount": ("/api/v1", "serviceaccounts"),
    "PersistentVolumeClaim": ("/api/v1", "persistentvolumeclaims"),
    "Role": ("/apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("/apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "Ingress": ("/apis/networking.k8s.io/v1", "ingresses"),
    "Job": ("/apis/batch/v1", "jobs"),
    "HorizontalPodAutoscaler": ("/apis/autoscaling/v2", "horizontalpodautoscalers"),
    "LeaderWorkerSet": ("/apis/leaderworkerset.x-k8s.io/v1", "leaderworkersets"),
    "PodGroup": ("/apis/scheduling.volcano.sh/v1beta1", "podgroups"),
    "PodCliqueSet": (GROVE, "podcliquesets"),
    "PodClique": (GROVE, "podcliques"),
    "PodCliqueScalingGroup": (GROVE, "podcliquescalinggroups"),
    "VirtualService": ("/apis/networking.istio.io/v1beta1", "virtualservices"),
    "InferencePool": ("/apis/inference.networking.k8s.io/v1", "inferencepools"),
}
OTHER = {
    "Pod": ("/api/v1", "pods"),
    "ReplicaSet": ("/apis/apps/v1", "replicasets"),
    "EndpointSlice": ("/apis/discovery.k8s.io/v1", "endpointslices"),
    "Event": ("/api/v1", "events"),
}
WHERE = {**CUSTOM, **CHILD, **OTHER}
HASH_LABEL, HASH_NOTE, RESTART = ("nvidia.com/dynamo-worker-hash", "nvidia.com/current-worker-hash", "nvidia.com/restartAt")
# Bookkeeping annotations of one operator or of kubectl.
FORGET = {
    "nvidia.com/last-applied-hash",
    "nvidia.com/last-applied-generation",
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "nvidia.com/dynamo-operator-origin-version",
    "nvidia.com/dynamo-rendered-replicas",  # ctl-Q45
}
LONG = {"nvidia.com/generated-dgd-spec", "dgdr.nvidia.com/additional-resources"}  # only their presence counts
CLUSTERS_OWN = re.compile(
    r"(default-scheduler|kubelet|kwok|.*-controller|controllermanager|persistentvolume.*|podgc|taint-eviction.*|node.*)$"
)
EVERY_TIME = re.compile(r"Update|Update[A-Z]\w+$")  # reasons of events that tell of a reconcile, not of a change
RACE = re.compile(r"the object has been modified|already exists|StorageError|Precondition failed")


def source_of(event):
    return (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""


def is_of_operator(event):
    return not CLUSTERS_OWN.match(source_of(event))
