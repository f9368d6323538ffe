#pragma once
// A pool of idle connections.

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <utility>

#include "common/runtime/client_session.h"

namespace dynamo::kube {

/// The idle timeout of a connection, as in Go's transport. Load balancers drop connections that are idle for
/// longer.
inline constexpr std::chrono::seconds kMaxIdle{90};

/// Not thread-safe. The pool must be destroyed before the event loop.
class ConnectionPool {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  explicit ConnectionPool(std::size_t max) : max_(max) {}

  /// Removes and returns the most recently used connection that was opened with `context` and that the server
  /// has not closed.
  std::optional<runtime::ClientSession> take(const runtime::ClientContext& context, Instant now);
  /// Adds the connection if it can be reused for another request.
  void give(runtime::ClientSession session, runtime::ClientContext context, Instant now);
  void clear() { idle_.clear(); }
  std::size_t size() const { return idle_.size(); }

 private:
  struct Idle {
    runtime::ClientSession session;
    runtime::ClientContext context;
    Instant since;
  };

  std::size_t max_;
  std::list<Idle> idle_;  ///< ordered by last use, most recent last
};

}  // namespace dynamo::kube
