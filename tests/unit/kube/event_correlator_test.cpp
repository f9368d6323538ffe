// Decisions about repeated, similar and frequent Events.
#include "controller/kube/event_correlator.h"

#include <catch2/catch.hpp>

#include "common/json/parse.h"

namespace dynamo::kube::test {
namespace {

using Decision = EventCorrelator::Decision;
using Kind = Decision::Kind;
using std::chrono::seconds;

struct Fixture {
  Decision record(std::string_view reason, std::string_view message, std::string_view object = "g") {
    EventInput event;
    event.object = {"v1", "Pod", "n", std::string{object}, "u", "7"};
    event.reason = reason;
    event.message = message;
    event.component = "c";
    return correlator.decide(event, now);
  }

  EventCorrelator correlator;
  k8s::Timestamp now{seconds{1'700'000'000}};
};

TEST_CASE("a repeated event is counted") {
  Fixture f;
  const Decision first = f.record("R", "m");
  CHECK(first.kind == Kind::Create);
  f.now += seconds{1};
  const Decision second = f.record("R", "m");
  CHECK(second.kind == Kind::Count);
  CHECK(second.count == 2);
  CHECK(second.name == first.name);
  CHECK(second.first == first.first);

  SECTION("another message, reason or object is another event") {
    CHECK(f.record("R", "other").kind == Kind::Create);
    CHECK(f.record("S", "m").kind == Kind::Create);
    CHECK(f.record("R", "m", "h").kind == Kind::Create);
  }
  SECTION("an event that no longer exists is created again") {
    f.correlator.failed(second);
    const Decision third = f.record("R", "m");
    CHECK(third.kind == Kind::Create);
    CHECK(third.count == 1);
  }
}

TEST_CASE("similar events are combined") {
  Fixture f;
  for (int i = 0; i < 9; ++i) CHECK(f.record("R", "m" + std::to_string(i)).kind == Kind::Create);
  const Decision combined = f.record("R", "m9");
  CHECK(combined.kind == Kind::Create);
  CHECK(combined.message == "(combined from similar events): m9");
  const Decision next = f.record("R", "m10");
  CHECK(next.kind == Kind::Count);
  CHECK(next.name == combined.name);

  SECTION("until kSimilarTime has passed without one") {
    f.now += std::chrono::minutes{60};
    const Decision later = f.record("R", "m11");
    CHECK(later.message == "m11");
  }
}

TEST_CASE("the events of an object are limited to a burst, then one per period") {
  Fixture f;
  int written = 0;
  for (int i = 0; i < 40; ++i) written += f.record("R" + std::to_string(i), "m").kind == Kind::Drop ? 0 : 1;
  CHECK(written == 25);
  CHECK(f.record("R", "m", "other").kind == Kind::Create);
  f.now += seconds{299};
  CHECK(f.record("X", "m").kind == Kind::Drop);
  f.now += seconds{2};
  CHECK(f.record("X", "m").kind == Kind::Create);
  CHECK(f.record("Y", "m").kind == Kind::Drop);
  f.now -= seconds{86'400};  // the clock is set back
  CHECK(f.record("Y", "m").kind == Kind::Drop);
  f.now += seconds{301};
  CHECK(f.record("Y", "m").kind == Kind::Create);
}

TEST_CASE("the JSON of an event") {
  Fixture f;
  EventInput event;
  event.object = {"nvidia.com/v1alpha1", "DynamoGraphDeployment", "n", "g", "u", "7"};
  event.warning = true;
  event.reason = "Reason";
  event.message = std::string(2000, 'x');
  event.component = "dynamographdeployment";
  const Decision decision = f.correlator.decide(event, f.now);
  json::Document body;
  REQUIRE_FALSE(json::parse(eventBody(event, decision, f.now), body));
  CHECK(json::findText(&body, "type") == "Warning");
  CHECK(json::findText(&body, "firstTimestamp") == "2023-11-14T22:13:20Z");
  CHECK(json::findText(&body, "message").size() == 1024);
  CHECK(json::findText(json::find(body, "involvedObject"), "name") == "g");
  CHECK(json::findText(json::find(body, "metadata"), "namespace") == "n");
  CHECK(json::findText(json::find(body, "source"), "component") == "dynamographdeployment");
  CHECK(eventPatch(decision, f.now).find(R"("count":1)") != std::string::npos);
}

}  // namespace
}  // namespace dynamo::kube::test
