#include "controller/kube/resource_version.h"

#include <algorithm>

namespace dynamo::kube {

bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

bool isOlder(std::string_view a, std::string_view b) {
  if (!isNumber(a) || !isNumber(b)) return false;
  a.remove_prefix(std::min(a.find_first_not_of('0'), a.size()));
  b.remove_prefix(std::min(b.find_first_not_of('0'), b.size()));
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

}  // namespace dynamo::kube
