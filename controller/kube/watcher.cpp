#include "controller/kube/watcher.h"

#include <algorithm>

#include "controller/kube/resource_version.h"

namespace dynamo::kube {
namespace {

BackoffOptions delaysOf(const WatchedSet& set) {
  BackoffOptions options;
  options.max = set.maxDelay;
  return options;
}

}  // namespace

Watcher::Watcher(WatchedSet set, Random random)
    : set_(std::move(set)), random_(random), backoff_(delaysOf(set_), std::move(random)) {}

Watcher::Action Watcher::next() {
  if (sleep_) {
    sleep_ = false;
    const auto delay = std::max(backoff_.next(), atLeast_);
    atLeast_ = std::chrono::milliseconds{0};
    return Sleep{delay};
  }
  if (state_ == State::Watching && probe_) {
    Probe probe;
    probe.options.labelSelector = set_.labelSelector;
    probe.options.fieldSelector = set_.fieldSelector;
    probe.options.limit = 1;
    return probe;
  }
  if (state_ == State::Watching) {
    Watch watch;
    watch.options.labelSelector = set_.labelSelector;
    watch.options.fieldSelector = set_.fieldSelector;
    watch.options.resourceVersion = resourceVersion_;
    const double spread = random_() * static_cast<double>((kMaxWatchTime - kMinWatchTime).count());
    watch.options.timeout = set_.watchTime.count() > 0
                                ? set_.watchTime
                                : kMinWatchTime + std::chrono::seconds{static_cast<long long>(spread)};
    watch.lifetime = watch.options.timeout + kWatchGrace;
    return watch;
  }
  List list;
  list.first = state_ == State::Listing;
  list.options.labelSelector = set_.labelSelector;
  list.options.fieldSelector = set_.fieldSelector;
  list.options.limit = pageLimit_;
  list.options.continueToken = continueToken_;
  return list;
}

void Watcher::restart() {
  state_ = State::Listing;
  probe_ = false;
  continueToken_.clear();
}

bool Watcher::listed(const ListPage& page) {
  backoff_.reset();
  continueToken_ = page.continueToken();
  if (!continueToken_.empty()) {
    state_ = State::Paging;
    return false;
  }
  resourceVersion_ = page.resourceVersion();
  state_ = State::Watching;
  synced_ = true;
  restored_ = false;
  return true;
}

void Watcher::listFailed(const ApiError& error) {
  if (error.reason == Reason::TooLarge && pageLimit_ > 1) {
    pageLimit_ /= 2;
    return;
  }
  // An expired continue token restarts the list immediately, because the server has not failed.
  const bool expired = error.reason == Reason::Gone && state_ == State::Paging;
  // After a transient failure the page is requested again. The previous pages stay valid as long as the
  // token.
  if (!error.transient()) restart();
  if (expired) return;
  sleep_ = true;
  if (error.retryAfter) atLeast_ = *error.retryAfter;
}

void Watcher::probed(const ListPage& page) {
  probe_ = false;
  if (wentBack(page)) serverRestored();
}

void Watcher::serverRestored() {
  restart();
  restored_ = true;
  sleep_ = false;
}

void Watcher::probeFailed(const ApiError& error) {
  // A server that refuses the probe for good may still serve the watch.
  probe_ = error.transient();
  sleep_ = true;
  if (error.retryAfter) atLeast_ = *error.retryAfter;
}

bool Watcher::wentBack(const ListPage& page) const {
  return restored_ || isOlder(page.resourceVersion(), resourceVersion_);
}

void Watcher::watchOpened() {
  sawEvent_ = false;
}

void Watcher::watchLasted(std::chrono::milliseconds time) {
  if (time < kLongWatch) return;
  emptyWatches_ = 0;
  backoff_.reset();
}

void Watcher::watchFailed(const ApiError& error) {
  if (error.reason == Reason::Gone) {
    restart();
    // The first relist is immediate. Further 410 replies lead to a delay.
    sleep_ = emptyWatches_++ > 0;
    return;
  }
  probe_ = true;
  sleep_ = true;
  if (error.retryAfter) atLeast_ = *error.retryAfter;
}

void Watcher::watchEnded() {
  probe_ = !sawEvent_;
  // A delay limits the requests to a server that ends every watch immediately.
  sleep_ = !sawEvent_ && emptyWatches_++ > 0;
}

bool Watcher::received(const WatchEvent& event) {
  sawEvent_ = true;
  emptyWatches_ = 0;
  backoff_.reset();
  if (const std::string_view version = event.resourceVersion(); !version.empty()) resourceVersion_ = version;
  return event.type != EventType::Bookmark;
}

}  // namespace dynamo::kube
