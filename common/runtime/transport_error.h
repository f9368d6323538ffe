#pragma once
// Errors of connections and requests.

#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/event_loop.h"

namespace dynamo::runtime {

/// The stage in which the error occurred.
enum class Stage { Connect, Handshake, Send, Receive };

enum class TransportProblem {
  Unreachable,  ///< the name cannot be resolved, or the connection was refused
  TimedOut,
  Cancelled,
  Untrusted,  ///< the peer's certificate has an untrusted CA or a wrong name, or is not valid now
  Tls,        ///< another TLS failure, or an alert from the peer
  Closed,     ///< the peer closed the connection before the reply was complete
  Malformed,  ///< the reply is not valid HTTP/1.1
  TooLarge,   ///< the reply is longer than the caller allows
  BadRequest  ///< an error of the caller; nothing was sent
};

/// Returns the name for logs and metrics, such as "TimedOut".
std::string_view nameOf(TransportProblem problem);

struct TransportError {
  Stage stage = Stage::Connect;
  TransportProblem problem = TransportProblem::Closed;
  std::string message;  ///< never quotes the reply
  /// The peer closed a persistent connection before the reply started. An idempotent request may be repeated
  /// over a new connection.
  bool stale = false;
};

template <class T>
using TransportResult = std::variant<T, TransportError>;

/// Returns the error of a wait that timed out or was cancelled.
TransportError waitError(Stage stage, WaitResult how);

}  // namespace dynamo::runtime
