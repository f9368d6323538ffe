// When admission writes the default preStop of frontends and workers (decision pod-Q42).
#include <fmt/format.h>

#include <catch2/catch.hpp>

#include "common/admission/admit.h"
#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/render/children.h"

namespace dynamo::admission {
namespace {

using json::Value;

constexpr std::string_view kDefault = R"({"sleep":{"seconds":5}})";

Settings settingsOf(std::optional<bool> sleepAction, std::string_view overlay = {}) {
  config::OperatorConfig config = config::defaultConfig();
  if (!overlay.empty()) {
    const auto document = std::make_shared<json::Document>();
    REQUIRE_FALSE(json::parse(overlay, *document));
    config.defaults = document;
  }
  render::Facts facts;
  if (sleepAction) facts.setApi(render::Api::SleepAction, *sleepAction);
  return Settings{std::move(config), "1.0.0", {}, std::move(facts)};
}

/// A graph with the service "a" and the frontend "f".
json::Document graph(std::string_view service, std::string_view annotations = "{}") {
  json::Document made;
  const std::string text = fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{{"name":"g",)"
      R"("namespace":"ns","annotations":{}}},"spec":{{"services":{{"f":{{"componentType":"frontend"}},"a":{}}}}}}})",
      annotations, service);
  INFO(text);
  REQUIRE_FALSE(json::parse(text, made));
  return made;
}

json::Document component(std::string_view spec) {
  json::Document made;
  const std::string text =
      fmt::format(R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment",)"
                  R"("metadata":{{"name":"c","namespace":"ns"}},"spec":{}}})",
                  spec);
  REQUIRE_FALSE(json::parse(text, made));
  return made;
}

json::Document admitted(const json::Document& request, const Settings& settings, const Value* old = nullptr) {
  json::Document made;
  made.CopyFrom(request, made.GetAllocator());
  const std::string kind{json::findText(&made, "kind")};
  mutate(made, {kind, "ns", "v1alpha1", "", old}, settings, made.GetAllocator());
  return made;
}

/// The preStop of service "a" or of the component; "-": none.
std::string preStopOf(const Value& object, std::string_view service = "a") {
  const Value* spec = json::find(&object, "spec");
  if (const Value* services = json::find(spec, "services")) spec = json::find(services, service);
  const Value* main = json::find(json::find(spec, "extraPodSpec"), "mainContainer");
  const Value* preStop = json::find(json::find(main, "lifecycle"), "preStop");
  return preStop == nullptr ? "-" : json::dump(*preStop);
}

std::string worker(std::string_view members = "", std::string_view container = R"("image":"i:1")",
                   std::string_view pod = "") {
  return fmt::format(R"({{"componentType":"worker"{},"extraPodSpec":{{{}"mainContainer":{{{}}}}}}})", members,
                     pod, container);
}

TEST_CASE("a new worker or frontend gets a preStop if the API server knows the action") {
  struct Row {
    const char* about;
    std::string service;
    std::optional<bool> known;
    std::string_view preStop;
  };
  const auto lifecycle = [](std::string_view members) {
    return worker("", fmt::format(R"("image":"i","lifecycle":{{{}}})", members));
  };
  for (const Row& row : {
           Row{"a worker", worker(), true, kDefault},
           Row{"a prefill worker", R"({"componentType":"prefill"})", true, kDefault},
           Row{"a decode worker", R"({"componentType":"decode"})", true, kDefault},
           Row{"a planner", R"({"componentType":"planner"})", true, "-"},
           Row{"an older API server", worker(), false, "-"},
           Row{"an unknown API server", worker(), std::nullopt, "-"},
           Row{"a preStop of the user", lifecycle(R"("preStop":{"exec":{"command":["true"]}})"), true,
               R"({"exec":{"command":["true"]}})"},
           Row{"only a postStart of the user", lifecycle(R"("postStart":{"exec":{"command":["true"]}})"),
               true, kDefault},
           Row{"an empty lifecycle", lifecycle(""), true, kDefault},
           Row{"a grace period as short as the preStop",
               worker("", R"("image":"i")", R"("terminationGracePeriodSeconds":5,)"), true, "-"},
           Row{"a longer grace period", worker("", R"("image":"i")", R"("terminationGracePeriodSeconds":6,)"),
               true, kDefault},
       }) {
    CAPTURE(row.about);
    const Settings settings = settingsOf(row.known);
    const json::Document stored = admitted(graph(row.service), settings);
    CHECK(preStopOf(stored) == row.preStop);
    CHECK(preStopOf(stored, "f") == (row.known.value_or(false) ? kDefault : "-"));
    // The record makes it a default: the intent lacks it, and the webhook does not change it again.
    json::Document memory;
    CHECK(json::equal(admitted(stored, settings), stored));
    CHECK(json::equal(admitted(stored, settings, &stored), stored));
    const Value intent = defaults::intent(stored, memory.GetAllocator());
    if (row.preStop == kDefault) CHECK(preStopOf(intent) == "-");
  }
}

/// The list of the variable that goes with the preStop of frontends, and its value; "-": none.
std::string timeoutOf(const Value& object) {
  const Value* service = json::find(json::find(json::find(&object, "spec"), "services"), "a");
  const Value* main = json::find(json::find(service, "extraPodSpec"), "mainContainer");
  std::string text;
  for (const auto& [list, owner] : {std::pair{"env", main}, std::pair{"envs", service}}) {
    const Value* found = json::findNamed(json::find(owner, list), "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS");
    if (found != nullptr) text += fmt::format("{}: {}", list, json::dump(*json::find(found, "value")));
  }
  return text.empty() ? "-" : text;
}

TEST_CASE("the variables that go with the preStop of a frontend") {
  const auto frontend = [](std::string_view members, std::string_view container = R"("image":"i")") {
    return fmt::format(R"({{"componentType":"frontend"{},"extraPodSpec":{{"mainContainer":{{{}}}}}}})",
                       members, container);
  };
  struct Row {
    const char* about;
    std::string service;
    bool known;
    std::string_view value;
  };
  const std::string_view name = "DYN_HTTP_GRACEFUL_SHUTDOWN_TIMEOUT_SECS";
  const std::string_view users = R"("image":"i","env":[{"name":"A","value":"1"}])";
  for (const Row& row : {
           Row{"a frontend", frontend(""), true, R"(env: "0")"},
           Row{"an older API server", frontend(""), false, "-"},
           Row{"a worker", worker(), true, "-"},
           Row{"a variable of the user",
               frontend(fmt::format(R"(,"envs":[{{"name":"{}","value":"9"}}])", name)), true, R"(envs: "9")"},
           Row{"the user's mainContainer.env", frontend("", users), true, R"(envs: "0")"},
           Row{"the user's mainContainer.env, an older API server", frontend("", users), false, "-"},
           Row{"the user's envs", frontend(R"(,"envs":[{"name":"A","value":"1"}])"), true, R"(env: "0")"},
           Row{"both lists are the user's", frontend(R"(,"envs":[{"name":"B","value":"1"}])", users), true,
               "-"},
           Row{"a variable of the user in mainContainer.env",
               frontend("", fmt::format(R"("image":"i","env":[{{"name":"{}","value":"9"}}])", name)), true,
               R"(env: "9")"},
           Row{"a preStop of the user",
               frontend("", R"("image":"i","lifecycle":{"preStop":{"exec":{"command":["true"]}}})"), true,
               "-"},
       }) {
    CAPTURE(row.about);
    const Settings settings = settingsOf(row.known);
    const json::Document stored = admitted(graph(row.service), settings);
    CHECK(timeoutOf(stored) == row.value);
    CHECK(json::equal(admitted(stored, settings, &stored), stored));
    json::Document memory;
    const std::string intent = timeoutOf(defaults::intent(stored, memory.GetAllocator()));
    CHECK(intent == (row.value.ends_with(R"("9")") ? row.value : "-"));
    // The lists of the intent are the user's, as if nothing had been written into them.
    CHECK(
        json::equal(defaults::intent(admitted(graph(row.service), settingsOf(false)), memory.GetAllocator()),
                    defaults::intent(stored, memory.GetAllocator())));
  }
}

TEST_CASE("the variable of the preStop leaves a list that the user writes") {
  const Settings known = settingsOf(true);
  const auto frontend = [](std::string_view members, std::string_view env) {
    return graph(fmt::format(
        R"({{"componentType":"frontend"{},"extraPodSpec":{{"mainContainer":{{"image":"i"{}}}}}}})", members,
        env));
  };
  const std::string_view own = R"(,"env":[{"name":"A","value":"1"}])";
  const json::Document stored = admitted(frontend("", own), known);
  CHECK(timeoutOf(stored) == R"(envs: "0")");
  // Client-side apply replaces the whole list.
  const json::Document replaced =
      admitted(frontend(R"(,"envs":[{"name":"B","value":"1"}])", own), known, &stored);
  CHECK(timeoutOf(replaced) == "-");
  CHECK(replaced["spec"]["services"]["a"]["envs"].Size() == 1);
  // Without it the default comes back, and without the other list it moves there.
  CHECK(timeoutOf(admitted(frontend("", own), known, &replaced)) == R"(envs: "0")");
  CHECK(timeoutOf(admitted(frontend("", ""), known, &stored)) == R"(env: "0")");
}

TEST_CASE("a stored worker gets a preStop only if its pods are replaced, or on request") {
  const std::string before = worker();
  struct Row {
    const char* about;
    std::string service;
    std::string_view preStop;
    const char* annotations = "{}";
  };
  for (const Row& row : {
           Row{"nothing", before, "-"},
           Row{"replicas", worker(R"(,"replicas":3)"), "-"},
           Row{"a label", worker(R"(,"labels":{"a":"b"})"), "-"},
           Row{"an ingress", worker(R"(,"ingress":{"enabled":true,"host":"h"})"), "-"},
           Row{"an image", worker("", R"("image":"i:2")"), kDefault},
           Row{"another type",
               R"({"componentType":"decode","extraPodSpec":{"mainContainer":{"image":"i:1"}}})", kDefault},
           Row{"a variable", worker(R"(,"envs":[{"name":"A","value":"1"}])"), kDefault},
           Row{"on request", before, kDefault, R"({"nvidia.com/dynamo-redefault":"1"})"},
       }) {
    CAPTURE(row.about);
    const Settings unknown = settingsOf(std::nullopt);
    const Settings known = settingsOf(true);
    const json::Document stored = admitted(graph(before), unknown);
    const json::Document updated = admitted(graph(row.service, row.annotations), known, &stored);
    CHECK(preStopOf(updated) == row.preStop);
    CHECK(preStopOf(updated, "f") == (row.annotations == std::string_view{"{}"} ? "-" : kDefault));
    CHECK(json::equal(admitted(updated, known, &updated), updated));
    // Once it is there it stays, also for a webhook that does not know the action yet.
    const json::Document later = admitted(graph(worker(R"(,"ingress":{"enabled":true})")), unknown, &updated);
    CHECK(preStopOf(later) == (row.preStop == "-" ? "-" : kDefault));
    CHECK(json::equal(admitted(updated, unknown, &updated), updated));
  }
}

TEST_CASE("a component deployment gets a preStop when its pods are replaced") {
  const Settings known = settingsOf(true);
  CHECK(preStopOf(admitted(component(worker()), known)) == kDefault);
  const json::Document stored = admitted(component(worker()), settingsOf(false));
  CHECK(preStopOf(stored) == "-");
  CHECK(preStopOf(admitted(component(worker(R"(,"replicas":2)")), known, &stored)) == "-");
  CHECK(preStopOf(admitted(component(worker("", R"("image":"i:2")")), known, &stored)) == kDefault);
}

TEST_CASE("a handler that a patch adds replaces the default preStop") {
  const Settings known = settingsOf(true);
  const json::Document stored = admitted(graph(worker()), known);
  json::Document patched;
  patched.CopyFrom(stored, patched.GetAllocator());
  Value& main = patched["spec"]["services"]["a"]["extraPodSpec"]["mainContainer"];
  const json::Maker make{patched.GetAllocator()};
  make.set(main["lifecycle"]["preStop"], "exec", make.object("command", make.list("drain")));
  const json::Document updated = admitted(patched, known, &stored);
  CHECK(preStopOf(updated) == R"({"exec":{"command":["drain"]}})");
  CHECK(json::equal(admitted(updated, known, &updated), updated));
}

TEST_CASE("a site can change the preStop, also to an action that every API server knows") {
  const Settings site = settingsOf(
      false, R"({"types":{"worker":{"preStop":{"sleep":null,"exec":{"command":["sleep","5"]}}}}})");
  CHECK(preStopOf(admitted(graph(worker()), site)) == R"({"exec":{"command":["sleep","5"]}})");
  const Settings none = settingsOf(true, R"({"types":{"worker":{"preStop":null}}})");
  CHECK(preStopOf(admitted(graph(worker()), none)) == "-");
}

}  // namespace
}  // namespace dynamo::admission
