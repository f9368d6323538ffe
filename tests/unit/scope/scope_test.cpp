// Which namespaces an operator manages in each mode.
#include "controller/scope/scope.h"

#include <catch2/catch.hpp>

namespace dynamo::controller::test {

TEST_CASE("namespaces in each mode") {
  struct Row {
    const char* restricted;
    std::vector<std::string> substrings;
    const char* namespaceName;
    bool handles;
  };
  const Row rows[] = {
      {"", {}, "team-a", true},
      {"", {}, "held", false},
      {"", {}, "", true},
      {"", {}, "my-ephemeral-1", true},
      {"", {"ephemeral"}, "my-ephemeral-1", false},
      {"", {"ephemeral"}, "team-a", true},
      {"", {"ephemeral", "-a"}, "team-a", false},
      {"", {"ephemeral"}, "held", false},
      {"team-a", {}, "team-a", true},
      {"team-a", {}, "team-b", false},
      {"team-a", {}, "", false},
      {"team-a", {"team"}, "team-a", true},
      {"held", {}, "held", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.restricted, row.namespaceName);
    config::NamespaceConfig config;
    config.restricted = row.restricted;
    config.excludedNameSubstrings = row.substrings;
    const Scope scope = scopeOf(config, [](std::string_view name) { return name == "held"; });
    CHECK(scope.handles(row.namespaceName) == row.handles);
    CHECK(scope.clusterWide() == config.restricted.empty());
    CHECK(scope.watchedNamespace() == row.restricted);
  }
}

TEST_CASE("without a watcher nothing is excluded") {
  CHECK(scopeOf({}, {}).handles("team-a"));
}

}  // namespace dynamo::controller::test
