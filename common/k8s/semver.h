#pragma once
// Loose semantic versions, as the operator version and the origin-version annotation use them.

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
  std::string build;       ///< without the "+"; plays no part in comparisons
};

/// Parses `[v]N[.N[.N]][-pre][+build]`. Leading zeros of N are tolerated; an all-digit pre-release identifier
/// must not have one. nullopt for everything else, "" and "V1" included.
std::optional<Version> parseVersion(std::string_view text);

/// Semver precedence: a pre-release is lower than its release, build metadata does not count.
std::weak_ordering comparePrecedence(const Version& a, const Version& b);

/// Whether an object of origin version `origin` has a behaviour that came with version `minimum`: absent and
/// unparsable origins have not.
bool originAtLeast(std::optional<std::string_view> origin, const Version& minimum);

/// Multi-node vLLM uses the `mp` executor instead of Ray from this origin version on.
inline const Version kVllmMultiprocessingSince{1, 0, 0, {}, {}};

}  // namespace dynamo::k8s
