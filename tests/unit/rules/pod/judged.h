#pragma once
// The findings of the pod rules about a row of tests/e2e/pod-rules-cases.json.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/rules/pod/parts.h"

namespace dynamo::rules::pod::test {

/// Replaces members of `object` by those of `over`.
inline void overlay(json::Value& object, const json::Value* over, json::Allocator& allocator) {
  if (over == nullptr) return;
  for (const auto& member : over->GetObject()) {
    json::set(object, json::text(member.name), json::copy(member.value, allocator), allocator);
  }
}

inline json::Value podSpecOf(const json::Value& row, json::Allocator& allocator) {
  json::Value main{rapidjson::kObjectType};
  json::set(main, "name", json::string("main", allocator), allocator);
  json::set(main, "image", json::string("i:1", allocator), allocator);
  overlay(main, json::find(row, "container"), allocator);
  json::Value containers{rapidjson::kArrayType};
  containers.PushBack(std::move(main), allocator);
  json::Value spec{rapidjson::kObjectType};
  json::set(spec, "containers", std::move(containers), allocator);
  if (json::findText(&row, "kind") == "Job") {
    json::set(spec, "restartPolicy", json::string("Never", allocator), allocator);
  }
  overlay(spec, json::find(row, "podSpec"), allocator);
  return spec;
}

inline json::Value podTemplateOf(const json::Value& row, json::Allocator& allocator) {
  if (const json::Value* whole = json::find(row, "template")) return json::copy(*whole, allocator);
  json::Value podTemplate{rapidjson::kObjectType};
  overlay(json::ensureObject(podTemplate, "metadata", allocator), json::find(row, "metadata"), allocator);
  json::set(podTemplate, "spec", podSpecOf(row, allocator), allocator);
  return podTemplate;
}

/// The findings about a row, with the field paths of the row's kind.
inline field::Findings findingsOf(const json::Value& row) {
  json::Document scratch;
  auto& allocator = scratch.GetAllocator();
  field::Findings findings;
  const Reports report{findings};
  std::string kind{json::findText(&row, "kind")};
  if (kind.empty()) {
    const json::Value whole = podTemplateOf(row, allocator);
    podTemplate(report, &whole, At{"spec.template"}, Workload::Service);
  } else if (kind == "Pod") {
    podSpec(report, podSpecOf(row, allocator), At{"spec"}, Workload::Service);
  } else if (kind == "Job") {
    json::Value spec{rapidjson::kObjectType};
    json::set(spec, "template", podTemplateOf(row, allocator), allocator);
    overlay(spec, json::find(row, "jobSpec"), allocator);
    jobSpec(report, spec, At{"spec"});
  } else if (kind == "PersistentVolumeClaim") {
    pvcSpec(report, json::find(row, "spec"), At{"spec"});
  }
  return findings;
}

/// Lines "E <rule> <message>" and "W <rule> <message>", errors first, sorted by path.
inline std::vector<std::string> lines(field::Findings findings) {
  findings.sort();
  std::vector<std::string> printed;
  for (const auto& error : findings.errors)
    printed.push_back(fmt::format("E {} {}", error.rule, error.message()));
  std::vector<std::string> warnings;
  for (const auto& warning : findings.warnings) {
    warnings.push_back(fmt::format("W {} {}: {}", warning.rule, warning.field.text(), warning.text));
  }
  std::sort(warnings.begin(), warnings.end());
  printed.insert(printed.end(), warnings.begin(), warnings.end());
  return printed;
}

}  // namespace dynamo::rules::pod::test
