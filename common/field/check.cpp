#include "common/field/check.h"

#include <fmt/format.h>

#include "common/field/suggest.h"

namespace dynamo::field {

std::string Suggestions::operator()(std::string_view word) {
  if (left_ == 0) return {};
  --left_;
  const std::string_view meant = nearest(word, candidates_);
  return meant.empty() ? std::string{} : fmt::format(" (did you mean {}?)", showValue(meant));
}

}  // namespace dynamo::field
