#pragma once
// resource.Quantity: grammar, comparison and canonical text.

#include <optional>
#include <string>
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

/// What is wrong with the text as a quantity that both the CRD's pattern and the API's parser accept, as one
/// clause ("must be …"); empty when nothing is. Beyond 2^63-1 units and exponents beyond 18 are refused too.
std::string quantityProblem(std::string_view text);

/// The text as the typed API prints it after reading it: "1024Mi" is "1Gi", "0.5" is "500m", while "007" and
/// "1.500" stay letter by letter. Text that is no quantity, or is beyond 2^63-1, comes back as it is.
std::string canonicalQuantity(std::string_view text);

/// The text of a quantity given as a string or as a JSON number; nullopt for every other type.
std::optional<std::string> quantityText(const json::Value& value);

/// Equal as quantities: "1024Mi" and "1Gi", "2" and 2. Values that do not parse are compared as JSON.
bool sameQuantity(const json::Value& a, const json::Value& b);

}  // namespace dynamo::k8s
