// The result of a rendering besides the content of children: memory, keys, policies and order.
#include "common/render/children.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <memory>
#include <set>

#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/render/object.h"
#include "support.h"
#include "tests/unit/defaults/generator.h"

namespace dynamo::render::test {
namespace {

using json::Value;

constexpr Pathway kPathways[] = {Pathway::Grove, Pathway::LeaderWorkerSet, Pathway::Deployment};
constexpr const char* kUid = "0b5d4f1e-0000-4000-8000-000000000001";

/// A configuration that enables every kind of child.
Setup everything(Pathway pathway) {
  Setup setup{pathway};
  setup.config.rbac.plannerClusterRoleName = "planner";
  setup.config.rbac.eppClusterRoleName = "epp";
  setup.config.rbac.dgdrProfilingClusterRoleName = "profiling";
  setup.config.checkpoint.enabled = true;
  setup.config.ingress.controllerClassName = "nginx";
  setup.config.ingress.virtualServiceGateway = "mesh/gateway";
  return setup;
}

std::string textOf(const Children& children) {
  std::string text;
  for (const Child& child : children.items) {
    text += k8s::toText(child.key) + ' ' + child.service + ' ' + json::dump(child.object) + '\n';
  }
  return text + errorsOf(children);
}

/// A graph with a child of nearly every kind.
json::Document graphOfAll() {
  return parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g",)"
      R"("namespace":"ns","uid":"0b5d4f1e-0000-4000-8000-000000000001"},"spec":{)"
      R"("pvcs":[{"name":"c","create":true,"size":"1Gi","volumeAccessMode":"ReadWriteMany"}],"services":{)"
      R"("Epp":{"componentType":"epp","eppConfig":{"config":{"plugins":[]}},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i"}}},)"
      R"("Front":{"componentType":"frontend","extraPodSpec":{"mainContainer":{"image":"i"}}},)"
      R"("Plan":{"componentType":"planner","extraPodSpec":{"mainContainer":{"image":"i"}}},)"
      R"("Work":{"componentType":"worker","modelRef":{"name":"m"},"multinode":{"nodeCount":2},)"
      R"("scalingAdapter":{"enabled":true},"checkpoint":{"enabled":true,"mode":"Auto","identity":)"
      R"({"model":"m","backendFramework":"vllm"}},"resources":{"limits":{"gpu":"1"}},"extraPodSpec":{)"
      R"("mainContainer":{"image":"i","command":["python3"],"args":["-m","dynamo.vllm","--model","m"]}}}}}})");
}

TEST_CASE("children stay valid after their inputs are freed") {
  std::size_t made = 0;
  const auto check = [&](const Value& object, Pathway pathway) {
    // The input is overwritten, and configuration and facts are freed.
    std::vector<char> memory(std::size_t{1} << 20U);
    json::Allocator allocator{memory.data(), memory.size()};
    const std::size_t room = allocator.Capacity();
    auto setup = std::make_unique<Setup>(everything(pathway));
    setup->facts.addPullSecrets("demo", "docker.io", {"a-secret-with-a-name-too-long-for-a-value"});
    setup->facts.addComponentAccount("demo", "an-account-with-a-name-too-long-for-a-value");
    auto input = std::make_unique<Value>(json::copy(object, allocator));
    REQUIRE(allocator.Capacity() == room);
    Children rendered = childrenOf(*input, setup->context());
    const std::string before = textOf(rendered);
    input.reset();
    setup.reset();
    std::memset(memory.data() + sizeof(void*) * 8, 0x7e, memory.size() - sizeof(void*) * 8);
    const Children kept = std::move(rendered);
    if (textOf(kept) != before) FAIL("changed with its input: " << json::dump(object));
    made += kept.items.size();
  };
  const std::vector<json::Document> golden = goldenObjects();
  for (const Pathway pathway : kPathways) {
    for (const json::Document& object : golden) check(object, pathway);
  }
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    json::Document generated;
    dynamo::test::GraphGenerator generator{seed, generated.GetAllocator()};
    check(seed % 4 == 3 ? generator.component() : generator.graph(), kPathways[seed % 3]);
  }
  CHECK(made > 1000);
}

TEST_CASE("every child has its object's key and the policy of its kind") {
  std::map<std::string, Policy> policies;
  for (const Pathway pathway : kPathways) {
    const Setup setup = everything(pathway);
    std::vector<json::Document> objects = goldenObjects();
    objects.push_back(graphOfAll());
    objects.push_back(parsed(
        R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoCheckpoint","metadata":{"name":"c","namespace":"ns"},)"
        R"("spec":{"identity":{"model":"m","backendFramework":"vllm"},"job":{"podTemplateSpec":{"spec":)"
        R"({"containers":[{"name":"main","image":"i"}]}}}}})"));
    for (const json::Document& object : objects) {
      const Children children = childrenOf(object, setup.context());
      std::set<k8s::ObjectKey> keys;
      for (const Child& child : children.items) {
        CHECK((child.key == k8s::keyOf(child.object)));
        CHECK(child.key.namespaceName == namespaceOf(object));
        INFO(k8s::toText(child.key));
        CHECK(keys.insert(child.key).second);
        const bool model = child.key.kind == "Service" && child.key.name.starts_with("dynamo-model-");
        const auto [known, first] =
            policies.emplace(model ? "Service of a model" : child.key.kind, child.policy);
        CHECK((first || known->second == child.policy));
      }
    }
  }
  const std::map<std::string, Policy> wanted = {{"ServiceAccount", Policy::Shared},
                                                {"Role", Policy::Shared},
                                                {"RoleBinding", Policy::Shared},
                                                {"Service of a model", Policy::Shared},
                                                {"PersistentVolumeClaim", Policy::CreatedOnce},
                                                {"DynamoCheckpoint", Policy::CreatedOnce},
                                                {"Job", Policy::CreatedOnce},
                                                {"ConfigMap", Policy::Applied},
                                                {"Service", Policy::Applied},
                                                {"Deployment", Policy::Applied},
                                                {"PodGroup", Policy::Applied},
                                                {"LeaderWorkerSet", Policy::Applied},
                                                {"PodCliqueSet", Policy::Applied},
                                                {"DynamoComponentDeployment", Policy::Applied},
                                                {"DynamoGraphDeploymentScalingAdapter", Policy::Applied},
                                                {"Ingress", Policy::Applied},
                                                {"VirtualService", Policy::Applied},
                                                {"InferencePool", Policy::Applied}};
  CHECK((policies == wanted));
}

TEST_CASE("an object of another kind or group has no children") {
  for (const k8s::ObjectKey& key : {k8s::ObjectKey{"", "v1", "Secret", "ns", "a"},
                                    k8s::ObjectKey{"serving.knative.dev", "v1", "Service", "ns", "a"},
                                    k8s::ObjectKey{"", "v1", "Deployment", "ns", "a"}}) {
    CHECK((childKind(key).policy == Policy::CreatedOnce));
  }
}

TEST_CASE("children are created in the order of their dependencies") {
  const auto order = [](const Children& children) {
    std::string text;
    for (const std::size_t i : creationOrder(children)) {
      const k8s::ObjectKey& key = children.items[i].key;
      text += key.kind + ' ' + key.name + '\n';
    }
    return text;
  };
  const json::Document graph = graphOfAll();
  const Children grove = renderGraph(graph, everything(Pathway::Grove).context(), {});
  CHECK(errorsOf(grove).empty());
  const std::string access =
      "ServiceAccount planner-serviceaccount\nServiceAccount epp-serviceaccount\n"
      "ServiceAccount g-k8s-service-discovery\nRole g-k8s-service-discovery-role\n"
      "PersistentVolumeClaim c\nConfigMap g-epp-config\n";
  const std::string got = order(grove);
  CHECK(got.starts_with(access + "DynamoCheckpoint "));
  CHECK(
      got.ends_with("DynamoGraphDeploymentScalingAdapter g-work\n"
                    "Service dynamo-model-62c66a7a\nService g-epp\nService g-front\nService g-plan\n"
                    "Service g-work\nRoleBinding planner-serviceaccount-binding\nRoleBinding "
                    "epp-serviceaccount-binding\nRoleBinding g-k8s-service-discovery-binding\nPodCliqueSet "
                    "g\nInferencePool g-pool\nIngress g-front\n"
                    "VirtualService g-front\n"));
  const json::Document component = parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"w",)"
      R"("namespace":"ns"},"spec":{"componentType":"frontend","replicas":2,"multinode":{"nodeCount":2},)"
      R"("modelRef":{"name":"m"},"ingress":{"enabled":true,"host":"h","ingressControllerClassName":"c"},)"
      R"("extraPodSpec":{"mainContainer":{"image":"i","command":["run"],"args":["x"]}}}})");
  const Children sets = renderComponentDeployment(component, everything(Pathway::LeaderWorkerSet).context());
  CHECK(errorsOf(sets).empty());
  CHECK(order(sets) ==
        "ServiceAccount w-k8s-service-discovery\nRole w-k8s-service-discovery-role\n"
        "Service w\nService dynamo-model-62c66a7a\nPodGroup w-0\nPodGroup w-1\n"
        "RoleBinding w-k8s-service-discovery-binding\nLeaderWorkerSet w-0\nLeaderWorkerSet w-1\nIngress w\n");
}

// Decision child-Q44.
TEST_CASE("pods of workers must be ready for a while before they count as available") {
  struct Row {
    const char* spec;
    int seconds;  ///< 0: the Deployment does not say
  };
  const std::string own = R"("annotations":{"nvidia.com/deployment-min-ready-seconds":)";
  const std::string recreated =
      R"("componentType":"worker","annotations":{"nvidia.com/deployment-strategy":"Recreate",)"
      R"("nvidia.com/deployment-min-ready-seconds":"9"})";
  const std::string longer = R"("componentType":"worker",)" + own + R"("60"})";
  const std::string none = R"("componentType":"worker",)" + own + R"("0"})";
  const std::string wrong = R"("componentType":"worker",)" + own + R"("600"})";
  const std::string frontend = R"("componentType":"frontend",)" + own + R"("7"})";
  for (const Row& row :
       {Row{R"("componentType":"worker")", 5}, Row{R"("componentType":"prefill")", 5},
        Row{R"("componentType":"decode")", 5}, Row{R"("componentType":"frontend")", 0},
        Row{R"("componentType":"planner")", 0}, Row{longer.c_str(), 60}, Row{none.c_str(), 0},
        Row{wrong.c_str(), 5}, Row{frontend.c_str(), 7}, Row{recreated.c_str(), 0}}) {
    CAPTURE(row.spec);
    const json::Document component = parsed(
        R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"w",)"
        R"("namespace":"ns"},"spec":{"extraPodSpec":{"mainContainer":{"image":"i"}},)" +
        std::string{row.spec} + "}}");
    const Children children = renderComponentDeployment(component, Setup{Pathway::Deployment}.context());
    CHECK(errorsOf(children).empty());
    const auto found = std::find_if(children.items.begin(), children.items.end(),
                                    [](const Child& child) { return child.key.kind == "Deployment"; });
    REQUIRE(found != children.items.end());
    const json::Value* seconds = json::find(json::find(&found->object, "spec"), "minReadySeconds");
    CHECK((seconds == nullptr ? 0 : seconds->GetInt()) == row.seconds);
    CHECK((seconds == nullptr) == (row.seconds == 0));
    CHECK(children.minReadySeconds == 0);
    // LeaderWorkerSets have no such field: the controller waits.
    const json::Document sets = parsed(
        R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoComponentDeployment","metadata":{"name":"w",)"
        R"("namespace":"ns"},"spec":{"backendFramework":"sglang","multinode":{"nodeCount":2},)"
        R"("extraPodSpec":{"mainContainer":{"image":"i","command":["c"],"args":["python3 -m dynamo.sglang"]}},)" +
        std::string{row.spec} + "}}");
    const Children rendered = renderComponentDeployment(sets, Setup{Pathway::LeaderWorkerSet}.context());
    CHECK(errorsOf(rendered).empty());
    CHECK(rendered.minReadySeconds == row.seconds);
  }
}

TEST_CASE("children to create have owners with the uids of stored objects") {
  const std::string refused =
      "E render.owner-uid metadata.uid: Required value: the owner must have a uid, because children are "
      "created only "
      "for stored objects\n";
  for (json::Document& object : goldenObjects()) {
    auto& allocator = object.GetAllocator();
    for (const Pathway pathway : kPathways) {
      const Setup setup = everything(pathway);
      Context online = setup.context();
      online.online = true;
      const Children without = childrenOf(object, online);
      CHECK(without.items.empty());
      REQUIRE(without.errors.size() == 1);
      CHECK("E " + without.errors[0].rule + ' ' + errorsOf(without) == refused);
      CHECK_FALSE(childrenOf(object, setup.context()).items.empty());

      Value stored = json::copy(object, allocator);
      json::set(metadata(stored, allocator), "uid", json::string(kUid, allocator), allocator);
      const bool graph = json::findText(&stored, "kind") == api::kDynamoGraphDeployment;
      const Children with = graph ? renderGraph(stored, online, {}) : childrenOf(stored, online);
      CHECK_FALSE(with.items.empty());
      CHECK(errorsOf(with).find("metadata.uid") == std::string::npos);
      for (const Child& child : with.items) {
        const Value* owners = json::find(json::find(child.object, "metadata"), "ownerReferences");
        if (owners != nullptr) CHECK(json::findText(&(*owners)[0], "uid") == kUid);
      }
    }
  }
}

TEST_CASE("component deployments that are not stored yet have no children in a cluster") {
  const Setup setup{Pathway::LeaderWorkerSet};
  Context online = setup.context();
  online.online = true;
  const Children children = renderAll(graphOfAll(), online, {});
  CHECK(std::none_of(children.items.begin(), children.items.end(), [](const Child& child) {
    return child.key.kind == "Deployment" || child.key.kind == "LeaderWorkerSet";
  }));
  CHECK(errorsOf(children).find("spec.services[Front]: Required value: the owner must have a uid") !=
        std::string::npos);
}

}  // namespace
}  // namespace dynamo::render::test
