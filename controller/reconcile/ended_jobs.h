#pragma once
// Jobs that have ended and were deleted before their owner told so, as with ttlSecondsAfterFinished 0
// (decision life-Q51). Without their last state, a checkpoint would be taken again and again.

#include <functional>
#include <map>
#include <string>

#include "common/json/value.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {

class EndedJobs {
 public:
  /// To be called after each change of the cache.
  void changed(const kube::Change& change, const kube::Cache& cache);
  /// The last Job of the owner if it has ended and does not exist any more; nullptr otherwise.
  const json::Value* find(const json::Value& owner) const;
  /// The owner follows no Job.
  void forget(const json::Value& owner);

 private:
  std::map<std::string, json::Document, std::less<>> byOwner_;  ///< by the uid of the owner, which exists
};

}  // namespace dynamo::controller
