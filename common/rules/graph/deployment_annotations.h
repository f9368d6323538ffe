#pragma once
// Annotations of services that become parts of Deployments.

#include "common/rules/graph/graph.h"

namespace dynamo::rules {

/// Checks max-surge and max-unavailable.
void rollingUpdate(const Service& service, const Report& report);

void minReadySeconds(const Service& service, const Report& report);

void deploymentStrategy(const Service& service, const Report& report);

}  // namespace dynamo::rules
