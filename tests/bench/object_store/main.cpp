// bench_object_store [GRAPHS] measures the memory of a controller's cache. It stores graphs with all their
// children and pods. The exit status is 1 above the limit.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/k8s/object_store.h"
#include "common/render/children.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "tests/bench/object_store/graph.h"
#include "tests/bench/object_store/stored.h"

namespace {

using namespace dynamo;
using json::Value;
using k8s::ObjectStore;
using Clock = std::chrono::steady_clock;

// A controller with 10,000 graphs stays below this, including its caches.
constexpr std::size_t kMaxResidentKib = std::size_t{300} * 1024;
constexpr int kChurns = 3;

/// The kinds of the component pathway, kept as a controller keeps them: children whole, because they are
/// compared with what is rendered, and of pods what explains their state.
std::vector<k8s::StoredKind> kinds() {
  const std::vector<std::string> graph = {"nvidia.com/dynamo-graph-deployment-name"};
  const std::string ours{api::kV1alpha1};
  const std::string manager = "dynamo-controller";
  k8s::KeptFields intent;
  intent.managedFields = true;
  intent.lastApplied = true;
  std::vector<k8s::StoredKind> all = {
      {ours, std::string{api::kDynamoGraphDeployment}, intent, {}},
      {ours, std::string{api::kDynamoComponentDeployment}, {}, graph, manager},
      {ours, std::string{api::kDynamoGraphDeploymentScalingAdapter}, {}, graph, manager},
      {"apps/v1", "Deployment", {}, graph, manager},
      {"v1",
       "Pod",
       {{"metadata.labels", "metadata.creationTimestamp", "spec.nodeName", "status.phase", "status.reason",
         "status.message", "status.conditions", "status.containerStatuses", "status.initContainerStatuses"}},
       graph}};
  for (const auto& [apiVersion, kind] : {std::pair{"v1", "Service"},
                                         {"v1", "ServiceAccount"},
                                         {"networking.k8s.io/v1", "Ingress"},
                                         {"rbac.authorization.k8s.io/v1", "Role"},
                                         {"rbac.authorization.k8s.io/v1", "RoleBinding"}}) {
    all.push_back({apiVersion, kind, {}, {}, manager});
  }
  return all;
}

std::size_t residentKib() {
  constexpr std::string_view kField = "VmRSS:";
  std::ifstream file{"/proc/self/status"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kField)) return std::stoul(line.substr(kField.size()));
  }
  return 0;
}

double seconds(Clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

struct KindTotal {
  std::size_t objects = 0;
  std::size_t received = 0;  ///< bytes
  std::size_t kept = 0;      ///< bytes of the kept fields
  std::size_t packed = 0;    ///< bytes as stored
  Clock::duration put{};
};

struct Owner {
  std::string namespaceName;
  std::string uid;
};

struct Load {
  ObjectStore store{kinds()};
  std::vector<Owner> graphs;
  std::map<std::string, KindTotal, std::less<>> totals;
  Clock::duration parse{};

  /// Stores a text like a watch: it is parsed, stored and freed.
  void receive(const std::string& text) {
    const auto start = Clock::now();
    json::Document object;
    json::parse(text, object);
    const auto parsed = Clock::now();
    const std::size_t before = store.textBytes();
    const auto change = store.put(object);
    const auto done = Clock::now();
    if (change != ObjectStore::Change::Added) {
      fmt::print(stderr, "bench_object_store: the store did not add {}\n", text);
      std::exit(1);
    }
    parse += parsed - start;
    KindTotal& total = totals[std::string{json::findText(&object, "kind")}];
    ++total.objects;
    total.received += text.size();
    total.kept += store.text(*store.find(k8s::keyOf(object))).size();
    total.packed += store.textBytes() - before;
    total.put += done - parsed;
  }
};

/// The graph as admission leaves it.
json::Document admitted(const std::string& manifest, const render::Context& context) {
  json::Document graph;
  json::parse(manifest, graph);
  auto& allocator = graph.GetAllocator();
  schema::applySchemaDefaults(*schema::find(api::kV1alpha1, api::kDynamoGraphDeployment), graph, allocator);
  defaults::applyComponentDefaults(graph, nullptr, {context.defaults, context.config, "1.0.0", "default"},
                                   allocator);
  return graph;
}

void fill(Load& load, std::size_t graphs) {
  config::OperatorConfig config = config::defaultConfig();
  config.orchestrators.grove.enabled = false;
  const model::ComponentDefaults defaults;
  const render::Facts facts;
  const render::Context context{config, defaults, facts};
  bench::Random random{1};
  for (std::size_t i = 0; i < graphs; ++i) {
    const std::string manifest = bench::graphManifest(i, random);
    json::Document graph = admitted(manifest, context);
    bench::storeGraph(graph, manifest, random);
    const json::Value* metadata = json::find(&graph, "metadata");
    load.graphs.push_back(
        {std::string{json::findText(metadata, "namespace")}, std::string{json::findText(metadata, "uid")}});
    load.receive(json::dump(graph));
    const auto receive = [&](render::Children& children) {
      for (render::Child& child : children.items) {
        bench::storeChild(child.object, random, children.memory());
        load.receive(json::dump(child.object));
      }
    };
    render::Children owned = render::renderGraph(graph, context, {});
    receive(owned);
    for (const render::Child& child : owned.items) {
      if (child.key.kind != api::kDynamoComponentDeployment) continue;
      render::Children below = render::renderComponentDeployment(child.object, context);
      receive(below);
      for (const render::Child& each : below.items) {
        if (each.key.kind != "Deployment") continue;
        for (const json::Document& pod : bench::podsOf(each.object, random)) load.receive(json::dump(pod));
      }
    }
  }
}

/// Changes the version of every object, and the length of some.
void churn(ObjectStore& store, int round) {
  for (const k8s::StoredKind& kind : kinds()) {
    for (const auto slot : store.ofKind(kind.apiVersion, kind.kind)) {
      json::Document object = store.object(slot);
      auto& allocator = object.GetAllocator();
      Value& metadata = *json::find(object, "metadata");
      json::set(metadata, "resourceVersion", json::string(std::to_string(300000000 + round), allocator),
                allocator);
      if (Value* status = json::find(object, "status")) {
        json::set(*status, "replicas", Value{round % 2 == 0 ? 2 : 1000000}, allocator);
      }
      store.put(object);
    }
  }
}

template <typename Look>
double nanosecondsEach(const std::vector<Owner>& owners, Look&& look) {
  constexpr std::size_t kLookups = 20000;
  bench::Random random{3};
  const auto start = Clock::now();
  for (std::size_t i = 0; i < kLookups; ++i) look(owners[random.below(owners.size())]);
  return seconds(Clock::now() - start) * 1e9 / kLookups;
}

void printKinds(const Load& load, std::size_t graphs) {
  fmt::print("{:36} {:>9} {:>9} {:>6} {:>7} {:>7}\n", "kind", "per graph", "received", "kept", "packed",
             "us/put");
  KindTotal sum;
  const auto print = [&](std::string_view kind, const KindTotal& total) {
    fmt::print("{:36} {:>9.1f} {:>9} {:>6} {:>7} {:>7.1f}\n", kind,
               static_cast<double>(total.objects) / static_cast<double>(graphs),
               total.received / total.objects, total.kept / total.objects, total.packed / total.objects,
               seconds(total.put) * 1e6 / static_cast<double>(total.objects));
  };
  for (const auto& [kind, total] : load.totals) {
    print(kind, total);
    sum.objects += total.objects;
    sum.received += total.received;
    sum.kept += total.kept;
    sum.packed += total.packed;
    sum.put += total.put;
  }
  print("all", sum);
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t graphs = 10000;
  if (argc > 1) {
    const std::string_view text = argv[1];
    std::from_chars(text.data(), text.data() + text.size(), graphs);
  }
  const std::size_t before = residentKib();
  Load load;
  fill(load, graphs);
  const std::size_t loaded = residentKib();
  const double objects = static_cast<double>(load.store.size());
  printKinds(load, graphs);
  fmt::print("parsed in {:.1f} us per object, packed with {} dictionaries\n",
             seconds(load.parse) * 1e6 / objects, load.store.dictionaries());
  fmt::print("resident {:.1f} MiB ({:.1f} before loading), {:.0f} bytes per graph, {:.0f} per object\n",
             static_cast<double>(loaded) / 1024, static_cast<double>(before) / 1024,
             static_cast<double>(loaded - before) * 1024 / static_cast<double>(graphs),
             static_cast<double>(loaded - before) * 1024 / objects);
  std::size_t found = 0;
  fmt::print("a lookup by owner: {:.0f} ns\n", nanosecondsEach(load.graphs, [&](const Owner& owner) {
               found += load.store.ownedBy(owner.namespaceName, owner.uid).size();
             }));
  std::size_t children = 0;
  const double texts = nanosecondsEach(load.graphs, [&](const Owner& owner) {
    for (const auto slot : load.store.ownedBy(owner.namespaceName, owner.uid)) {
      found += load.store.text(slot).size();
      ++children;
    }
  });
  const double parsed = nanosecondsEach(load.graphs, [&](const Owner& owner) {
    for (const auto slot : load.store.ownedBy(owner.namespaceName, owner.uid))
      found += load.store.object(slot).MemberCount();
  });
  const double each = static_cast<double>(children) / 20000;
  fmt::print("the children of a graph: {:.1f} us per text, {:.1f} us per object\n", texts / each / 1000,
             parsed / each / 1000);
  std::size_t worst = loaded;
  for (int round = 1; round <= kChurns; ++round) {
    const auto start = Clock::now();
    churn(load.store, round);
    worst = std::max(worst, residentKib());
    fmt::print("every object changed: {:.1f} us each, resident {:.1f} MiB\n",
               seconds(Clock::now() - start) * 1e6 / objects, static_cast<double>(residentKib()) / 1024);
  }
  if (found == 0 || worst > kMaxResidentKib) {
    fmt::print(stderr, "bench_object_store: more than {} MiB\n", kMaxResidentKib / 1024);
    return 1;
  }
  return 0;
}
