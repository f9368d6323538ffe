#pragma once
// Names of children.

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::render {

/// `x` with "-" for every "."; for kinds whose names may not hold dots, and for all references to them.
std::string dashed(std::string_view name);

/// "<graph>-<service in lower case>".
std::string componentName(std::string_view graph, std::string_view service);

/// Name of the DynamoComponentDeployment: components of worker types carry the hash when it is not empty.
std::string componentDeploymentName(std::string_view graph, std::string_view service,
                                    std::string_view componentType, std::string_view workerHash);

/// The namespace in Dynamo's own discovery: "dynamo" when global, else "<namespace>-<graph, dashed>".
std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph);

/// multinode.nodeCount, 1 when absent; not clamped.
long long nodeCount(const json::Value& component);

/// The first 8 hex digits of a model's SHA-256: label value and part of the model Service's name.
std::string modelHash(std::string_view model);

/// The queue of the KAI scheduler that a graph's annotations name, without space around it; else "dynamo".
std::string_view kaiQueue(const json::Value* annotations);

}  // namespace dynamo::render
