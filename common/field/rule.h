#pragma once
#include <string_view>

namespace dynamo::field {

enum class Severity {
  Error,
  Warning,
  Lock,  ///< an error about the change, not the object: it refuses even with validation.mode: warn
};

/// One rule as it is listed: a stable id, what it does to the object, and one line of why.
struct Rule {
  std::string_view id;
  Severity severity;
  std::string_view summary;
};

}  // namespace dynamo::field
