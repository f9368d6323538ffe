#pragma once
// One I/O thread. It accepts connections, serves them as coroutines and checks their deadlines. No other
// thread uses its connections, so no locks are needed.

#include <cstddef>
#include <functional>
#include <memory>

#include "common/runtime/fd.h"
#include "webhook/http/counters.h"
#include "webhook/http/shared.h"

namespace dynamo::webhook::detail {

class Loop {
 public:
  explicit Loop(Shared& shared);
  ~Loop();
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  /// Must be called at most once. `choose` selects the loop that serves the next connection.
  void listen(runtime::UniqueFd fd, const Site& site, std::function<Loop&()> choose);
  /// Runs the loop on the calling thread until `finish`. An exception while accepting or sweeping is logged
  /// and ends the process.
  void run();

  // The following functions may be called from any thread.
  /// Accepts the queued connections, closes the listeners and ends idle connections.
  void beginStop();
  /// Ends all connections now. Running handlers are not interrupted.
  void abort();
  void finish();
  std::size_t open() const;
  const Counters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::webhook::detail
