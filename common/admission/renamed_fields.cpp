#include "common/admission/renamed_fields.h"

#include <algorithm>
#include <array>

namespace dynamo::admission {
namespace {

using enum Origin;

constexpr std::string_view kNodes = "multinode.nodeCount";
constexpr std::string_view kImage =
    "extraPodSpec.mainContainer.image, command and args of each service; images are built elsewhere";
constexpr std::string_view kMounts = "extraPodSpec.mainContainer.volumeMounts and extraPodSpec.volumes";
constexpr std::string_view kAutoscaler = "scalingAdapter.enabled, and an autoscaler for the scaling adapter";
constexpr std::string_view kAdapterLimits = "minReplicas and maxReplicas of the autoscaler";

constexpr std::array kFields = {
    // Services, and the spec of a component deployment
    RenamedField{"service", "env", Elsewhere, "envs", true},
    RenamedField{"service", "environment", Elsewhere, "envs"},
    RenamedField{"service", "name", Elsewhere, "the key of the service in spec.services as its name"},
    RenamedField{"service", "metadata", Elsewhere, "extraPodMetadata for labels and annotations of pods"},
    RenamedField{"service", "podAnnotations", Elsewhere, "extraPodMetadata.annotations", true},
    RenamedField{"service", "podLabels", Elsewhere, "extraPodMetadata.labels", true},
    RenamedField{"service", "podSpec", Elsewhere, "extraPodSpec", true},
    RenamedField{"service", "template", Elsewhere, "extraPodSpec and extraPodMetadata"},
    RenamedField{"service", "container", Elsewhere, "extraPodSpec.mainContainer", true},
    RenamedField{"service", "containers", Elsewhere,
                 "extraPodSpec.mainContainer, and extraPodSpec.containers for further containers"},
    RenamedField{"service", "port", Elsewhere, "extraPodSpec.mainContainer.ports"},
    RenamedField{"service", "containerPort", Elsewhere, "extraPodSpec.mainContainer.ports"},
    RenamedField{"service", "numberOfNodes", Elsewhere, kNodes, true},
    RenamedField{"service", "nodeCount", Elsewhere, kNodes, true},
    RenamedField{"service", "numNodes", Elsewhere, kNodes, true},
    RenamedField{"service", "nodes", Elsewhere, kNodes, true},
    RenamedField{"service", "gpu", Elsewhere, "resources.limits.gpu", true},
    RenamedField{"service", "gpus", Elsewhere, "resources.limits.gpu", true},
    RenamedField{"service", "gpuCount", Elsewhere, "resources.limits.gpu", true},
    RenamedField{"service", "numGpus", Elsewhere, "resources.limits.gpu", true},
    RenamedField{"service", "cpu", Elsewhere, "resources.limits.cpu", true},
    RenamedField{"service", "memory", Elsewhere, "resources.limits.memory", true},
    RenamedField{"service", "replicaCount", Elsewhere, "replicas", true},
    RenamedField{"service", "minReplicas", Elsewhere, kAutoscaler},
    RenamedField{"service", "maxReplicas", Elsewhere, kAutoscaler},
    RenamedField{"service", "strategy", Elsewhere, "annotations[nvidia.com/deployment-strategy]"},
    RenamedField{"service", "framework", Elsewhere, "spec.backendFramework"},
    RenamedField{"service", "backend", Elsewhere, "spec.backendFramework"},
    RenamedField{"service", "model", Elsewhere,
                 "--model in extraPodSpec.mainContainer.args, and modelRef.name"},
    RenamedField{"service", "modelName", Elsewhere,
                 "--model in extraPodSpec.mainContainer.args, and modelRef.name"},
    RenamedField{"service", "model_name", Elsewhere,
                 "--model in extraPodSpec.mainContainer.args, and modelRef.name"},
    RenamedField{"service", "restartPolicy", Elsewhere, "extraPodSpec.restartPolicy", true},
    RenamedField{"service", "serviceType", Elsewhere, ""},
    RenamedField{"service", "storage", Elsewhere,
                 "resources.limits.custom[ephemeral-storage], or spec.pvcs of the graph and volumeMounts"},
    RenamedField{"service", "gpuType", Elsewhere, "resources.limits.gpuType", true},
    RenamedField{"service", "role", Elsewhere, "componentType", true},
    RenamedField{"service", "shmSize", Elsewhere, "sharedMemory.size", true},
    RenamedField{"service", "enabled", Elsewhere, "replicas, 0 to stop the service"},
    RenamedField{"service", "disabled", Elsewhere, "replicas, 0 to stop the service"},
    RenamedField{"service", "spec", Before, "the service itself for the fields of its spec"},
    RenamedField{"service", "pvc", Before, "spec.pvcs of the graph and volumeMounts of the service"},
    RenamedField{"service", "dynamoNim", Before, kImage},
    RenamedField{"service", "dynamoGraph", Before, kImage},
    RenamedField{"service", "dynamoComponent", Before, kImage},
    RenamedField{"service", "dynamoTag", Before, kImage},
    RenamedField{"service", "runMode", Before, ""},
    RenamedField{"service", "externalServices", Before, ""},
    RenamedField{"service", "monitorExporter", Before, ""},
    RenamedField{"service", "models", Before, ""},
    RenamedField{"service", "type", Later, "componentType (worker with subComponentType prefill or decode)"},
    RenamedField{
        "service", "podTemplate", Later,
        "extraPodSpec.mainContainer for its container main with envs for env, extraPodSpec for the rest "
        "of its spec, extraPodMetadata for its metadata"},
    RenamedField{"service", "sharedMemorySize", Later, "sharedMemory.size", true},
    RenamedField{"service", "compilationCache", Later, "volumeMounts[] with useAsCompilationCache"},
    RenamedField{"service", "priorityClassName", Elsewhere, "extraPodSpec.priorityClassName", true},
    RenamedField{"service", "minAvailable", Later, ""},
    RenamedField{"service", "runtimeVersionOverride", Later, ""},
    RenamedField{"service", "providerOverride", Later, ""},
    RenamedField{"service", "topologyConstraint", Later, ""},
    RenamedField{"service", "experimental", Later, ""},
    RenamedField{"service", "gpuMemoryService", Later, ""},
    RenamedField{"service", "failover", Later, ""},
    RenamedField{"service", "roles", Later, ""},
    RenamedField{"service.checkpoint", "startupPolicy", Later, ""},
    RenamedField{"service.checkpoint", "deletionPolicy", Later, ""},
    RenamedField{"service.checkpoint", "targetContainerName", Later, ""},
    RenamedField{"service.checkpoint", "job", Later, ""},
    RenamedField{"service.multinode", "leader", Later, ""},
    RenamedField{"service.multinode", "worker", Later, ""},
    RenamedField{"service.multinode", "numberOfNodes", Elsewhere, kNodes, true},
    RenamedField{"service.multinode", "numNodes", Elsewhere, kNodes, true},
    RenamedField{"service.multinode", "nodes", Elsewhere, kNodes, true},
    RenamedField{"service.multinode", "count", Elsewhere, kNodes, true},
    RenamedField{"service.multinode", "size", Elsewhere, kNodes, true},
    RenamedField{"service.extraPodSpec", "metadata", Elsewhere, "extraPodMetadata", true},
    RenamedField{"service.extraPodSpec", "labels", Elsewhere, "extraPodMetadata.labels", true},
    RenamedField{"service.extraPodSpec", "annotations", Elsewhere, "extraPodMetadata.annotations", true},
    RenamedField{"service.extraPodSpec", "spec", Elsewhere, "extraPodSpec itself for the fields of its spec"},
    RenamedField{"service.extraPodSpec", "container", Elsewhere, "extraPodSpec.mainContainer", true},
    RenamedField{"service.extraPodSpec.mainContainer", "envs", Elsewhere, "extraPodSpec.mainContainer.env",
                 true},
    RenamedField{"service.extraPodSpec.mainContainer.volumeMounts", "mountPoint", Elsewhere,
                 "extraPodSpec.mainContainer.volumeMounts[].mountPath", true},
    RenamedField{"service.extraPodSpec.containers.volumeMounts", "mountPoint", Elsewhere,
                 "extraPodSpec.containers[].volumeMounts[].mountPath", true},
    RenamedField{"service.extraPodSpec.initContainers.volumeMounts", "mountPoint", Elsewhere,
                 "extraPodSpec.initContainers[].volumeMounts[].mountPath", true},
    RenamedField{"service.extraPodMetadata", "metadata", Elsewhere, "extraPodMetadata itself"},
    RenamedField{"service.frontendSidecar", "env", Elsewhere, "frontendSidecar.envs", true},
    RenamedField{"service.frontendSidecar", "name", Elsewhere, ""},
    RenamedField{"service.frontendSidecar", "command", Elsewhere, "frontendSidecar.args"},
    RenamedField{"service.ingress", "className", Elsewhere, "ingress.ingressControllerClassName", true},
    RenamedField{"service.ingress", "ingressClassName", Elsewhere, "ingress.ingressControllerClassName",
                 true},
    RenamedField{"service.ingress", "hosts", Elsewhere, "ingress.host"},
    RenamedField{"service.resources", "nodes", Before, kNodes, true},
    RenamedField{"service.resources.limits", "nodes", Before, kNodes, true},
    RenamedField{"service.resources.requests", "nodes", Before, kNodes, true},
    RenamedField{"service.scalingAdapter", "disable", Before, "scalingAdapter.enabled"},
    RenamedField{"service.scalingAdapter", "disabled", Before, "scalingAdapter.enabled"},
    RenamedField{"service.scalingAdapter", "minReplicas", Elsewhere, kAdapterLimits},
    RenamedField{"service.scalingAdapter", "maxReplicas", Elsewhere, kAdapterLimits},
    RenamedField{"service.sharedMemory", "enabled", Elsewhere, "sharedMemory.disabled"},
    RenamedField{"service.sharedMemory", "sizeLimit", Elsewhere, "sharedMemory.size", true},
    RenamedField{"service.volumeMounts", "mountPath", Elsewhere, "volumeMounts[].mountPoint", true},
    RenamedField{"service.volumeMounts", "path", Elsewhere, "volumeMounts[].mountPoint", true},
    RenamedField{"service.volumeMounts", "claimName", Elsewhere, "volumeMounts[].name", true},
    RenamedField{"service.volumeMounts", "pvcName", Elsewhere, "volumeMounts[].name", true},
    RenamedField{"service.volumeMounts", "readOnly", Elsewhere, kMounts},
    RenamedField{"service.volumeMounts", "subPath", Elsewhere, kMounts},
    RenamedField{"service.volumeMounts", "subPathExpr", Elsewhere, kMounts},
    RenamedField{"service.volumeMounts", "mountPropagation", Elsewhere, kMounts},
    RenamedField{"service.volumeMounts", "recursiveReadOnly", Elsewhere, kMounts},
    // The spec of a graph
    RenamedField{"graph", "components", Later, "spec.services, a map of services by name"},
    RenamedField{"graph", "env", Elsewhere, "spec.envs", true},
    RenamedField{"graph", "pvc", Before, "spec.pvcs"},
    RenamedField{"graph", "name", Elsewhere, "metadata.name"},
    RenamedField{"graph", "namespace", Elsewhere, "metadata.namespace"},
    RenamedField{"graph", "restartPolicy", Elsewhere, "extraPodSpec.restartPolicy of each service"},
    RenamedField{"graph", "dynamoNamespace", Elsewhere, ""},
    RenamedField{"graph", "dynamoNim", Before, kImage},
    RenamedField{"graph", "dynamoGraph", Before, kImage},
    RenamedField{"graph", "dynamoComponent", Before, kImage},
    RenamedField{"graph", "dynamoTag", Before, kImage},
    RenamedField{"graph", "annotations", Later, "annotations of each service"},
    RenamedField{"graph", "labels", Later, "labels of each service"},
    RenamedField{"graph", "priorityClassName", Later, "extraPodSpec.priorityClassName of each service"},
    RenamedField{"graph", "providerOverride", Later, ""},
    RenamedField{"graph", "topologyConstraint", Later, ""},
    RenamedField{"graph", "experimental", Later, ""},
    RenamedField{"graph", "framework", Elsewhere, "spec.backendFramework", true},
    RenamedField{"graph", "backend", Elsewhere, "spec.backendFramework", true},
    RenamedField{"graph.pvcs", "storageClassName", Elsewhere, "spec.pvcs[].storageClass", true},
    RenamedField{"graph.pvcs", "accessMode", Elsewhere, "spec.pvcs[].volumeAccessMode", true},
    RenamedField{"graph.pvcs", "accessModes", Elsewhere, "spec.pvcs[].volumeAccessMode, one mode"},
    RenamedField{"graph.pvcs", "capacity", Elsewhere, "spec.pvcs[].size"},
    RenamedField{"graph.pvcs", "storage", Elsewhere, "spec.pvcs[].size", true},
    RenamedField{"graph.pvcs", "resources", Elsewhere, "spec.pvcs[].size"},
    RenamedField{"graph.pvcs", "mountPath", Elsewhere, "volumeMounts[].mountPoint of a service"},
    RenamedField{"graph.pvcs", "mountPoint", Elsewhere, "volumeMounts[].mountPoint of a service"},
    // Component deployments have the fields of services in their spec.
    RenamedField{"component", "services", Elsewhere, "kind DynamoGraphDeployment for several services"},
    RenamedField{"component", "name", Later, "spec.serviceName", true},
    // Scaling adapters
    RenamedField{"adapter", "scaleTargetRef", Elsewhere, "spec.dgdRef"},
    RenamedField{"adapter", "targetRef", Elsewhere, "spec.dgdRef"},
    RenamedField{"adapter", "minReplicas", Elsewhere, kAdapterLimits},
    RenamedField{"adapter", "maxReplicas", Elsewhere, kAdapterLimits},
    RenamedField{"adapter.dgdRef", "componentName", Later, "spec.dgdRef.serviceName", true},
    RenamedField{"adapter.dgdRef", "service", Elsewhere, "spec.dgdRef.serviceName", true},
    // Requests
    RenamedField{"request", "modelName", Before, "spec.model", true},
    RenamedField{"request", "online", Before, "spec.searchStrategy, thorough when it is true"},
    RenamedField{"request", "gpu", Before, "spec.hardware"},
    RenamedField{"request", "profilerImage", Elsewhere, "spec.image", true},
    RenamedField{
        "request", "profilingConfig", Elsewhere,
        "spec.sla, spec.workload, spec.hardware, spec.image and spec.overrides.profilingJob (it is a "
        "field of v1alpha1)"},
    RenamedField{"request", "useMocker", Elsewhere, "spec.features.mocker.enabled", true},
    RenamedField{"request", "deploymentOverrides", Elsewhere,
                 "spec.overrides.dgd (it is a field of v1alpha1)"},
    RenamedField{"request", "enableGpuDiscovery", Elsewhere, ""},
    RenamedField{"request", "planner", Elsewhere, "spec.features.planner", true},
    RenamedField{"request", "gpuType", Elsewhere, "spec.hardware.gpuSku", true},
    RenamedField{"request.hardware", "gpuType", Elsewhere, "spec.hardware.gpuSku", true},
    RenamedField{"request.hardware", "vram", Elsewhere, "spec.hardware.vramMb, in MiB"},
    RenamedField{"request.hardware", "vramGb", Elsewhere, "spec.hardware.vramMb, in MiB"},
    RenamedField{"alpha", "modelName", Before, "spec.model", true},
    RenamedField{"alpha", "sla", Before, "spec.profilingConfig.config.sla, or apiVersion nvidia.com/v1beta1"},
    RenamedField{"alpha", "gpu", Before, "spec.profilingConfig.config.hardware"},
    RenamedField{"alpha", "online", Before, "spec.profilingConfig.config.sweep"},
    RenamedField{"alpha", "profilerImage", Before, "spec.profilingConfig.profilerImage", true},
};

}  // namespace

std::span<const RenamedField> renamedFields() {
  return kFields;
}

const RenamedField* findRenamedField(std::string_view parent, std::string_view name) {
  const auto found = std::find_if(kFields.begin(), kFields.end(), [&](const RenamedField& field) {
    return field.parent == parent && field.name == name;
  });
  return found == kFields.end() ? nullptr : &*found;
}

}  // namespace dynamo::admission
