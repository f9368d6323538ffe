#pragma once
// The queue of the KAI scheduler that graphs have by default, and its parent (decision inst-Q20). They are
// created when a graph needs them and they are missing, and never changed.

#include <chrono>
#include <string>
#include <string_view>

#include "common/render/fact_index.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "common/runtime/task.h"
#include "controller/kube/client.h"

namespace dynamo::controller {

inline constexpr std::string_view kParentQueue = "dynamo-default";
inline constexpr std::string_view kDefaultQueue = "dynamo";

const kube::Resource& queues();
/// Returns the manifest of a queue without limits. `parent`: the queue above it; empty: none.
std::string queueDocument(std::string_view name, std::string_view parent);

/// Must be used on the loop's thread. All references must outlive it.
class DefaultQueues {
 public:
  DefaultQueues(runtime::EventLoop& loop, kube::Client& client, const render::Facts& facts)
      : loop_(loop), client_(client), facts_(facts), changed_(loop) {}

  /// Creates the queues whenever a graph needs them, they are missing and the scheduler is there. Returns
  /// after the loop stops or `stop` is called.
  runtime::Task<void> run();
  void factsChanged() { changed_.notify(); }
  /// What a graph has looked up.
  void lookedUp(const render::FactKeys& keys);
  void stop();

 private:
  /// Returns an error message, or an empty text if the queue exists.
  runtime::Task<std::string> ensure(std::string_view name, std::string_view parent);
  runtime::Task<void> pause(std::chrono::seconds time);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  const render::Facts& facts_;
  runtime::Notification changed_;
  bool needed_ = false;  ///< since a graph has looked it up
  bool stopped_ = false;
};

}  // namespace dynamo::controller
