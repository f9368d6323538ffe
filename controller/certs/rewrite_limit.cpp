#include "controller/certs/rewrite_limit.h"

#include <algorithm>

namespace dynamo::provisioning {

using certs::Time;

void RewriteLimit::refill(Bucket& bucket, Time now) const {
  // If the clock was set back, writes must not be blocked until it has caught up.
  bucket.since = std::min(bucket.since, now);
  const auto returned = (now - bucket.since) / interval_;
  if (returned >= bucket.used) {
    bucket = {0, now};
  } else {
    bucket.used -= static_cast<unsigned>(returned);
    bucket.since += returned * interval_;
  }
}

std::optional<Time> RewriteLimit::blockedUntil(const std::string& key, Time now) {
  const auto found = buckets_.find(key);
  if (found == buckets_.end()) return std::nullopt;
  refill(found->second, now);
  if (found->second.used < burst_) return std::nullopt;
  return found->second.since + interval_;
}

void RewriteLimit::count(const std::string& key, Time now) {
  Bucket& bucket = buckets_.try_emplace(key, Bucket{0, now}).first->second;
  refill(bucket, now);
  ++bucket.used;
}

}  // namespace dynamo::provisioning
