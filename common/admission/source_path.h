#pragma once
// From a path in a rendered pod template back to the field that the user wrote.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::admission {

/// Where a component stands in the user's object.
struct Source {
  const json::Value* component = nullptr;  ///< the service, or the spec of a DynamoComponentDeployment
  std::string path;                        ///< "spec.services[a]" or "spec"
  const json::Value* graphEnvs = nullptr;  ///< spec.envs of the graph
  /// Resources that go over the component's, of DYN_DEPLOYMENT_CONFIG; and the path of that variable's value.
  const json::Value* configured = nullptr;
  std::string configPath = {};
  const json::Value* object = nullptr;  ///< of which it is a part
};

/// `path` is relative to the template: "spec.containers[0].env[3].name", "metadata.labels[a]". What was not
/// written by the user is told at the component.
std::string sourcePath(const Source& source, const json::Value& podTemplate, std::string_view path);

/// The same for the pod template of a DynamoCheckpoint, which its Job's pod is made of: `path` in `rendered`
/// as one in `given`. What the operator appended is told at the mount in its place, else at what it was
/// appended to.
std::string checkpointSourcePath(const json::Value& given, const json::Value& rendered,
                                 std::string_view path);

}  // namespace dynamo::admission
