#include "common/defaults/derive.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "common/api/dynamo.h"
#include "common/defaults/epp.h"
#include "common/defaults/placeholders.h"
#include "common/defaults/units.h"
#include "common/defaults/writer.h"
#include "common/json/build.h"
#include "common/k8s/mounts.h"

namespace dynamo::defaults {
namespace {

using json::Allocator;
using json::Value;

constexpr std::array<std::string_view, 1> kSharedMemory = {"sharedMemory"};
constexpr std::array<std::string_view, 1> kPodSpec = {"extraPodSpec"};
constexpr std::array<std::string_view, 2> kMainContainer = {"extraPodSpec", "mainContainer"};

class Deriver {
 public:
  Deriver(Value& component, const Derivation& from, Allocator& allocator)
      : component_(component),
        from_(from),
        allocator_(allocator),
        writer_(component, from.node, from.claim, allocator),
        type_(json::findText(&component, "componentType")),
        page_(from.components.of(type_)),
        dynamoNamespace_(dynamoNamespace(json::findBool(&component, "globalDynamoNamespace").value_or(false),
                                         from.around.namespaceName, from.around.graph)),
        names_{dynamoNamespace_, from.around.graph, from.around.namespaceName, type_},
        discovery_(discoveryBackend(
            json::findText(json::findObject(&component, "annotations"), api::annotation::kDiscoveryBackend),
            from.around.discovery, from.config.discoveryBackend)) {}

  Value run() {
    sharedMemory();
    podSpec();
    list(kPodSpec, "volumes", volumes());
    mainContainer();
    list(kMainContainer, "volumeMounts", mounts());
    environment();
    return writer_.take();
  }

 private:
  const Value* podPage() const { return json::findObject(&page_, "podSpec"); }
  const Value* containerPage() const { return json::findObject(&page_, "mainContainer"); }
  const Value* userPod() const { return json::find(&component_, "extraPodSpec"); }
  const Value* userContainer() const { return json::find(userPod(), "mainContainer"); }

  void sharedMemory() {
    const Value* page = json::findObject(&page_, "sharedMemory");
    // A block of the user's without a size is a mistake that validation tells.
    const bool given = json::find(component_, "sharedMemory") != nullptr;
    if (page == nullptr || given || bringsSharedMemory()) return;
    const std::string_view name = json::findBool(page, "disabled").value_or(false) ? "disabled" : "size";
    const Value* value = json::find(page, name);
    if (value == nullptr) return;
    std::vector<Unit> units;
    units.push_back({std::string{name}, json::copy(*value, allocator_)});
    writer_.members(kSharedMemory, std::move(units));
  }

  /// Whether the user fills /dev/shm, so that the default volume, if nothing else mounts it, is not made, or
  /// brings that volume.
  bool bringsSharedMemory() const {
    if (json::findNamed(json::find(userPod(), "volumes"), api::kSharedMemory) != nullptr) return true;
    const bool filled =
        k8s::mountsAt(json::find(userContainer(), "volumeMounts"), "mountPath", api::kSharedMemoryPath) ||
        k8s::mountsAt(json::find(component_, "volumeMounts"), "mountPoint", api::kSharedMemoryPath);
    return filled && !k8s::podMountsVolume(userPod(), api::kSharedMemory);
  }

  /// A default for `name` below `user`, which has none; null and absent are one.
  void addFrom(const Value& page, std::string_view name, const Value* user, std::vector<Unit>& units) {
    if (json::find(user, name) != nullptr || (page.IsString() && page.GetStringLength() == 0)) return;
    std::optional<Value> value = instantiate(page, names_, allocator_);
    if (value) units.push_back({std::string{name}, std::move(*value)});
  }

  void podSpec() {
    std::vector<Unit> units;
    if (const Value* page = podPage()) {
      for (const auto& member : page->GetObject()) {
        const std::string_view name = json::text(member.name);
        if (name == "volumes" || name == "containers" || name == "mainContainer") continue;
        addFrom(member.value, name, userPod(), units);
      }
    }
    const bool hasAccount = !json::findText(podPage(), "serviceAccountName").empty();
    if (!hasAccount && discovery_ == "kubernetes" && !from_.around.graph.empty() &&
        json::find(userPod(), "serviceAccountName") == nullptr) {
      const std::string account = from_.around.graph + std::string{api::kDiscoveryAccountSuffix};
      units.push_back({"serviceAccountName", json::string(account, allocator_)});
    }
    writer_.members(kPodSpec, std::move(units));
  }

  void mainContainer() {
    const Value* page = containerPage();
    if (page == nullptr) return;
    std::vector<Unit> units;
    for (const auto& member : page->GetObject()) {
      const std::string_view name = json::text(member.name);
      if (name == "env" || name == "volumeMounts") continue;
      // The component's own probes outrank those of its container: rendering takes them whole.
      const bool outranked = name == "livenessProbe" || name == "readinessProbe";
      if (outranked && json::find(component_, name) != nullptr) continue;
      addFrom(member.value, name, userContainer(), units);
    }
    writer_.members(kMainContainer, std::move(units));
  }

  using Items = std::vector<std::optional<Value>>;  ///< nullopt: an item that needs a name not yet known

  Items volumes() {
    Items items;
    if (type_ == api::kEpp) items.push_back(eppConfig());
    addItems(json::find(podPage(), "volumes"), items);
    return items;
  }

  /// nullopt: the ConfigMap is named after the graph, whose name is not yet known.
  std::optional<Value> eppConfig() {
    const Value* given = json::findObject(&component_, "eppConfig");
    const std::string& graph = from_.around.graph;
    if (graph.empty() && json::findObject(given, "configMapRef") == nullptr) return std::nullopt;
    return eppConfigVolume(component_, graph, allocator_);
  }

  Items mounts() {
    Items items;
    addItems(json::find(containerPage(), "volumeMounts"), items);
    return items;
  }

  void addItems(const Value* page, Items& items) {
    if (page == nullptr || !page->IsArray()) return;
    for (const Value& item : page->GetArray()) items.push_back(instantiate(item, names_, allocator_));
  }

  /// A list that the user has not becomes one unit; one that the user wrote gets each item whose name, and
  /// path, is not in it (quirk pod-Q7).
  void list(Path path, std::string_view name, Items&& items) {
    const bool pod = name == "volumes";
    const Value* user = json::find(pod ? userPod() : userContainer(), name);
    std::vector<Unit> units;
    if (user == nullptr) {
      Value whole{rapidjson::kArrayType};
      for (auto& item : items) {
        if (!item) return;
        whole.PushBack(*item, allocator_);
      }
      if (whole.Empty()) return;
      units.push_back({std::string{name}, std::move(whole)});
      writer_.members(path, std::move(units));
      return;
    }
    if (!user->IsArray() || !from_.components.completesUserLists()) return;
    for (auto& item : items) {
      if (!item || json::findNamed(user, json::findText(&*item, "name")) != nullptr) continue;
      const std::string_view key = json::findText(&*item, pod ? "name" : "mountPath");
      const bool taken = std::any_of(user->Begin(), user->End(), [&](const Value& given) {
        return !pod && json::findText(&given, "mountPath") == key;
      });
      if (!taken && !key.empty()) units.push_back({std::string{key}, std::move(*item)});
    }
    writer_.items(path, name, std::move(units));
  }

  struct Variable {
    std::string_view name;
    const Value* page;  ///< value or valueFrom; nullptr: `value` is it
    std::string_view text;
  };

  /// The lowest of the layers, each name once, sorted: the order must not depend on the configuration.
  std::vector<Variable> variables() const {
    std::vector<Variable> all;
    const Value* page = json::findObject(containerPage(), "env");
    const auto standard = [&](std::string_view name, std::string_view value) {
      if (!value.empty() && json::find(page, name) == nullptr) all.push_back({name, nullptr, value});
    };
    const config::InfrastructureConfig& infrastructure = from_.config.infrastructure;
    standard("NATS_SERVER", infrastructure.natsAddress);
    standard("ETCD_ENDPOINTS", infrastructure.etcdAddress);
    standard("MODEL_EXPRESS_URL", infrastructure.modelExpressUrl);
    standard("PROMETHEUS_ENDPOINT", infrastructure.prometheusEndpoint);
    if (discovery_ != "etcd") standard("DYN_DISCOVERY_BACKEND", "kubernetes");
    if (page != nullptr) {
      for (const auto& member : page->GetObject()) {
        all.push_back({json::text(member.name), &member.value, {}});
      }
    }
    std::sort(all.begin(), all.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
    return all;
  }

  void environment() {
    const Value* user = json::find(userContainer(), "env");
    if (user != nullptr && !from_.components.completesUserLists()) return;
    const Value* own = json::find(component_, "envs");
    const auto& graph = from_.around.envNames;
    const json::Maker make{allocator_};
    std::vector<Unit> units;
    for (const Variable& variable : variables()) {
      const std::string_view name = variable.name;
      if (std::binary_search(graph.begin(), graph.end(), name) || json::findNamed(own, name) != nullptr ||
          json::findNamed(user, name) != nullptr) {
        continue;
      }
      Value entry = make.object("name", name);
      if (variable.page == nullptr) {
        make.set(entry, "value", variable.text);
      } else {
        std::optional<Value> value = instantiate(*variable.page, names_, allocator_);
        if (!value) continue;
        // Go clients leave an empty value out; the entry must not look changed after they wrote the object.
        const bool text = value->IsString() && value->GetStringLength() > 0;
        if (text) make.set(entry, "value", std::move(*value));
        if (value->IsObject()) make.set(entry, "valueFrom", std::move(*value));
      }
      units.push_back({std::string{name}, std::move(entry)});
    }
    writer_.items(kMainContainer, "env", std::move(units));
  }

  Value& component_;
  const Derivation& from_;
  Allocator& allocator_;
  Writer writer_;
  std::string type_;  ///< a copy: short texts move with the members that hold them
  const Value& page_;
  std::string dynamoNamespace_;
  Placeholders names_;
  std::string_view discovery_;
};

}  // namespace

Value derive(Value& component, const Derivation& from, Allocator& allocator) {
  const std::string source = derivedFrom(component, from.around);
  Value trie = Deriver{component, from, allocator}.run();
  if (!trie.ObjectEmpty()) json::set(trie, kDerivedFrom, json::string(source, allocator), allocator);
  return trie;
}

}  // namespace dynamo::defaults
