#pragma once
// Paths as clients of v1alpha1 know them.

#include <utility>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Names fields as the v1alpha1 client did who wrote a request, which is judged in v1beta1.
class AlphaPaths {
 public:
  /// `alpha`: the request in v1alpha1.
  explicit AlphaPaths(const json::Value& alpha);

  /// Replaces a path of v1beta1; one that v1alpha1 has too, or has not at all, stays.
  void operator()(field::Path& field) const;

 private:
  std::vector<std::pair<field::Path, field::Path>> written_;  ///< where the spelling is the client's choice
};

}  // namespace dynamo::admission
