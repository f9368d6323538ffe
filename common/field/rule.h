#pragma once
#include <string_view>

namespace dynamo::field {

enum class Severity {
  Error,
  Warning,
  Lock,  ///< an error about the change and not the object; it denies even with `validation.mode: warn`
};

/// A rule: a stable id, its severity, and a summary of one line.
struct Rule {
  std::string_view id;
  Severity severity;
  std::string_view summary;
};

}  // namespace dynamo::field
