#pragma once
// Names that the operator writes and reads: labels, annotations, environment variables, ports, service
// accounts.

#include <array>
#include <string_view>

namespace dynamo::api {

// Component types. They are case-sensitive.
inline constexpr std::string_view kFrontend = "frontend";
inline constexpr std::string_view kWorker = "worker";
inline constexpr std::string_view kPrefill = "prefill";
inline constexpr std::string_view kDecode = "decode";
inline constexpr std::string_view kPlanner = "planner";
inline constexpr std::string_view kEpp = "epp";
inline constexpr std::array kComponentTypes = {
    kFrontend, kWorker, kPrefill, kDecode, kPlanner, kEpp, std::string_view{"default"}};

constexpr bool isWorkerType(std::string_view componentType) {
  return componentType == kWorker || componentType == kPrefill || componentType == kDecode;
}

/// The field manager of what the controller applies and scales.
inline constexpr std::string_view kFieldManager = "dynamo-controller";

namespace label {
inline constexpr std::string_view kSelector = "nvidia.com/selector";
inline constexpr std::string_view kGraph = "nvidia.com/dynamo-graph-deployment-name";
inline constexpr std::string_view kComponent = "nvidia.com/dynamo-component";
inline constexpr std::string_view kNamespace = "nvidia.com/dynamo-namespace";
inline constexpr std::string_view kComponentType = "nvidia.com/dynamo-component-type";
inline constexpr std::string_view kSubComponentType = "nvidia.com/dynamo-sub-component-type";
inline constexpr std::string_view kBaseModelHash = "nvidia.com/dynamo-base-model-hash";
inline constexpr std::string_view kWorkerHash = "nvidia.com/dynamo-worker-hash";
inline constexpr std::string_view kMetricsEnabled = "nvidia.com/metrics-enabled";
inline constexpr std::string_view kDiscoveryBackend = "nvidia.com/dynamo-discovery-backend";
inline constexpr std::string_view kDiscoveryEnabled = "nvidia.com/dynamo-discovery-enabled";
inline constexpr std::string_view kCheckpointHash = "nvidia.com/snapshot-checkpoint-hash";
inline constexpr std::string_view kRestoreTarget = "nvidia.com/snapshot-is-restore-target";
inline constexpr std::string_view kCheckpointSource = "nvidia.com/snapshot-is-checkpoint-source";
inline constexpr std::string_view kManagedBy = "nvidia.com/managed-by";
inline constexpr std::string_view kAppManagedBy = "app.kubernetes.io/managed-by";
inline constexpr std::string_view kAppComponent = "app.kubernetes.io/component";
inline constexpr std::string_view kAppName = "app.kubernetes.io/name";
inline constexpr std::string_view kInstanceId = "instance-id";
inline constexpr std::string_view kRole = "role";
inline constexpr std::string_view kKaiQueue = "kai.scheduler/queue";
}  // namespace label

namespace annotation {
inline constexpr std::string_view kCurrentWorkerHash = "nvidia.com/current-worker-hash";
inline constexpr std::string_view kRestartAt = "nvidia.com/restartAt";
inline constexpr std::string_view kEnableGrove = "nvidia.com/enable-grove";
inline constexpr std::string_view kDiscoveryBackend = "nvidia.com/dynamo-discovery-backend";
inline constexpr std::string_view kEnableMetrics = "nvidia.com/enable-metrics";
inline constexpr std::string_view kDisablePullSecretDiscovery =
    "nvidia.com/disable-image-pull-secret-discovery";
inline constexpr std::string_view kDeploymentStrategy = "nvidia.com/deployment-strategy";
inline constexpr std::string_view kMaxSurge = "nvidia.com/deployment-rolling-update-max-surge";
inline constexpr std::string_view kMaxUnavailable = "nvidia.com/deployment-rolling-update-max-unavailable";
inline constexpr std::string_view kMinReadySeconds = "nvidia.com/deployment-min-ready-seconds";
inline constexpr std::string_view kOriginVersion = "nvidia.com/dynamo-operator-origin-version";
inline constexpr std::string_view kVllmExecutor = "nvidia.com/vllm-distributed-executor-backend";
inline constexpr std::string_view kKaiQueue = "nvidia.com/kai-scheduler-queue";
inline constexpr std::string_view kBaseModel = "nvidia.com/dynamo-base-model";
inline constexpr std::string_view kGroupName = "scheduling.k8s.io/group-name";
// The record of the defaults that the webhook wrote, and the request to compute them again
// (common/defaults/record.h).
inline constexpr std::string_view kDefaulted = "nvidia.com/dynamo-defaulted";
inline constexpr std::string_view kRedefault = "nvidia.com/dynamo-redefault";
}  // namespace annotation

/// Annotations of a DynamoGraphDeployment that are copied to components without the same key.
inline constexpr std::array kPropagatedAnnotations = {annotation::kEnableMetrics,
                                                      annotation::kDiscoveryBackend,
                                                      annotation::kOriginVersion, annotation::kVllmExecutor};

/// Value of the labels that say who manages an object.
inline constexpr std::string_view kOperatorName = "dynamo-operator";

inline constexpr std::string_view kMainContainer = "main";
inline constexpr std::string_view kSidecarContainer = "sidecar-frontend";
inline constexpr std::string_view kWaitForLeader = "wait-for-leader-mp";
inline constexpr std::string_view kSharedMemory = "shared-memory";
inline constexpr std::string_view kSharedMemoryPath = "/dev/shm";
inline constexpr std::string_view kEppConfigVolume = "epp-config";
inline constexpr std::string_view kEppConfigKey = "epp-config-dynamo.yaml";
inline constexpr std::string_view kCheckpointVolume = "checkpoint-storage";
inline constexpr std::string_view kPodInfoVolume = "podinfo";
inline constexpr std::string_view kPodInfoPath = "/etc/podinfo";
inline constexpr std::string_view kMpiSshPath = "/ssh-pk";
inline constexpr std::string_view kDefaultGpuResource = "nvidia.com/gpu";
inline constexpr std::string_view kPlannerServiceAccount = "planner-serviceaccount";
inline constexpr std::string_view kEppServiceAccount = "epp-serviceaccount";
inline constexpr std::string_view kDiscoveryAccountSuffix = "-k8s-service-discovery";
inline constexpr std::string_view kVllmCachePath = "/root/.cache/vllm";
inline constexpr std::string_view kDeploymentConfigEnv = "DYN_DEPLOYMENT_CONFIG";

inline constexpr int kFrontendPort = 8000;
inline constexpr int kSystemPort = 9090;
inline constexpr int kEppGrpcPort = 9002;
inline constexpr int kMpiSshPort = 2222;

/// The maximum total length of the names of graph, service and clique that Grove accepts.
inline constexpr std::size_t kMaxGroveName = 45;

}  // namespace dynamo::api
