#include "controller/install/smoke_check.h"

#include <fmt/format.h>

#include <array>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/json/build.h"

namespace dynamo::install {
namespace {

using json::Value;
using kube::ApiError;
using kube::Reason;

constexpr std::string_view kPvc = "dynamo-smoke";
constexpr std::string_view kWrongField = "spec.envs[0].name";
/// What the webhook says of every v1alpha1 request if the configuration turns discovery off (common/rules).
constexpr std::string_view kDiscoveryIsOff = "GPU discovery is off";

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Judgement waiting(std::string reason) {
  return {Verdict::Waiting, std::move(reason)};
}

Judgement failed(std::string reason) {
  return {Verdict::Failed, std::move(reason)};
}

bool isDenial(const ApiError& error) {
  return error.message.starts_with("admission webhook \"") && contains(error.message, "denied the request");
}

/// The API server has called a webhook for admission or conversion without success, or has tried to.
bool isFailedCall(const ApiError& error) {
  return contains(error.message, "failed calling webhook") ||
         contains(error.message, "conversion webhook for ");
}

/// An answer that says nothing about the object.
Judgement judgeError(const ApiError& error, std::string_view namespaceName) {
  const std::string& words = error.message;
  if (isFailedCall(error)) {
    if (contains(words, "x509: ") || contains(words, "certificate signed by unknown authority"))
      return waiting(
          fmt::format("the API server does not trust the certificate of the webhook, whose caBundle is "
                      "missing or wrong: {}",
                      words));
    return waiting(fmt::format("the API server cannot call the webhook: {}", words));
  }
  switch (error.reason) {
    case Reason::Forbidden:
      if (contains(words, "cannot create resource"))
        return {Verdict::NotAllowed, fmt::format("a right is missing: {}", words)};
      return failed(fmt::format("refused: {}", words));
    case Reason::Unauthorized:
      return {Verdict::NotAllowed, fmt::format("the API server does not accept the credentials: {}", words)};
    case Reason::NotFound:
      if (words.starts_with("namespaces "))
        return failed(fmt::format("there is no namespace {}: {}", namespaceName, words));
      return waiting(fmt::format("the CustomResourceDefinition is missing or not served yet: {}", words));
    default:
      if (error.transient()) return waiting(fmt::format("the API server gives no answer: {}", words));
      return failed(fmt::format("refused: {}", words));
  }
}

Judgement judgeGood(const Answer& answer, std::string_view namespaceName) {
  if (const auto* error = std::get_if<ApiError>(&answer)) {
    if (isDenial(*error)) return failed(fmt::format("a valid object is denied: {}", error->message));
    return judgeError(*error, namespaceName);
  }
  const Value* const metadata = json::findObject(&std::get<json::Document>(answer), "metadata");
  const std::string_view record =
      json::findText(json::findObject(metadata, "annotations"), api::annotation::kDefaulted);
  if (!record.empty()) return {};
  return waiting(
      fmt::format("it gets no defaults: no mutating webhook of this operator is registered for namespace {}",
                  namespaceName));
}

Judgement judgeBad(const Answer& answer, std::string_view namespaceName) {
  const auto* error = std::get_if<ApiError>(&answer);
  if (error == nullptr) {
    return waiting(
        fmt::format("a wrong object is not denied: no validating webhook of this operator is registered for "
                    "namespace {}",
                    namespaceName));
  }
  if (!isDenial(*error)) return judgeError(*error, namespaceName);
  if (contains(error->message, kWrongField)) return {};
  return waiting(
      fmt::format("a wrong object is denied, but not with the words of this operator: {}", error->message));
}

Judgement judgeAlpha(const Answer& answer, std::string_view namespaceName) {
  if (const auto* error = std::get_if<ApiError>(&answer)) {
    if (!isDenial(*error)) return judgeError(*error, namespaceName);
    // The webhook has read the request in v1beta1, so it was converted.
    if (contains(error->message, kDiscoveryIsOff)) return {};
    return failed(fmt::format("a valid object is denied: {}", error->message));
  }
  const Value* const spec = json::findObject(&std::get<json::Document>(answer), "spec");
  if (json::findText(json::findObject(spec, "profilingConfig"), "outputPVC") == kPvc) return {};
  return waiting("the conversion loses fields: the CustomResourceDefinition has no conversion webhook");
}

Value graph(const json::Maker& make) {
  const Value container = make.object("image", "dynamo-smoke:1");
  const Value frontend = make.object("componentType", "frontend", "replicas", 1, "extraPodSpec",
                                     make.object("mainContainer", container));
  return make.object("services", make.object("Frontend", frontend));
}

Value goodGraph(json::Allocator& allocator) {
  return graph(json::Maker{allocator});
}

/// No schema refuses the name of the variable, so only the webhook does.
Value badGraph(json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value spec = graph(make);
  make.set(spec, "envs", make.list(make.object("name", "DYNAMO=SMOKE", "value", "1")));
  return spec;
}

/// v1beta1 has no outputPVC, so it survives only the conversion by the webhook.
Value alphaRequest(json::Allocator& allocator) {
  const json::Maker make{allocator};
  return make.object("model", "dynamo-smoke", "backend", "vllm", "profilingConfig",
                     make.object("profilerImage", "dynamo-smoke:1", "outputPVC", kPvc));
}

kube::Resource alphaResource(std::string plural, std::string_view kind) {
  return {std::string{api::kGroup}, "v1alpha1", std::move(plural), std::string{kind}};
}

}  // namespace

std::span<const SmokeCheck> smokeChecks() {
  static const std::array<SmokeCheck, 3> checks{{
      {"a valid DynamoGraphDeployment is admitted and gets defaults",
       alphaResource("dynamographdeployments", api::kDynamoGraphDeployment), goodGraph, judgeGood},
      {"a wrong DynamoGraphDeployment is denied",
       alphaResource("dynamographdeployments", api::kDynamoGraphDeployment), badGraph, judgeBad, true},
      {"a v1alpha1 DynamoGraphDeploymentRequest is converted",
       alphaResource("dynamographdeploymentrequests", api::kDynamoGraphDeploymentRequest), alphaRequest,
       judgeAlpha},
  }};
  return checks;
}

std::string bodyOf(const SmokeCheck& check, std::string_view namespaceName, std::string_view name) {
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  const Value body = make.object("apiVersion", std::string_view{kube::apiVersionOf(check.resource)}, "kind",
                                 std::string_view{check.resource.kind}, "metadata",
                                 make.object("name", name, "namespace", namespaceName), "spec",
                                 check.spec(memory.GetAllocator()));
  return json::dump(body);
}

}  // namespace dynamo::install
