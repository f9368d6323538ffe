#pragma once
// What the main container of a service runs, read from its command and arguments.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/rules/graph/graph.h"

namespace dynamo::rules {

struct Process {
  const Service* service = nullptr;
  std::vector<std::string_view> items;  ///< the command, then the arguments
  std::size_t arguments = 0;            ///< index of the first argument
  bool ownCommand = false;              ///< the command is the service's, not the operator's default
  bool shell = false;                   ///< the first item is a shell
  std::optional<std::size_t> script;    ///< index of the item that the shell runs as its script

  /// "spec.services[a].extraPodSpec.mainContainer.args[0]"; the list itself for the operator's command.
  Path field(std::size_t item) const;
  /// The list that holds the item.
  At list(std::size_t item) const;
};

/// Uses the operator's default command when the service has none. `service` must outlive the result.
Process processOf(const Service& service);

/// Splits a shell script into its commands, each a list of words without quotes. Nothing is expanded.
std::vector<std::vector<std::string>> commandsIn(std::string_view script);

/// Warns of parallel sizes that need more GPUs than the pods have.
void parallelSizes(const Service& service, const Report& report);

}  // namespace dynamo::rules
