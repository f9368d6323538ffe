#pragma once
// Why a connection could not be made, or a request over it was not answered.

#include <string>
#include <string_view>
#include <variant>

#include "common/runtime/event_loop.h"

namespace dynamo::runtime {

/// How far it had come.
enum class Stage { Connect, Handshake, Send, Receive };

enum class TransportProblem {
  Unreachable,  ///< the name is not known, or nobody listens there
  TimedOut,
  Cancelled,
  Untrusted,  ///< the peer's certificate is not of our CA, not of that name, or not valid now
  Tls,        ///< TLS failed otherwise, or the peer refused us with an alert
  Closed,     ///< the peer closed the connection before the whole reply had come
  Malformed,  ///< the reply is not HTTP/1.1 as it must be
  TooLarge,   ///< the reply is longer than the caller allows
  BadRequest  ///< a mistake of the caller: nothing was sent
};

/// "TimedOut", "Untrusted", ...: for logs and metrics.
std::string_view nameOf(TransportProblem problem);

struct TransportError {
  Stage stage = Stage::Connect;
  TransportProblem problem = TransportProblem::Closed;
  std::string message;  ///< one sentence; never quotes the reply
  /// A kept connection was closed before anything of the reply came: the request may be sent again over a new
  /// one, if doing it twice does no harm.
  bool stale = false;
};

template <class T>
using Transported = std::variant<T, TransportError>;

/// Of a wait that has not ended well.
TransportError waitError(Stage stage, Woken how);

}  // namespace dynamo::runtime
