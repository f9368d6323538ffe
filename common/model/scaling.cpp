#include "common/model/scaling.h"

namespace dynamo::model {
namespace {

bool isEnabled(const json::Value* block) {
  return json::findBool(block, "enabled").value_or(false);
}

}  // namespace

const json::Value* enabledAutoscaling(const json::Value& service, bool honoursAutoscaling) {
  const json::Value* autoscaling = json::findObject(&service, "autoscaling");
  return honoursAutoscaling && isEnabled(autoscaling) ? autoscaling : nullptr;
}

bool hasScalingAdapter(const json::Value& service, bool honoursAutoscaling) {
  return isEnabled(json::findObject(&service, "scalingAdapter")) ||
         enabledAutoscaling(service, honoursAutoscaling) != nullptr;
}

}  // namespace dynamo::model
