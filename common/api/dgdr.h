#pragma once
// DynamoGraphDeploymentRequest: annotation keys, phases and literals.

#include <array>
#include <string_view>

#include "common/api/contains.h"

namespace dynamo::api::dgdr {

// Values that the other version has no field for. Only this operator's conversion writes these keys.
inline constexpr std::string_view kAlphaSpecRemainder = "nvidia.com/dgdr-v1alpha1-spec";
inline constexpr std::string_view kAlphaStatusRemainder = "nvidia.com/dgdr-v1alpha1-status";
inline constexpr std::string_view kBetaSpecRemainder = "nvidia.com/dgdr-v1beta1-spec";
inline constexpr std::string_view kBetaStatusRemainder = "nvidia.com/dgdr-v1beta1-status";

// Keys of the reference on v1beta1 objects. Conversion reads them and keeps them equal to the fields, so that
// a cluster can switch between the operators in both directions.
inline constexpr std::string_view kConfigMapRef = "nvidia.com/dgdr-config-map-ref";
inline constexpr std::string_view kOutputPvc = "nvidia.com/dgdr-output-pvc";
inline constexpr std::string_view kEnableGpuDiscovery = "nvidia.com/dgdr-enable-gpu-discovery";
inline constexpr std::string_view kDeploymentOverrides = "nvidia.com/dgdr-deployment-overrides";
inline constexpr std::string_view kProfilingConfig = "nvidia.com/dgdr-profiling-config";
inline constexpr std::string_view kStatusBackend = "nvidia.com/dgdr-status-backend";
inline constexpr std::string_view kProfilingResults = "nvidia.com/dgdr-profiling-results";
inline constexpr std::string_view kDeploymentStatus = "nvidia.com/dgdr-deployment-status";
/// The only key of the reference on v1alpha1 objects.
inline constexpr std::string_view kProfilingJobName = "nvidia.com/dgdr-profiling-job-name";

/// All keys that conversion owns. It reads each key and then writes or omits it.
inline constexpr std::array kPrivateAnnotations = {
    kAlphaSpecRemainder, kAlphaStatusRemainder, kBetaSpecRemainder,   kBetaStatusRemainder, kConfigMapRef,
    kOutputPvc,          kEnableGpuDiscovery,   kDeploymentOverrides, kProfilingConfig,     kStatusBackend,
    kProfilingResults,   kDeploymentStatus,     kProfilingJobName};

constexpr bool isPrivateAnnotation(std::string_view key) {
  return contains(kPrivateAnnotations, key);
}

/// Labels that identify the generated deployment. They take precedence over labels of the user.
inline constexpr std::array<std::string_view, 3> kTrackingLabels = {
    "dgdr.nvidia.com/name", "dgdr.nvidia.com/namespace", "nvidia.com/managed-by"};
/// Further labels of the profiling Job's pods that an override cannot set.
inline constexpr std::array<std::string_view, 2> kJobLabels = {"app", "dgdr"};

// The profiling Job.
inline constexpr std::string_view kProfilingJobPrefix = "profile-";
inline constexpr std::string_view kProfiler = "profiler";           ///< its first container
inline constexpr std::string_view kOutputCopier = "output-copier";  ///< its second one
inline constexpr std::string_view kProfilingServiceAccount = "dgdr-profiling-job";
inline constexpr std::string_view kOutputVolume = "profiling-output";
inline constexpr std::string_view kOutputPath = "/data";
inline constexpr std::string_view kModelCacheVolume = "model-cache";
inline constexpr std::string_view kConfigVolume = "profiling-config";
inline constexpr std::string_view kConfigPath = "/config";
inline constexpr std::string_view kDefaultConfigMapKey = "disagg.yaml";
inline constexpr std::string_view kTokenVolume = "output-copier-token";

/// The ConfigMap in which the profiling Job leaves its results, and its keys. All but the error are files of
/// kOutputPath.
inline constexpr std::string_view kOutputConfigMapPrefix = "dgdr-output-";
inline constexpr std::string_view kResultKey = "final_config.yaml";
inline constexpr std::string_view kProfilerStatusKey = "profiler_status.yaml";
inline constexpr std::string_view kWebUiKey = "webui_data.json";
/// Not stored. A profiler that ends without a word in its status has said why there.
inline constexpr std::string_view kProfilerLog = "profile_sla.log";
inline constexpr std::string_view kCopierErrorKey = "output_copier_error.txt";

/// Phases in which the spec is locked (quirk adm-Q6).
inline constexpr std::array<std::string_view, 4> kLockedPhases = {"Profiling", "Ready", "Deploying",
                                                                  "Deployed"};

/// State of a deployment in v1alpha1 when only its name is known. The schema requires a state.
inline constexpr std::string_view kInitializing = "initializing";

inline constexpr std::string_view kDefaultImageRepository = "nvcr.io/nvidia/ai-dynamo/dynamo-frontend";
inline constexpr std::string_view kDefaultModelCacheMountPath = "/opt/model-cache";
inline constexpr int kDefaultInputSequenceLength = 4000;
inline constexpr int kDefaultOutputSequenceLength = 1000;
/// The name of the generated Job and the labels of its pods are limited to 63 bytes (quirk life-Q20).
inline constexpr std::size_t kMaxNameLength = 55;

}  // namespace dynamo::api::dgdr
