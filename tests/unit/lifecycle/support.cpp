#include "support.h"

#include <algorithm>
#include <catch2/catch.hpp>

namespace dynamo::lifecycle::test {

const Time kNow = *parseTime(kNowText);

json::Document parsed(std::string text) {
  std::replace(text.begin(), text.end(), '\'', '"');
  json::Document document;
  const auto error = json::parse(text, document);
  INFO(text);
  INFO((error ? error->message() : ""));
  REQUIRE_FALSE(error.has_value());
  return document;
}

void mergePatch(json::Value& target, const json::Value& patch, json::Allocator& allocator) {
  if (!patch.IsObject()) {
    target = json::copy(patch, allocator);
    return;
  }
  if (!target.IsObject()) target.SetObject();
  for (const auto& member : patch.GetObject()) {
    const std::string_view name = json::text(member.name);
    if (member.value.IsNull()) {
      json::remove(target, name);
      continue;
    }
    if (json::find(target, name) == nullptr) json::set(target, name, json::Value{}, allocator);
    mergePatch(*json::findRaw(target, name), member.value, allocator);
  }
}

std::string conditionsOf(const json::Value& status) {
  std::string text;
  const json::Value* list = json::find(status, "conditions");
  if (list == nullptr) return text;
  for (const json::Value& condition : list->GetArray()) {
    const auto field = [&](const char* name) { return std::string{json::findText(&condition, name)}; };
    text += field("type") + '=' + field("status") + ' ' + field("reason") + ": " + field("message") + '\n';
  }
  return text;
}

std::string eventsOf(const std::vector<Event>& events) {
  std::string text;
  for (const Event& event : events) {
    text +=
        (event.type == Event::Type::Warning ? "Warning " : "Normal ") + event.reason + ": " + event.message;
    text += '\n';
  }
  return text;
}

std::string writesOf(const std::vector<Write>& writes) {
  std::string text;
  for (const Write& write : writes) {
    const bool scale = write.verb == Write::Verb::Scale;
    text += write.verb == Write::Verb::Patch ? "patch " : scale ? "scale " : "delete ";
    text += write.target.key.kind + '/' + write.target.key.name;
    if (!write.target.resourceVersion.empty()) text += '@' + write.target.resourceVersion;
    if (write.verb == Write::Verb::Patch) text += ' ' + json::dump(write.patch);
    if (scale) text += ' ' + std::to_string(write.replicas);
    text += '\n';
  }
  return text;
}

}  // namespace dynamo::lifecycle::test
