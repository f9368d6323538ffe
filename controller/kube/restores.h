#pragma once
// Restores of etcd, which the watches of a process tell each other about.

#include <chrono>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace dynamo::kube {

/// A watch that cannot list its objects does not hold up the process for longer after a restore.
inline constexpr std::chrono::seconds kMaxRelistTime{30};

/// A watch notices a restore if the API server is at an older version than the watch. A watch that asks late
/// may find that the versions have already caught up, and would miss what happened in between. The first
/// watch that notices a restore therefore makes all watches list their objects again. Not thread-safe.
class Restores {
 public:
  /// Returns the number of restores that were noticed.
  unsigned count() const { return count_; }
  /// Counts a restore, and ends the calls in progress of all watches.
  void noticed() {
    ++count_;
    missing_ = watches_;
    since_ = std::chrono::steady_clock::now();
    for (const auto& cancel : running_) cancel();
  }
  /// A watch has listed its objects after the last restore.
  void relisted() {
    if (missing_ > 0) --missing_;
  }
  /// Returns true until all watches have listed their objects after a restore, for kMaxRelistTime at most. In
  /// this time the objects of some kinds are of before the restore.
  bool inProgress(std::chrono::steady_clock::time_point now = std::chrono::steady_clock::now()) const {
    return missing_ > 0 && now < since_ + kMaxRelistTime;
  }

  /// Counts a watch until the destructor.
  class Watching {
   public:
    explicit Watching(std::shared_ptr<Restores> restores) : restores_(std::move(restores)) {
      ++restores_->watches_;
    }
    ~Watching() { --restores_->watches_; }
    Watching(const Watching&) = delete;
    Watching& operator=(const Watching&) = delete;

   private:
    std::shared_ptr<Restores> restores_;
  };
  /// Lets `noticed` call `cancel` until the destructor. It must not create or destroy others.
  class Running {
   public:
    Running(std::shared_ptr<Restores> restores, std::function<void()> cancel)
        : restores_(std::move(restores)),
          entry_(restores_->running_.insert(restores_->running_.end(), std::move(cancel))) {}
    ~Running() { restores_->running_.erase(entry_); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

   private:
    std::shared_ptr<Restores> restores_;
    std::list<std::function<void()>>::iterator entry_;
  };

 private:
  unsigned count_ = 0;
  std::size_t watches_ = 0;
  std::size_t missing_ = 0;  ///< watches that have not listed their objects after the last restore
  std::chrono::steady_clock::time_point since_;
  std::list<std::function<void()>> running_;
};

}  // namespace dynamo::kube
