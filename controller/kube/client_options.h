#pragma once
// Options of a client and of its requests. All types have constructors because g++ 12 destroys a braced
// aggregate twice if it is created in a co_await expression.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

namespace dynamo::kube {

struct ClientOptions {
  ClientOptions() = default;

  /// The maximum number of concurrent requests about objects of namespaces (Slots::Objects), and of the other
  /// requests. Watches do not count. An API server queues requests beyond a client's fair share anyway. One
  /// namespace alone gets two thirds of the slots (fair_queue.h).
  std::size_t maxInFlight = 32;
  std::size_t maxClusterInFlight = 16;
  std::size_t maxEventsInFlight = 8;
  /// The timeout of a request including its retries. API servers end a request after 60 s, and their reply
  /// contains more information than a timeout of the client.
  std::chrono::milliseconds timeout{65'000};
  /// The maximum number of retries of a request that the server rejects with 429 or 503 and Retry-After.
  unsigned maxPostponed = 5;
  std::string userAgent = "dynamo-controller";
  /// The field manager of every write that does not set one.
  std::string fieldManager = "dynamo-controller";
  /// Errors of connections tell people that HTTPS_PROXY has no effect, if it is set for the server.
  bool hintsAtProxy = false;
};

/// Requests only wait for requests with the same slots, so that slow writes of objects delay no others.
enum class Slots : std::uint8_t {
  Objects,  ///< objects of namespaces, which share the slots fairly
  Cluster,  ///< what concerns all namespaces: lists for watches, discovery, facts, webhook configurations
  Events
};

/// Options of one call.
struct CallOptions {
  CallOptions() = default;
  explicit CallOptions(std::chrono::milliseconds timeout_, bool ungated_ = false)
      : timeout(timeout_), ungated(ungated_) {}
  explicit CallOptions(Slots slots_) : slots(slots_) {}

  std::optional<std::chrono::milliseconds> timeout;  ///< nullopt: ClientOptions::timeout
  /// Skips the write gate and the limit of concurrent requests. Leader election uses it, because the Lease
  /// opens the gate and must not wait behind slow requests.
  bool ungated = false;
  Slots slots = Slots::Objects;
};

struct ListOptions {
  ListOptions() = default;

  std::string labelSelector;
  std::string fieldSelector;
  std::int64_t limit = 0;            ///< maximum number of objects in a page; 0: no paging
  std::string continueToken;         ///< the token of the previous page
  std::string resourceVersion;       ///< empty: the most recent; "0": any version in the server's cache
  std::string resourceVersionMatch;  ///< "NotOlderThan", "Exact"
};

struct WatchOptions {
  WatchOptions() = default;

  std::string labelSelector;
  std::string fieldSelector;
  std::string resourceVersion;      ///< the version of the last list, object or event received
  std::chrono::seconds timeout{0};  ///< the server ends the watch after this time; 0: the server's default
  bool sendInitialEvents = false;   ///< existing objects are sent as events, followed by a bookmark
};

enum class PatchType { Merge, Json, Apply };

struct PatchOptions {
  PatchOptions() = default;

  std::string subresource;
  std::string fieldManager;  ///< empty: ClientOptions::fieldManager
  bool force = true;         ///< Apply only: takes ownership of conflicting fields
  bool dryRun = false;
};

/// Preconditions of a delete. The request fails with Conflict if the object does not match. An empty field is
/// not checked.
struct Preconditions {
  Preconditions() = default;
  explicit Preconditions(std::string uid_, std::string resourceVersion_ = {})
      : uid(std::move(uid_)), resourceVersion(std::move(resourceVersion_)) {}

  std::string uid;
  std::string resourceVersion;
};

}  // namespace dynamo::kube
