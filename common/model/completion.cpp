#include "common/model/completion.h"

#include <algorithm>
#include <array>
#include <optional>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/k8s/mounts.h"
#include "common/k8s/quantity.h"
#include "common/model/epp.h"
#include "common/model/placeholders.h"

namespace dynamo::model {
namespace {

using json::Allocator;
using json::Value;

constexpr std::array<std::string_view, 4> kHandlers = {"exec", "httpGet", "tcpSocket", "grpc"};

bool isZeroQuantity(const Value& size) {
  const auto parsed =
      k8s::parseQuantity(size.IsString() ? json::text(size) : std::string_view{json::dump(size)});
  return parsed && parsed->nano == 0;
}

/// Merges `given` over `fallback` member by member. A given handler replaces the default handler (pod-Q5).
Value mergedProbe(const Value& fallback, const Value& given, Allocator& allocator) {
  Value probe = json::copy(fallback, allocator);
  const bool handled = std::any_of(kHandlers.begin(), kHandlers.end(), [&](std::string_view handler) {
    return json::find(given, handler) != nullptr;
  });
  if (handled) {
    for (const std::string_view handler : kHandlers) json::remove(probe, handler);
  }
  for (const auto& member : given.GetObject()) {
    if (!member.value.IsNull()) {
      json::set(probe, json::text(member.name), json::copy(member.value, allocator), allocator);
    }
  }
  return probe;
}

bool isMergedProbe(std::string_view name) {
  return name == "livenessProbe" || name == "readinessProbe";
}

class Completer {
 public:
  Completer(const Value& spec, const CompletionInput& input, Allocator& allocator)
      : spec_(spec),
        input_(input),
        allocator_(allocator),
        page_(input.defaults.of(input.type)),
        names_{input.dynamoNamespace, input.graph, input.namespaceName, input.type} {}

  Completion run() {
    sharedMemory();
    podSpec();
    volumes();
    mainContainer();
    list(json::find(containerPage(), "volumeMounts"), json::find(userContainer(), "volumeMounts"),
         "volumeMounts", "mountPath", done_.mainContainer, done_.volumeMounts, {});
    environment();
    preStop();
    return std::move(done_);
  }

 private:
  const Value* podPage() const { return json::findObject(&page_, "podSpec"); }
  const Value* containerPage() const { return json::findObject(&page_, "mainContainer"); }
  const Value* userPod() const { return json::findObject(&spec_, "extraPodSpec"); }
  const Value* userContainer() const { return json::findObject(userPod(), "mainContainer"); }

  void sharedMemory() {
    const Value* page = json::findObject(&page_, "sharedMemory");
    if (page == nullptr) return;
    const Value* given = json::find(spec_, "sharedMemory");
    if (given == nullptr) {
      if (bringsSharedMemory()) return;
      const std::string_view name = json::findBool(page, "disabled").value_or(false) ? "disabled" : "size";
      if (const Value* value = json::find(page, name)) {
        done_.sharedMemory.push_back({std::string{name}, json::copy(*value, allocator_)});
      }
      return;
    }
    // Validation reports sharedMemory without a size. Pods get the default size.
    const Value* size = json::find(given, "size");
    const Value* fallback = json::find(page, "size");
    if (fallback == nullptr || (size != nullptr && !isZeroQuantity(*size))) return;
    done_.sharedMemory.push_back({"size", json::copy(*fallback, allocator_), Unit::How::Empty});
  }

  /// Whether the user provides /dev/shm: with a volume of the default name, or with another mount at the path
  /// while no container mounts the default volume.
  bool bringsSharedMemory() const {
    if (json::findNamed(json::find(userPod(), "volumes"), api::kSharedMemory) != nullptr) return true;
    const bool filled =
        k8s::mountsAt(json::find(userContainer(), "volumeMounts"), "mountPath", api::kSharedMemoryPath) ||
        k8s::mountsAt(json::find(spec_, "volumeMounts"), "mountPoint", api::kSharedMemoryPath);
    return filled && !k8s::podMountsVolume(userPod(), api::kSharedMemory);
  }

  /// Adds the default `page` of member `name`, unless the value `given` is kept.
  void member(const Value& page, std::string_view name, const Value* given, bool emptyStays,
              std::vector<Unit>& units) {
    if (given != nullptr && (emptyStays || !json::isEmpty(*given))) return;
    if (page.IsString() && page.GetStringLength() == 0) return;
    if (std::optional<Value> value = instantiate(page, names_, allocator_)) {
      units.push_back(
          {std::string{name}, std::move(*value), given == nullptr ? Unit::How::Absent : Unit::How::Empty});
    }
  }

  void podSpec() {
    if (const Value* page = podPage()) {
      for (const auto& each : page->GetObject()) {
        const std::string_view name = json::text(each.name);
        if (name == "volumes" || name == "containers" || name == "mainContainer") continue;
        const Value* given = json::find(userPod(), name);
        // `securityContext: {}` means a pod without a security context.
        member(each.value, name, given, name == "securityContext" && given != nullptr && given->IsObject(),
               done_.podSpec);
      }
    }
    const bool hasAccount = !json::findText(podPage(), "serviceAccountName").empty();
    const Value* given = json::find(userPod(), "serviceAccountName");
    if (hasAccount || input_.discovery != "kubernetes" || input_.graph.empty() ||
        (given != nullptr && !json::isEmpty(*given))) {
      return;
    }
    const std::string account = std::string{input_.graph} + std::string{api::kDiscoveryAccountSuffix};
    done_.podSpec.push_back({"serviceAccountName", json::string(account, allocator_),
                             given == nullptr ? Unit::How::Absent : Unit::How::Empty});
  }

  void mainContainer() {
    const Value* page = containerPage();
    if (page == nullptr) return;
    for (const auto& each : page->GetObject()) {
      const std::string_view name = json::text(each.name);
      if (name == "env" || name == "volumeMounts") continue;
      // The probes of the component replace those of its main container completely.
      if (isMergedProbe(name) && json::find(spec_, name) != nullptr) continue;
      const Value* given = json::find(userContainer(), name);
      const bool merged =
          isMergedProbe(name) && given != nullptr && given->IsObject() && !given->ObjectEmpty();
      member(each.value, name, given, false, done_.mainContainer);
      if (!merged || !each.value.IsObject()) continue;
      std::optional<Value> fallback = instantiate(each.value, names_, allocator_);
      if (!fallback) continue;
      done_.mainContainer.push_back(
          {std::string{name}, mergedProbe(*fallback, *given, allocator_), Unit::How::Completed});
    }
  }

  void volumes() {
    std::optional<Value> first;
    if (input_.type == api::kEpp) {
      const Value* given = json::findObject(&spec_, "eppConfig");
      // Without configMapRef the name of the ConfigMap contains the graph name, which is not known yet.
      if (input_.graph.empty() && json::findObject(given, "configMapRef") == nullptr) {
        incomplete_ = true;
      } else {
        first = eppConfigVolume(spec_, input_.graph, allocator_);
      }
    }
    list(json::find(podPage(), "volumes"), json::find(userPod(), "volumes"), "volumes", "name", done_.podSpec,
         done_.volumes, std::move(first));
    incomplete_ = false;
  }

  /// Adds the default items of the list `name`. If the component has no list, the whole list is one unit of
  /// the parent. Otherwise each item is a unit, unless the list has an item with the same name or key
  /// (pod-Q7). `key` is the member that identifies items; `first` precedes the items of `page`.
  void list(const Value* page, const Value* given, std::string_view name, std::string_view key,
            std::vector<Unit>& whole, std::vector<Unit>& items, std::optional<Value>&& first) {
    std::vector<Value> all;
    bool known = !incomplete_;
    if (first) all.push_back(std::move(*first));
    if (page != nullptr && page->IsArray()) {
      for (const Value& item : page->GetArray()) {
        std::optional<Value> made = instantiate(item, names_, allocator_);
        if (made) {
          all.push_back(std::move(*made));
        } else {
          known = false;
        }
      }
    }
    if (given == nullptr) {
      if (!known || all.empty()) return;
      Value list{rapidjson::kArrayType};
      for (Value& item : all) list.PushBack(item, allocator_);
      whole.push_back({std::string{name}, std::move(list)});
      return;
    }
    if (!given->IsArray()) return;
    for (Value& item : all) {
      if (json::findNamed(given, json::findText(&item, "name")) != nullptr) continue;
      const std::string_view own = json::findText(&item, key);
      const bool taken = key != "name" && std::any_of(given->Begin(), given->End(), [&](const Value& other) {
                           return json::findText(&other, key) == own;
                         });
      if (!taken && !own.empty()) items.push_back({std::string{own}, std::move(item)});
    }
  }

  struct Variable {
    std::string_view name;
    const Value* page;  ///< value or valueFrom; nullptr: the value is `text`
    std::string_view text;
  };

  /// The default variables, which all other layers override. Names are unique and sorted, so that the order
  /// does not depend on the configuration.
  std::vector<Variable> variables() const {
    std::vector<Variable> all;
    const Value* page = json::findObject(containerPage(), "env");
    const auto standard = [&](std::string_view name, std::string_view value) {
      if (!value.empty() && json::find(page, name) == nullptr) all.push_back({name, nullptr, value});
    };
    const config::InfrastructureConfig& infrastructure = input_.config.infrastructure;
    standard("NATS_SERVER", infrastructure.natsAddress);
    standard("ETCD_ENDPOINTS", infrastructure.etcdAddress);
    standard("MODEL_EXPRESS_URL", infrastructure.modelExpressUrl);
    standard("PROMETHEUS_ENDPOINT", infrastructure.prometheusEndpoint);
    if (input_.discovery != "etcd") standard("DYN_DISCOVERY_BACKEND", "kubernetes");
    if (page != nullptr) {
      for (const auto& each : page->GetObject()) all.push_back({json::text(each.name), &each.value, {}});
    }
    std::sort(all.begin(), all.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
    return all;
  }

  void environment() {
    for (const Variable& variable : variables()) addVariable(variable, done_.env);
  }

  /// Adds a variable that no layer above the defaults has.
  void addVariable(const Variable& variable, std::vector<Unit>& units) {
    const std::string_view name = variable.name;
    if (std::binary_search(input_.graphEnv.begin(), input_.graphEnv.end(), name) ||
        json::findNamed(json::find(spec_, "envs"), name) != nullptr ||
        json::findNamed(json::find(userContainer(), "env"), name) != nullptr) {
      return;
    }
    const json::Maker make{allocator_};
    Value entry = make.object("name", name);
    if (variable.page == nullptr) {
      make.set(entry, "value", variable.text);
    } else {
      std::optional<Value> value = instantiate(*variable.page, names_, allocator_);
      if (!value) return;
      // Go clients omit an empty value. The entry must stay equal after such a client writes the object.
      const bool text = value->IsString() && value->GetStringLength() > 0;
      if (text) make.set(entry, "value", std::move(*value));
      if (value->IsObject()) make.set(entry, "valueFrom", std::move(*value));
    }
    units.push_back({std::string{name}, std::move(entry)});
  }

  /// A preStop that takes as long as the grace period would leave the process no time to end.
  void preStop() {
    const Value* page = json::find(page_, "preStop");
    const Value* given = json::findObject(userContainer(), "lifecycle");
    if (page == nullptr || !page->IsObject() || json::find(given, "preStop") != nullptr) return;
    const Value* seconds = json::find(json::findObject(page, "sleep"), "seconds");
    const Value* own = json::find(userPod(), "terminationGracePeriodSeconds");
    const Value* grace = own != nullptr ? own : json::find(podPage(), "terminationGracePeriodSeconds");
    if (seconds != nullptr && seconds->IsInt64() && grace != nullptr && grace->IsInt64() &&
        grace->GetInt64() <= seconds->GetInt64()) {
      return;
    }
    done_.lifecycle.push_back({"preStop", json::copy(*page, allocator_)});
    const Value* env = json::findObject(&page_, "preStopEnv");
    if (env == nullptr) return;
    for (const auto& each : env->GetObject())
      addVariable({json::text(each.name), &each.value, {}}, done_.lifecycleEnv);
  }

  const Value& spec_;
  const CompletionInput& input_;
  Allocator& allocator_;
  const Value& page_;
  Placeholders names_;
  Completion done_;
  bool incomplete_ = false;
};

}  // namespace

CompletionInput completionInput(const Component& component, const ComponentDefaults& defaults,
                                const config::OperatorConfig& config) {
  return {defaults,
          config,
          component.type,
          component.graph,
          component.namespaceName,
          component.dynamoNamespace,
          component.discovery,
          {}};
}

Completion complete(const Value& spec, const CompletionInput& input, Allocator& allocator) {
  return Completer{spec, input, allocator}.run();
}

}  // namespace dynamo::model
