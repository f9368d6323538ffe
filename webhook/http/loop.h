#pragma once
// One I/O thread: accepts, serves its connections as coroutines, sweeps their deadlines. No other thread
// touches its connections, so nothing is locked.

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

  /// Once. `choose` picks the loop that serves the next connection.
  void listen(runtime::UniqueFd fd, const Site& site, std::function<Loop&()> choose);
  /// The thread's body: returns after `finish`. An exception out of accepting or sweeping ends the process,
  /// with its reason in the log.
  void run();

  // From any thread:
  /// Accepts what has queued up, closes the listeners, ends idle connections.
  void beginStop();
  /// Ends all connections now; handlers under way still run to their end.
  void abort();
  void finish();
  std::size_t open() const;
  const Counters& counters() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dynamo::webhook::detail
