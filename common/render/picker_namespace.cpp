#include "common/render/picker_namespace.h"

#include <fmt/format.h>

#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/render/object.h"

namespace dynamo::render {
namespace {

using json::Value;

constexpr std::string_view kVariable = "DYN_NAMESPACE";

const Value* mainContainerOf(const Value* spec) {
  return json::findObject(json::findObject(spec, "extraPodSpec"), "mainContainer");
}

}  // namespace

bool followsWorkers(const Value& intent, std::string_view service) {
  const Value* spec = json::findObject(&intent, "spec");
  const Value* picker = json::findObject(json::findObject(spec, "services"), service);
  if (json::findText(picker, "componentType") != api::kEpp) return false;
  for (const Value* list :
       {json::find(spec, "envs"), json::find(picker, "envs"), json::find(mainContainerOf(picker), "env")}) {
    if (json::findNamed(list, kVariable) != nullptr) return false;
  }
  return true;
}

std::string workerNamespace(std::string_view dynamoNamespace, std::string_view hash) {
  return fmt::format("{}-{}", dynamoNamespace, hash);
}

void setPickerNamespace(const Component& picker, std::string_view hash, Value& spec, Origins* origins,
                        json::Allocator& allocator) {
  const json::Maker make{allocator};
  Value& pod = json::ensureObject(spec, "extraPodSpec", allocator);
  Value& main = json::ensureObject(pod, "mainContainer", allocator);
  Value& env = json::ensureList(main, "env", allocator);
  const std::string value = workerNamespace(picker.dynamoNamespace, hash);
  const field::Path list{"extraPodSpec.mainContainer.env"};
  for (rapidjson::SizeType i = 0; i < env.Size(); ++i) {
    if (json::findText(&env[i], "name") != kVariable) continue;
    env[i] = make.object("name", kVariable, "value", value);
    if (origins != nullptr) origins->byOperator(list[i], picker.path);
    return;
  }
  if (origins != nullptr) origins->byOperator(list[env.Size()], picker.path);
  env.PushBack(make.object("name", kVariable, "value", value), allocator);
}

std::string_view pickerNamespace(const Value& deployment) {
  const Value* main = mainContainerOf(json::findObject(&deployment, "spec"));
  return json::findText(json::findNamed(json::find(main, "env"), kVariable), "value");
}

}  // namespace dynamo::render
