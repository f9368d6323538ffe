// Deletion of objects and of surplus children, the choice of the pathway, missing references.
#include <catch2/catch.hpp>
#include <map>

#include "common/lifecycle/deletion.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/pathway.h"
#include "common/lifecycle/surplus.h"
#include "common/render/hash.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

TEST_CASE("only the operator's finalizer is removed from an object that is being deleted (quirk ctl-Q1)") {
  struct Row {
    const char* metadata;
    bool deleted;
    const char* writes;
  };
  const Row rows[] = {
      {"'finalizers':['nvidia.com/finalizer']", false, ""},
      {"'deletionTimestamp':'t','finalizers':['nvidia.com/finalizer']", true,
       "patch DynamoGraphDeployment/g@7 {\"metadata\":{\"finalizers\":[]}}\n"},
      {"'deletionTimestamp':'t','finalizers':['foregroundDeletion','nvidia.com/finalizer']", true,
       "patch DynamoGraphDeployment/g@7 {\"metadata\":{\"finalizers\":[\"foregroundDeletion\"]}}\n"},
      {"'deletionTimestamp':'t','finalizers':['foregroundDeletion']", true, ""},
      {"'deletionTimestamp':'t'", true, ""}};
  for (const Row& row : rows) {
    INFO(row.metadata);
    const json::Document object =
        parsed("{'kind':'DynamoGraphDeployment','metadata':{'name':'g','resourceVersion':'7'," +
               std::string{row.metadata} + "}}");
    json::Document memory;
    const auto outcome = deletionOutcome(object, memory.GetAllocator());
    REQUIRE(outcome.has_value() == row.deleted);
    if (outcome) CHECK(writesOf(outcome->writes) == row.writes);
  }
}

std::string child(const std::string& kind, const std::string& name, const std::string& more = "",
                  const std::string& owner = "u") {
  static const std::map<std::string, std::string> kVersions = {
      {"Ingress", "networking.k8s.io/v1"},
      {"Service", "v1"},
      {"PersistentVolumeClaim", "v1"},
      {"DynamoComponentDeployment", "nvidia.com/v1alpha1"},
      {"PodCliqueSet", "grove.io/v1alpha1"},
      {"LeaderWorkerSet", "leaderworkerset.x-k8s.io/v1"},
      {"ServiceAccount", "v1"}};
  return "{'apiVersion':'" + kVersions.at(kind) + "','kind':'" + kind + "','metadata':{'name':'" + name +
         "','ownerReferences':[{'controller':true,'uid':'" + owner + "'}]}" + more + "}";
}

TEST_CASE("children that are no longer rendered are surplus (quirk child-Q24)") {
  const std::string worker = ",'spec':{'componentType':'worker','serviceName':'Worker'}";
  const std::string vanished = ",'spec':{'componentType':'worker','serviceName':'Vanished'}";
  const std::string frontend = ",'spec':{'componentType':'frontend'}";
  const Objects observed{{child("Ingress", "g-frontend"), child("Service", "g-frontend"),
                          child("Service", "foreign", "", "v"), child("PersistentVolumeClaim", "data"),
                          child("ServiceAccount", "g-k8s-service-discovery"),
                          child("DynamoComponentDeployment", "g-worker-old", worker),
                          child("DynamoComponentDeployment", "g-vanished-old", vanished),
                          child("DynamoComponentDeployment", "g-gone", frontend), child("PodCliqueSet", "g"),
                          child("LeaderWorkerSet", "g-worker-2"),
                          "{'apiVersion':'v1','kind':'Service','metadata':{'name':'going','deletionTimestamp'"
                          ":'t','ownerReferences':[{"
                          "'controller':true,'uid':'u'}]}}"}};
  const json::Document owner = parsed("{'metadata':{'uid':'u'}}");
  json::Document memory;
  const auto rendered = [&](const std::vector<std::string>& texts) {
    std::vector<render::Child> children;
    for (const std::string& text : texts) {
      render::Child& child = children.emplace_back();
      child.object = json::copy(parsed(text), memory.GetAllocator());
      child.key = k8s::keyOf(child.object);
    }
    return children;
  };
  CHECK(writesOf(surplusChildren(owner,
                                 rendered({child("Service", "g-frontend"),
                                           child("DynamoComponentDeployment", "g-worker-new", worker)}),
                                 observed.view(), memory.GetAllocator())) ==
        "delete Ingress/g-frontend\ndelete DynamoComponentDeployment/g-vanished-old\n"
        "delete DynamoComponentDeployment/g-gone\ndelete PodCliqueSet/g\n"
        "delete LeaderWorkerSet/g-worker-2\n");
  CHECK(
      writesOf(surplusChildren(owner, rendered({child("Service", "g-frontend"), child("PodCliqueSet", "g")}),
                               observed.view(), memory.GetAllocator())) ==
      "delete Ingress/g-frontend\ndelete DynamoComponentDeployment/g-worker-old\n"
      "delete DynamoComponentDeployment/g-vanished-old\n"
      "delete DynamoComponentDeployment/g-gone\ndelete LeaderWorkerSet/g-worker-2\n");
}

TEST_CASE("the Service of a model goes with the last owner that uses the model (quirk child-Q6)") {
  struct Row {
    const char* owners;
    const char* generation;  ///< model of a worker generation
    const char* writes;      ///< with NAME for the name of the Service
  };
  const std::string name = std::string{render::kModelServicePrefix} + render::modelHash("m");
  const Row rows[] = {{"{'uid':'u','controller':true}", "n", "delete Service/NAME@7\n"},
                      {"{'uid':'u'}", "n", "delete Service/NAME@7\n"},
                      {"{'uid':'u'}", "m", ""},
                      {"{'uid':'v','controller':true}", "n", ""},
                      {"{'uid':'v'},{'uid':'u','controller':true}", "n",
                       "patch Service/NAME@7 {\"metadata\":{\"ownerReferences\":[{\"uid\":\"v\"}]}}\n"},
                      {"{'uid':'v'},{'uid':'u'}", "m", ""}};
  const json::Document owner = parsed("{'metadata':{'uid':'u'}}");
  for (const Row& row : rows) {
    INFO(row.owners << ' ' << row.generation);
    const Objects observed{{"{'apiVersion':'v1','kind':'Service','metadata':{'name':'" + name +
                                "','resourceVersion':'7','ownerReferences':[" + row.owners + "]}}",
                            child("DynamoComponentDeployment", "g-worker-old",
                                  ",'spec':{'componentType':'worker','modelRef':{'name':'" +
                                      std::string{row.generation} + "'}}")}};
    json::Document memory;
    std::vector<render::Child> rendered(1);
    rendered.front().object = json::copy(
        parsed(child("DynamoComponentDeployment", "g-worker-new", ",'spec':{'componentType':'worker'}")),
        memory.GetAllocator());
    rendered.front().key = k8s::keyOf(rendered.front().object);
    std::string writes = row.writes;
    if (const auto at = writes.find("NAME"); at != std::string::npos) writes.replace(at, 4, name);
    CHECK(writesOf(surplusChildren(owner, rendered, observed.view(), memory.GetAllocator())) == writes);
    const Write deletion = deletionOf(*observed.view().back());
    const bool used = std::string_view{row.generation} == "m";
    if (used)
      CHECK_FALSE(
          surplusChildren(owner, rendered, observed.view(), memory.GetAllocator(), {&deletion, 1}).empty());
  }
}

TEST_CASE("a component of a graph does not delete the Service of its model (quirk child-Q6)") {
  const std::string name = std::string{render::kModelServicePrefix} + render::modelHash("m");
  const Objects observed{{"{'apiVersion':'v1','kind':'Service','metadata':{'name':'" + name +
                          "','ownerReferences':[{'uid':'u','controller':true}]}}"}};
  json::Document memory;
  for (const bool inGraph : {true, false}) {
    CAPTURE(inGraph);
    const std::string graph =
        inGraph ? ",'ownerReferences':[{'kind':'DynamoGraphDeployment','uid':'g'}]" : "";
    const json::Document owner =
        parsed("{'kind':'DynamoComponentDeployment','metadata':{'uid':'u'" + graph + "}}");
    CHECK(surplusChildren(owner, {}, observed.view(), memory.GetAllocator()).empty() == inGraph);
  }
}

TEST_CASE("a graph keeps its pathway while its children exist (quirk child-Q23)") {
  enum class Has { Nothing, Set, Components, Both };
  struct Row {
    const char* wish;
    bool api;
    bool enabled;
    Has has;
    bool grove;
  };
  const Row rows[] = {
      {"", true, true, Has::Nothing, true},        {"", true, false, Has::Nothing, false},
      {"", false, true, Has::Nothing, false},      {"", true, true, Has::Components, false},
      {"", true, false, Has::Set, true},           {"", false, false, Has::Set, false},
      {"false", true, true, Has::Set, false},      {"FALSE", true, true, Has::Nothing, false},
      {"true", true, true, Has::Components, true}, {"true", true, false, Has::Components, false},
      {"no", true, true, Has::Nothing, true},      {"", true, true, Has::Both, true}};
  for (const Row& row : rows) {
    INFO(row.wish << ' ' << row.api << ' ' << row.enabled << ' ' << static_cast<int>(row.has));
    const json::Document graph = parsed("{'metadata':{'uid':'u','annotations':{'nvidia.com/enable-grove':'" +
                                        std::string{row.wish} + "'}}}");
    const json::Document set = parsed(child("PodCliqueSet", "g"));
    Objects components;
    if (row.has == Has::Components || row.has == Has::Both)
      components.add(child("DynamoComponentDeployment", "g-worker"));
    components.add(child("DynamoComponentDeployment", "foreign", "", "v"));
    config::OperatorConfig config = config::defaultConfig();
    config.orchestrators.grove.enabled = row.enabled;
    const model::ComponentDefaults defaults{};
    render::Facts facts;
    facts.setApi(render::Api::Grove, row.api);
    const bool hasSet = row.has == Has::Set || row.has == Has::Both;
    CHECK(selectsGrove(graph, {config, defaults, facts}, components.view(), hasSet ? &set : nullptr) ==
          row.grove);
  }
}

TEST_CASE("missing references are reported by name (quirks child-Q25, dec-1)") {
  const json::Document graph = parsed(
      "{'metadata':{'namespace':'ns'},'spec':{'pvcs':[{'name':'there'},{'name':'theirs','create':false},{'"
      "name':"
      "'ours','create':true},{'create':false}],'services':{'A':{'checkpoint':{'enabled':true,'checkpointRef':"
      "'c1'},'volumeMounts':[{'name':'there'},{'name':'theirs'},{'name':'ours'},{'name':'outside'},{'"
      "mountPoint':"
      "'/x'}]}"
      ",'B':{'checkpoint':{'enabled':true,'checkpointRef':'c2'},'volumeMounts':[{'name':'outside'},{'name':"
      "'weights'}]},'C':{'checkpoint':{'enabled':false,'checkpointRef':'c3'}},'D':null}}}");
  const Objects claims{{"{'metadata':{'name':'there'}}"}};
  render::Facts facts;
  facts.setCheckpoint({"ns", "c1", "", "", false});
  facts.setCheckpoint({"other", "c2", "", "", false});
  std::string text;
  for (const Ending& failure : missingReferences(graph, claims.view(), facts)) {
    CHECK(isPermanent(failure));
    text += messageOf(failure) + '\n';
  }
  CHECK(text ==
        "PersistentVolumeClaim \"theirs\" does not exist\n"
        "service A mounts PersistentVolumeClaim \"outside\", which does not exist\n"
        "service B mounts PersistentVolumeClaim \"weights\", which does not exist\n"
        "service B refers to DynamoCheckpoint \"c2\", which does not exist\n");
  CHECK(claimsOf(graph) == std::vector<std::string_view>{"there", "theirs", "ours", "outside", "weights"});
}

}  // namespace
}  // namespace dynamo::lifecycle::test
