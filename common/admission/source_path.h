#pragma once
// From a path in a rendered pod template back to the field that the user wrote.

#include <optional>
#include <string_view>

#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Where a component stands in the user's object.
struct Source {
  const json::Value* component = nullptr;  ///< the service, or the spec of a DynamoComponentDeployment
  field::Path path;                        ///< "spec.services[a]" or "spec"
  const json::Value* graphEnvs = nullptr;  ///< spec.envs of the graph
  /// Resources that go over the component's, of DYN_DEPLOYMENT_CONFIG; and the path of that variable's value.
  const json::Value* configured = nullptr;
  field::Path configPath = {};
  const json::Value* object = nullptr;  ///< of which it is a part
};

/// The service "a" of "spec.services[a]" and of what is in it; nullopt where a path names no service.
std::optional<std::string_view> serviceIn(field::PathView path);

/// `path` is relative to the template: "spec.containers[0].env[3].name", "metadata.labels[a]". What was not
/// written by the user is told at the component.
field::Path sourcePath(const Source& source, const json::Value& podTemplate, field::PathView path);

/// The same for the pod template of a DynamoCheckpoint, which its Job's pod is made of: `path` in `rendered`
/// as one in `given`. What the operator appended is told at the mount in its place, else at what it was
/// appended to.
field::Path checkpointSourcePath(const json::Value& given, const json::Value& rendered, field::PathView path);

}  // namespace dynamo::admission
