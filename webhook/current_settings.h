#pragma once
// The settings of admission that the server uses.

#include <memory>
#include <mutex>
#include <utility>

#include "common/admission/settings.h"

namespace dynamo::webhook {

/// The current settings. They are replaced when the facts of the cluster change, also while requests are
/// handled.
class CurrentSettings {
 public:
  using Pointer = std::shared_ptr<const admission::Settings>;
  explicit CurrentSettings(Pointer settings) : settings_(std::move(settings)) {}

  Pointer get() const {
    const std::lock_guard lock{mutex_};
    return settings_;
  }
  void set(Pointer settings) {
    const std::lock_guard lock{mutex_};
    settings_ = std::move(settings);
  }

 private:
  mutable std::mutex mutex_;
  Pointer settings_;
};

}  // namespace dynamo::webhook
