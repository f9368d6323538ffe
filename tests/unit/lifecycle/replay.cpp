#include "replay.h"

#include <algorithm>
#include <map>
#include <regex>
#include <set>

#include "common/json/build.h"
#include "common/lifecycle/component_status.h"
#include "common/lifecycle/graph_status.h"
#include "common/lifecycle/missing_references.h"
#include "common/lifecycle/scaling_adapter.h"
#include "support.h"

namespace dynamo::lifecycle::test {
namespace {

using json::Value;
using Leaves = std::map<std::string, std::string>;

/// A status as paths and values. Times and messages are not compared. Conditions are compared by status and
/// reason.
void flatten(const std::string& path, const Value& value, Leaves& leaves) {
  const std::size_t dot = path.rfind('.');
  const std::string last = dot == std::string::npos ? path : path.substr(dot + 1);
  if (last == "conditions") {
    for (const Value& condition : value.GetArray()) {
      leaves["conditions." + std::string{json::findText(&condition, "type")}] =
          std::string{json::findText(&condition, "status")} + '/' +
          std::string{json::findText(&condition, "reason")};
    }
  } else if (last == "observedGeneration") {
    const bool current = value.IsString() ? json::text(value) == "current" : value.GetInt64() == 2;
    leaves[path] = current ? "current" : "behind";
  } else if (last.ends_with("Time")) {
    leaves[path] = "TIME";
  } else if (value.IsObject()) {
    for (const auto& member : value.GetObject()) {
      const std::string name{json::text(member.name)};
      flatten(path.empty() ? name : path + '.' + name, member.value, leaves);
    }
  } else {
    leaves[path] = json::dump(value);
  }
}

class Replay {
 public:
  Replay(Recording& recording, std::size_t& compared) : recording_(recording), compared_(compared) {}

  std::vector<Difference> run() {
    for (const Recording::Step& step : recording_.steps()) {
      step_ = &step;
      for (const Recorded& object : step.objects) {
        if (object.kind == "DynamoGraphDeployment") graph(object);
        if (object.kind == "DynamoComponentDeployment") component(object);
        if (object.kind == "DynamoGraphDeploymentScalingAdapter") adapter(object);
      }
      before_ = &step;
    }
    return std::move(differences_);
  }

 private:
  static std::vector<const Value*> ofKind(const Recording::Step& step, std::string_view kind) {
    std::vector<const Value*> found;
    for (const Recorded& object : step.objects) {
      if (object.kind == kind) found.push_back(&object.object);
    }
    return found;
  }

  const Value* named(std::string_view kind, std::string_view name) const {
    for (const Recorded& object : step_->objects) {
      if (object.kind == kind && object.name == name) return &object.object;
    }
    return nullptr;
  }

  /// The status of the object after the previous step; nullptr for a new object.
  const Value* statusBefore(const Recorded& object) const {
    if (before_ == nullptr || json::findBool(object.facts, "fresh").value_or(false)) return nullptr;
    for (const Recorded& earlier : before_->objects) {
      if (earlier.kind == object.kind && earlier.name == object.name)
        return json::find(*earlier.facts, "status");
    }
    return nullptr;
  }

  void compare(const Recorded& object, const Value* theirs, const Value* ours, Leaves extraTheirs = {},
               Leaves extraOurs = {}) {
    if (theirs != nullptr) flatten("", *theirs, extraTheirs);
    if (ours != nullptr) flatten("", *ours, extraOurs);
    for (const auto& [path, value] : extraTheirs) {
      ++compared_;
      const auto other = extraOurs.find(path);
      tell(object, path, value, other == extraOurs.end() ? "absent" : other->second);
    }
    for (const auto& [path, value] : extraOurs) {
      if (extraTheirs.find(path) == extraTheirs.end()) tell(object, path, "absent", value);
    }
  }

  void tell(const Recorded& object, const std::string& path, const std::string& theirs,
            const std::string& ours) {
    if (theirs != ours)
      differences_.push_back({step_->name, object.kind + '/' + object.name, path, theirs, ours});
  }

  static std::string desiredHash(const Value& facts) {
    static const std::regex kHash{"HASH-[0-9]+"};
    const Value* status = json::findObject(&facts, "status");
    std::smatch found;
    if (const Value* services = json::findObject(status, "services")) {
      for (const auto& service : services->GetObject()) {
        const std::string name{json::findText(&service.value, "componentName")};
        if (std::regex_search(name, found, kHash)) return found.str();
      }
    }
    return std::string{json::findText(json::find(facts, "annotations"), "nvidia.com/current-worker-hash")};
  }

  /// Reconciles as a controller does: first with the children of the previous step, which the cache still
  /// has, then with those of this step until nothing changes. Our status and annotation carry over from step
  /// to step.
  void graph(const Recorded& recorded) {
    if (json::findBool(recorded.facts, "deleting").value_or(false)) return;
    Value graph = json::copy(recorded.object, recording_.allocator());
    carryOver(recorded, graph);
    std::vector<const Value*> components = ofKind(*step_, "DynamoComponentDeployment");
    const std::vector<const Value*> earlier =
        before_ == nullptr ? std::vector<const Value*>{} : ofKind(*before_, "DynamoComponentDeployment");
    const std::vector<const Value*> cliques = ofKind(*step_, "PodClique");
    const std::vector<const Value*> groups = ofKind(*step_, "PodCliqueScalingGroup");
    const std::vector<const Value*> claims = ofKind(*step_, "PersistentVolumeClaim");
    const std::string hash = desiredHash(*recorded.facts);
    const render::Facts facts;
    const std::vector<Ending> failures = missingReferences(graph, claims, facts);
    const Value* set = named("PodCliqueSet", recorded.name);
    const auto old = step_->setsBefore.find(recorded.name);
    constexpr int kEnough = 8;
    Leaves ours;
    Leaves events;
    for (int i = 0; i < kEnough; ++i) {
      GraphView view{.graph = graph, .grove = step_->grove, .workerHash = hash, .facts = facts};
      view.components = i == 0 ? earlier : components;
      view.podCliqueSet = i == 0 && old != step_->setsBefore.end() ? &old->second : set;
      view.podCliques = cliques;
      view.scalingGroups = groups;
      const GraphPlan plan = planGraph(view, kNow, recording_.allocator());
      Outcome outcome = graphOutcome(view, plan, failures, kNow, recording_.allocator());
      keepWrites(outcome.writes, graph, components);
      // A recording omits Events that an earlier step has with the same text.
      for (const Event& event : outcome.events) {
        if (told_.insert(recorded.name + event.reason + event.message).second)
          events["events." + event.reason] = "yes";
      }
      if (outcome.status) json::set(graph, "status", std::move(*outcome.status), recording_.allocator());
      ours.clear();
      for (const ServiceState& service : serviceStates(view)) {
        if (!service.worker || step_->grove || !failures.empty()) continue;
        const auto next = plan.inputs.workerReplicas.find(service.name);
        const long long count =
            next == plan.inputs.workerReplicas.end() ? service.desired.value_or(1) : next->second;
        ours["next." + std::string{service.name}] = std::to_string(count);
      }
      for (const Write& write : outcome.writes) {
        if (write.target.key.kind == "DynamoComponentDeployment" && write.verb == Write::Verb::Patch)
          ours["writes." + write.target.key.name] = json::dump(write.patch);
        if (write.verb == Write::Verb::Scale)
          ours["writes." + write.target.key.name] = std::to_string(write.replicas);
      }
    }
    carried_[recorded.name] = json::copy(graph, recording_.allocator());
    Leaves theirs;
    for (const auto& [path, value] : ours) {
      if (!path.starts_with("next.")) continue;
      for (const Value* component : components) {
        const Value* spec = json::find(*component, "spec");
        const Value* labels = json::find(json::find(*component, "metadata"), "labels");
        if (json::findText(labels, "nvidia.com/dynamo-worker-hash") == hash &&
            path == "next." + std::string{json::findText(spec, "serviceName")})
          theirs[path] = json::dump(*json::find(spec, "replicas"));
      }
    }
    for (const std::string& reason : step_->graphEvents) theirs["events." + reason] = "yes";
    ours.merge(events);
    addAnnotation(*json::find(*recorded.facts, "annotations"), theirs);
    addAnnotation(*json::find(*json::find(graph, "metadata"), "annotations"), ours);
    compare(recorded, json::find(*recorded.facts, "status"), json::find(graph, "status"), std::move(theirs),
            std::move(ours));
  }

  void carryOver(const Recorded& recorded, Value& graph) {
    const auto last = carried_.find(recorded.name);
    if (last == carried_.end() || json::findBool(recorded.facts, "fresh").value_or(false)) return;
    json::Allocator& allocator = recording_.allocator();
    Value status = json::copy(*json::find(last->second, "status"), allocator);
    const bool moved = json::findBool(recorded.facts, "specMoved").value_or(false);
    if (moved && json::find(status, "observedGeneration") != nullptr)
      json::set(status, "observedGeneration", Value{1}, allocator);
    json::set(graph, "status", std::move(status), allocator);
    Value& annotations = *json::find(*json::find(graph, "metadata"), "annotations");
    const Value* before = json::find(*json::find(last->second, "metadata"), "annotations");
    json::remove(annotations, "nvidia.com/current-worker-hash");
    if (const Value* hash = json::find(before, "nvidia.com/current-worker-hash"))
      json::set(annotations, "nvidia.com/current-worker-hash", json::copy(*hash, allocator), allocator);
  }

  static void addAnnotation(const Value& annotations, Leaves& leaves) {
    const std::string_view hash = json::findText(&annotations, "nvidia.com/current-worker-hash");
    if (!hash.empty()) leaves["annotation"] = hash;
  }

  void keepWrites(const std::vector<Write>& writes, Value& graph, std::vector<const Value*>& components) {
    for (const Write& write : writes) {
      if (write.verb == Write::Verb::Delete) {
        std::erase_if(components, [&](const Value* component) {
          return json::findText(json::find(*component, "metadata"), "name") == write.target.key.name;
        });
      }
      const Value* metadata = json::find(&write.patch, "metadata");
      const Value* annotations = json::findObject(metadata, "annotations");
      if (write.target.key.kind != "DynamoGraphDeployment" || annotations == nullptr) continue;
      json::Allocator& allocator = recording_.allocator();
      Value& own =
          json::ensureObject(json::ensureObject(graph, "metadata", allocator), "annotations", allocator);
      for (const auto& member : annotations->GetObject())
        json::set(own, json::text(member.name), json::copy(member.value, allocator), allocator);
    }
  }

  void component(const Recorded& recorded) {
    if (json::findBool(recorded.facts, "deleting").value_or(false)) return;
    json::Allocator& allocator = recording_.allocator();
    const Value* theirs = json::find(*recorded.facts, "status");
    Value stored = json::copy(recorded.object, allocator);
    const bool moved = json::findBool(recorded.facts, "specMoved").value_or(false);
    json::set(stored, "status", storedStatus(statusBefore(recorded), moved, allocator), allocator);
    std::vector<const Value*> sets;
    for (const Value* set : ofKind(*step_, "LeaderWorkerSet")) {
      const Value* owners = json::find(json::find(*set, "metadata"), "ownerReferences");
      if (json::findText(&(*owners)[0], "uid") == "DynamoComponentDeployment/" + recorded.name)
        sets.push_back(set);
    }
    const std::string_view kind = json::findText(json::findObject(theirs, "service"), "componentKind");
    if (!sets.empty() || kind == "LeaderWorkerSet" || isTold(theirs, "AllLeaderWorkerSetsReady")) {
      json::set(json::ensureObject(stored, "spec", allocator), "multinode",
                json::Maker{allocator}.object("nodeCount", 2), allocator);
    }
    std::vector<Ending> failures;
    if (isTold(theirs, "Reconciling")) failures.emplace_back(Permanent{"refused"});
    const ComponentView view{.deployment = stored,
                             .workload = named("Deployment", recorded.name),
                             .leaderWorkerSets = sets,
                             .failures = failures};
    // A recording shows the end of a step, when the requeues of the controller are over.
    Time now = kNow;
    for (bool requeue = true; requeue;) {
      Outcome outcome = componentOutcome(view, now, allocator);
      if (outcome.status) json::set(stored, "status", std::move(*outcome.status), allocator);
      requeue = outcome.requeueAfter.has_value();
      if (requeue) now += std::chrono::ceil<std::chrono::seconds>(*outcome.requeueAfter);
    }
    compare(recorded, theirs, json::find(stored, "status"));
  }

  /// Whether the condition Available has this reason.
  static bool isTold(const Value* status, std::string_view reason) {
    const Value* conditions = json::find(status, "conditions");
    return conditions != nullptr && !conditions->Empty() &&
           json::findText(&(*conditions)[0], "reason") == reason;
  }

  void adapter(const Recorded& recorded) {
    const Value* target = json::find(json::find(recorded.object, "spec"), "dgdRef");
    const Value* graph = named("DynamoGraphDeployment", json::findText(target, "name"));
    const Outcome outcome = adapterOutcome(recorded.object, graph, false, kNow, recording_.allocator());
    Leaves ours;
    for (const Write& write : outcome.writes)
      ours["writes." + write.target.key.name] = json::dump(write.patch);
    Value status = json::copy(outcome.status ? *outcome.status : *json::find(recorded.object, "status"),
                              recording_.allocator());
    json::remove(status, "lastScaleTime");  // not recorded, because the reference sometimes loses it
    compare(recorded, json::find(*recorded.facts, "status"), &status, {}, std::move(ours));
  }

  Recording& recording_;
  std::size_t& compared_;
  const Recording::Step* step_ = nullptr;
  const Recording::Step* before_ = nullptr;
  std::map<std::string, Value> carried_;  ///< graphs with our status, by name
  std::set<std::string> told_;
  std::vector<Difference> differences_;
};

}  // namespace

std::vector<Difference> replay(Recording& recording, std::size_t& compared) {
  return Replay{recording, compared}.run();
}

}  // namespace dynamo::lifecycle::test
