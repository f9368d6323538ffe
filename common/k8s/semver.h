#pragma once
// Lenient semantic versions for the operator version and the origin-version annotation.

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace dynamo::k8s {

/// A parsed version; missing numeric parts are 0 ("v1.2" is 1.2.0).
struct Version {
  std::uint64_t major = 0;
  std::uint64_t minor = 0;
  std::uint64_t patch = 0;
  std::string preRelease;  ///< without the "-"
  std::string build;       ///< without the "+"; ignored in comparisons
};

/// Parses `[v]N[.N[.N]][-pre][+build]`. N may have leading zeros; a numeric pre-release identifier must not.
/// Returns nullopt for anything else, including "" and "V1".
std::optional<Version> parseVersion(std::string_view text);

/// Compares by semver precedence: a pre-release is lower than its release, and build metadata is ignored.
std::weak_ordering comparePrecedence(const Version& a, const Version& b);

/// Whether an object with origin version `origin` has a behaviour introduced in version `minimum`. False if
/// the origin is absent or invalid.
bool originAtLeast(std::optional<std::string_view> origin, const Version& minimum);

/// The first origin version whose multi-node vLLM uses the `mp` executor instead of Ray.
inline const Version kVllmMultiprocessingSince{1, 0, 0, {}, {}};

}  // namespace dynamo::k8s
