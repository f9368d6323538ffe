#include "common/render/env.h"

#include <string_view>

#include "common/json/build.h"

namespace dynamo::render {

using json::Allocator;
using json::Value;

bool hasEnv(const Value& container, std::string_view name) {
  return json::findNamed(json::find(container, "env"), name) != nullptr;
}

bool appendEnv(Value& container, Value&& variable, Allocator& allocator) {
  if (hasEnv(container, json::findText(&variable, "name"))) return false;
  json::ensureList(container, "env", allocator).PushBack(variable, allocator);
  return true;
}

}  // namespace dynamo::render
