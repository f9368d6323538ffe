// Quantities: the canonical form is a quantity with the same value and is its own canonical form.

#include <cstdint>
#include <string>

#include "common/k8s/quantity.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

void checkText(const std::string& text) {
  const auto value = k8s::parseQuantity(text);
  const std::string problem = k8s::quantityProblem(text);
  const std::string canonical = k8s::canonicalQuantity(text);
  // The canonical form of 2.5Ki is 2560. It has no suffix, so it is decimal when it is read again, as in Go.
  const std::string settled = k8s::canonicalQuantity(canonical);
  require(k8s::canonicalQuantity(settled) == settled, "the canonical form settles", text);
  if (problem.empty()) {
    require(value.has_value(), "what has no problem has a value", text);
    require(k8s::quantityProblem(canonical).empty(), "the canonical form has no problem", text);
  }
  if (!value) {
    require(canonical == text, "what is no quantity stays as it is", text);
    return;
  }
  require(k8s::parseQuantity(canonical) == value, "the canonical form has the same value", text);
  const json::Value given{rapidjson::StringRef(text.data(), text.size())};
  const json::Value printed{rapidjson::StringRef(canonical.data(), canonical.size())};
  require(k8s::sameQuantity(given, printed), "both are the same quantity", text);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynamo::checkText({reinterpret_cast<const char*>(data), size});
  return 0;
}
