// Quirks child-Q12, ctl-Q22, ctl-Q39.
#include "common/lifecycle/scaling_adapter.h"

#include <fmt/format.h>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/failures.h"
#include "common/lifecycle/object.h"

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

  Outcome follow(const Value* graph) {
    if (graph == nullptr || isBeingDeleted(*graph)) {
      return stop("GraphNotFound", fmt::format("DynamoGraphDeployment {} does not exist", graphName_));
    }
    const Value* service = json::findObject(json::findObject(specOf(*graph), "services"), service_);
    if (service == nullptr) {
      return stop("ServiceNotFound",
                  fmt::format("DynamoGraphDeployment {} has no service {}", graphName_, service_));
    }
    if (!json::findBool(json::findObject(service, "scalingAdapter"), "enabled").value_or(false)) {
      return stop("AdapterDisabled", fmt::format("service {} is not scaled by an adapter", service_));
    }
    scale(*graph, countAt(service, "replicas", 1));
    make_.set(status_, "replicas", wanted());
    make_.set(status_, "selector",
              fmt::format("{}={},{}={}", api::label::kGraph, graphName_, api::label::kComponent, service_));
    settle(Truth::True, "ScalesService", fmt::format("service {} follows spec.replicas", service_));
    return std::move(outcome_);
  }

  Outcome failed(const Failure& failure) {
    outcome_.retry = true;
    if (failure.transient) return std::move(outcome_);
    if (isNews(findCondition(stored_, kScalable), failure.message)) {
      outcome_.events.push_back(warning("UpdateFailed", failure.message));
    }
    settle(Truth::False, "UpdateFailed", failure.message);
    return std::move(outcome_);
  }

 private:
  std::int64_t wanted() const { return countAt(spec_, "replicas"); }

  void settle(Truth truth, std::string_view reason, std::string message) {
    setCondition(status_, {kScalable, truth, reason, std::move(message)}, generationOf(adapter_), now_,
                 make_.allocator());
    setStatus(outcome_, adapter_, std::move(status_));
  }

  Outcome stop(std::string_view reason, std::string message) {
    settle(Truth::False, reason, std::move(message));
    return std::move(outcome_);
  }

  void scale(const Value& graph, std::int64_t present) {
    if (present != wanted()) {
      Value services = make_.object(service_, make_.object("replicas", wanted()));
      outcome_.writes.push_back(
          patchOf(graph, make_.object("spec", make_.object("services", std::move(services))), true));
      outcome_.events.push_back(normal(
          "Scaled", fmt::format("service {} scaled from {} to {} replicas", service_, present, wanted())));
    }
    // A graph that has the number while the status has another was scaled by a pass whose status was lost.
    const bool known = !json::findText(stored_, "selector").empty();
    const bool lost = known && countAt(stored_, "replicas") != wanted();
    if (present != wanted() || lost) make_.set(status_, "lastScaleTime", formatTime(now_));
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

Outcome adapterOutcome(const Value& adapter, const Value* graph, Time now, Allocator& allocator) {
  if (isBeingDeleted(adapter)) return {};
  return Adapter{adapter, now, allocator}.follow(graph);
}

Outcome adapterFailure(const Value& adapter, const Failure& failure, Time now, Allocator& allocator) {
  if (isBeingDeleted(adapter)) return {};
  return Adapter{adapter, now, allocator}.failed(failure);
}

}  // namespace dynamo::lifecycle
