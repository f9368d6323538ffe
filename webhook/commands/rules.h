#pragma once
// `dynamo-webhook rules` and `dynamo-webhook defaults`: what is checked and what is filled in, as lists.

#include <string>

namespace dynamo::webhook {

struct RulesOptions {
  std::string kind;             ///< empty: all
  std::string output = "text";  ///< "text" or "json"
};

/// Prints every rule: id, severity, one line. 0, or 2 for an unknown kind.
int runRules(const RulesOptions& options);

struct DefaultsOptions {
  std::string component;   ///< empty: the whole page
  std::string configFile;  ///< its `defaults` is laid over the built-in page
};

/// Prints the defaults of component types as YAML. 0, or 2 when the configuration cannot be read.
int runDefaults(const DefaultsOptions& options);

}  // namespace dynamo::webhook
