#pragma once
// resource.Quantity as far as admission compares them (spec/api-v1alpha1.md section 1, QUANTITY).

#include <optional>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// A quantity as an exact number of nano units (the API's finest step; finer digits are rounded up).
struct Quantity {
  __extension__ __int128 nano = 0;

  friend bool operator==(const Quantity&, const Quantity&) = default;
};

/// Parses "1024Mi", "0.5", "1e3", "+.5G"; nullopt when malformed or beyond what fits (about 1.7e29).
std::optional<Quantity> parseQuantity(std::string_view text);

/// Equal as quantities: "1024Mi" and "1Gi", "2" and 2. Values that do not parse are compared as JSON.
bool sameQuantity(const json::Value& a, const json::Value& b);

}  // namespace dynamo::k8s
