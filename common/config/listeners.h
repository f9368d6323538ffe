#pragma once
// The addresses that one program listens on: no two of them may be the same.

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/config/operator_config.h"
#include "common/field/finding.h"

namespace dynamo::config {

/// An address that a program listens on.
struct Listener {
  field::Members name;  ///< of the setting or the flag that chose it
  std::string_view address;
  std::int64_t port = 0;       ///< 0: any free one
  std::int64_t otherwise = 0;  ///< the port that nobody chose
};

/// Those of the webhook as the configuration has them, after applyDefaults().
std::array<Listener, 3> listenersOf(const OperatorConfig& config);

/// Two listeners of one program on one port of overlapping addresses, told at the one whose port was chosen.
std::vector<field::FieldError> listenersInConflict(std::span<const Listener> listeners);

}  // namespace dynamo::config
