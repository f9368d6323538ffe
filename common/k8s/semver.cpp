#include "common/k8s/semver.h"

#include <algorithm>
#include <charconv>

#include "common/json/ascii.h"

namespace dynamo::k8s {
namespace {

using json::isDigit;

bool allDigits(std::string_view s) {
  return std::all_of(s.begin(), s.end(), isDigit);
}

bool isIdentifierChar(char c) {
  return isDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-';
}

/// Removes and returns the text up to the next '.' of `rest`. `more` becomes false at the end.
std::string_view nextPart(std::string_view& rest, bool& more) {
  const std::size_t dot = rest.find('.');
  const std::string_view part = rest.substr(0, dot);
  more = dot != std::string_view::npos;
  rest = more ? rest.substr(dot + 1) : std::string_view{};
  return part;
}

bool validIdentifiers(std::string_view s, bool refuseLeadingZero) {
  for (bool more = true; more;) {
    const std::string_view id = nextPart(s, more);
    if (id.empty() || !std::all_of(id.begin(), id.end(), isIdentifierChar)) return false;
    if (refuseLeadingZero && id.size() > 1 && id.front() == '0' && allDigits(id)) return false;
  }
  return true;
}

std::weak_ordering compareIdentifiers(std::string_view a, std::string_view b) {
  const bool aNumber = allDigits(a);
  const bool bNumber = allDigits(b);
  if (aNumber != bNumber) return aNumber ? std::weak_ordering::less : std::weak_ordering::greater;
  // Numbers have no leading zeros here, so the longer number is the greater one.
  if (aNumber && a.size() != b.size()) return a.size() <=> b.size();
  return a.compare(b) <=> 0;
}

std::weak_ordering comparePreRelease(std::string_view a, std::string_view b) {
  if (a.empty() || b.empty()) return a.empty() <=> b.empty();  // a version without pre-release is higher
  for (bool moreA = true, moreB = true; moreA || moreB;) {
    if (!moreA || !moreB) return moreA <=> moreB;
    const std::string_view idA = nextPart(a, moreA);
    const std::string_view idB = nextPart(b, moreB);
    if (const auto order = compareIdentifiers(idA, idB); std::is_neq(order)) return order;
  }
  return std::weak_ordering::equivalent;
}

}  // namespace

std::optional<Version> parseVersion(std::string_view text) {
  Version version;
  if (text.starts_with('v')) text.remove_prefix(1);
  if (const std::size_t plus = text.find('+'); plus != std::string_view::npos) {
    version.build = text.substr(plus + 1);
    if (!validIdentifiers(version.build, false)) return std::nullopt;
    text = text.substr(0, plus);
  }
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    version.preRelease = text.substr(dash + 1);
    if (!validIdentifiers(version.preRelease, true)) return std::nullopt;
    text = text.substr(0, dash);
  }
  std::uint64_t* const parts[] = {&version.major, &version.minor, &version.patch};
  bool more = true;
  for (std::size_t i = 0; more; ++i) {
    const std::string_view part = nextPart(text, more);
    if (i == std::size(parts) || part.empty() || !allDigits(part)) return std::nullopt;
    const auto parsed = std::from_chars(part.data(), part.data() + part.size(), *parts[i]);
    if (parsed.ec != std::errc{}) return std::nullopt;  // exceeds uint64
  }
  return version;
}

std::weak_ordering comparePrecedence(const Version& a, const Version& b) {
  if (const auto order = a.major <=> b.major; std::is_neq(order)) return order;
  if (const auto order = a.minor <=> b.minor; std::is_neq(order)) return order;
  if (const auto order = a.patch <=> b.patch; std::is_neq(order)) return order;
  return comparePreRelease(a.preRelease, b.preRelease);
}

bool originAtLeast(std::optional<std::string_view> origin, const Version& minimum) {
  const std::optional<Version> version = origin ? parseVersion(*origin) : std::nullopt;
  return version && std::is_gteq(comparePrecedence(*version, minimum));
}

}  // namespace dynamo::k8s
