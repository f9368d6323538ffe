// Which kinds are watched, and which of their objects.
#include "controller/reconcile/kinds.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/render/child_kinds.h"
#include "common/text/manifests.h"
#include "reconcile_support.h"
#include "tests/unit/source_dir.h"

namespace dynamo::controller::test {
namespace {

std::size_t matches(const WatchedKind& kind, const json::Value& object) {
  return static_cast<std::size_t>(
      std::count_if(kind.selectors.begin(), kind.selectors.end(),
                    [&](const kube::LabelSelector& selector) { return selector.matches(object); }));
}

/// The recorded renderings of tests/golden.
std::vector<text::Manifest> goldenChildren() {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator{dynamo::test::sourceFile("tests/golden")}) {
    const std::string name = entry.path().filename().string();
    for (const char* pathway : {".grove.yaml", ".lws.yaml", ".deployment.yaml"}) {
      if (name.ends_with(pathway)) files.push_back(entry.path().string());
    }
  }
  text::Manifests read = text::readManifests(files);
  REQUIRE(read.errors.empty());
  REQUIRE(read.objects.size() > 100);
  return std::move(read.objects);
}

}  // namespace

TEST_CASE("every kind of child is watched with the version that is rendered") {
  REQUIRE(render::renderedKinds().size() >= 17);
  for (const render::RenderedKind& kind : render::renderedKinds()) {
    CAPTURE(kind.group, kind.kind);
    const WatchedKind* found = findWatchedKind({std::string{kind.group}, "", std::string{kind.kind}, "", ""});
    REQUIRE(found != nullptr);
    // The fields that the controller owns are stored for kinds that it applies.
    const k8s::ObjectKey key{std::string{kind.group}, "", std::string{kind.kind}, "", "x"};
    if (render::childKind(key).policy != render::Policy::CreatedOnce) CHECK(found->applied);
  }
  CHECK(findWatchedKind({"", "v1", "Secret", "n", "s"}) == nullptr);
  CHECK(findWatchedKind({"example.com", "v1", "Service", "n", "s"}) == nullptr);
}

TEST_CASE("the rows of the custom resources are those of deploy/crds") {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator{dynamo::test::sourceFile("deploy/crds")}) {
    if (entry.path().filename().string().starts_with("nvidia.com_")) files.push_back(entry.path().string());
  }
  text::Manifests crds = text::readManifests(files);
  REQUIRE(crds.errors.empty());
  int checked = 0;
  for (const text::Manifest& crd : crds.objects) {
    const json::Value* spec = json::find(&crd.object, "spec");
    const json::Value* names = json::find(spec, "names");
    const std::string kind{json::findText(names, "kind")};
    CAPTURE(kind);
    const WatchedKind* row = findWatchedKind({std::string{api::kGroup}, "", kind, "", ""});
    if (row == nullptr) continue;
    ++checked;
    CHECK(json::findText(names, "plural") == row->resource.plural);
    CHECK((json::findText(spec, "scope") == "Namespaced") == row->resource.namespaced);
    for (const json::Value& version : json::find(spec, "versions")->GetArray()) {
      const std::string_view name = json::findText(&version, "name");
      CAPTURE(name);
      CHECK(json::find(version, "served")->GetBool() == row->serves(name));
      CHECK(json::find(version, "storage")->GetBool() == (name == row->resource.version));
    }
  }
  const auto ours = [](const WatchedKind& kind) { return kind.resource.group == api::kGroup; };
  CHECK(checked == std::count_if(watchedKinds().begin(), watchedKinds().end(), ours));
}

TEST_CASE("a kind is watched once, and every stored kind is watched") {
  std::set<std::pair<std::string, std::string>> seen;
  for (const WatchedKind& kind : watchedKinds()) {
    CAPTURE(kind.resource.kind);
    CHECK(seen.insert({kind.resource.group, kind.resource.kind}).second);
    CHECK_FALSE(kind.selectors.empty());
    CHECK(kind.resource.namespaced);
    CHECK(findWatchedKind({kind.resource.group, kind.resource.version, kind.resource.kind, "", ""}) == &kind);
  }
  CHECK(storedKinds().size() == watchedKinds().size());
}

TEST_CASE(
    "the recorded children are rendered in the version that is watched, and at most one watch reports each") {
  std::set<std::string> unmatched;
  for (const text::Manifest& child : goldenChildren()) {
    const k8s::ObjectKey key = k8s::keyOf(child.object);
    CAPTURE(child.file, k8s::toText(key));
    const WatchedKind* kind = findWatchedKind(key);
    REQUIRE(kind != nullptr);
    CHECK(kind->resource.version == key.version);
    const std::size_t count = matches(*kind, child.object);
    CHECK(count <= 1);
    CHECK((count == 1) == isWatched(*kind, child.object));
    if (count == 0) unmatched.insert(key.kind);
  }
  CHECK(unmatched.empty());
}

TEST_CASE("selectors of one kind exclude each other, whatever labels an object has") {
  const std::vector<std::string_view> labels = {
      api::label::kGraph,         api::label::kComponent,      api::label::kDiscoveryEnabled,
      api::label::kBaseModelHash, api::label::kCheckpointHash, api::label::kAppManagedBy};
  for (const WatchedKind& kind : watchedKinds()) {
    CAPTURE(kind.resource.kind);
    for (unsigned chosen = 0; chosen < (1U << labels.size()); ++chosen) {
      json::Document object;
      const json::Maker make{object.GetAllocator()};
      json::Value values = make.object();
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if ((chosen >> i & 1U) != 0) make.set(values, labels[i], api::kOperatorName);
      }
      static_cast<json::Value&>(object) = make.object("metadata", make.object("labels", std::move(values)));
      CHECK(matches(kind, object) <= 1);
      if (kind.complete()) CHECK(matches(kind, object) == 1);
    }
  }
}

TEST_CASE("of Events only those about pods of LeaderWorkerSets are watched") {
  const WatchedKind* events = findWatchedKind({"", "v1", "Event", "n", "e"});
  REQUIRE(events != nullptr);
  CHECK(events->fieldSelector == "involvedObject.kind=StatefulSet,reason=FailedCreate");
  REQUIRE(events->with);
  CHECK(events->with->kind == "LeaderWorkerSet");
  CHECK_FALSE(events->complete());
  for (const WatchedKind& kind : watchedKinds()) CHECK(kind.with.has_value() == (&kind == events));
}

TEST_CASE("pods and claims are stored without their specs") {
  CacheFixture f;
  f.see(
      "{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'n','name':'p','uid':'u','resourceVersion':'1'"
      ","
      "'labels':{'nvidia.com/dynamo-graph-deployment-name':'g'},'annotations':{'a':'b'}},"
      "'spec':{'nodeName':'x','containers':[{'name':'main','env':[{'name':'TOKEN','value':'t'}]}]},"
      "'status':{'phase':'Running'}}");
  const auto found = f.cache.find({"", "v1", "Pod", "n", "p"});
  REQUIRE(found);
  const std::string text = json::dump(found->object);
  CHECK(text.find("TOKEN") == std::string::npos);
  CHECK(text.find("Running") != std::string::npos);
  CHECK(text.find(R"("nodeName":"x")") != std::string::npos);
}

}  // namespace dynamo::controller::test
