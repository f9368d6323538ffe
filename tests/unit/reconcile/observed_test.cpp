// Which objects a reconcile reads from the cache.
#include "controller/reconcile/observed.h"

#include <algorithm>

#include "common/lifecycle/object.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {
namespace {

std::string object(const std::string& version, const std::string& kind, const std::string& name,
                   const std::string& rest = "", const std::string& tail = "", const char* space = "n") {
  return "{'apiVersion':'" + version + "','kind':'" + kind + "','metadata':{'namespace':'" + space +
         "','name':'" + name + "','uid':'uid-" + kind + "-" + name + "','resourceVersion':'2'" + rest + "}" +
         tail + "}";
}
std::string owned(const std::string& uid, const std::string& labels) {
  return ",'labels':{" + labels + "},'ownerReferences':[{'kind':'K','name':'x','uid':'" + uid +
         "','controller':true}]";
}

const std::string kOurs = "nvidia.com/v1alpha1";
const std::string kOfG = "'nvidia.com/dynamo-graph-deployment-name':'g'";
const std::string kOfH = "'nvidia.com/dynamo-graph-deployment-name':'h'";
const std::string kWeb = "'nvidia.com/dynamo-component':'web'";
const std::string kGraph = object(kOurs, "DynamoGraphDeployment", "g", "",
                                  ",'spec':{'pvcs':[{'name':'data'},{'name':'missing'},{}],'services':{'a':{'"
                                  "volumeMounts':[{'name':'mounted'},{'name':'absent'}]}}}");

std::string shown(const Observed& observed) {
  std::vector<std::string> names;
  for (const json::Value* value : observed.values())
    names.push_back(std::string{json::findText(value, "kind")} + "/" +
                    std::string{lifecycle::nameOf(*value)});
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

}  // namespace

TEST_CASE("a graph reads its children, those of its PodCliqueSet, its pods and the claims that it names") {
  CacheFixture f;
  const std::string uid = "uid-DynamoGraphDeployment-g";
  for (const std::string& stored : {
           kGraph,
           object(kOurs, "DynamoComponentDeployment", "g-web", owned(uid, kOfG)),
           object(kOurs, "DynamoComponentDeployment", "h-web", owned("uid-DynamoGraphDeployment-h", kOfH)),
           object("grove.io/v1alpha1", "PodCliqueSet", "g", owned(uid, "")),
           object("grove.io/v1alpha1", "PodClique", "g-0-web", owned("uid-PodCliqueSet-g", kOfG)),
           object("grove.io/v1alpha1", "PodCliqueScalingGroup", "g-0-sg", owned("uid-PodCliqueSet-g", "")),
           object("grove.io/v1alpha1", "PodCliqueScalingGroup", "h-0-sg", owned("uid-PodCliqueSet-h", "")),
           object("v1", "Pod", "g-pod", ",'labels':{" + kOfG + "}"),
           object("v1", "Pod", "h-pod", ",'labels':{" + kOfH + "}"),
           object("v1", "Pod", "other-namespace", ",'labels':{" + kOfG + "}", "", "elsewhere"),
           object("grove.io/v1alpha1", "PodClique", "x-0-web", owned("uid-PodCliqueSet-g", kOfG), "",
                  "elsewhere"),
           object("grove.io/v1alpha1", "PodCliqueScalingGroup", "x-0-sg", owned("uid-PodCliqueSet-g", ""), "",
                  "elsewhere"),
           object("v1", "PersistentVolumeClaim", "data"),
           object("v1", "PersistentVolumeClaim", "mounted"),
           object("v1", "PersistentVolumeClaim", "unnamed"),
       })
    f.see(stored);
  CHECK(shown(observeGraph(f.cache, parsed(kGraph))) ==
        "DynamoComponentDeployment/g-web PersistentVolumeClaim/data PersistentVolumeClaim/mounted Pod/g-pod "
        "PodClique/g-0-web PodCliqueScalingGroup/g-0-sg PodCliqueSet/g");
}

TEST_CASE("a component deployment reads the Events about pods of its LeaderWorkerSets") {
  CacheFixture f;
  const std::string deployment = object(kOurs, "DynamoComponentDeployment", "c");
  const std::string set = object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "c-0",
                                 owned("uid-DynamoComponentDeployment-c", kOfG + "," + kWeb));
  const auto event = [](const char* name, const std::string& about, const char* space) {
    return object("v1", "Event", name, "", ",'involvedObject':{'name':'" + about + "'}", space);
  };
  for (const std::string& stored :
       {event("leader", "c-0", "n"), event("worker", "c-0-0", "n"), event("other-set", "c-1", "n"),
        event("other-namespace", "c-0", "elsewhere")})
    f.see(stored);
  CHECK(shown(observeComponent(f.cache, parsed(deployment))).empty());
  f.see(set);
  CHECK(shown(observeComponent(f.cache, parsed(deployment))) ==
        "Event/leader Event/worker LeaderWorkerSet/c-0");
}

TEST_CASE("a component deployment reads its children and its pods") {
  CacheFixture f;
  const std::string uid = "uid-DynamoComponentDeployment-c";
  for (const std::string& stored : {
           object("apps/v1", "Deployment", "c", owned(uid, kOfG + "," + kWeb)),
           object("apps/v1", "Deployment", "d", owned("other", kOfG + "," + kWeb)),
           object("v1", "Pod", "of-graph", ",'labels':{" + kOfG + "," + kWeb + "}"),
           object("v1", "Pod", "other-service",
                  ",'labels':{" + kOfG + ",'nvidia.com/dynamo-component':'db'}"),
           object("v1", "Pod", "no-graph", ",'labels':{" + kWeb + "}"),
           object("v1", "Pod", "named", ",'labels':{'nvidia.com/dynamo-component':'c'}"),
       })
    f.see(stored);
  struct Row {
    const char* about;
    std::string deployment;
    const char* observed;
  };
  for (const Row& row : {
           Row{"of a graph",
               object(kOurs, "DynamoComponentDeployment", "c", ",'labels':{" + kOfG + "}",
                      ",'spec':{'serviceName':'web'}"),
               "Deployment/c Pod/of-graph"},
           Row{"with the label in its spec",
               object(kOurs, "DynamoComponentDeployment", "c", "",
                      ",'spec':{'serviceName':'web','labels':{" + kOfG + "}}"),
               "Deployment/c Pod/of-graph"},
           Row{"without a graph: pods of a graph with a service of that name are others",
               object(kOurs, "DynamoComponentDeployment", "c", "", ",'spec':{'serviceName':'web'}"),
               "Deployment/c Pod/no-graph"},
           Row{"without a service name", object(kOurs, "DynamoComponentDeployment", "c", "", ",'spec':{}"),
               "Deployment/c Pod/named"},
       }) {
    CAPTURE(row.about);
    const std::string observed = shown(observeComponent(f.cache, parsed(row.deployment)));
    CHECK(observed == row.observed);
  }
}

TEST_CASE("workers read their graph and its components (decision ctl-Q70)") {
  CacheFixture f;
  const std::string labels = ",'labels':{" + kOfG + ",'nvidia.com/dynamo-worker-hash':'h'}";
  const std::string owner =
      ",'ownerReferences':[{'kind':'DynamoGraphDeployment','name':'g','uid':'u','controller':true}]";
  const auto component = [&](const char* name, const std::string& type) {
    return object(kOurs, "DynamoComponentDeployment", name, labels + owner,
                  ",'spec':{'serviceName':'web','componentType':'" + type + "'}");
  };
  std::string frontend = component("f", "frontend");
  const std::string hash = ",'nvidia.com/dynamo-worker-hash':'h'";
  frontend.erase(frontend.find(hash), hash.size());
  for (const std::string& stored : {kGraph, component("old", "worker"), component("new", "worker")})
    f.see(stored);
  CHECK(shown(observeComponent(f.cache, parsed(component("old", "worker")))) ==
        "DynamoComponentDeployment/new DynamoComponentDeployment/old DynamoGraphDeployment/g");
  CHECK(shown(observeComponent(f.cache, parsed(frontend))).empty());
}

TEST_CASE("an answer replaces an object, and pointers to the old one stay valid") {
  Observed observed;
  const auto cached = [](const char* revision) {
    kube::Cached made;
    made.object =
        parsed("{'apiVersion':'v1','kind':'Pod','metadata':{'namespace':'n','name':'p','resourceVersion':'" +
               std::string{revision} + "'}}");
    return made;
  };
  const k8s::ObjectKey key{"", "v1", "Pod", "n", "p"};
  CHECK(observed.find(key) == nullptr);
  observed.put(cached("1"));
  const json::Value& old = observed.find(key)->object;
  observed.put(cached("2"));
  CHECK(json::findText(lifecycle::metadataOf(old), "resourceVersion") == "1");
  CHECK(observed.values().size() == 1);
  CHECK(json::findText(lifecycle::metadataOf(observed.find(key)->object), "resourceVersion") == "2");
  observed.remove(key);
  CHECK(observed.find(key) == nullptr);
  CHECK(observed.values().empty());
}

}  // namespace dynamo::controller::test
