#pragma once
// The annotations of an object share 256 KiB. If a conversion exceeded the limit, the object could be neither
// read nor deleted in that version. So annotations that do not fit are left out in a fixed order (conv-Q17).

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

/// The annotations to write: `carried`, and the remainder as one annotation for spec and one for status. They
/// fit beside the user's annotations, which are those in `present` and `unseen` bytes more.
std::vector<Annotation> fitAnnotations(const json::Value* present, std::size_t unseen,
                                       std::vector<std::pair<std::string_view, std::string>> carried,
                                       std::vector<Field> fields, std::string_view specKey,
                                       std::string_view statusKey);

}  // namespace dynamo::conversion
