#pragma once
// Converts DynamoGraphDeploymentRequest between v1alpha1 and v1beta1 without loss.

#include <optional>
#include <string>
#include <string_view>

#include "common/conversion/draft.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// The error message names the object and the field path: "ns/name: spec.x: …".
struct ConvertError {
  std::string message;
};

/// Converts `object` to `desiredVersion` ("nvidia.com/v1beta1" or "nvidia.com/v1alpha1"). `converted` is a
/// view of `object` and of values in `allocator`; draft.h describes its lifetime. An object that already has
/// the desired version is returned unchanged (quirk conv-Q7). Metadata is copied, except for the annotations
/// of the conversion. `unseenAnnotations` is the size of annotations that are null in `object` because the
/// caller copies them itself. Only an unsupported kind or version is an error. Values of wrong types are
/// kept, so that the schema rejects them.
std::optional<ConvertError> convertDgdr(const json::Value& object, std::string_view desiredVersion,
                                        View& converted, json::Allocator& allocator,
                                        std::size_t unseenAnnotations = 0);

/// The same with a value that may be changed. It shares only the text of strings with `object` (json::share).
std::optional<ConvertError> convertDgdr(const json::Value& object, std::string_view desiredVersion,
                                        json::Value& converted, json::Allocator& allocator);

}  // namespace dynamo::conversion
