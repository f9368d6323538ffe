#pragma once
// A client of an API server. It has no code for particular kinds: requests take JSON text, and replies are
// JSON documents.

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/api_error.h"
#include "controller/kube/client_metrics.h"
#include "controller/kube/client_options.h"
#include "controller/kube/resource.h"
#include "controller/kube/rest_config.h"
#include "controller/kube/restores.h"
#include "controller/kube/watch_stream.h"

namespace dynamo::kube {

class RoundTripper;

/// The maximum size of a reply with one object. etcd stores up to 1.5 MiB by default, and JSON is larger than
/// the stored form.
inline constexpr std::size_t kMaxObjectBytes = std::size_t{16} << 20;
/// The maximum size of a reply with a list. 500 objects of 10 KiB, a usual size, are 5 MiB.
inline constexpr std::size_t kMaxListBytes = std::size_t{128} << 20;

/// All functions must be called on the thread of the event loop. Any number of calls may be in progress.
/// Arguments are copied when the function is called, not when its task is awaited. The client must be
/// destroyed before the loop; calls in progress then still complete.
///
/// The client retries these requests and returns every other error:
/// - once, an idempotent request on a kept connection that the server had just closed;
/// - up to ClientOptions::maxPostponed times, after the requested delay, a request that the server rejects
///   with 429 or 503 and Retry-After;
/// - once, a request that fails with 401, if the credential files or the plugin then return new credentials.
///
/// A call without a required namespace or name fails with BadRequest and sends nothing. A delete without a
/// name would delete the whole collection.
class Client {
 public:
  /// `metrics` may be null. Otherwise it must outlive the client and its calls.
  Client(runtime::EventLoop& loop, RestConfig config, ClientMetrics* metrics, ClientOptions options = {});
  /// Sends all requests with `roundTripper`, which does what the first paragraphs say.
  Client(std::shared_ptr<RoundTripper> roundTripper, std::string fieldManager);
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  using ObjectTask = runtime::Task<Result<json::Document>>;

  ObjectTask get(const Resource& resource, const std::string& namespaceName, const std::string& name,
                 CallOptions call = {});
  /// Returns one page of a list; see decodeList. An empty namespace means all namespaces.
  ObjectTask list(const Resource& resource, const std::string& namespaceName, const ListOptions& options = {},
                  CallOptions call = {});
  /// Creates an object. The client does not send it again on another connection, because the second request
  /// would fail with AlreadyExists.
  ObjectTask create(const Resource& resource, const std::string& namespaceName, std::string body,
                    bool dryRun = false, CallOptions call = {});
  ObjectTask replace(const Resource& resource, const std::string& namespaceName, const std::string& name,
                     std::string body, const std::string& subresource = {}, CallOptions call = {});
  ObjectTask patch(const Resource& resource, const std::string& namespaceName, const std::string& name,
                   PatchType type, std::string body, const PatchOptions& options = {}, CallOptions call = {});
  /// Deletes an object. Returns the object if its deletion is pending, or a Status if it was removed
  /// immediately. `propagationPolicy` is "Background", "Foreground", "Orphan", or empty for the default of
  /// the resource.
  ObjectTask remove(const Resource& resource, const std::string& namespaceName, const std::string& name,
                    const Preconditions& preconditions = {}, const std::string& propagationPolicy = {},
                    CallOptions call = {});
  /// Sends a request for any path, such as "/version". All methods except GET are writes.
  ObjectTask raw(std::string method, std::string path, std::string body = {}, std::string contentType = {},
                 CallOptions call = {});

  /// Starts a watch with bookmarks. The timeout of the call ends with the response header. Retry-After is
  /// handled as in other calls.
  runtime::Task<Result<std::unique_ptr<WatchStream>>> watch(const Resource& resource,
                                                            const std::string& namespaceName,
                                                            const WatchOptions& options = {},
                                                            CallOptions call = {});

  /// Sets a function that is called with the namespace of the object before each write is sent. If it returns
  /// false, the write fails with reason Transport.
  void setWriteGate(std::function<bool(std::string_view namespaceName)> open);
  /// Returns the number of idle connections.
  std::size_t idleConnections() const;
  /// Returns what the watches of this client share.
  const std::shared_ptr<Restores>& restores() const { return restores_; }

 private:
  std::shared_ptr<RoundTripper> roundTripper_;  ///< calls in progress hold it, too
  std::string fieldManager_;                    ///< ClientOptions::fieldManager
  std::shared_ptr<Restores> restores_ = std::make_shared<Restores>();
};

}  // namespace dynamo::kube
