#include "webhook/commands/readiness.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "webhook/http/self_check.h"

namespace dynamo::webhook {
namespace {

constexpr std::chrono::seconds kCheckAgain{1};

struct Canned {
  std::string_view path;
  std::string_view body;
  std::string_view wanted;
};

constexpr std::array kCanned = {
    Canned{
        "/validate-nvidia-com-v1beta1-dynamographdeploymentrequest",
        R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"dynamo-webhook-readyz",)"
        R"("operation":"CREATE","name":"readyz","namespace":"readyz",)"
        R"("kind":{"group":"nvidia.com","version":"v1beta1","kind":"DynamoGraphDeploymentRequest"},)"
        R"("object":{"apiVersion":"nvidia.com/v1beta1","kind":"DynamoGraphDeploymentRequest",)"
        R"("metadata":{"name":"readyz","namespace":"readyz"},)"
        R"("spec":{"model":"m","hardware":{"gpuSku":"h100_sxm"}}}}})",
        R"("allowed":true)"},
    Canned{
        "/convert",
        R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"dynamo-webhook-readyz",)"
        R"("desiredAPIVersion":"nvidia.com/v1alpha1","objects":[{"apiVersion":"nvidia.com/v1beta1",)"
        R"("kind":"DynamoGraphDeploymentRequest","metadata":{"name":"readyz","namespace":"readyz"},)"
        R"("spec":{"model":"m"}}]}})",
        R"("status":"Success")"}};

}  // namespace

std::string Readiness::checkListener() const {
  const auto answer = [this](const Canned& canned) -> std::variant<SelfCheckReply, SelfCheckError> {
    const Route* const route = inProcess_ ? inProcess_(canned.path) : nullptr;
    if (route == nullptr || !route->guarded) return selfCheck(listen_, canned.path, canned.body);
    Request request{std::string{canned.body}};
    Reply reply = route->handle(request);
    return SelfCheckReply{reply.status, std::move(reply.body)};
  };
  for (const Canned& canned : kCanned) {
    const auto result = answer(canned);
    if (const auto* error = std::get_if<SelfCheckError>(&result)) return error->message;
    const auto& reply = std::get<SelfCheckReply>(result);
    if (reply.status != 200 || reply.body.find(canned.wanted) == std::string::npos) {
      return fmt::format("{} answered a canned review with HTTP {} and not as it should", canned.path,
                         reply.status);
    }
  }
  return {};
}

std::string Readiness::problem() {
  if (draining_) return "shutting down";
  if (!certificateValid_()) return "no valid certificate is served";
  const std::lock_guard lock{mutex_};
  if (!checked_ || std::chrono::steady_clock::now() - *checked_ >= kCheckAgain) {
    lastProblem_ = checkListener();
    checked_ =
        std::chrono::steady_clock::now();  // its end: a check that takes long is not asked for in a row
  }
  return lastProblem_;
}

}  // namespace dynamo::webhook
