#pragma once
// Limits how often an object is repaired, so that two programs that write different values do not overwrite
// each other forever. Pure: time is a parameter.

#include <chrono>
#include <map>
#include <optional>
#include <string>

#include "certs/openssl.h"

namespace dynamo::provisioning {

class RewriteLimit {
 public:
  /// Allows `burst` writes at once, and then one per `interval`.
  RewriteLimit(unsigned burst, std::chrono::seconds interval) : burst_(burst), interval_(interval) {}

  /// Returns the time of the next allowed write to `key`, or nullopt if a write is allowed now.
  std::optional<certs::Time> blockedUntil(const std::string& key, certs::Time now);
  /// Counts a write to `key`. The write must be allowed.
  void count(const std::string& key, certs::Time now);

 private:
  struct Bucket {
    unsigned used = 0;
    certs::Time since;  ///< start of the current interval; at its end, one used write is restored
  };
  void refill(Bucket& bucket, certs::Time now) const;

  unsigned burst_;
  std::chrono::seconds interval_;
  std::map<std::string, Bucket> buckets_;
};

}  // namespace dynamo::provisioning
