#include "common/render/names.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"
#include "common/render/hash.h"

namespace dynamo::render {

std::string dashed(std::string_view name) {
  std::string made{name};
  std::replace(made.begin(), made.end(), '.', '-');
  return made;
}

std::string componentName(std::string_view graph, std::string_view service) {
  return std::string{graph} + '-' + k8s::lowerAscii(service);
}

std::string componentDeploymentName(std::string_view graph, std::string_view service,
                                    std::string_view componentType, std::string_view workerHash) {
  std::string name = componentName(graph, service);
  if (api::isWorkerType(componentType) && !workerHash.empty()) name.append("-").append(workerHash);
  return name;
}

std::string dynamoNamespace(bool global, std::string_view namespaceName, std::string_view graph) {
  return global ? "dynamo" : std::string{namespaceName} + '-' + dashed(graph);
}

long long nodeCount(const json::Value& component) {
  const json::Value* count = json::find(json::findObject(&component, "multinode"), "nodeCount");
  return count != nullptr && count->IsInt64() ? count->GetInt64() : 1;
}

std::string modelHash(std::string_view model) {
  return sha256Hex(model).substr(0, 8);
}

}  // namespace dynamo::render
