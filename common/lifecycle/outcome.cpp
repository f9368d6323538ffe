#include "common/lifecycle/outcome.h"

#include "common/lifecycle/conditions.h"

namespace dynamo::lifecycle {

using json::Value;

Reference referenceTo(const Value& object, bool atThisVersion) {
  const Value* metadata = json::find(object, "metadata");
  Reference made;
  made.key = k8s::keyOf(object);
  made.uid = json::findText(metadata, "uid");
  if (atThisVersion) made.resourceVersion = json::findText(metadata, "resourceVersion");
  return made;
}

Write patchOf(const Value& object, Value&& patch, bool atThisVersion) {
  return {Write::Verb::Patch, referenceTo(object, atThisVersion), std::move(patch), 0};
}

Write deletionOf(const Value& object) {
  return {Write::Verb::Delete, referenceTo(object), Value{}, 0};
}

Event warning(std::string_view reason, std::string_view message) {
  return {Event::Type::Warning, std::string{reason}, shortened(message, kMaxEventMessage)};
}

Event normal(std::string_view reason, std::string_view message) {
  return {Event::Type::Normal, std::string{reason}, shortened(message, kMaxEventMessage)};
}

void setStatus(Outcome& outcome, const Value& object, Value&& status) {
  const Value* stored = json::findObject(&object, "status");
  if (stored != nullptr && json::equal(*stored, status)) return;
  outcome.status = std::move(status);
}

}  // namespace dynamo::lifecycle
