#include "common/config/listeners.h"

#include <fmt/format.h>

#include <string>

#include "common/config/operator_config_validation.h"
#include "common/k8s/names.h"

namespace dynamo::config {
namespace {

using field::ErrorType;
using field::FieldError;

/// The normalized address; empty for all addresses. "0.0.0.0" listens on IPv6, too.
std::string listenAddress(std::string_view address) {
  const std::string plain = k8s::lowerAscii(withoutBrackets(address));
  if (plain == "0.0.0.0" || plain == "::") return {};
  return plain == "localhost" ? "127.0.0.1" : plain;
}

bool overlap(const Listener& a, const Listener& b) {
  const std::string first = listenAddress(a.address);
  const std::string second = listenAddress(b.address);
  return a.port != 0 && a.port == b.port && (first.empty() || second.empty() || first == second);
}

}  // namespace

std::array<Listener, 3> listenersOf(const OperatorConfig& config) {
  const ServerConfig& server = config.server;
  static const ServerConfig kDefaults = defaultConfig().server;
  return {{{"server.webhook.port", server.webhook.host, server.webhook.port, kDefaults.webhook.port},
           {"server.metrics.port", server.metrics.bindAddress, server.metrics.port, kDefaults.metrics.port},
           {"server.healthProbe.port", server.healthProbe.bindAddress, server.healthProbe.port,
            kDefaults.healthProbe.port}}};
}

std::vector<FieldError> listenersInConflict(std::span<const Listener> listeners) {
  std::vector<FieldError> errors;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!overlap(listeners[i], listeners[j])) continue;
      const bool reportAtFirst =
          listeners[i].port != listeners[i].defaultPort || listeners[j].port == listeners[j].defaultPort;
      const Listener& reported = listeners[reportAtFirst ? i : j];
      errors.push_back({ErrorType::Invalid, reported.name, std::to_string(reported.port),
                        fmt::format("duplicates the port of {}; each listener must have its own port",
                                    listeners[reportAtFirst ? j : i].name.text()),
                        "config-value"});
    }
  }
  return errors;
}

}  // namespace dynamo::config
