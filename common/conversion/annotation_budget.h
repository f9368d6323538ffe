#pragma once
// Annotations of an object share 256 KiB; a conversion that breaks the limit makes the object unreadable and
// undeletable in that version, so remainders are given up in a fixed order (conv-Q17).

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/conversion/remainder.h"
#include "common/json/value.h"

namespace dynamo::conversion {

struct Annotation {
  std::string_view key;
  std::string value;
};

/// The annotations to write: `carried` and the remainder split into spec and status, as much as fits beside
/// the user's annotations in `present`, and `unseen` bytes more of them.
std::vector<Annotation> fitAnnotations(const json::Value* present, std::size_t unseen,
                                       std::vector<std::pair<std::string_view, std::string>> carried,
                                       std::vector<Field> fields, std::string_view specKey,
                                       std::string_view statusKey);

}  // namespace dynamo::conversion
