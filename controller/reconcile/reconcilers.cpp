#include "controller/reconcile/reconcilers.h"

#include <array>

#include "common/api/kinds.h"

namespace dynamo::controller {

std::span<const Reconciler> reconcilers() {
  static constexpr std::array<Reconciler, 3> kReconcilers = {{
      {api::kDynamoGraphDeployment, "dynamographdeployment", &reconcileGraph},
      {api::kDynamoComponentDeployment, "dynamocomponentdeployment", &reconcileComponent},
      {api::kDynamoGraphDeploymentScalingAdapter, "dgdscalingadapter", &reconcileScalingAdapter},
  }};
  return kReconcilers;
}

}  // namespace dynamo::controller
