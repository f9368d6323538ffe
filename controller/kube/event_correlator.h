#pragma once
// Decides which Events are written, like the event correlator of client-go: repeated Events are counted,
// similar Events are combined, and Events beyond the rate limit of an object are dropped.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <list>
#include <set>
#include <string>
#include <unordered_map>

#include "common/json/value.h"
#include "common/k8s/timestamp.h"

namespace dynamo::kube {

/// The involvedObject of an Event.
struct ObjectReference {
  std::string apiVersion;
  std::string kind;
  std::string namespaceName;
  std::string name;
  std::string uid;
  std::string resourceVersion;
};
ObjectReference referenceTo(const json::Value& object);

struct EventInput {
  ObjectReference object;
  bool warning = false;
  std::string reason;
  std::string message;
  std::string component;  ///< the reporting component
};

/// The maximum number of entries of each table. The least recently used entry is removed first.
inline constexpr std::size_t kMaxCorrelated = 4096;
/// Events that differ only in their messages are combined after this number within kSimilarTime.
inline constexpr std::size_t kMaxSimilar = 10;
inline constexpr std::chrono::minutes kSimilarTime{10};
/// The rate limit of the Events of one object: a burst, then one Event per period.
inline constexpr double kEventBurst = 25;
inline constexpr std::chrono::seconds kEventPeriod{300};

class EventCorrelator {
 public:
  struct Decision {
    enum class Kind { Drop, Create, Count };

    Kind kind = Kind::Drop;
    std::string name;     ///< the name of the Event
    std::string message;  ///< the message to write; it has a prefix if the Event is combined
    std::int64_t count = 1;
    k8s::Timestamp first;
    std::string key;  ///< the key in the table of written Events, used by `failed`
  };

  /// Returns what to do with an Event. `now` must not decrease between calls.
  Decision decide(const EventInput& event, k8s::Timestamp now);
  /// Reports that the Event was not written or no longer exists. The next equal Event is created.
  void failed(const Decision& decision);

 private:
  struct Tokens {
    double left = kEventBurst;
    k8s::Timestamp since;
  };
  struct Similar {
    std::set<std::string> messages;
    k8s::Timestamp last;
  };
  struct Written {
    std::string name;
    std::int64_t count = 0;
    k8s::Timestamp first;
  };
  /// A map of at most kMaxCorrelated entries that removes the least recently used entry.
  template <typename T>
  class Recent {
   public:
    T& operator[](const std::string& key);
    void erase(const std::string& key);

   private:
    using Entries = std::list<std::pair<std::string, T>>;
    Entries entries_;
    std::unordered_map<std::string, typename Entries::iterator> index_;
  };

  bool allowed(const std::string& key, k8s::Timestamp now);

  Recent<Tokens> tokens_;
  Recent<Similar> similar_;
  Recent<Written> written_;
};

/// Returns the Event of a `Create` decision as JSON.
std::string eventBody(const EventInput& event, const EventCorrelator::Decision& decision, k8s::Timestamp now);
/// Returns the merge patch of a `Count` decision.
std::string eventPatch(const EventCorrelator::Decision& decision, k8s::Timestamp now);

}  // namespace dynamo::kube
