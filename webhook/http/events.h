#pragma once
// Callbacks for failures of connections and requests, for logs. The events never contain values of a body.

#include <functional>
#include <string_view>

namespace dynamo::webhook {

/// A handshake that failed, or a client that rejected the certificate afterwards. In TLS 1.3 a client may do
/// so after the server has completed the handshake.
struct HandshakeFailure {
  std::string_view remote;  ///< "10.0.0.1:41234"
  std::string_view reason;  ///< "remote error: bad certificate", "no shared cipher"
  int alert = 0;            ///< the TLS alert from the client; 0: none
};

/// A request that was refused because it was malformed or a limit was reached.
struct RequestRefusal {
  std::string_view remote;
  std::string_view path;  ///< without the query; empty if unknown
  int status = 0;
  std::string_view reason;  ///< a fixed sentence
};

/// A handler that threw an exception. The message of the exception is omitted, because it may quote the
/// request.
struct HandlerFailure {
  std::string_view remote;
  std::string_view path;
  std::string_view exception;  ///< its type
};

/// The callbacks run on the server's threads, several at the same time. They must be quick and must not
/// throw. Any member may be empty. A connection that closes before it has sent anything, such as a TCP probe,
/// is not an event.
struct ServerEvents {
  std::function<void(const HandshakeFailure&)> handshakeFailed;
  std::function<void(const RequestRefusal&)> requestRefused;
  std::function<void(const HandlerFailure&)> handlerFailed;
};

}  // namespace dynamo::webhook
