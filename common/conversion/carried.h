#pragma once
// The v1alpha1 data that v1beta1 objects carry in annotations, under the keys of the reference. The
// controller reads these annotations, and so does the reference in clusters with both operators.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/conversion/draft.h"
#include "common/json/value.h"

namespace dynamo::conversion {

/// The decoded annotations. Absent and malformed annotations are empty views, nullopt or false.
struct Carried {
  View configMapRef;         ///< {name, key?}
  View deploymentOverrides;  ///< {name?, namespace?, labels?, annotations?}
  View profilingConfig;      ///< any object
  View deploymentStatus;     ///< {name?, namespace?, state, created?}
  std::optional<std::string_view> outputPvc;
  std::optional<std::string_view> statusBackend;
  std::optional<std::string_view> profilingResults;
  bool enableGpuDiscovery = false;
};

/// The data from the fields of a v1alpha1 object. The views refer to the object or to values in `allocator`.
Carried carriedOf(View alpha, json::Allocator& allocator);

/// The data from the annotations of a v1beta1 object, parsed into `allocator`.
Carried readCarried(const json::Value* annotations, json::Allocator& allocator);

/// The annotations to write, in the reference's order.
std::vector<std::pair<std::string_view, std::string>> writeCarried(const Carried& carried);

}  // namespace dynamo::conversion
