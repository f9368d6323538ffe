// Lists of the user (decision dec-14): admission changes none, and an object whose lists an earlier release
// completed loses the items of that release without a change of its pods.

#include <catch2/catch.hpp>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/render/hash.h"
#include "common/render/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "support.h"
#include "tests/unit/defaults/api_server.h"
#include "tests/unit/source_dir.h"

namespace dynamo::render {
namespace {

using json::Allocator;
using json::Value;
using test::Pathway;
using test::Setup;

const char* const kManifests = "tests/unit/render/user-lists/manifests.yaml";
const char* const kStored = "tests/unit/render/user-lists/stored.json";
const Pathway kPathways[] = {Pathway::Deployment, Pathway::LeaderWorkerSet, Pathway::Grove};

/// A webhook with its own defaults.
struct Webhook {
  config::OperatorConfig config = config::defaultConfig();
  json::Document overlay;
  model::ComponentDefaults defaults;

  explicit Webhook(const char* text) : overlay(test::parsed(text)), defaults(&overlay) {}

  Value admit(const Value& request, const Value* old, Allocator& allocator) const {
    Value object = json::copy(request, allocator);
    defaults::applyComponentDefaults(object, old, {defaults, config, "1.0.0", "demo"}, allocator);
    return object;
  }
};

const char* const kComplete = R"({"userLists":"complete"})";

std::vector<text::Manifest> manifestsOf(const std::vector<std::string>& files) {
  std::vector<std::string> paths;
  for (const std::string& file : files) paths.push_back(dynamo::test::sourceFile(file));
  text::Manifests read = text::readManifests(paths);
  REQUIRE(read.errors.empty());
  std::erase_if(read.objects, [](const text::Manifest& manifest) {
    return manifest.kind() != api::kDynamoGraphDeployment &&
           manifest.kind() != api::kDynamoComponentDeployment;
  });
  return std::move(read.objects);
}

std::vector<text::Manifest> exampleManifests() {
  return manifestsOf({kManifests, "deploy/samples/graph.yaml", "tests/golden/checkpoint.yaml",
                      "tests/golden/claims.yaml", "tests/golden/component.yaml",
                      "tests/golden/epp-sidecar.yaml", "tests/golden/frontend.yaml",
                      "tests/golden/ingress.yaml", "tests/golden/planner.yaml",
                      "tests/golden/restart-adapter.yaml", "tests/golden/sglang-disagg.yaml",
                      "tests/golden/trtllm-multinode.yaml", "tests/golden/vllm-multinode-mp.yaml",
                      "tests/golden/vllm-multinode-ray.yaml", "tests/golden/vllm.yaml"});
}

Value withSchemaDefaults(const Value& object, Allocator& allocator) {
  Value made = json::copy(object, allocator);
  const schema::Node* node =
      schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  schema::applySchemaDefaults(*node, made, allocator);
  return made;
}

/// The object as `kubectl apply` creates it.
Value created(const Value& manifest, const Webhook& webhook, Allocator& allocator) {
  Value request = withSchemaDefaults(manifest, allocator);
  dynamo::test::setLastApplied(request, manifest, allocator);
  return webhook.admit(request, nullptr, allocator);
}

/// The object after another `kubectl apply` of the same manifest.
Value appliedAgain(const Value& stored, const Value& manifest, const Webhook& webhook, Allocator& allocator) {
  return webhook.admit(dynamo::test::clientSideApply(stored, manifest, allocator), &stored, allocator);
}

/// The first field of `manifest` that a JSON merge patch from `stored` to it contains; empty if there is
/// none. Fields that only `stored` has are not part of it: they were not in the last manifest either.
std::string touched(const Value& manifest, const Value& stored, const std::string& path) {
  if (!manifest.IsObject() || !stored.IsObject()) return json::equal(manifest, stored) ? "" : path;
  for (const auto& member : manifest.GetObject()) {
    const std::string below = path + "." + std::string{json::text(member.name)};
    const Value* other = json::find(stored, json::text(member.name));
    if (member.value.IsNull()) continue;
    if (other == nullptr) return below;
    if (std::string found = touched(member.value, *other, below); !found.empty()) return found;
  }
  return {};
}

/// The spec of each workload by its name, as text. The spec of a component deployment is no workload: only
/// its children have pods.
std::map<std::string, std::string> workloads(const Value& object, Pathway pathway) {
  const Setup setup{pathway};
  const Children children = test::childrenOf(object, setup.context());
  std::map<std::string, std::string> specs{{"errors", test::errorsOf(children)}};
  for (const Child& child : children.items) {
    const std::string kind{json::findText(&child.object, "kind")};
    if (kind != api::kDynamoComponentDeployment) {
      specs[kind + " " + std::string{nameOf(child.object)}] = json::dump(child.object);
    }
  }
  return specs;
}

TEST_CASE("a JSON merge patch from the stored object to its manifest is empty") {
  const Webhook webhook{"{}"};
  for (const text::Manifest& manifest : exampleManifests()) {
    Allocator allocator;
    INFO(manifest.name());
    const Value given = withSchemaDefaults(manifest.object, allocator);
    const Value stored = created(manifest.object, webhook, allocator);
    CHECK(touched(*json::find(given, "spec"), *json::find(stored, "spec"), "spec") == "");
    CHECK(json::equal(appliedAgain(stored, manifest.object, webhook, allocator), stored));
  }
}

TEST_CASE("items that an earlier release added to a list of the user go with the next apply, pods stay") {
  const Webhook earlier{kComplete};
  const Webhook webhook{"{}"};
  std::size_t changed = 0;
  std::size_t compared = 0;
  for (const text::Manifest& manifest : exampleManifests()) {
    Allocator allocator;
    INFO(manifest.name());
    const Value given = withSchemaDefaults(manifest.object, allocator);
    const Value stored = created(manifest.object, earlier, allocator);
    const Value applied = appliedAgain(stored, manifest.object, webhook, allocator);
    CHECK(touched(*json::find(given, "spec"), *json::find(applied, "spec"), "spec") == "");
    CHECK(json::equal(appliedAgain(applied, manifest.object, webhook, allocator), applied));
    CHECK(json::equal(created(manifest.object, webhook, allocator), applied));
    CHECK(workerHash(defaults::intent(stored, allocator)) ==
          workerHash(defaults::intent(applied, allocator)));
    changed += json::equal(stored, applied) ? 0 : 1;
    for (const Pathway pathway : kPathways) {
      const auto before = workloads(stored, pathway);
      CHECK(workloads(applied, pathway) == before);
      compared += before.size();
    }
  }
  CHECK(changed >= 3);
  CHECK(compared > 100);
}

TEST_CASE("objects that the release before stored have the same defaults as with userLists complete") {
  std::ifstream lines{dynamo::test::sourceFile(kStored)};
  const Webhook earlier{kComplete};
  std::string line;
  std::size_t held = 0;
  for (const text::Manifest& manifest : manifestsOf({kManifests})) {
    Allocator allocator;
    INFO(manifest.name());
    REQUIRE(std::getline(lines, line));
    const json::Document stored = test::parsed(line);
    const Value made = earlier.admit(withSchemaDefaults(manifest.object, allocator), nullptr, allocator);
    CHECK(json::dump(made) == json::dump(stored));
    ++held;
  }
  CHECK(held == 3);
}

}  // namespace
}  // namespace dynamo::render
