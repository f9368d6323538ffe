// Quirks child-Q12, ctl-Q22, ctl-Q39, ctl-Q56.
#include "common/lifecycle/scaling_adapter.h"

#include <fmt/format.h>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/grove_limits.h"
#include "common/lifecycle/object.h"
#include "common/model/names.h"
#include "common/model/scaling.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kScalable = "Scalable";

class Adapter {
 public:
  Adapter(const Value& adapter, Time now, Allocator& allocator)
      : adapter_(adapter),
        now_(now),
        make_(allocator),
        spec_(specOf(adapter)),
        stored_(statusOf(adapter)),
        status_(stored_ == nullptr ? make_.object() : make_.value(*stored_)) {
    const Value* target = json::findObject(spec_, "dgdRef");
    graphName_ = json::findText(target, "name");
    service_ = json::findText(target, "serviceName");
  }

  Outcome reconcile(const Value* graph, bool honoursAutoscaling) {
    // The garbage collector is about to delete the adapter of a deleted graph. Its replicas must not reach a
    // new graph of that name.
    if (isOfDeletedGraph(graph)) return {};
    if (graph == nullptr || isBeingDeleted(*graph)) {
      return notScalable("GraphNotFound", fmt::format("DynamoGraphDeployment {} does not exist", graphName_));
    }
    const Value* service = json::findObject(json::findObject(specOf(*graph), "services"), service_);
    if (service == nullptr) {
      return notScalable("ServiceNotFound",
                         fmt::format("DynamoGraphDeployment {} has no service {}", graphName_, service_));
    }
    if (!model::hasScalingAdapter(*service, honoursAutoscaling)) {
      return notScalable("AdapterDisabled",
                         fmt::format("service {} does not enable scalingAdapter", service_));
    }
    // Two adapters with different replicas would scale the service back and forth.
    if (const std::string own = model::componentName(graphName_, service_);
        nameOf(adapter_) != own && !isControlledBy(adapter_, *graph)) {
      return notScalable("OtherAdapter", fmt::format("service {} follows adapter {}", service_, own));
    }
    // Grove refuses the whole PodCliqueSet, and later changes of the graph with it.
    if (desired() == 0 && needsOneReplica(*graph, service_)) {
      make_.set(status_, "replicas", countAt(service, "replicas", 1));
      return notScalable(
          "GroveNeedsOneReplica",
          fmt::format("service {} has several nodes: Grove needs at least one replica", service_));
    }
    scale(*graph, countAt(service, "replicas", 1));
    make_.set(status_, "replicas", desired());
    make_.set(status_, "selector",
              fmt::format("{}={},{}={}", api::label::kGraph, graphName_, api::label::kComponent, service_));
    finish(ConditionStatus::True, "ScalesService", fmt::format("service {} follows spec.replicas", service_));
    return std::move(outcome_);
  }

  Outcome failed(const Ending& failure) {
    if (!isPermanent(failure)) return std::move(outcome_);
    if (isNewFailure(findCondition(stored_, kScalable), messageOf(failure))) {
      outcome_.events.push_back(warning("UpdateFailed", messageOf(failure)));
    }
    finish(ConditionStatus::False, "UpdateFailed", messageOf(failure));
    return std::move(outcome_);
  }

 private:
  /// Whether the controller of the adapter is a graph of the name that does not exist any more. `graph` is
  /// the present one of that name, if there is one.
  bool isOfDeletedGraph(const Value* graph) const {
    const Value* controller = controllerOf(adapter_);
    return controller != nullptr && json::findText(controller, "kind") == api::kDynamoGraphDeployment &&
           json::findText(controller, "name") == graphName_ &&
           (graph == nullptr || !isOwner(*graph, *controller, adapter_));
  }

  std::int64_t desired() const { return countAt(spec_, "replicas"); }

  void finish(ConditionStatus status, std::string_view reason, std::string message) {
    setCondition(status_, {kScalable, status, reason, std::move(message)}, generationOf(adapter_), now_,
                 make_.allocator());
    setStatus(outcome_, adapter_, std::move(status_));
  }

  Outcome notScalable(std::string_view reason, std::string message) {
    finish(ConditionStatus::False, reason, std::move(message));
    return std::move(outcome_);
  }

  void scale(const Value& graph, std::int64_t present) {
    if (present != desired()) {
      Value services = make_.object(service_, make_.object("replicas", desired()));
      outcome_.writes.push_back(
          patchOf(graph, make_.object("spec", make_.object("services", std::move(services))), true));
      outcome_.events.push_back(normal(
          "Scaled", fmt::format("service {} scaled from {} to {} replicas", service_, present, desired())));
    }
    // If the graph already has the desired number and the stored status has another one, an earlier reconcile
    // scaled the graph but could not write its status.
    const bool known = !json::findText(stored_, "selector").empty();
    const bool lost = known && countAt(stored_, "replicas") != desired();
    if (present != desired() || lost) make_.set(status_, "lastScaleTime", formatTime(now_));
  }

  const Value& adapter_;
  Time now_;
  json::Maker make_;
  const Value* spec_;
  const Value* stored_;
  Value status_;
  std::string_view graphName_;
  std::string_view service_;
  Outcome outcome_;
};

}  // namespace

Outcome adapterOutcome(const Value& adapter, const Value* graph, bool honoursAutoscaling, Time now,
                       Allocator& allocator) {
  if (isBeingDeleted(adapter)) return {};
  return Adapter{adapter, now, allocator}.reconcile(graph, honoursAutoscaling);
}

Outcome adapterFailure(const Value& adapter, const Ending& failure, Time now, Allocator& allocator) {
  if (isBeingDeleted(adapter)) return {};
  return Adapter{adapter, now, allocator}.failed(failure);
}

}  // namespace dynamo::lifecycle
