// The list of rules, compared with the findings of the table.

#include <map>
#include <set>

#include "cases.h"

namespace dynamo::rules::pod::test {
namespace {

using field::Severity;

TEST_CASE("ids are kebab-case and unique") {
  std::set<std::string_view> ids;
  for (const field::Rule& rule : podRules()) {
    INFO(rule.id);
    CHECK(ids.insert(rule.id).second);
    CHECK((rule.id.starts_with("pod.") || rule.id.starts_with("pvc.") || rule.id.starts_with("job.")));
    CHECK(rule.id.find_first_not_of("abcdefghijklmnopqrstuvwxyz.-") == std::string_view::npos);
    CHECK(!rule.summary.empty());
    CHECK(rule.summary.size() <= 80);
    CHECK(rule.summary.back() != '.');
  }
}

TEST_CASE("every finding belongs to a listed rule, and every rule has a row") {
  std::map<std::string_view, Severity> listed;
  for (const field::Rule& rule : podRules()) listed[rule.id] = rule.severity;
  std::set<std::string> seen;
  const json::Document rows = cases();
  for (const json::Value& row : rows.GetArray()) {
    const field::Findings findings = findingsOf(row);
    for (const auto& error : findings.errors) {
      INFO(error.rule);
      CHECK((listed.contains(error.rule) && listed[error.rule] == Severity::Error));
      CHECK(!error.field.empty());
      seen.insert(error.rule);
    }
    for (const auto& warning : findings.warnings) {
      INFO(warning.rule);
      CHECK((listed.contains(warning.rule) && listed[warning.rule] == Severity::Warning));
      seen.insert(warning.rule);
    }
  }
  for (const auto& [id, severity] : listed) {
    INFO(id);
    CHECK(seen.contains(std::string{id}));
  }
}

}  // namespace
}  // namespace dynamo::rules::pod::test
