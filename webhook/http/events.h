#pragma once
// What goes wrong with connections and requests, for whoever keeps a log. Nothing here holds what a body
// said.

#include <functional>
#include <string_view>

namespace dynamo::webhook {

/// A handshake that failed, or a client that left over the certificate behind one: in TLS 1.3 some do so
/// after our side of it is over.
struct HandshakeFailure {
  std::string_view remote;  ///< "10.0.0.1:41234"
  std::string_view reason;  ///< "remote error: bad certificate", "no shared cipher"
  int alert = 0;            ///< that the client sent; 0: none
};

/// A request that was refused for its form, or for lack of room.
struct RequestRefusal {
  std::string_view remote;
  std::string_view path;  ///< without the query; empty when it is not known
  int status = 0;
  std::string_view reason;  ///< a fixed sentence
};

/// A handler that threw; what it said may quote the request.
struct HandlerFailure {
  std::string_view remote;
  std::string_view path;
  std::string_view exception;  ///< its type
};

/// Called on the server's threads, several at once: quick, and without exceptions. Any member may be empty.
/// Connections that close before they have sent anything, as probes do, are no event.
struct ServerEvents {
  std::function<void(const HandshakeFailure&)> handshakeFailed;
  std::function<void(const RequestRefusal&)> requestRefused;
  std::function<void(const HandlerFailure&)> handlerFailed;
};

}  // namespace dynamo::webhook
