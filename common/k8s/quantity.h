#pragma once
// resource.Quantity: parsing, comparison and canonical text.

#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::k8s {

/// A quantity as an exact number of nano units, the smallest unit of the API. Smaller digits are rounded up.
struct Quantity {
  __extension__ __int128 nano = 0;

  friend bool operator==(const Quantity&, const Quantity&) = default;
};

/// Parses "1024Mi", "0.5", "1e3", "+.5G"; nullopt if malformed or out of range (about 1.7e29).
std::optional<Quantity> parseQuantity(std::string_view text);

/// Why the CRD's pattern or the API's parser rejects the quantity, as a clause ("must be …"); empty if both
/// accept it. Values above 2^63-1 and exponents above 18 are also rejected.
std::string quantityProblem(std::string_view text);

/// Why an amount of CPUs is not what was meant, as a clause: no node has 2000 CPUs. Empty if it is plausible
/// or no quantity.
std::string unlikelyCpus(std::string_view text);

/// The text that the typed API prints after parsing: "1024Mi" becomes "1Gi", "0.5" becomes "500m", but "007"
/// and "1.500" do not change. A text that is not a quantity, or exceeds 2^63-1, is returned unchanged.
std::string canonicalQuantity(std::string_view text);

/// The text of a quantity given as a string or as a JSON number; nullopt for every other type.
std::optional<std::string> quantityText(const json::Value& value);

/// Whether two values are equal quantities, such as "1024Mi" and "1Gi", or "2" and 2. Invalid ones are
/// compared as JSON.
bool sameQuantity(const json::Value& a, const json::Value& b);

}  // namespace dynamo::k8s
