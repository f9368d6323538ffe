// Facts of the cluster: lookups by renderings, the record of lookups, and changes.
#include "common/render/fact_index.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <cstdlib>
#include <random>

#include "common/render/children.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "support.h"
#include "tests/unit/defaults/generator.h"

namespace dynamo::render::test {
namespace {

using json::Value;

std::string textOf(const FactKeys& keys) {
  constexpr const char* kKinds[] = {"api", "pullSecrets", "account", "checkpoint", "checkpointHash", "queue"};
  std::string text;
  for (const FactKey& key : keys) {
    text += std::string{kKinds[static_cast<std::size_t>(key.kind)]} + ' ' + key.namespaceName + '/' +
            key.name + '\n';
  }
  return text;
}

std::string textOf(std::span<const std::string> names) {
  std::string text;
  for (const std::string& name : names) text += name + ' ';
  return text;
}

TEST_CASE("an API is unknown before discovery and absent if discovery has not found it") {
  Facts facts;
  CHECK_FALSE(facts.api(Api::Grove).has_value());
  facts.setApi(Api::LeaderWorkerSet, true);
  CHECK(facts.api(Api::LeaderWorkerSet) == true);
  facts.setDiscovered();
  CHECK(facts.api(Api::Grove) == false);
  CHECK(facts.api(Api::LeaderWorkerSet) == true);
}

TEST_CASE("queues are unknown until they are listed") {
  Facts facts;
  facts.addQueue("q");
  CHECK_FALSE(facts.queue("q").has_value());
  facts.setQueuesKnown();
  CHECK(facts.queue("q") == true);
  CHECK(facts.queue("other") == false);
  facts.removeQueue("q");
  facts.removeQueue("q");
  CHECK(facts.queue("q") == false);
}

TEST_CASE("without its queue a graph has no PodCliqueSet in a cluster (decision dec-7)") {
  struct Row {
    const char* name;
    const char* service;
    const char* queue;
    bool online;
    bool known;
    const char* error;
  };
  const char* const missing =
      "E render.kai-queue metadata.annotations[nvidia.com/kai-scheduler-queue]: Not found: \"dynamo\": the "
      "queue of the KAI scheduler does not exist";
  const Row rows[] = {{"the default queue is missing", "{}", "team", true, true, missing},
                      {"the default queue exists", "{}", "dynamo", true, true, ""},
                      {"the queues are unknown", "{}", "team", true, false, ""},
                      {"without a cluster", "{}", "team", false, true, ""},
                      {"the user's scheduler has no such queue",
                       R"({"extraPodSpec":{"schedulerName":"mine"}})", "team", true, true, ""}};
  for (const Row& row : rows) {
    INFO(row.name);
    Setup setup;
    setup.config.orchestrators.grove.enabled = true;
    setup.config.orchestrators.kaiSchedulerEnabled = true;
    if (row.known) setup.facts.setQueuesKnown();
    setup.facts.addQueue(row.queue);
    json::Document graph = graphOf(row.service, "{}");
    json::set(*json::find(graph, "metadata"), "uid", json::string("u", graph.GetAllocator()),
              graph.GetAllocator());
    FactKeys keys;
    Context context{setup.config, setup.defaults, {setup.facts, &keys}};
    context.online = row.online;
    const Children children = renderGraph(graph, context, {});
    std::string errors;
    for (const field::FieldError& error : children.errors) {
      errors += fmt::format("E {} {}", error.rule, error.message());
    }
    CHECK(errors == row.error);
    const bool set = std::any_of(children.items.begin(), children.items.end(),
                                 [](const Child& child) { return child.key.kind == "PodCliqueSet"; });
    CHECK(set == errors.empty());
    CHECK(keys.contains({FactKind::Queue, "", "dynamo"}) ==
          (row.online && *row.service == '{' && row.service[1] == '}'));
  }
}

TEST_CASE("pathways before and after discovery") {
  struct Row {
    bool discovered;
    std::optional<bool> grove;
    std::optional<bool> sets;
    bool usesGrove;
    bool usesSets;
  };
  const Row rows[] = {{false, {}, {}, true, true},
                      {false, false, {}, false, true},
                      {true, {}, {}, false, false},
                      {true, true, {}, true, false},
                      {true, {}, true, false, true}};
  const json::Document graph = graphOf("{}");
  for (const Row& row : rows) {
    CAPTURE(row.discovered, row.grove.has_value(), row.sets.has_value());
    const config::OperatorConfig config = config::defaultConfig();
    const model::ComponentDefaults defaults;
    Facts facts;
    facts.setDiscovered(row.discovered);
    if (row.grove) facts.setApi(Api::Grove, *row.grove);
    if (row.sets) facts.setApi(Api::LeaderWorkerSet, *row.sets);
    CHECK(usesGrove(graph, {config, defaults, facts}) == row.usesGrove);
    CHECK(lwsEnabled({config, defaults, facts}) == row.usesSets);
  }
}

TEST_CASE("pull secrets are added and removed") {
  Facts facts;
  facts.addPullSecrets("ns", "r.io", {"b", "a", "b"});
  facts.addPullSecrets("ns", "r.io", {"c"});
  facts.addPullSecrets("ns", "s.io", {"b"});
  facts.addPullSecrets("ns", "empty.io", {});
  CHECK(textOf(facts.pullSecrets("ns", "r.io")) == "a b c ");
  CHECK(textOf(facts.pullSecrets("other", "r.io")).empty());
  CHECK(textOf(facts.pullSecrets("ns", "empty.io")).empty());
  facts.removePullSecret("ns", "b");
  facts.removePullSecret("other", "b");
  CHECK(textOf(facts.pullSecrets("ns", "r.io")) == "a c ");
  CHECK(textOf(facts.pullSecrets("ns", "s.io")).empty());
}

TEST_CASE("the account of components is the smallest name (child-Q37)") {
  Facts facts;
  CHECK(facts.componentAccount("ns").empty());
  facts.addComponentAccount("ns", "b");
  facts.addComponentAccount("ns", "a");
  CHECK(facts.componentAccount("ns") == "a");
  facts.removeComponentAccount("ns", "a");
  facts.removeComponentAccount("ns", "never");
  CHECK(facts.componentAccount("ns") == "b");
  facts.removeComponentAccount("ns", "b");
  CHECK(facts.componentAccount("ns").empty());
}

TEST_CASE("checkpoints are found by name and by label; the smallest name that is ready counts") {
  Facts facts;
  facts.setCheckpoint({"ns", "b", "h1", "h1", false});
  facts.setCheckpoint({"ns", "a", "h1", "h1", false});
  facts.setCheckpoint({"ns", "0", "h9", "h1", true});  // the label is not that of its content
  facts.setCheckpoint({"ns", "c", "h2", "", false});
  REQUIRE(facts.checkpointWithHash("ns", "h1") != nullptr);
  CHECK(facts.checkpointWithHash("ns", "h1")->name == "a");
  facts.setCheckpoint({"ns", "b", "h1", "h1", true});
  CHECK(facts.checkpointWithHash("ns", "h1")->name == "b");
  CHECK(facts.checkpointWithHash("other", "h1") == nullptr);
  CHECK(facts.checkpointWithHash("ns", "h2") == nullptr);  // without the label it is only found by name
  CHECK(facts.checkpointWithHash("ns", "") == nullptr);
  CHECK(facts.checkpointNamed("ns", "c")->hash == "h2");
  facts.setCheckpoint({"ns", "a", "h3", "h3", true});  // replaces the old one
  CHECK(facts.checkpointWithHash("ns", "h1")->name == "b");
  CHECK(facts.checkpointWithHash("ns", "h3")->name == "a");
  facts.removeCheckpoint("ns", "b");
  CHECK(facts.checkpointWithHash("ns", "h1") == nullptr);
  CHECK(facts.checkpointNamed("ns", "b") == nullptr);
}

TEST_CASE("changed keys of facts") {
  Facts before;
  before.setApi(Api::Grove, true);
  before.addPullSecrets("ns", "r.io", {"a"});
  before.addPullSecrets("ns", "gone.io", {"a"});
  before.addComponentAccount("ns", "b");
  before.setCheckpoint({"ns", "c", "h", "h", false});
  CHECK(changed(before, before).empty());
  Facts after = before;
  SECTION("only changes that a lookup could see") {
    after.addComponentAccount("ns", "c");
    after.addPullSecrets("ns", "r.io", {"a"});
    after.setCheckpoint({"ns", "c", "h", "h", false});
    after.setCheckpoint({"ns", "d", "h", "", false});
    CHECK(textOf(changed(before, after)) == "checkpoint ns/d\n");
  }
  SECTION("every kind of fact") {
    after.setApi(Api::KaiScheduler, true);
    after.removePullSecret("ns", "a");
    after.addPullSecrets("ns", "r.io", {"b"});
    after.addPullSecrets("other", "new.io", {"b"});
    after.addComponentAccount("ns", "a");
    after.setCheckpoint({"ns", "c", "h", "h", true});
    after.addQueue("q");
    after.setQueuesKnown();
    before.setQueuesKnown();
    const std::string keys =
        "api /kaiScheduler\npullSecrets ns/gone.io\npullSecrets ns/r.io\npullSecrets other/new.io\naccount "
        "ns/\n"
        "checkpoint ns/c\ncheckpointHash ns/h\nqueue /q\n";
    CHECK(textOf(changed(before, after)) == keys);
    CHECK(textOf(changed(after, before)) == keys);
  }
  SECTION("discovery without further APIs") {
    after.setDiscovered();
    CHECK(textOf(changed(before, after)) ==
          "api /inferencePool\napi /kaiScheduler\napi /leaderWorkerSet\napi /sleepAction\n");
  }
}

TEST_CASE("a rendering records its lookups, found or not") {
  struct Row {
    const char* what;
    const char* service;
    const char* annotations;
    std::optional<bool> configured;  ///< the setting of Grove, LeaderWorkerSet and KAI
    const char* keys;
  };
  const char* const none = "{}";
  const Row rows[] = {
      {"without settings the APIs are looked up", "{}", none, {}, "api /grove\napi /kaiScheduler\n"},
      {"with settings nothing is looked up", "{}", none, true, ""},
      {"an image's registry", R"({"extraPodSpec":{"mainContainer":{"image":"nvcr.io/x:1"}}})", none, true,
       "pullSecrets ns/nvcr.io\n"},
      {"a sidecar's registry", R"({"frontendSidecar":{"image":"x:1"}})", none, true,
       "pullSecrets ns/docker.io\n"},
      {"no registry without discovery of secrets",
       R"({"annotations":{"nvidia.com/disable-image-pull-secret-discovery":"true"},"extraPodSpec":)"
       R"({"mainContainer":{"image":"nvcr.io/x:1"}}})",
       none, true, ""},
      {"with the user's scheduler KAI is not looked up",
       R"({"extraPodSpec":{"schedulerName":"mine"}})",
       none,
       {},
       "api /grove\n"},
      {"a checkpoint by its name", R"({"checkpoint":{"enabled":true,"checkpointRef":"c"}})", none, true,
       "checkpoint ns/c\n"},
      {"a checkpoint by its identity",
       R"({"checkpoint":{"enabled":true,"identity":{"model":"meta-llama/Llama-2-7b-hf","backendFramework":"vllm"}}})",
       none, true, "checkpointHash ns/96429b2725761a09\n"},
      {"an annotation disables Grove; with discovery by Kubernetes the account has a name",
       "{}",
       R"({"nvidia.com/enable-grove":"false"})",
       {},
       ""},
      {"an account is looked up where none is named",
       "{}",
       R"({"nvidia.com/enable-grove":"False","nvidia.com/dynamo-discovery-backend":"etcd"})",
       {},
       "account ns/\n"},
      {"several nodes without Grove look up LeaderWorkerSets",
       R"({"multinode":{"nodeCount":2}})",
       R"({"nvidia.com/enable-grove":"false"})",
       {},
       "api /leaderWorkerSet\n"},
      {"disabled LeaderWorkerSets are not looked up", R"({"multinode":{"nodeCount":2}})",
       R"({"nvidia.com/enable-grove":"false"})", false, ""},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    Setup setup;
    setup.config.checkpoint.enabled = true;
    setup.config.orchestrators.grove.enabled = row.configured;
    setup.config.orchestrators.lwsEnabled = row.configured;
    setup.config.orchestrators.kaiSchedulerEnabled = row.configured;
    const json::Document graph = graphOf(row.service, row.annotations);
    FactKeys keys;
    renderAll(graph, {setup.config, setup.defaults, {setup.facts, &keys}}, {});
    CHECK(textOf(keys) == row.keys);
  }
}

// ---- Laws over many objects

/// Applies a random change of the cluster.
void change(Facts& facts, const FactKeys& lookedUp, std::mt19937_64& random) {
  const auto below = [&](std::size_t bound) {
    return std::uniform_int_distribution<std::size_t>{0, bound - 1}(random);
  };
  // Half of the changes concern looked-up facts, the other half similar facts.
  FactKey key;
  if (!lookedUp.empty() && below(2) == 0) {
    key = *std::next(lookedUp.begin(), static_cast<std::ptrdiff_t>(below(lookedUp.size())));
  } else {
    constexpr const char* kNames[] = {"docker.io", "nvcr.io", "quay.io", "c", "ckpt", "96429b2725761a09"};
    constexpr const char* kNamespaces[] = {"demo", "ns", "default", "other", ""};
    key = {static_cast<FactKind>(below(6)), kNamespaces[below(5)], kNames[below(6)]};
  }
  const bool on = below(3) != 0;
  switch (key.kind) {
    case FactKind::Api:
      if (below(4) == 0) facts.setDiscovered(on);
      facts.setApi(static_cast<Api>(below(kApiNames.size())), on);
      break;
    case FactKind::PullSecrets:
      if (on) facts.addPullSecrets(key.namespaceName, key.name, {below(2) == 0 ? "one" : "two"});
      if (!on) facts.removePullSecret(key.namespaceName, below(2) == 0 ? "one" : "two");
      break;
    case FactKind::ComponentAccount:
      if (on) facts.addComponentAccount(key.namespaceName, below(2) == 0 ? "one" : "two");
      if (!on) facts.removeComponentAccount(key.namespaceName, below(2) == 0 ? "one" : "two");
      break;
    case FactKind::CheckpointByName:
      if (on)
        facts.setCheckpoint({key.namespaceName, key.name, "h", below(2) == 0 ? "h" : "", below(2) == 0});
      if (!on) facts.removeCheckpoint(key.namespaceName, key.name);
      break;
    case FactKind::CheckpointByHash:
      if (on)
        facts.setCheckpoint(
            {key.namespaceName, below(2) == 0 ? "one" : "two", key.name, key.name, below(2) == 0});
      if (!on) facts.removeCheckpoint(key.namespaceName, below(2) == 0 ? "one" : "two");
      break;
    case FactKind::Queue:
      if (on) facts.addQueue(key.name);
      if (!on) facts.removeQueue(key.name);
      break;
  }
}

std::string textOf(const Children& children) {
  std::string text;
  for (const Child& child : children.items) text += json::dump(child.object) + '\n';
  return text + errorsOf(children);
}

/// `facts` with another value for `key`.
Facts withOtherValue(Facts facts, const FactKey& key) {
  switch (key.kind) {
    case FactKind::Api:
      for (std::size_t i = 0; i < kApiNames.size(); ++i) {
        const Api api = static_cast<Api>(i);
        if (nameOf(api) == key.name) facts.setApi(api, !facts.api(api).value_or(false));
      }
      break;
    case FactKind::PullSecrets:
      facts.addPullSecrets(key.namespaceName, key.name, {"new"});
      break;
    case FactKind::ComponentAccount:
      facts.addComponentAccount(key.namespaceName, "a-new-one");
      break;
    case FactKind::CheckpointByName:
      facts.setCheckpoint({key.namespaceName, key.name, "new", "new", true});
      break;
    case FactKind::CheckpointByHash:
      facts.setCheckpoint({key.namespaceName, "a-new-one", key.name, key.name, true});
      break;
    case FactKind::Queue:
      if (facts.queue(key.name).value_or(false)) {
        facts.removeQueue(key.name);
      } else {
        facts.addQueue(key.name);
      }
      break;
  }
  return facts;
}

struct Tally {
  int concerned = 0;    ///< changes of facts that the rendering looked up
  int unconcerned = 0;  ///< changes of other facts
  int moved = 0;        ///< changes with different children
};

void checkLaws(const Value& original, std::uint64_t seed, Tally& tally) {
  std::mt19937_64 random{seed};
  // Only objects with a uid have children in a cluster.
  json::Document object;
  object.CopyFrom(original, object.GetAllocator());
  json::set(json::ensureObject(object, "metadata", object.GetAllocator()), "uid",
            json::string("u", object.GetAllocator()), object.GetAllocator());
  Setup setup;
  setup.config.checkpoint.enabled = true;
  if (seed % 3 != 0) setup.config.orchestrators = {};  // the facts select the orchestrators
  FactKeys lookedUp;
  const auto rendered = [&](const Facts& facts, FactKeys* keys) {
    Context context{setup.config, setup.defaults, {facts, keys}};
    context.online = seed % 2 == 0;
    return textOf(childrenOf(object, context));
  };
  Facts facts;
  facts.setQueuesKnown();
  std::string wanted = rendered(facts, &lookedUp);
  for (int step = 0; step < 8; ++step) {
    Facts after = facts;
    change(after, lookedUp, random);
    FactKeys now;
    const std::string got = rendered(after, &now);
    const bool concerns = intersect(changed(facts, after), lookedUp);
    ++(concerns ? tally.concerned : tally.unconcerned);
    tally.moved += got != wanted ? 1 : 0;
    if (!concerns && (got != wanted || now != lookedUp)) {
      FAIL("seed " << seed << ": a change of " << textOf(changed(facts, after)) << "changed what looked up "
                   << textOf(lookedUp) << json::dump(object));
    }
    facts = std::move(after);
    lookedUp = std::move(now);
    wanted = got;
  }
  for (const FactKey& key : lookedUp) {
    if (!changed(facts, withOtherValue(facts, key)).contains(key)) {
      FAIL("no change of facts reaches " << textOf(FactKeys{key}));
    }
  }
}

TEST_CASE("a change of facts that a rendering did not look up never changes its children") {
  Tally tally;
  const std::vector<json::Document> golden = goldenObjects();
  for (std::uint64_t seed = 0; seed < 20 * golden.size(); ++seed) {
    checkLaws(golden[seed % golden.size()], seed, tally);
  }
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    json::Document generated;
    dynamo::test::GraphGenerator generator{seed, generated.GetAllocator()};
    const Value object = seed % 4 == 3 ? generator.component() : generator.graph();
    checkLaws(object, seed, tally);
  }
  CAPTURE(tally.concerned, tally.unconcerned, tally.moved);
  CHECK(tally.concerned > 1000);
  CHECK(tally.unconcerned > 1000);
  CHECK(tally.moved > 500);
}

}  // namespace
}  // namespace dynamo::render::test
