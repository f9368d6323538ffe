#pragma once
// A persistent connection to an HTTP/1.1 server for consecutive requests, usually with TLS.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/reply_parser.h"
#include "common/runtime/socket_address.h"
#include "common/runtime/tls_client.h"
#include "common/runtime/transport_error.h"

namespace dynamo::runtime {

// Target and ClientRequest have constructors because g++ 12 destroys a braced aggregate in a co_await
// expression twice.

struct Target {
  explicit Target(Endpoint endpoint_, std::string serverName_ = {}, std::string host_ = {})
      : endpoint(std::move(endpoint_)), serverName(std::move(serverName_)), host(std::move(host_)) {}

  Endpoint endpoint;
  std::string serverName;  ///< required name of the server certificate; empty: any name is accepted
  std::string host;        ///< value of the Host header; empty: the endpoint
};

struct ClientRequest {
  ClientRequest(std::string method_ = "GET", std::string path_ = "/", std::vector<Header> headers_ = {},
                std::string body_ = {})
      : method(std::move(method_)),
        path(std::move(path_)),
        headers(std::move(headers_)),
        body(std::move(body_)) {}

  std::string method;
  std::string path;             ///< escaped, including the query
  std::vector<Header> headers;  ///< except Host and Content-Length
  std::string body;
};

struct ClientReply {
  ReplyHead head;
  std::string body;
};

/// All functions must be called on the loop's thread. Only one task may run at a time. A session cannot be
/// used after an error. It must be destroyed before the loop.
class ClientSession {
 public:
  /// Connects to the first address of the endpoint that responds, and performs the TLS handshake.
  static Task<TransportResult<ClientSession>> open(EventLoop& loop, Target target, ClientContext context,
                                                   Deadline deadline);
  /// Connects to the address without TLS. Error messages and the Host header contain `endpoint`.
  static Task<TransportResult<ClientSession>> openPlain(EventLoop& loop, Endpoint endpoint,
                                                        SocketAddress address, Deadline deadline);
  ClientSession(ClientSession&&) noexcept;
  ClientSession& operator=(ClientSession&&) = delete;
  ~ClientSession();

  /// Sends a request and reads the response header. The previous reply must have been read completely.
  Task<TransportResult<ReplyHead>> ask(ClientRequest request, Deadline deadline);
  /// Returns the next piece of the body as soon as it arrives, or an empty view at the end. The view is valid
  /// until the next call.
  Task<TransportResult<std::string_view>> read(Deadline deadline);
  /// Sends a request and reads the complete reply. The body may have at most `maxBodyBytes` bytes.
  Task<TransportResult<ClientReply>> exchange(ClientRequest request, std::size_t maxBodyBytes,
                                              Deadline deadline);

  /// Returns whether the session can probably be used for another request: the last reply was read completely
  /// and allows it, and the peer has neither closed the connection nor sent anything since.
  bool reusable();
  /// Ends the current wait. Its task returns the error Cancelled.
  void cancel();
  /// Sends close_notify. The destructor closes the connection without it.
  void close();

 private:
  class Impl;
  explicit ClientSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::runtime
