#pragma once
// The addresses that a program listens on, and the check that they do not conflict.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"

namespace dynamo::config {

struct Listener {
  field::Members name;  ///< the setting or flag that sets the port
  std::string_view address;
  std::int64_t port = 0;         ///< 0: any free port
  std::int64_t defaultPort = 0;  ///< the port when the setting is absent
};

/// The listeners of the webhook, from a configuration with defaults.
std::array<Listener, 3> listenersOf(const OperatorConfig& config);

/// An error for each pair of listeners with the same port and overlapping addresses. Its field is the port
/// that is not the default, because the user set that one.
std::vector<field::FieldError> listenersInConflict(std::span<const Listener> listeners);

}  // namespace dynamo::config
