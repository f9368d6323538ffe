#include "common/model/origin.h"

#include <catch2/catch.hpp>

namespace dynamo::model {
namespace {

using field::Path;
using Source = Origin::Source;

TEST_CASE("a value without an entry has the origin of the value that it stands in") {
  Origins origins;
  origins.byOperator({}, Path{"whole"});
  origins.user(Path{"a"}, Path{"x"});
  origins.made(Path{"a.b"}, Path{"y"});
  origins.byDefault(Path{"a.c"}, Path{"z"});
  CHECK(origins.of(Path{"a.d.e"}) == Origin{Source::User, Path{"x.d.e"}});
  CHECK(origins.of(Path{"a"}) == Origin{Source::User, Path{"x"}});
  CHECK(origins.of(Path{"a.b.c"}) == Origin{Source::Made, Path{"y"}});
  CHECK(origins.of(Path{"a.c.d"}) == Origin{Source::Default, Path{"z.d"}});
  CHECK(origins.of(Path{"ab"}) == Origin{Source::Operator, Path{"whole"}});
  CHECK(Origins{}.of(Path{"a.b"}) == Origin{Source::User, Path{"a.b"}});
}

TEST_CASE("a member and a key of the same name are one place") {
  Origins origins;
  origins.user(Path{"limits"}.key("cpu"), Path{"x"});
  CHECK(origins.of(Path{"limits.cpu"}) == Origin{Source::User, Path{"x"}});
}

TEST_CASE("what replaces a value replaces the origins of all that was in it") {
  Origins origins;
  origins.user(Path{"a.b.c"}, Path{"x"});
  origins.user(Path{"a.bc"}, Path{"y"});
  origins.user(Path{"a.b"}, Path{"z"});
  CHECK(origins.of(Path{"a.b.c"}) == Origin{Source::User, Path{"z.c"}});
  CHECK(origins.of(Path{"a.bc"}) == Origin{Source::User, Path{"y"}});
}

TEST_CASE("items that are put before others move their origins") {
  Origins origins;
  const Path list{"env"};
  origins.user(list, Path{"envs"});
  for (std::size_t i = 0; i < 12; ++i) origins.made(list[i] / "value", Path{"x"}[i]);
  origins.shiftItems(list, 2);
  CHECK(origins.of(list[2] / "value") == Origin{Source::Made, Path{"x"}[0]});
  CHECK(origins.of(list[13] / "value") == Origin{Source::Made, Path{"x"}[11]});
  CHECK(origins.of(list[0]) == Origin{Source::User, Path{"envs"}[0]});
}

TEST_CASE("a copy has the origin of what it is copied from") {
  Origins origins;
  origins.user(Path{"a"}, Path{"x"});
  origins.copy(Path{"b"}, Path{"a.image"});
  CHECK(origins.of(Path{"b"}) == Origin{Source::User, Path{"x.image"}});
}

TEST_CASE("fields lead on to the origins of what they are in; the one with less of the user counts") {
  auto component = std::make_shared<Origins>();
  component->user({}, Path{"spec.services"}.key("a"));
  component->user(Path{"envs"}[0], Path{"spec.envs"}[3]);
  component->byDefault(Path{"probe"}, Path{"spec.services"}.key("a") / "probe");
  Origins pod{component};
  pod.user(Path{"env"}[5], Path{"envs"}[0]);
  pod.user(Path{"probe"}, Path{"probe"});
  pod.made(Path{"volume"}, Path{"envs"}[0] / "name");
  pod.byOperator(Path{"name"});
  CHECK(pod.of(Path{"env"}[5] / "value") == Origin{Source::User, Path{"spec.envs"}[3] / "value"});
  CHECK(pod.of(Path{"probe.port"}) == Origin{Source::Default, Path{"spec.services"}.key("a") / "probe.port"});
  CHECK(pod.of(Path{"volume.name"}) == Origin{Source::Made, Path{"spec.envs"}[3] / "name"});
  CHECK(pod.of(Path{"name"}) == Origin{Source::Operator, Path{"spec.services"}.key("a")});
  CHECK(pod.own(Path{"name"}) == Origin{Source::Operator, {}});
}

}  // namespace
}  // namespace dynamo::model
