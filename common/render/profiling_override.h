#pragma once
// Merges `spec.overrides.profilingJob` of a DynamoGraphDeploymentRequest into the profiling Job. One table
// lists the fields that the Job takes over. The merge, the warnings about all other fields and the paths of
// findings use this table.

#include <cstdint>
#include <optional>
#include <string_view>

#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::render {

/// How a field of the override is merged into the Job.
enum class Take : std::uint8_t {
  Given,        ///< replaces the Job's value, even if the field is empty
  NonEmpty,     ///< replaces the Job's value unless the field is empty
  Keys,         ///< a map; each key replaces the same key of the Job
  ByName,       ///< a list; an item replaces the Job's item with the same name, or is added
  ByMountPath,  ///< the same for volumeMounts, by mountPath (life-Q24)
  Appended      ///< a list; its items are added after those of the Job
};

/// The objects of a Job that are merged field by field.
enum class OverridePart : std::uint8_t {
  Job,          ///< the override itself, without `template`
  PodMetadata,  ///< template.metadata
  Pod,          ///< template.spec, without `containers`
  PodSecurity,  ///< template.spec.securityContext
  Profiler      ///< template.spec.containers[0], whatever its name
};

/// How the field `name` of `part` is merged; nullopt if it has no effect.
std::optional<Take> howTaken(OverridePart part, std::string_view name);

/// Whether `key` is a pod label that an override cannot set.
bool isOperatorLabel(std::string_view key);

/// Whether the merge copies strings or refers to those of the override. The override must outlive the Job if
/// strings are shared.
enum class Texts : bool { Copied, Shared };

/// Merges `override` into `jobSpec`, whose first container is the profiler.
void mergeJobOverride(json::Value& jobSpec, const json::Value& override, Texts texts,
                      json::Allocator& allocator);

/// The path in `override` of the value at `path` in `jobSpec`, the Job after the merge; nullopt if the
/// operator wrote the value. A value that `jobSpec` lacks has the same path in both.
std::optional<field::Path> overridePath(const json::Value& jobSpec, const json::Value& override,
                                        field::PathView path);

}  // namespace dynamo::render
