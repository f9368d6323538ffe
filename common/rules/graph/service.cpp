// Rules of one service, or of a component deployment's spec, without a file of their own (quirks pod-Q11b,
// pod-Q33b, adm-Q10, a1-Q12).

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/k8s/quantity.h"
#include "common/model/names.h"
#include "common/rules/graph/graph.h"

namespace dynamo::rules {
namespace {

using json::Value;

void dynamoNamespace(const Service& service, const Report& report) {
  const std::string_view given = json::findText(&service.spec, "dynamoNamespace");
  const bool global = json::findBool(&service.spec, "globalDynamoNamespace").value_or(false);
  const std::string used =
      model::dynamoNamespace(global, service.graph.namespaceName, service.graph.graphName);
  // The operator sets this value on component deployments.
  if (given.empty() || (!service.graph.isGraph && given == used)) return;
  report.warn(service.at("dynamoNamespace"),
              fmt::format("is deprecated and ignored: {} is used", showValue(used)));
}

void replicasNotNegative(const Service& service, const Report& report) {
  const Value* replicas = service.member("replicas");
  if (replicas == nullptr || !replicas->IsInt64()) return;
  if (replicas->GetInt64() < 0) {
    report.invalid(service.at("replicas"), *replicas, "must be greater than or equal to 0");
  }
}

void sharedMemorySize(const Service& service, const Report& report) {
  const Value* memory = json::findObject(&service.spec, "sharedMemory");
  if (memory == nullptr || json::findBool(memory, "disabled").value_or(false)) return;
  const At field = service.at("sharedMemory.size");
  const Value* size = json::find(memory, "size");
  const auto text = size == nullptr ? std::nullopt : k8s::quantityText(*size);
  if (!text) return report.required(field, "must be set unless disabled is true");
  if (const std::string problem = k8s::quantityProblem(*text); !problem.empty()) {
    return report.invalid(field, *text, problem);
  }
  const auto quantity = k8s::parseQuantity(*text);
  if (quantity && quantity->nano <= 0) {
    report.invalid(field, *text, "must be greater than zero; set disabled: true for no shared memory");
  }
}

void componentType(const Service& service, const Report& report) {
  const auto& known = api::kComponentTypes;
  if (service.type.empty() || std::find(known.begin(), known.end(), service.type) != known.end()) return;
  report.warn(service.at("componentType"),
              fmt::format("{} is not a known type: the base defaults are used{}", showValue(service.type),
                          Suggestions{known}(service.type)));
}

void subComponentType(const Service& service, const Report& report) {
  constexpr std::array<std::string_view, 2> kKnown = {api::kPrefill, api::kDecode};
  const std::string_view type = json::findText(&service.spec, "subComponentType");
  // A text that is not a valid label value has its own error.
  if (type.empty() || !k8s::labelValueProblem(type).empty()) return;
  if (std::find(kKnown.begin(), kKnown.end(), type) != kKnown.end()) return;
  report.warn(service.at("subComponentType"),
              fmt::format("{} is neither prefill nor decode{}", showValue(type), Suggestions{kKnown}(type)));
}

void typeLabels(const Service& service, const Report& report) {
  for (const auto& [field, label] :
       {std::pair{std::string_view{"componentType"}, api::label::kComponentType},
        std::pair{std::string_view{"subComponentType"}, api::label::kSubComponentType}}) {
    const std::string_view text = json::findText(&service.spec, field);
    const std::string problem = k8s::labelValueProblem(text);
    if (problem.empty()) continue;
    report.invalid(service.at(field), text,
                   fmt::format("is used as the value of label {}: {}", label, problem));
  }
}

void modelReference(const Service& service, const Report& report) {
  const Value* model = json::findObject(&service.spec, "modelRef");
  if (model == nullptr || !json::findText(model, "name").empty()) return;
  report.required(service.at("modelRef.name"), "must name the model that the service serves");
}

// Containers

std::string_view mainName(const Service& service) {
  const std::string_view given = json::findText(service.mainContainer(), "name");
  return given.empty() ? api::kMainContainer : given;
}

void containerNames(const Service& service, const Report& report) {
  std::set<std::string_view> taken{mainName(service)};
  const bool sidecar = json::findObject(&service.spec, "frontendSidecar") != nullptr;
  if (sidecar && !taken.insert(api::kSidecarContainer).second) {
    report.duplicate(service.at("extraPodSpec.mainContainer.name"), api::kSidecarContainer,
                     "is the name of the frontend sidecar");
  }
  const At pod = service.at("extraPodSpec");
  for (const std::string_view list : {"containers", "initContainers"}) {
    const At containers = pod / list;
    forEachObject(json::find(service.podSpec(), list), [&](const Value& container, std::size_t i) {
      const std::string_view name = json::findText(&container, "name");
      if (!taken.contains(name)) return;
      const At at = containers[i];
      report.duplicate(at / "name", name,
                       name == mainName(service) ? "is the name of the main container"
                                                 : "is the name of the frontend sidecar");
    });
  }
}

void sidecarImage(const Service& service, const Report& report) {
  const Value* sidecar = json::findObject(&service.spec, "frontendSidecar");
  if (sidecar == nullptr || !json::findText(sidecar, "image").empty()) return;
  report.required(service.at("frontendSidecar.image"), "must be set: a container needs an image");
}

void sidecarPort(const Service& service, const Report& report) {
  if (service.type != api::kFrontend || json::findObject(&service.spec, "frontendSidecar") == nullptr) return;
  report.warn(service.at("frontendSidecar"),
              "conflicts with the frontend in the same pod: both listen on port 8000");
}

/// A long answer of a model takes this time.
constexpr std::int64_t kLongAnswerSeconds = 30;

/// A process that ends answers the requests that it has, but not beyond its grace period.
void gracePeriod(const Service& service, const Report& report) {
  if (service.type != api::kFrontend && !api::isWorkerType(service.type)) return;
  const Value* pod = json::findObject(&service.spec, "extraPodSpec");
  const Value* seconds = json::find(pod, "terminationGracePeriodSeconds");
  if (seconds == nullptr || !seconds->IsInt64()) return;
  if (seconds->GetInt64() < 0 || seconds->GetInt64() >= kLongAnswerSeconds) return;
  report.warn(
      service.at("extraPodSpec.terminationGracePeriodSeconds"),
      fmt::format("cuts off answers that take longer than {} s when a pod ends", seconds->GetInt64()));
}

constexpr std::array kChecks = {
    ServiceCheck{{"service.replicas-negative", Severity::Error, "replicas are 0 or more"},
                 replicasNotNegative},
    ServiceCheck{{"service.shared-memory-size", Severity::Error,
                  "shared memory has a size above zero unless disabled"},
                 sharedMemorySize},
    ServiceCheck{{"service.type-label", Severity::Error, "component types are label values"}, typeLabels},
    ServiceCheck{{"service.container-name", Severity::Error,
                  "containers do not have the names of the main container or the sidecar"},
                 containerNames},
    ServiceCheck{{"service.sidecar-image", Severity::Error, "the frontend sidecar has an image"},
                 sidecarImage},
    ServiceCheck{{"service.sidecar-port", Severity::Warning,
                  "a frontend has no frontend sidecar, which would listen on the same port"},
                 sidecarPort},
    ServiceCheck{{"service.component-type", Severity::Warning, "the component type should be a known one"},
                 componentType},
    ServiceCheck{
        {"service.sub-component-type", Severity::Warning, "the subcomponent type is prefill or decode"},
        subComponentType},
    ServiceCheck{{"service.grace-period", Severity::Warning, "answers end within the grace period"},
                 gracePeriod},
    ServiceCheck{{"service.model-ref", Severity::Error, "modelRef names a model"}, modelReference},
};

/// Reported last because they do not affect what is deployed.
constexpr std::array kRemarks = {
    ServiceCheck{{"service.dynamo-namespace", Severity::Warning, "dynamoNamespace is deprecated and ignored"},
                 dynamoNamespace},
};

}  // namespace

std::span<const ServiceCheck> serviceChecks() {
  return kChecks;
}

std::span<const ServiceCheck> serviceRemarks() {
  return kRemarks;
}

}  // namespace dynamo::rules
