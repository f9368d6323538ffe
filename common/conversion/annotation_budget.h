#pragma once
// Limits the annotations of a converted object. The annotations of an object may have 256 KiB in all. An
// object over the limit could be neither read nor deleted in that version, so annotations that do not fit are
// dropped in a fixed order (conv-Q17).

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

/// The annotations to write: `carried`, and `fields` as one annotation for spec and one for status. Together
/// with the user's annotations they are within the limit. The user's annotations are those in `present` and
/// another `unseen` bytes.
std::vector<Annotation> fitAnnotations(const json::Value* present, std::size_t unseen,
                                       std::vector<std::pair<std::string_view, std::string>> carried,
                                       std::vector<Field> fields, std::string_view specKey,
                                       std::string_view statusKey);

}  // namespace dynamo::conversion
