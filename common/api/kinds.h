#pragma once
// Names of the API: group, versions, kinds, resources.

#include <string_view>

namespace dynamo::api {

inline constexpr std::string_view kGroup = "nvidia.com";
inline constexpr std::string_view kV1alpha1 = "nvidia.com/v1alpha1";
inline constexpr std::string_view kV1beta1 = "nvidia.com/v1beta1";

inline constexpr std::string_view kDynamoGraphDeployment = "DynamoGraphDeployment";
inline constexpr std::string_view kDynamoComponentDeployment = "DynamoComponentDeployment";
inline constexpr std::string_view kDynamoGraphDeploymentRequest = "DynamoGraphDeploymentRequest";
inline constexpr std::string_view kDynamoGraphDeploymentScalingAdapter =
    "DynamoGraphDeploymentScalingAdapter";
inline constexpr std::string_view kDynamoModel = "DynamoModel";
inline constexpr std::string_view kDynamoCheckpoint = "DynamoCheckpoint";

}  // namespace dynamo::api
