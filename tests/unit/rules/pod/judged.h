#pragma once
// What the pod rules say of a row of tests/e2e/pod-rules-cases.json.

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/rules/pod/parts.h"

namespace dynamo::rules::pod::test {

/// Members of `over` in place of those of `object`.
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

/// The findings have the paths that objects of the row's kind have.
inline field::Findings judged(const json::Value& row) {
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

/// "E <rule> <message>" and "W <rule> <message>", errors first, in the order of their paths.
inline std::vector<std::string> lines(field::Findings findings) {
  findings.sort();
  std::vector<std::string> said;
  for (const auto& error : findings.errors)
    said.push_back(fmt::format("E {} {}", error.rule, error.message()));
  std::vector<std::string> warnings;
  for (const auto& warning : findings.warnings) {
    warnings.push_back(fmt::format("W {} {}: {}", warning.rule, warning.field.text(), warning.text));
  }
  std::sort(warnings.begin(), warnings.end());
  said.insert(said.end(), warnings.begin(), warnings.end());
  return said;
}

}  // namespace dynamo::rules::pod::test
