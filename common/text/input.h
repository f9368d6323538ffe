#pragma once
// The text of a file that will be parsed.

#include <istream>
#include <string>

namespace dynamo::text {

/// What is left of `input`; of more than kMaxTextBytes, which no parser takes, little more than these. A read
/// that failed, as that of a directory does, leaves `input` bad() and errno as it was set.
std::string readText(std::istream& input);

}  // namespace dynamo::text
