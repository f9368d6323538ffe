#pragma once
// The table tests/e2e/podrules-cases.json, which tests/e2e/test_podrules.py holds against a real API server.

#include <fstream>
#include <sstream>

#include "common/podrules/parts.h"
#include "support.h"
#include "tests/unit/source_dir.h"

namespace dynamo::podrules::test {

/// Every row of the table, those of Ingresses or all others.
inline json::Document cases(bool ingresses = false) {
  const std::string path = dynamo::test::sourceFile("tests/e2e/podrules-cases.json");
  std::ifstream file{path};
  std::stringstream text;
  text << file.rdbuf();
  json::Document rows = parsed(text.str());
  for (auto row = rows.Begin(); row != rows.End();) {
    row = (json::findText(&*row, "kind") == "Ingress") == ingresses ? row + 1 : rows.Erase(row);
  }
  return rows;
}

/// Members of `over` in place of those of `object`.
inline void overlay(json::Value& object, const json::Value* over, json::Allocator& allocator) {
  if (over == nullptr) return;
  for (const auto& member : over->GetObject()) {
    json::set(object, json::text(member.name), json::copy(member.value, allocator), allocator);
  }
}

inline json::Value podSpecOf(const json::Value& row, json::Allocator& allocator) {
  const json::Document base = parsed(R"({"containers":[{"name":"main","image":"i:1"}]})");
  json::Value spec = json::copy(base, allocator);
  overlay((*json::find(spec, "containers"))[0], json::find(row, "container"), allocator);
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

/// What the rules say of a row's object, with the paths that objects of its kind have.
inline validation::Findings judged(const json::Value& row) {
  json::Document scratch;
  auto& allocator = scratch.GetAllocator();
  validation::Findings findings;
  const Report report{findings};
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

}  // namespace dynamo::podrules::test
