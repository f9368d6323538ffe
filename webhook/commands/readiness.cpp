#include "webhook/commands/readiness.h"

#include <fmt/format.h>

#include <array>
#include <string_view>
#include <utility>
#include <variant>

#include "webhook/http/self_check.h"

namespace dynamo::webhook {
namespace {

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

std::string checkSampleReviews(const runtime::Endpoint& listen, const FindRoute& inProcess) {
  const auto answer = [&](const Canned& canned) -> std::variant<SelfCheckReply, SelfCheckError> {
    const Route* const route = inProcess ? inProcess(canned.path) : nullptr;
    if (route == nullptr || !route->guarded) return selfCheck(listen, canned.path, canned.body);
    HttpRequest request{std::string{canned.body}};
    Reply reply = route->handle(request);
    return SelfCheckReply{reply.status, std::move(reply.body)};
  };
  for (const Canned& canned : kCanned) {
    const auto result = answer(canned);
    if (const auto* error = std::get_if<SelfCheckError>(&result)) return error->message;
    const auto& reply = std::get<SelfCheckReply>(result);
    if (reply.status != 200 || reply.body.find(canned.wanted) == std::string::npos) {
      return fmt::format("{} answered a sample review with HTTP {} and an unexpected body", canned.path,
                         reply.status);
    }
  }
  return {};
}

}  // namespace dynamo::webhook
