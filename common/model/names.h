#pragma once
// Names of children.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// `x` with "-" for every "."; for kinds whose names may not hold dots, and for all references to them.
std::string dashed(std::string_view name);

/// "<graph>-<service in lower case>".
std::string componentName(std::string_view graph, std::string_view service);

/// Name of the DynamoComponentDeployment: components of worker types carry the hash when it is not empty.
std::string componentDeploymentName(std::string_view graph, std::string_view service,
                                    std::string_view componentType, std::string_view workerHash);

/// The queue of the KAI scheduler that a graph's annotations name, without space around it; else "dynamo".
std::string_view kaiQueue(const json::Value* annotations);

}  // namespace dynamo::model
