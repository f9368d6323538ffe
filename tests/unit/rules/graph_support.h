#pragma once
// Graphs from their services, and the findings of the rules about them.

#include "common/rules/validators.h"
#include "support.h"

namespace dynamo::rules::test {

using Validate = Findings (*)(const Write&);

inline constexpr std::string_view kSomeone = "someone";

/// The findings about `text`. Without `old` it is a CREATE, otherwise an UPDATE of `old`. Warnings must be
/// short sentences.
inline std::string findingsOf(Validate validate, std::string_view text, std::string_view old = {},
                              const GraphPolicy& policy = {}, std::string_view username = kSomeone) {
  const json::Document now = object(text);
  json::Document before;
  if (!old.empty()) before = object(old);
  const Findings findings = validate({now, old.empty() ? nullptr : &before, username, policy});
  for (const Warning& warning : findings.warnings) {
    INFO(warning.message());
    // Warnings that are errors on CREATE keep their message.
    const bool wasError = warning.text.find(" value: ") != std::string::npos ||
                          warning.text.starts_with("Forbidden") || warning.text.starts_with("Not found") ||
                          warning.text.starts_with("Too long");
    CHECK((wasError || warning.text.size() < 100));
  }
  return lines(findings);
}

/// A graph "g" in "ns" with the members `spec` of the spec and further members `metadata`.
inline std::string graph(std::string_view spec, std::string_view metadata = {}, std::string_view name = "g") {
  return fmt::format(R"({{"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment",)"
                     R"("metadata":{{"name":"{}","namespace":"ns"{}{}}},"spec":{{{}}}}})",
                     name, metadata.empty() ? "" : ",", metadata, spec);
}

/// A graph with one service "a" with `members`, and further members `spec` of its spec.
inline std::string service(std::string_view members, std::string_view spec = {}) {
  return graph(fmt::format(R"("services":{{"a":{{{}}}}}{}{})", members, spec.empty() ? "" : ",", spec));
}

inline std::string annotated(std::string_view annotations, std::string_view spec = R"("services":{"a":{}})") {
  return graph(spec, fmt::format(R"("annotations":{{{}}})", annotations));
}

struct Row {
  std::string name;
  std::string object;
  std::string expected;
};

inline void check(const std::vector<Row>& rows, const GraphPolicy& policy = {}) {
  for (const Row& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(validateDgd, row.object, {}, policy) == row.expected);
  }
}

struct UpdateRow {
  std::string name;
  std::string old;
  std::string object;
  std::string expected;
};

inline void checkUpdates(const std::vector<UpdateRow>& rows, std::string_view username = kSomeone,
                         const GraphPolicy& policy = {}) {
  for (const UpdateRow& row : rows) {
    INFO(row.name);
    CHECK(findingsOf(validateDgd, row.object, row.old, policy, username) == row.expected);
  }
}

}  // namespace dynamo::rules::test
