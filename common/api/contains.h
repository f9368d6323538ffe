#pragma once
// Tables of names.

#include <algorithm>
#include <string_view>

namespace dynamo::api {

/// Whether `name` is one of `names`: an array or another range of texts.
template <typename Names>
constexpr bool contains(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace dynamo::api
