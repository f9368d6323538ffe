#include "common/model/names.h"

#include <algorithm>

#include "common/api/dynamo.h"
#include "common/k8s/names.h"

namespace dynamo::model {

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

std::string_view kaiQueue(const json::Value* annotations) {
  constexpr std::string_view kSpace = " \t\n\r\v\f";
  const std::string_view text = json::findText(annotations, api::annotation::kKaiQueue);
  const std::size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return "dynamo";
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

}  // namespace dynamo::model
