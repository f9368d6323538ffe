#include "common/render/live_cliques.h"

#include <algorithm>

#include "common/json/build.h"

namespace dynamo::render {

using json::Value;

LiveCliques::LiveCliques(const Value* podCliqueSet)
    : template_(json::findObject(json::findObject(podCliqueSet, "spec"), "template")) {}

const Value* LiveCliques::clique(std::string_view name) const {
  return json::findNamed(json::find(template_, "cliques"), name);
}

const Value* LiveCliques::group(std::string_view name) const {
  return json::findNamed(json::find(template_, "podCliqueScalingGroups"), name);
}

std::string_view LiveCliques::startupType() const {
  return json::findText(template_, "cliqueStartupType");
}

std::optional<std::int64_t> LiveCliques::minAvailable(std::string_view name) const {
  const Value* value = json::find(json::findObject(clique(name), "spec"), "minAvailable");
  if (value == nullptr || !value->IsInt64()) return std::nullopt;
  return value->GetInt64();
}

std::vector<std::string_view> LiveCliques::order() const {
  std::vector<std::string_view> names;
  const Value* cliques = json::find(template_, "cliques");
  if (cliques == nullptr || !cliques->IsArray()) return names;
  for (const Value& each : cliques->GetArray()) names.push_back(json::findText(&each, "name"));
  return names;
}

std::vector<std::string_view> cliqueOrder(std::vector<std::string_view> names) {
  if (confusedCliques(names).empty()) return names;
  std::stable_sort(names.begin(), names.end(),
                   [](std::string_view a, std::string_view b) { return a.size() > b.size(); });
  return names;
}

std::vector<std::pair<std::string_view, std::string_view>> confusedCliques(
    const std::vector<std::string_view>& order) {
  std::vector<std::pair<std::string_view, std::string_view>> confused;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto first = std::find_if(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(i),
                                    [&](std::string_view name) { return order[i].ends_with(name); });
    if (first != order.begin() + static_cast<std::ptrdiff_t>(i)) confused.emplace_back(order[i], *first);
  }
  return confused;
}

}  // namespace dynamo::render
