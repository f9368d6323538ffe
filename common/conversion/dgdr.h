#pragma once
// DynamoGraphDeploymentRequest v1alpha1 <-> v1beta1 without loss.

#include <optional>
#include <string>
#include <string_view>

#include "common/conversion/draft.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// Why an object was not converted; names the object and the path: "ns/name: spec.x: …".
struct ConvertError {
  std::string message;
};

/// Converts `object` to `desiredVersion` ("nvidia.com/v1beta1" or "nvidia.com/v1alpha1") into `converted`, to
/// be written as text: a view of `object` and of what is made in `allocator` (draft.h says how long it is
/// good). An object that already has that version is returned as it is (quirk conv-Q7). Metadata is the
/// source's, except for our annotations. `unseenAnnotations`: bytes of annotations that are null in `object`
/// because the caller passes them on itself. Fails only for another kind or version: values of wrong types
/// are kept for the schema to refuse.
std::optional<ConvertError> convertDgdr(const json::Value& object, std::string_view desiredVersion,
                                        View& converted, json::Allocator& allocator,
                                        std::size_t unseenAnnotations = 0);

/// The same as a value of its own, which may be changed: with `object` it shares only the text of strings
/// (json::share).
std::optional<ConvertError> convertDgdr(const json::Value& object, std::string_view desiredVersion,
                                        json::Value& converted, json::Allocator& allocator);

}  // namespace dynamo::conversion
