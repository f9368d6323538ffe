#pragma once
// DynamoGraphDeploymentRequest v1alpha1 <-> v1beta1 without loss.

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::conversion {

/// Why an object was not converted; names the object and the path: "ns/name: spec.x: …".
struct ConvertError {
  std::string message;
};

/// Converts `object` to `desiredVersion` ("nvidia.com/v1beta1" or "nvidia.com/v1alpha1") into `converted`.
/// An object that already has that version is returned as it is (quirk conv-Q7). Metadata is the source's
/// but for our annotations. `converted` shares values (json::alias) with `object`, which must outlive it.
/// `unseenAnnotations`: bytes of annotations that are null in `object` because the caller passes them on
/// itself. Fails only for another kind or version: values of wrong types are kept for the schema to refuse.
std::optional<ConvertError> convertDgdr(const json::Value& object, std::string_view desiredVersion,
                                        json::Value& converted, json::Allocator& allocator,
                                        std::size_t unseenAnnotations = 0);

}  // namespace dynamo::conversion
