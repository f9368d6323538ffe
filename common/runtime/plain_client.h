#pragma once
// One HTTP/1.1 request without TLS, to a server that may be slow or hostile.

#include <chrono>
#include <cstddef>
#include <string>
#include <utility>

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/transport_error.h"

namespace dynamo::runtime {

inline constexpr std::size_t kMaxPlainReplyBytes = std::size_t{64} << 10;

struct PlainRequest {
  PlainRequest(std::string method_, Endpoint server_, std::string path_)
      : method(std::move(method_)), server(std::move(server_)), path(std::move(path_)) {}

  std::string method;
  Endpoint server;                            ///< an IP address; names are not resolved
  std::string path;                           ///< escaped, including the query
  std::string json;                           ///< the body, of type application/json; empty: no body
  std::string accept;                         ///< value of the header Accept; empty: no such header
  std::chrono::milliseconds timeout{15'000};  ///< for connecting, sending and receiving together
  std::size_t maxReplyBytes = kMaxPlainReplyBytes;
};

struct PlainReply {
  int status = 0;
  std::string body;
};

/// Sends the request over a new connection and reads the complete reply. A reply of any status is a result:
/// redirects are not followed. Proxies of the environment are not used. An address that is not an IP address,
/// or that stands for all addresses, is the error BadRequest. Error messages do not quote the reply. Must be
/// called on the loop's thread. Any number of requests may be in progress.
Task<TransportResult<PlainReply>> askPlain(EventLoop& loop, PlainRequest request);

}  // namespace dynamo::runtime
