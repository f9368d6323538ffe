#pragma once
// What a client sends requests with: the connections to an API server, or a function of a test.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/runtime/client_session.h"
#include "common/runtime/task.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client_options.h"

namespace dynamo::kube {

/// Whether objects of the namespace may be written now.
using WriteGate = std::function<bool(std::string_view namespaceName)>;

struct HttpRequest {
  HttpRequest(std::string method_, std::string path_) : method(std::move(method_)), path(std::move(path_)) {}

  std::string method;
  std::string path;  ///< with the query, without the base path
  std::string contentType;
  std::string body;
  std::string namespaceName;  ///< namespace of the object; empty: cluster-scoped, or unknown
  bool write = false;         ///< the request is subject to the write gate
  bool repeatable = true;     ///< the request is idempotent
  bool stream = false;        ///< the caller reads the body of the reply
  MessagePolicy messagePolicy = MessagePolicy::Quote;
  std::size_t maxBodyBytes = 0;
  CallOptions call;
};

struct Answer {
  std::string body;                              ///< the complete body; empty if the request is a stream
  std::optional<runtime::ClientSession> stream;  ///< the connection, positioned after the response header
};

class RoundTripper {
 public:
  RoundTripper() = default;
  RoundTripper(const RoundTripper&) = delete;
  RoundTripper& operator=(const RoundTripper&) = delete;
  virtual ~RoundTripper() = default;

  /// Sends the request and returns a reply with status 2xx. The object must outlive the task.
  virtual runtime::Task<Result<Answer>> send(HttpRequest request) = 0;
  /// Sets the function that is asked before each write; see Client::setWriteGate.
  virtual void setWriteGate(WriteGate open) = 0;
  /// Returns the number of idle connections.
  virtual std::size_t idleConnections() const = 0;
};

}  // namespace dynamo::kube
