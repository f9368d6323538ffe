#include "common/field/suggest.h"

#include <array>
#include <catch2/catch.hpp>

using dynamo::field::nearest;

TEST_CASE("the nearest name is suggested", "[schema]") {
  constexpr std::array<std::string_view, 8> names{
      "replicas", "envs", "envFromSecret", "mainContainer", "livenessProbe", "readinessProbe", "env", "args"};
  const auto [word, wanted] = GENERATE(table<std::string_view, std::string_view>({
      {"replica", "replicas"},
      {"Replicas", "replicas"},
      {"repilcas", "replicas"},  // swapped neighbours are one edit
      {"maincontainer", "mainContainer"},
      {"mainContainers", "mainContainer"},
      {"livelinessProbe", "livenessProbe"},
      {"ENV", "env"},
      {"arg", "args"},
      {"image", ""},
      {"", ""},
      {"xyz", ""},
  }));
  CHECK(nearest(word, names) == wanted);
}

TEST_CASE("very long words are not compared", "[schema]") {
  constexpr std::array<std::string_view, 1> names{"replicas"};
  CHECK(nearest(std::string(100000, 'r'), names).empty());
}
