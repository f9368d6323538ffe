// How children change, and which children are planned.
#include "controller/view/child_changes.h"

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "../lifecycle/support.h"
#include "common/config/operator_config.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/model/component_defaults.h"
#include "controller/view/child_plan.h"

namespace dynamo::view {
namespace {

using lifecycle::test::kNow;
using lifecycle::test::Objects;
using lifecycle::test::parsed;

constexpr std::string_view kManager = "dynamo-controller";

render::Children childOf(const std::string& text) {
  const json::Document object = parsed(text);
  render::Children children;
  children.add(json::copy(object, children.memory()));
  return children;
}

/// `metadata` and `rest`: members.
std::string deployment(const std::string& metadata, const std::string& rest) {
  return "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'name':'d','namespace':'demo'" + metadata +
         "}," + rest + "}";
}

const std::string kOwned =
    ",'managedFields':[{'manager':'dynamo-controller','operation':'Apply','fieldsV1':{'f:spec':"
    "{'f:replicas':{},'f:paused':{}}}}]";
const std::string kScaled =
    ",'managedFields':[{'manager':'dynamo-controller','operation':'Apply','fieldsV1':{'f:spec':{'f:paused':{}"
    "}}},"
    "{'manager':'hpa','operation':'Update','subresource':'scale','fieldsV1':{'f:spec':{'f:replicas':{}}}}]";

}  // namespace

TEST_CASE("a child is created, changed, left or refused") {
  struct Row {
    std::string what;
    std::string child;
    std::string live;  ///< empty: does not exist
    std::string text;
  };
  const std::string wanted = deployment("", "'spec':{'replicas':2,'paused':true}");
  const std::vector<Row> rows = {
      {"it does not exist", wanted, "", "+ Deployment demo/d\n"},
      {"it is equal", wanted,
       deployment(kOwned, "'spec':{'replicas':2,'paused':true,'revisionHistoryLimit':10}"), ""},
      {"a value differs", wanted, deployment(kOwned, "'spec':{'replicas':1,'paused':true}"),
       "~ Deployment demo/d\n  @@ spec @@\n   spec:\n  -  replicas: 1\n  +  replicas: 2\n     paused: "
       "true\n"},
      {"a field is no longer applied", deployment("", "'spec':{'replicas':2}"),
       deployment(kOwned, "'spec':{'replicas':2,'paused':true}"),
       "~ Deployment demo/d\n  @@ spec @@\n   spec:\n     replicas: 2\n  -  paused: true\n"},
      {"only the ownership changes hands", wanted,
       deployment(",'labels':{'nvidia.com/dynamo-component':'d'}", "'spec':{'replicas':2,'paused':true}"),
       ""},
      {"somebody else made it", wanted, deployment("", "'spec':{'replicas':2,'paused':true}"),
       "! Deployment demo/d (Deployment.apps demo/d exists, but this operator did not create it)\n"},
      {"an autoscaler sets the replicas", wanted, deployment(kScaled, "'spec':{'replicas':7,'paused':true}"),
       ""},
      {"no replicas are wanted although an autoscaler sets them", deployment("", "'spec':{'replicas':0}"),
       deployment(kScaled, "'spec':{'replicas':7}"),
       "~ Deployment demo/d\n  @@ spec @@\n   spec:\n  -  replicas: 7\n  +  replicas: 0\n"},
      {"it is being deleted", wanted,
       deployment(",'deletionTimestamp':'2026-01-01T00:00:00Z'", "'spec':{'replicas':2,'paused':true}"),
       "+ Deployment demo/d (the live object is being deleted)\n"},
      {"another object controls it", wanted,
       deployment(",'ownerReferences':[{'kind':'Other','name':'o','uid':'1','controller':true}]",
                  "'spec':{'replicas':2}"),
       "! Deployment demo/d (Deployment.apps demo/d is controlled by Other o)\n"},
      {"a claim exists",
       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c'},'spec':{'a':1}}",
       "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'name':'c'},'spec':{'a':2}}", ""},
      {"a role cannot be changed",
       "{'apiVersion':'rbac.authorization.k8s.io/v1','kind':'RoleBinding','metadata':{'name':'r'},"
       "'roleRef':{'name':'new'}}",
       "{'apiVersion':'rbac.authorization.k8s.io/"
       "v1','kind':'RoleBinding','metadata':{'name':'r','managedFields':["
       "{'manager':'" +
           std::string{kManager} +
           "','operation':'Apply','fieldsV1':{'f:roleRef':{}}}]},"
           "'roleRef':{'name':'old'}}",
       "~ RoleBinding r (deleted and created again)\n  @@ roleRef @@\n   roleRef:\n  -  name: old\n  +  "
       "name: "
       "new\n"},
  };
  for (const Row& row : rows) {
    INFO(row.what);
    const render::Children children = childOf(row.child);
    const json::Document live = parsed(row.live.empty() ? "null" : row.live);
    const ChildChange change = changeOf(children.items[0], row.live.empty() ? nullptr : &live, kManager);
    CHECK(toText({change}, Style{}) == row.text);
    CHECK(differs({change}) == !row.text.empty());
  }
}

TEST_CASE("names and notes do not control the terminal") {
  ChildChange change;
  change.kind = ChangeKind::Refused;
  change.key.kind = "Deployment";
  change.key.name = "d\x1b[2J";
  change.note = "a\nb";
  CHECK(toText({change}, Style{}) == "! Deployment d [2J (a b)\n");
}

TEST_CASE("the summary counts what happens") {
  const auto change = [](ChangeKind kind) {
    ChildChange made;
    made.kind = kind;
    return made;
  };
  CHECK(summaryOf({}) == "no children");
  CHECK(summaryOf({change(ChangeKind::Unchanged), change(ChangeKind::Created), change(ChangeKind::Unchanged),
                   change(ChangeKind::Deleted), change(ChangeKind::Changed)}) ==
        "1 created, 1 changed, 1 deleted, 2 unchanged");
}

namespace {

std::string graph(const std::string& image, const std::string& more = "") {
  const auto service = [&](const std::string& type) {
    return "{'componentType':'" + type + "','replicas':1,'extraPodSpec':{'mainContainer':{'image':'" + image +
           "'}}}";
  };
  return "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoGraphDeployment','metadata':{'name':'g',"
         "'namespace':'demo','uid':'uid-g','generation':1},'spec':{'backendFramework':'vllm','services':{"
         "'Frontend':" +
         service("frontend") + ",'Worker':" + service("worker") + more + "}}}";
}

/// What a controller makes of a plan: every child as it is, with a uid.
std::vector<std::string> created(const std::vector<OwnedChildren>& plan) {
  std::vector<std::string> texts;
  for (const OwnedChildren& owned : plan) {
    for (const render::Child& child : owned.children.items) {
      json::Document memory;
      const json::Maker make{memory.GetAllocator()};
      json::Value object = make.value(child.object);
      make.set(*json::find(object, "metadata"), "uid", "uid-" + child.key.kind + child.key.name);
      json::Value* owners = json::find(*json::find(object, "metadata"), "ownerReferences");
      const std::string owner = "uid-" + std::string{json::findText(&owned.owner, "kind")} +
                                std::string{lifecycle::nameOf(owned.owner)};
      if (owners != nullptr && &owned != &plan.front())
        make.set((*owners)[0], "uid", std::string_view{owner});
      texts.push_back(json::dump(object));
    }
  }
  return texts;
}

/// How the children change when graph `before`, whose children exist, becomes `after`.
std::string changesBetween(const std::string& before, const std::string& after) {
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  render::Facts facts;
  facts.setDiscovered();
  const render::Context context{config, defaults, facts};
  const Objects observed{created(planChildren(parsed(before), {}, context, kNow))};
  const std::vector<OwnedChildren> plan = planChildren(parsed(after), observed.view(), context, kNow);
  return toText(changesOf(plan, observed.view(), kManager), Style{});
}

/// The lines that begin with a mark.
std::vector<std::string> heads(const std::string& text) {
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (text[at] != ' ') found.push_back(text.substr(at, text.find('\n', at) - at));
  }
  return found;
}

}  // namespace

TEST_CASE("an unchanged graph changes no child") {
  CHECK(changesBetween(graph("a"), graph("a")).empty());
}

TEST_CASE("a service that is removed takes its children with it") {
  const std::string more =
      ",'Other':{'componentType':'frontend','extraPodSpec':{'mainContainer':{'image':'a'}}}";
  CHECK(heads(changesBetween(graph("a", more), graph("a"))) ==
        std::vector<std::string>{"- DynamoComponentDeployment demo/g-other",
                                 "- Deployment demo/g-other (with its owner)",
                                 "- Service demo/g-other (with its owner)"});
  CHECK(heads(changesBetween(graph("a"), graph("a", more))) ==
        std::vector<std::string>{"+ DynamoComponentDeployment demo/g-other", "+ Deployment demo/g-other",
                                 "+ Service demo/g-other"});
}

TEST_CASE("a new generation of workers is shown with its replicas at the end of the rolling update") {
  const auto workers = [](const char* image) {
    std::string text = graph(image);
    const std::string one = "'componentType':'worker','replicas':1";
    return text.replace(text.find(one), one.size(), "'componentType':'worker','replicas':4");
  };
  const std::string text = changesBetween(workers("a"), workers("b"));
  CHECK(text.find("DynamoComponentDeployment demo/g-worker-") != std::string::npos);
  for (std::size_t at = text.find("replicas:"); at != std::string::npos;
       at = text.find("replicas:", at + 1)) {
    const std::size_t line = text.rfind('\n', at) + 1;
    INFO(text.substr(line, text.find('\n', line) - line));
    CHECK(text[line + 2] == ' ');  // no mark: it does not change
  }
}

TEST_CASE("a changed worker is a new generation, and its lines are those of the change") {
  const std::string text = changesBetween(graph("a"), graph("b"));
  const std::vector<std::string> found = heads(text);
  REQUIRE(found.size() == 8);
  CHECK(found[0] == "~ DynamoComponentDeployment demo/g-frontend");
  CHECK(found[1].starts_with("+ DynamoComponentDeployment demo/g-worker-"));
  CHECK(found[1].find(" (in place of g-worker-") != std::string::npos);
  CHECK(found[2] == "~ Deployment demo/g-frontend");
  CHECK(found[3].starts_with("+ Deployment demo/g-worker-"));
  CHECK(found[4].starts_with("+ Service demo/g-worker-"));
  CHECK(found[5].ends_with(" (when the rolling update ends)"));
  std::size_t marked = 0;
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    if (!text.substr(at).starts_with("  -") && !text.substr(at).starts_with("  +")) continue;
    ++marked;
    CHECK(text.substr(at, text.find('\n', at) - at).find("image: ") != std::string::npos);
  }
  CHECK(marked == 8);
}

TEST_CASE("a worker generation that its graph does not want is only scaled (ctl-Q70)") {
  const config::OperatorConfig config;
  const model::ComponentDefaults defaults;
  render::Facts facts;
  facts.setDiscovered();
  const render::Context context{config, defaults, facts};
  std::vector<std::string> texts = created(planChildren(parsed(graph("a")), {}, context, kNow));
  std::string worker;
  for (std::string& text : texts) {
    const json::Document object = parsed(text);
    const bool ofWorker = lifecycle::nameOf(object).starts_with("g-worker-");
    if (json::findText(&object, "kind") == "DynamoComponentDeployment" && ofWorker) worker = text;
    if (json::findText(&object, "kind") != "Deployment" || !ofWorker) continue;
    // An earlier release rendered another pod.
    const std::string image = "\"image\":\"a\"";
    const std::size_t at = text.find(image);
    REQUIRE(at != std::string::npos);
    text.replace(at, image.size(), "\"image\":\"earlier\"");
  }
  REQUIRE_FALSE(worker.empty());
  /// How the children of the worker with `replicas` change when `wanted` is its graph.
  const auto changes = [&](const std::string& wanted, int replicas) {
    std::vector<std::string> objects = texts;
    objects.push_back(wanted);
    const Objects observed{objects};
    json::Document root = parsed(worker);
    json::Maker{root.GetAllocator()}.set(*json::find(root, "spec"), "replicas", replicas);
    const std::vector<OwnedChildren> plan = planChildren(root, observed.view(), context, kNow);
    return toText(changesOf(plan, observed.view(), kManager), Style{});
  };
  CHECK(changes(graph("a"), 1).find("image: earlier") != std::string::npos);
  CHECK(changes(graph("b"), 1).empty());
  const std::string scaled = changes(graph("b"), 3);
  REQUIRE(heads(scaled).size() == 1);
  CHECK(heads(scaled)[0].starts_with("~ Deployment demo/g-worker-"));
  CHECK(scaled.find("  @@ spec @@\n   spec:\n  -  replicas: 1\n  +  replicas: 3\n") != std::string::npos);
}

}  // namespace dynamo::view
