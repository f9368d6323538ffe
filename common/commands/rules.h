#pragma once
// `rules` lists the rules; `defaults` prints the defaults of component types.

#include <string>

#include "common/commands/program.h"

namespace dynamo::commands {

struct RulesOptions {
  std::string kind;             ///< empty: all
  std::string output = "text";  ///< "text" or "json"
};

/// Prints the id, severity and summary of every rule. Returns the exit status: 0, or 2 for an unknown kind.
int runRules(const RulesOptions& options, const Program& program);

struct DefaultsOptions {
  std::string component;   ///< empty: all types
  std::string configFile;  ///< its `defaults` are merged over the built-in ones
};

/// Prints the defaults as YAML. Returns the exit status: 0, or 2 when the configuration cannot be read.
int runDefaults(const DefaultsOptions& options);

}  // namespace dynamo::commands
