#pragma once

#include <string_view>

#include "common/config/operator_config.h"

namespace dynamo::config {

/// Settles which orchestrators are used, as the flag --pathway says: "deployment", "lws" or "grove"; "auto"
/// leaves the configuration and what is known of the cluster to decide.
void choosePathway(std::string_view pathway, OrchestratorsConfig& orchestrators);

}  // namespace dynamo::config
