#pragma once
// Reads text to be parsed.

#include <istream>
#include <string>

namespace dynamo::text {

/// Reads the rest of `input`. Stops soon after kMaxTextBytes, because no parser accepts more. After a failed
/// read, such as of a directory, `input` is bad() and errno is set.
std::string readText(std::istream& input);

}  // namespace dynamo::text
