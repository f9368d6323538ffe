#pragma once
// Jobs that have ended and were deleted before their owner told so, as with ttlSecondsAfterFinished 0
// (decision life-Q51). Without their last state, a checkpoint would be taken again and again.

#include <map>
#include <string>
#include <utility>

#include "common/json/value.h"
#include "controller/kube/cache.h"

namespace dynamo::controller {

class EndedJobs {
 public:
  /// To be called after each change of the cache.
  void changed(const kube::Change& change, const kube::Cache& cache);
  /// The last Job of the owner if it has ended and does not exist any more; nullptr otherwise.
  const json::Value* find(const json::Value& owner) const;

 private:
  /// By namespace and uid of the owner, which exists and follows its Job.
  std::map<std::pair<std::string, std::string>, json::Document> byOwner_;
};

}  // namespace dynamo::controller
