#pragma once
// Field paths in terms of v1alpha1.

#include <utility>
#include <vector>

#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::admission {

/// Translates field paths of v1beta1, in which requests are validated, into those that a v1alpha1 client
/// wrote.
class AlphaPaths {
 public:
  /// `alpha`: the request in v1alpha1.
  explicit AlphaPaths(const json::Value& alpha);

  /// Replaces a path of v1beta1. A path that is the same in v1alpha1, or does not exist there, is unchanged.
  void operator()(field::Path& field) const;

 private:
  std::vector<std::pair<field::Path, field::Path>> written_;  ///< fields that v1alpha1 can spell in two ways
};

}  // namespace dynamo::admission
