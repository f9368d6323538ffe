#pragma once
// Restores of etcd, which the watches of a process tell each other about.

#include <functional>
#include <list>
#include <memory>

namespace dynamo::kube {

/// A watch notices a restore if the API server is at an older version than the watch. A watch that asks late
/// may find that the versions have already caught up, and would miss what happened in between. The first
/// watch that notices a restore therefore makes all watches list their objects again. Not thread-safe.
class Restores {
 public:
  /// Returns the number of restores that were noticed.
  unsigned count() const { return count_; }
  /// Counts a restore and calls all listeners.
  void noticed() {
    ++count_;
    for (const auto& listener : listeners_) listener();
  }

  class Listening {
   public:
    /// Calls `listener` at each restore until the destructor. It must not change the listeners.
    Listening(std::shared_ptr<Restores> restores, std::function<void()> listener)
        : restores_(std::move(restores)),
          entry_(restores_->listeners_.insert(restores_->listeners_.end(), std::move(listener))) {}
    ~Listening() { restores_->listeners_.erase(entry_); }
    Listening(const Listening&) = delete;
    Listening& operator=(const Listening&) = delete;

   private:
    std::shared_ptr<Restores> restores_;
    std::list<std::function<void()>>::iterator entry_;
  };

 private:
  unsigned count_ = 0;
  std::list<std::function<void()>> listeners_;
};

}  // namespace dynamo::kube
