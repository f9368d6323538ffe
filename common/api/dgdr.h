#pragma once
// DynamoGraphDeploymentRequest: annotation keys, phases and literals.

#include <array>
#include <string_view>

namespace dynamo::api::dgdr {

// Remainders that the other version cannot hold, written by our conversion only.
inline constexpr std::string_view kAlphaSpecRemainder = "nvidia.com/dgdr-v1alpha1-spec";
inline constexpr std::string_view kAlphaStatusRemainder = "nvidia.com/dgdr-v1alpha1-status";
inline constexpr std::string_view kBetaSpecRemainder = "nvidia.com/dgdr-v1beta1-spec";
inline constexpr std::string_view kBetaStatusRemainder = "nvidia.com/dgdr-v1beta1-status";

// The reference's keys on v1beta1 objects: read as data, kept in step with the live fields, so that operators
// can be exchanged in both directions.
inline constexpr std::string_view kConfigMapRef = "nvidia.com/dgdr-config-map-ref";
inline constexpr std::string_view kOutputPvc = "nvidia.com/dgdr-output-pvc";
inline constexpr std::string_view kEnableGpuDiscovery = "nvidia.com/dgdr-enable-gpu-discovery";
inline constexpr std::string_view kDeploymentOverrides = "nvidia.com/dgdr-deployment-overrides";
inline constexpr std::string_view kProfilingConfig = "nvidia.com/dgdr-profiling-config";
inline constexpr std::string_view kStatusBackend = "nvidia.com/dgdr-status-backend";
inline constexpr std::string_view kProfilingResults = "nvidia.com/dgdr-profiling-results";
inline constexpr std::string_view kDeploymentStatus = "nvidia.com/dgdr-deployment-status";
/// The reference's only key on v1alpha1 objects.
inline constexpr std::string_view kProfilingJobName = "nvidia.com/dgdr-profiling-job-name";

/// Every key that conversion owns; each is read, then written anew or left out.
inline constexpr std::array kPrivateAnnotations = {
    kAlphaSpecRemainder, kAlphaStatusRemainder, kBetaSpecRemainder,   kBetaStatusRemainder, kConfigMapRef,
    kOutputPvc,          kEnableGpuDiscovery,   kDeploymentOverrides, kProfilingConfig,     kStatusBackend,
    kProfilingResults,   kDeploymentStatus,     kProfilingJobName};

constexpr bool isPrivateAnnotation(std::string_view key) {
  for (const std::string_view own : kPrivateAnnotations) {
    if (own == key) return true;
  }
  return false;
}

/// Labels by which the operator knows the generated deployment again; it sets them over the user's.
inline constexpr std::array<std::string_view, 3> kTrackingLabels = {
    "dgdr.nvidia.com/name", "dgdr.nvidia.com/namespace", "nvidia.com/managed-by"};
/// Labels of the profiling Job's pods that an override cannot set, besides those.
inline constexpr std::array<std::string_view, 2> kJobLabels = {"app", "dgdr"};

/// Phases in which the spec is locked (quirk adm-Q6).
inline constexpr std::array<std::string_view, 4> kLockedPhases = {"Profiling", "Ready", "Deploying",
                                                                  "Deployed"};

/// v1alpha1 state of a deployment of which only the name is known: its schema wants one.
inline constexpr std::string_view kInitializing = "initializing";

inline constexpr std::string_view kDefaultImageRepository = "nvcr.io/nvidia/ai-dynamo/dynamo-frontend";
inline constexpr std::string_view kDefaultModelCacheMountPath = "/opt/model-cache";
inline constexpr int kDefaultInputSequenceLength = 4000;
inline constexpr int kDefaultOutputSequenceLength = 1000;
/// The generated Job's name and its pods' labels must stay within 63 bytes (quirk life-Q20).
inline constexpr std::size_t kMaxNameLength = 55;

}  // namespace dynamo::api::dgdr
