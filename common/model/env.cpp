#include "common/model/env.h"

#include <algorithm>
#include <functional>
#include <string_view>
#include <utility>

namespace dynamo::model {

using json::Allocator;
using json::Value;

std::vector<const Value*> mergedEnv(std::initializer_list<const Value*> layers) {
  using Named = std::pair<std::string_view, const Value*>;
  std::vector<Named> all;
  for (const Value* layer : layers) {
    if (layer == nullptr || !layer->IsArray()) continue;
    for (const Value& variable : layer->GetArray()) {
      if (variable.IsObject()) all.emplace_back(json::findText(&variable, "name"), &variable);
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Named& a, const Named& b) { return a.first < b.first; });
  std::vector<const Value*> merged;
  merged.reserve(all.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool last = i + 1 == all.size() || all[i + 1].first != all[i].first;
    if (last) merged.push_back(all[i].second);
  }
  return merged;
}

Value copyEnv(const std::vector<const Value*>& variables, Allocator& allocator) {
  Value merged{rapidjson::kArrayType};
  merged.Reserve(static_cast<rapidjson::SizeType>(variables.size()), allocator);
  for (const Value* variable : variables) merged.PushBack(json::copy(*variable, allocator), allocator);
  return merged;
}

void recordEnv(const std::vector<const Value*>& variables, std::initializer_list<EnvLayer> layers,
               const field::Path& at, Origins& origins) {
  const auto isIn = [](const Value* variable, const Value* list) {
    return list != nullptr && list->IsArray() && std::less_equal<>{}(list->Begin(), variable) &&
           std::less<>{}(variable, list->End());
  };
  for (std::size_t i = 0; i < variables.size(); ++i) {
    for (const EnvLayer& layer : layers) {
      if (!isIn(variables[i], layer.list)) continue;
      Origin origin = layer.origin;
      const bool operators = origin.source == Origin::Source::Operator;
      if (!operators) {
        origin.field.appendIndex(layer.first + static_cast<std::size_t>(variables[i] - layer.list->Begin()));
      }
      origins.set(at[i], std::move(origin));
    }
  }
}

}  // namespace dynamo::model
