#include "common/k8s/semver.h"

#include <catch2/catch.hpp>

namespace dynamo::k8s {
namespace {

std::string show(std::string_view text) {
  const auto v = parseVersion(text);
  if (!v) return "refused";
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch) + " [" +
         v->preRelease + "] [" + v->build + "]";
}

}  // namespace

TEST_CASE("loose versions parse as in the reference") {
  const std::pair<std::string_view, std::string_view> table[] = {
      {"1.0.0", "1.0.0 [] []"},
      {"v1.0", "1.0.0 [] []"},
      {"1", "1.0.0 [] []"},
      {"01.0.0", "1.0.0 [] []"},
      {"1.0-rc.0", "1.0.0 [rc.0] []"},
      {"1.0.0-0", "1.0.0 [0] []"},
      {"1.0.0-01a", "1.0.0 [01a] []"},
      {"0.0.0-unknown", "0.0.0 [unknown] []"},
      {"1.0.0+01", "1.0.0 [] [01]"},
      {"1.0.0-rc1+b.1", "1.0.0 [rc1] [b.1]"},
      {"1.0.0-a-b+c-d", "1.0.0 [a-b] [c-d]"},
      {"18446744073709551615.0.0", "18446744073709551615.0.0 [] []"},
      {"1.0.0-99999999999999999999", "1.0.0 [99999999999999999999] []"},
      {"", "refused"},
      {"v", "refused"},
      {"unknown", "refused"},
      {"V1.0", "refused"},
      {"1.", "refused"},
      {"1.0.0.0", "refused"},
      {" 1.0", "refused"},
      {"1.0.0 ", "refused"},
      {"-1.0.0", "refused"},
      {"1.0-rc.01", "refused"},
      {"1.0.0-00", "refused"},
      {"1.2.3-", "refused"},
      {"1.2.3+", "refused"},
      {"1.2.3-a..b", "refused"},
      {"1.2.3-a_b", "refused"},
      {"1.2.3-a+b+c", "refused"},
      {"1.0.0-\xC3\xA9", "refused"},
      {"18446744073709551616.0.0", "refused"},
  };
  for (const auto& [text, expected] : table) {
    CAPTURE(text);
    CHECK(show(text) == expected);
  }
}

TEST_CASE("precedence is semver's") {
  // Each version is lower than the next one.
  const std::string_view ascending[] = {"0.9.0",
                                        "1.0.0-0",
                                        "1.0.0-2",
                                        "1.0.0-10",
                                        "1.0.0-alpha",
                                        "1.0.0-alpha.1",
                                        "1.0.0-alpha.beta",
                                        "1.0.0-beta",
                                        "1.0.0-beta.2",
                                        "1.0.0-beta.11",
                                        "1.0.0-rc.1",
                                        "1.0.0",
                                        "1.0.1",
                                        "1.2",
                                        "10"};
  for (std::size_t i = 0; i < std::size(ascending); ++i) {
    for (std::size_t j = 0; j < std::size(ascending); ++j) {
      CAPTURE(ascending[i], ascending[j]);
      const auto order = comparePrecedence(*parseVersion(ascending[i]), *parseVersion(ascending[j]));
      CHECK((order < 0) == (i < j));
      CHECK((order == 0) == (i == j));
    }
  }
  CHECK((comparePrecedence(*parseVersion("v1+a"), *parseVersion("1.0.0+b")) == 0));
}

TEST_CASE("a feature gate requires a known origin version") {
  const std::pair<std::optional<std::string_view>, bool> table[] = {
      {std::nullopt, false}, {"", false},           {"not-a-version", false}, {"0.9.0", false},
      {"0.9.0-dev", false},  {"1.0.0-rc1", false},  {"0.0.0-unknown", false}, {"1.0.0", true},
      {"v1.0", true},        {"1.0.0+build", true}, {"2.0.0", true},
  };
  for (const auto& [origin, expected] : table) {
    CAPTURE(origin.value_or("(absent)"));
    CHECK(originAtLeast(origin, kVllmMultiprocessingSince) == expected);
  }
}

}  // namespace dynamo::k8s
