#pragma once
// A TLS connection to an HTTP/1.1 server, kept for several requests, one after the other.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/reply_parser.h"
#include "common/runtime/tls_client.h"
#include "common/runtime/transport_error.h"

namespace dynamo::runtime {

// Both have constructors because g++ 12 destroys a braced aggregate twice where it is made in a co_await
// expression.

struct Target {
  explicit Target(Endpoint endpoint_, std::string serverName_ = {}, std::string host_ = {})
      : endpoint(std::move(endpoint_)), serverName(std::move(serverName_)), host(std::move(host_)) {}

  Endpoint endpoint;
  std::string serverName;  ///< that the certificate must have; empty: any
  std::string host;        ///< of the Host header; empty: the endpoint
};

struct ClientRequest {
  ClientRequest(std::string method_ = "GET", std::string path_ = "/", std::vector<Header> headers_ = {},
                std::string body_ = {})
      : method(std::move(method_)),
        path(std::move(path_)),
        headers(std::move(headers_)),
        body(std::move(body_)) {}

  std::string method;
  std::string path;             ///< with the query, escaped
  std::vector<Header> headers;  ///< beside Host and Content-Length
  std::string body;
};

struct ClientReply {
  ReplyHead head;
  std::string body;
};

/// All functions belong to the thread of the loop. Of the tasks one may run at a time; a session that had an
/// error is of no further use. It must go before the loop.
class ClientSession {
 public:
  /// Connects to the first address of the endpoint that answers, and shakes hands.
  static Task<Transported<ClientSession>> open(EventLoop& loop, Target target, ClientContext context,
                                               Deadline deadline);
  ClientSession(ClientSession&&) noexcept;
  ClientSession& operator=(ClientSession&&) = delete;
  ~ClientSession();

  /// Sends a request and reads the head of the reply. What was left of the last reply must have been read.
  Task<Transported<ReplyHead>> ask(ClientRequest request, Deadline deadline);
  /// The next piece of the reply's body as soon as it comes, empty at its end. It holds until the next call.
  Task<Transported<std::string_view>> read(Deadline deadline);
  /// A request and its whole reply, the body of which has at most `mostBody` bytes.
  Task<Transported<ClientReply>> exchange(ClientRequest request, std::size_t mostBody, Deadline deadline);

  /// Whether it takes a further request, as far as can be told: the last reply was read to its end and keeps
  /// the connection, and the peer has neither closed it nor sent anything since.
  bool reusable();
  /// Ends the wait under way, whose task then has the error Cancelled.
  void cancel();
  /// Says goodbye; a session that is only destroyed closes the connection without.
  void close();

 private:
  class Impl;
  explicit ClientSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::runtime
