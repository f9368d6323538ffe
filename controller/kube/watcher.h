#pragma once
// The protocol of list and watch as a state machine without I/O. It returns the next request and processes
// the replies.

#include <chrono>
#include <string>
#include <variant>

#include "controller/kube/api_error.h"
#include "controller/kube/backoff.h"
#include "controller/kube/client_options.h"
#include "controller/kube/decode.h"

namespace dynamo::kube {

/// The server ends a watch after a random time in this range, so that watches do not all restart together.
inline constexpr std::chrono::seconds kMinWatchTime{240};
inline constexpr std::chrono::seconds kMaxWatchTime{295};
/// A watch that the server has not ended this long after its timeout is considered dead.
inline constexpr std::chrono::seconds kWatchGrace{5};
/// A watch that receives nothing for this time is opened again. A server sends bookmarks about once a minute,
/// but a load balancer may keep a connection open whose server is gone.
inline constexpr std::chrono::seconds kMaxSilence{150};
/// A watch that lasted this long was no failure of the server.
inline constexpr std::chrono::seconds kLongWatch{10};
/// The maximum number of objects in a page of a list. A page is parsed as a whole, so this limits the memory.
/// Pages of large objects, which exceed the limit of a reply, are made smaller.
inline constexpr std::int64_t kPageLimit = 250;

/// Selects the objects of a resource.
struct WatchedSet {
  std::string namespaceName;  ///< empty: all namespaces
  std::string labelSelector;
  std::string fieldSelector;
  /// The timeout of a watch; 0: a random time of kMinWatchTime to kMaxWatchTime. It limits how long a dead
  /// connection can hide a change.
  std::chrono::seconds watchTime{0};
  /// The maximum delay after failed requests, before jitter.
  std::chrono::milliseconds maxDelay = BackoffOptions{}.max;
};

class Watcher {
 public:
  /// Request a page of a list.
  struct List {
    ListOptions options;
    bool first = false;  ///< the first page of a new list, which replaces the known objects
  };
  struct Watch {
    WatchOptions options;
    std::chrono::seconds lifetime;  ///< the watch is dead if it lasts longer
  };
  /// Request the current version, with as few objects as possible.
  struct Probe {
    ListOptions options;
  };
  struct Sleep {
    std::chrono::milliseconds time;
  };
  using Action = std::variant<List, Watch, Probe, Sleep>;

  explicit Watcher(WatchedSet set, Random random);

  /// Returns the next action. The functions below report its result.
  Action next();

  /// Processes a page. Returns true if it was the last page; objects that were not listed then do not exist.
  bool listed(const ListPage& page);
  void listFailed(const ApiError& error);
  /// Processes the reply to a probe. If its version is older than that of the watch, a new list follows: the
  /// watch would hide all changes until the versions have caught up.
  void probed(const ListPage& page);
  void probeFailed(const ApiError& error);
  void watchOpened();
  /// Reports how long a watch lasted, before the function that reports its end. A delay is only for watches
  /// that end early: a proxy may cut a quiet watch again and again.
  void watchLasted(std::chrono::milliseconds time);
  /// Reports a failed watch request, an ERROR event, or a broken stream.
  void watchFailed(const ApiError& error);
  /// Reports that the server ended the watch, which it does after the timeout.
  void watchEnded();
  /// Processes an event. Returns false for a bookmark, which contains no object.
  bool received(const WatchEvent& event);

  /// Makes the watcher list again after a restore of etcd that another watcher noticed.
  void serverRestored();
  /// Returns true from the moment that a restore is known until the list after it is complete.
  bool restored() const { return restored_; }
  /// Returns true if a page is older than what is known, or if a restore is known: the versions of the API
  /// server have gone back.
  bool wentBack(const ListPage& page) const;

  /// Returns true once a complete list has been received.
  bool synced() const { return synced_; }
  const std::string& resourceVersion() const { return resourceVersion_; }

 private:
  enum class State { Listing, Paging, Watching };

  void restart();

  WatchedSet set_;
  Random random_;
  Backoff backoff_;
  State state_ = State::Listing;
  std::string continueToken_;
  std::int64_t pageLimit_ = kPageLimit;
  std::string resourceVersion_;
  bool synced_ = false;
  bool sleep_ = false;
  bool restored_ = false;
  bool probe_ = false;  ///< the last watch failed or was silent: the API server may have gone back
  std::chrono::milliseconds atLeast_{0};  ///< the minimum delay that the server requested
  unsigned emptyWatches_ = 0;             ///< number of consecutive watches that ended without an event
  bool sawEvent_ = false;
};

}  // namespace dynamo::kube
