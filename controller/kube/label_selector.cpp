#include "controller/kube/label_selector.h"

#include <algorithm>

namespace dynamo::kube {

std::string LabelSelector::text() const {
  std::string out;
  for (const LabelRequirement& each : requirements) {
    if (!out.empty()) out += ',';
    if (each.op == LabelRequirement::Operator::DoesNotExist) out += '!';
    out += each.key;
    if (each.op == LabelRequirement::Operator::Equals) out.append("=").append(each.value);
  }
  return out;
}

bool LabelSelector::matches(const json::Value& object) const {
  const json::Value* labels = json::findObject(json::find(&object, "metadata"), "labels");
  return std::all_of(requirements.begin(), requirements.end(), [&](const LabelRequirement& each) {
    const json::Value* value = json::find(labels, each.key);
    switch (each.op) {
      case LabelRequirement::Operator::Exists:
        return value != nullptr;
      case LabelRequirement::Operator::DoesNotExist:
        return value == nullptr;
      case LabelRequirement::Operator::Equals:
        return value != nullptr && json::text(*value) == each.value;
    }
    return false;
  });
}

LabelRequirement hasLabel(std::string key) {
  return {std::move(key), LabelRequirement::Operator::Exists, {}};
}

LabelRequirement lacksLabel(std::string key) {
  return {std::move(key), LabelRequirement::Operator::DoesNotExist, {}};
}

}  // namespace dynamo::kube
