// bench_object_store [GRAPHS]: the memory of a controller's cache. Keeps graphs of 9 KB, each with all
// children that are rendered of it and the status that a cluster gives them; exit status 1 above the limit.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/object_store.h"
#include "common/render/children.h"
#include "common/render/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"

namespace {

using namespace dynamo;
using json::Value;
using k8s::ObjectStore;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxResidentKib = std::size_t{200} * 1024;
constexpr std::size_t kGraphBytes = 9 * 1024;
constexpr int kChurns = 3;

/// What reconciling a graph reads: of a graph all, of children their place, their owner and their readiness.
std::vector<k8s::StoredKind> kinds() {
  const std::vector<std::string> graph = {"nvidia.com/dynamo-graph-deployment-name"};
  const std::vector<std::string> replicas = {"spec.replicas",
                                             "spec.paused",
                                             "status.observedGeneration",
                                             "status.replicas",
                                             "status.updatedReplicas",
                                             "status.readyReplicas",
                                             "status.availableReplicas",
                                             "status.conditions.type",
                                             "status.conditions.status"};
  const std::vector<std::string> deployment = {"metadata.labels", "spec.replicas", "spec.serviceName",
                                               "spec.annotations", "status"};
  std::vector<k8s::StoredKind> all = {
      {std::string{api::kV1alpha1}, std::string{api::kDynamoGraphDeployment}, {}, {}},
      {std::string{api::kV1alpha1}, std::string{api::kDynamoComponentDeployment}, {deployment}, graph},
      {"apps/v1", "Deployment", {replicas}, {}}};
  // Shared ones are applied with the owners that they have, bindings replaced when they name another role.
  const std::vector<std::string> existence = {"metadata.ownerReferences", "roleRef"};
  for (const auto& [apiVersion, kind] : {std::pair{"v1", "Service"},
                                         {"v1", "ServiceAccount"},
                                         {"v1", "PersistentVolumeClaim"},
                                         {"networking.k8s.io/v1", "Ingress"},
                                         {"rbac.authorization.k8s.io/v1", "Role"},
                                         {"rbac.authorization.k8s.io/v1", "RoleBinding"}}) {
    all.push_back({apiVersion, kind, {existence}, {}});
  }
  all.push_back({std::string{api::kV1alpha1},
                 std::string{api::kDynamoGraphDeploymentScalingAdapter},
                 {{"spec", "status"}},
                 graph});
  return all;
}

std::string serviceText(std::string_view type, std::string_view more) {
  return fmt::format(
      R"({{"componentType":"{}","replicas":2,"resources":{{"requests":{{"cpu":"4","memory":"16Gi"}},)"
      R"("limits":{{"gpu":"1","memory":"32Gi"}}}},"extraPodSpec":{{"mainContainer":{{"image":)"
      R"("nvcr.io/nvidia/ai-dynamo/vllm-runtime:1.0.0","command":["python3","-m","dynamo.vllm"],)"
      R"("args":["--model","Qwen/Qwen3-0.6B"],"workingDir":"/workspace/examples/backends/vllm"}}}}{}}})",
      type, more);
}

/// A stored graph of four services and at least about `kGraphBytes`.
json::Document graphOf(std::size_t number, const std::string& uid, const render::Context& context) {
  // A model of its own: graphs of one model and namespace share a Service.
  const std::string adapter =
      fmt::format(R"(,"scalingAdapter":{{"enabled":true}},"modelRef":{{"name":"Qwen/Qwen3-{}"}})", number);
  const std::string text = fmt::format(
      R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{{"name":"llm-{0}",)"
      R"("namespace":"team-{1}","uid":"{2}","resourceVersion":"{3}","generation":3,"creationTimestamp":)"
      R"("2026-01-01T00:00:00Z"}},"spec":{{"pvcs":[{{"name":"cache-{0}","create":true,"size":"100Gi",)"
      R"("volumeAccessMode":"ReadWriteMany"}}],"services":{{"Frontend":{4},"VllmDecodeWorker":{5},)"
      R"("VllmPrefillWorker":{6},"Planner":{7}}}}},"status":{{"state":"successful","conditions":[{{"type":"Ready",)"
      R"("status":"True","reason":"all_resources_are_ready","message":"All resources are ready",)"
      R"("lastTransitionTime":"2026-01-01T00:00:00Z"}}]}}}})",
      number, number % 100, uid, 100000000 + number,
      serviceText("frontend",
                  R"(,"ingress":{"enabled":true,"host":"h","ingressControllerClassName":"nginx"})"),
      serviceText("worker", adapter), serviceText("prefill", adapter), serviceText("planner", ""));
  json::Document graph;
  json::parse(text, graph);
  auto& allocator = graph.GetAllocator();
  schema::applyDefaults(*schema::find(api::kV1alpha1, api::kDynamoGraphDeployment), graph, allocator);
  defaults::applyDefaults(graph, nullptr, {context.defaults, context.config, "1.0.0", "default"}, allocator);
  const std::size_t size = json::dump(graph).size();
  if (size < kGraphBytes) {
    json::set(*json::find(*json::find(graph, "metadata"), "annotations"), "example.com/notes",
              json::string(std::string(kGraphBytes - size - 24, 'x'), allocator), allocator);
  }
  return graph;
}

class Uids {
 public:
  std::string next() {
    const std::uint64_t a = random_();
    const std::uint64_t b = random_();
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32U, (a >> 16U) & 0xffffU, a & 0xffffU,
                       b >> 48U, b & 0xffffffffffffU);
  }

 private:
  std::mt19937_64 random_{1};
};

/// What the API server and controllers add: identity, bookkeeping of fields, a status.
void store(Value& child, const std::string& uid, std::size_t version, json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value& metadata = *json::find(child, "metadata");
  make.set(metadata, "uid", uid);
  make.set(metadata, "resourceVersion", std::to_string(version));
  make.set(metadata, "creationTimestamp", "2026-01-01T00:00:00Z");
  make.set(metadata, "generation", 1);
  make.set(metadata, "managedFields",
           make.list(make.object("manager", "dynamo-controller", "operation", "Apply", "fieldsV1",
                                 make.object("f:spec", make.object("f:replicas", make.object())))));
  const std::string_view kind = json::findText(&child, "kind");
  if (kind != "Deployment" && kind != api::kDynamoComponentDeployment) return;
  const auto condition = [&](std::string_view type, std::string_view reason) {
    return make.object("type", type, "status", "True", "lastTransitionTime", "2026-01-01T00:00:00Z", "reason",
                       reason, "message", "it has minimum availability");
  };
  Value status = make.object("observedGeneration", 1, "conditions",
                             make.list(condition("Available", "MinimumReplicasAvailable"),
                                       condition("Progressing", "NewReplicaSetAvailable")));
  const std::string name{render::nameOf(child)};
  Value counts = make.object("replicas", 2, "updatedReplicas", 2, "readyReplicas", 2, "availableReplicas", 2);
  if (kind == "Deployment") {
    for (auto& member : counts.GetObject()) {
      status.AddMember(member.name, member.value, allocator);
    }
  } else {
    make.set(counts, "componentKind", "Deployment");
    make.set(counts, "componentName", name);
    make.set(counts, "componentNames", make.list(name));
    make.set(status, "service", std::move(counts));
  }
  make.set(child, "status", std::move(status));
}

std::size_t residentKib(std::string_view field) {
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(field)) return std::stoul(line.substr(field.size() + 1));
  }
  return 0;
}

struct Load {
  ObjectStore store{kinds()};
  std::vector<std::string> graphs;  ///< uids
  std::vector<std::string> spaces;
  std::size_t graphBytes = 0;
  std::size_t packedGraphBytes = 0;
  Clock::duration spent{};

  /// As a watch does: the text that arrives is parsed, kept, forgotten.
  void receive(const std::string& text) {
    const auto start = Clock::now();
    json::Document object;
    json::parse(text, object);
    const auto change = store.put(object);
    spent += Clock::now() - start;
    if (change == ObjectStore::Change::UnknownKind) {
      fmt::print(stderr, "bench_object_store: nobody keeps {}\n", text);
      std::exit(1);
    }
  }
};

void fill(Load& load, std::size_t graphs) {
  config::OperatorConfig config = config::defaultConfig();
  config.orchestrators.grove.enabled = false;
  const model::ComponentDefaults defaults;
  const render::Facts facts;
  const render::Context context{config, defaults, facts};
  Uids uids;
  std::size_t version = 200000000;
  for (std::size_t i = 0; i < graphs; ++i) {
    load.graphs.push_back(uids.next());
    json::Document graph = graphOf(i, load.graphs.back(), context);
    const std::string text = json::dump(graph);
    load.graphBytes += text.size();
    const std::size_t kept = load.store.textBytes();
    load.receive(text);
    load.packedGraphBytes += load.store.textBytes() - kept;
    render::Children owned = render::renderGraph(graph, context, {});
    const auto receive = [&](render::Children& children) {
      for (render::Child& child : children.items) {
        store(child.object, uids.next(), ++version, children.memory());
        load.receive(json::dump(child.object));
      }
    };
    receive(owned);
    for (const render::Child& child : owned.items) {
      if (child.key.kind != api::kDynamoComponentDeployment) continue;
      render::Children below = render::renderComponentDeployment(child.object, context);
      receive(below);
    }
  }
}

/// Every object changes: its version, and for some its length.
void churn(Load& load, int round) {
  for (const k8s::StoredKind& kind : kinds()) {
    for (const auto slot : load.store.ofKind(kind.apiVersion, kind.kind)) {
      json::Document object = load.store.object(slot);
      auto& allocator = object.GetAllocator();
      Value& metadata = *json::find(object, "metadata");
      json::set(metadata, "resourceVersion", json::string(std::to_string(300000000 + round), allocator),
                allocator);
      if (Value* status = json::find(object, "status")) {
        json::set(*status, "replicas", Value{round % 2 == 0 ? 2 : 1000000}, allocator);
      }
      load.store.put(object);
    }
  }
}

template <typename Look>
double nanosecondsEach(const std::vector<std::string>& uids, Look&& look) {
  constexpr std::size_t kLookups = 100000;
  std::mt19937_64 random{3};
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kLookups; ++i) look(uids[random() % uids.size()]);
  const std::chrono::duration<double, std::nano> spent = Clock::now() - start;
  return spent.count() / kLookups;
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t graphs = 10000;
  if (argc > 1) {
    const std::string_view text = argv[1];
    std::from_chars(text.data(), text.data() + text.size(), graphs);
  }
  const std::size_t before = residentKib("VmRSS:");
  Load load;
  fill(load, graphs);
  const std::size_t objects = load.store.size();
  const std::size_t children = objects - graphs;
  const std::size_t loaded = residentKib("VmRSS:");
  const double seconds = std::chrono::duration<double>(load.spent).count();
  fmt::print("{} graphs of {} bytes, {:.1f} children each, {} bytes of a child's packed text\n", graphs,
             load.graphBytes / graphs, static_cast<double>(children) / static_cast<double>(graphs),
             (load.store.textBytes() - load.packedGraphBytes) / children);
  fmt::print("resident {:.1f} MiB ({:.1f} before loading), {:.0f} bytes an object, {:.0f} of them text\n",
             static_cast<double>(loaded) / 1024, static_cast<double>(before) / 1024,
             static_cast<double>(loaded - before) * 1024 / static_cast<double>(objects),
             static_cast<double>(load.store.textBytes()) / static_cast<double>(objects));
  fmt::print("loaded in {:.2f} s: {:.1f} us an object, parsed and kept\n", seconds,
             seconds * 1e6 / static_cast<double>(objects));
  std::size_t found = 0;
  fmt::print("a lookup by owner: {:.0f} ns\n", nanosecondsEach(load.graphs, [&](const std::string& uid) {
               found += load.store.ownedBy(uid).size();
             }));
  fmt::print("a lookup by owner, children parsed: {:.0f} ns\n",
             nanosecondsEach(load.graphs, [&](const std::string& uid) {
               for (const auto slot : load.store.ownedBy(uid)) found += load.store.object(slot).MemberCount();
             }));
  std::size_t worst = loaded;
  for (int round = 1; round <= kChurns; ++round) {
    churn(load, round);
    worst = std::max(worst, residentKib("VmRSS:"));
  }
  fmt::print("after {} changes of every object: resident {:.1f} MiB at most\n", kChurns,
             static_cast<double>(worst) / 1024);
  if (found == 0 || worst > kMaxResidentKib) {
    fmt::print(stderr, "bench_object_store: more than {} MiB\n", kMaxResidentKib / 1024);
    return 1;
  }
  return 0;
}
