#pragma once
// The order of resourceVersions.

#include <string_view>

namespace dynamo::kube {

/// Returns true if the text is a decimal number.
bool isNumber(std::string_view text);

/// Returns true if resourceVersion `a` is older than `b`. Returns false if either is not a decimal number.
bool isOlder(std::string_view a, std::string_view b);

}  // namespace dynamo::kube
