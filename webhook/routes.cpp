#include "webhook/routes.h"

#include <array>
#include <chrono>

#include "common/api/kinds.h"

namespace dynamo::webhook {
namespace {

constexpr AdmissionKind kDgd{api::kV1alpha1, api::kDynamoGraphDeployment};
constexpr AdmissionKind kDcd{api::kV1alpha1, api::kDynamoComponentDeployment};
constexpr AdmissionKind kAdapter{api::kV1alpha1, api::kDynamoGraphDeploymentScalingAdapter};
constexpr AdmissionKind kModel{api::kV1alpha1, api::kDynamoModel};
constexpr AdmissionKind kCheckpoint{api::kV1alpha1, api::kDynamoCheckpoint};
constexpr AdmissionKind kDgdr{api::kV1beta1, api::kDynamoGraphDeploymentRequest};

// The reference's paths, and the same style for the kinds it has no webhook for.
constexpr std::array kTable = {
    AdmissionRoute{"/mutate-nvidia-com-v1alpha1-dynamographdeployment", Role::Mutate, kDgd},
    AdmissionRoute{"/validate-nvidia-com-v1alpha1-dynamographdeployment", Role::Validate, kDgd},
    AdmissionRoute{"/mutate-nvidia-com-v1alpha1-dynamocomponentdeployment", Role::Mutate, kDcd},
    AdmissionRoute{"/validate-nvidia-com-v1alpha1-dynamocomponentdeployment", Role::Validate, kDcd},
    AdmissionRoute{"/validate-nvidia-com-v1alpha1-dynamographdeploymentscalingadapter", Role::Validate,
                   kAdapter},
    AdmissionRoute{"/validate-nvidia-com-v1alpha1-dynamomodel", Role::Validate, kModel},
    AdmissionRoute{"/validate-nvidia-com-v1alpha1-dynamocheckpoint", Role::Validate, kCheckpoint},
    AdmissionRoute{"/mutate-nvidia-com-v1beta1-dynamographdeploymentrequest", Role::Mutate, kDgdr},
    AdmissionRoute{"/validate-nvidia-com-v1beta1-dynamographdeploymentrequest", Role::Validate, kDgdr},
};
double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Runs `answer` and tells the observers of its start and end. Time is counted from when the request was
/// whole.
template <class Answer>
Reply observed(const Observers& observers, std::string_view path, const Request& request,
               const Answer& answer) {
  if (observers.started) observers.started(path);
  const bool known = request.arrived != std::chrono::steady_clock::time_point{};
  const auto start = known ? request.arrived : std::chrono::steady_clock::now();
  const auto end = [&](int status, bool threw, bool own) {
    if (observers.finished) observers.finished(path, {status, threw, own, secondsSince(start)});
  };
  try {
    Reply reply = answer(start);
    end(reply.status, false, reply.own);
    return reply;
  } catch (...) {
    end(500, true, false);  // what the server answers then
    throw;
  }
}

Admit decisionFor(const AdmissionRoute& route, const Policy& policy) {
  if (route.role == Role::Mutate) {
    const bool components = admission::hasRules(route.kind.kind);
    if (components) {
      return [&policy](AdmissionRequest& request, json::Allocator& allocator) {
        return mutateComponents(request, policy, allocator);
      };
    }
    return [&policy](AdmissionRequest& request, json::Allocator& allocator) {
      return mutateDgdr(request, policy, allocator);
    };
  }
  if (admission::hasRules(route.kind.kind)) {
    return [&policy, kind = route.kind.kind](AdmissionRequest& request, json::Allocator&) {
      return validateKind(request, kind, policy);
    };
  }
  return [&policy](AdmissionRequest& request, json::Allocator&) { return validateDgdr(request, policy); };
}

}  // namespace

std::span<const AdmissionRoute> admissionRoutes() {
  return kTable;
}

Routes::Routes(Policy policy, Observers observers)
    : policy_(std::move(policy)), observers_(std::move(observers)) {
  for (const AdmissionRoute& entry : kTable) {
    const auto handle = [this, &entry, admit = decisionFor(entry, policy_)](Request& request) {
      return observed(observers_, entry.path, request, [&](auto start) {
        return answerAdmission(request, entry.kind, admit, [&](const AdmissionOutcome& outcome) {
          if (outcome.judged && observers_.admission) {
            observers_.admission(entry, outcome, secondsSince(start));
          }
          if (!outcome.allowed && observers_.denied) observers_.denied(entry, outcome);
        });
      });
    };
    const bool rendered = admission::isRendered(entry.kind.kind);
    routes_.emplace(entry.path, Route{kMaxAdmissionBody, false, handle, rendered ? kHeavyGraph : kHeavyBody,
                                      /*guarded=*/true});
  }
  const auto convert = [this](Request& request) {
    return observed(observers_, kConvertPath, request, [&](auto start) {
      return answerConversion(request, [&](const ConversionOutcome& outcome) {
        if (observers_.conversion) observers_.conversion(outcome, secondsSince(start));
        if (outcome.failed && observers_.conversionFailed) observers_.conversionFailed(outcome);
      });
    });
  };
  // Not guarded: API servers present a certificate for admission only.
  routes_.emplace(kConvertPath, Route{kMaxConversionBody, true, convert});
}

const Route* Routes::find(std::string_view path) const {
  const auto found = routes_.find(path);
  return found == routes_.end() ? nullptr : &found->second;
}

}  // namespace dynamo::webhook
