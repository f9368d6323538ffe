#include "common/model/framework.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <array>
#include <vector>

#include "common/api/dynamo.h"

namespace dynamo::model {
namespace {

using json::Value;

struct CommandPattern {
  std::string_view framework;
  re2::RE2 expression;

  explicit CommandPattern(std::string_view name)
      : framework(name),
        expression(fmt::format(R"(python[0-9.]*\s+[^|&;]*-m\s+[^|&;]*dynamo\.{}[^|&;]*)", name)) {}
};

void appendWords(std::string& text, const Value* list) {
  if (list == nullptr || !list->IsArray()) return;
  for (const Value& item : list->GetArray()) {
    if (!text.empty()) text += ' ';
    text += json::text(item);
  }
}

std::vector<std::string_view> frameworksIn(const std::string& text) {
  static const std::array<CommandPattern, 3> kPatterns{CommandPattern{kVllm}, CommandPattern{kSglang},
                                                       CommandPattern{kTrtllm}};
  std::vector<std::string_view> found;
  for (const CommandPattern& pattern : kPatterns) {
    if (re2::RE2::PartialMatch(text, pattern.expression)) found.push_back(pattern.framework);
  }
  return found;
}

}  // namespace

Framework detectFramework(const Value& component, std::string_view explicitName) {
  Framework result;
  if (!api::isWorkerType(json::findText(&component, "componentType"))) return result;
  const Value* main = json::findObject(json::findObject(&component, "extraPodSpec"), "mainContainer");
  std::string text;
  appendWords(text, json::find(main, "command"));
  appendWords(text, json::find(main, "args"));
  const auto found = frameworksIn(text);
  if (found.size() == 1) {
    // Another name is an error of its own.
    const bool known = explicitName == kVllm || explicitName == kSglang || explicitName == kTrtllm;
    if (known && explicitName != found.front()) {
      result.error =
          fmt::format("the command runs {}, but backendFramework is {}", found.front(), explicitName);
    }
    result.name = found.front();
  } else if (!explicitName.empty()) {
    result.name = explicitName;
  } else if (found.size() > 1) {
    result.error = fmt::format("the command runs {} and {}: set backendFramework", found[0], found[1]);
  }
  return result;
}

}  // namespace dynamo::model
