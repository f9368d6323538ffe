#pragma once
// Tables of rules. Each rule has a function that finds its violations.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/report.h"
#include "common/field/rule.h"
#include "common/json/value.h"

namespace dynamo::field {

template <typename Subject>
struct Check {
  Rule rule;
  void (*run)(const Subject&, const Report&);
};

template <typename Subject>
void runChecks(std::span<const Check<Subject>> checks, const Subject& subject, Findings& findings) {
  for (const Check<Subject>& check : checks) check.run(subject, Report{findings, check.rule.id});
}

template <typename Subject>
void addRules(std::span<const Check<Subject>> checks, std::vector<Rule>& rules) {
  for (const Check<Subject>& check : checks) rules.push_back(check.rule);
}

/// The rules of a table as a constant.
template <typename Subject, std::size_t N>
constexpr std::array<Rule, N> rulesIn(const std::array<Check<Subject>, N>& checks) {
  std::array<Rule, N> rules{};
  for (std::size_t i = 0; i < N; ++i) rules[i] = checks[i].rule;
  return rules;
}

// Helpers to read objects

/// Makes " (did you mean "x"?)" for the first few words of a rule only, because the comparison is expensive.
class Suggestions {
 public:
  explicit Suggestions(std::span<const std::string_view> candidates) : candidates_(candidates) {}

  /// Returns an empty string if no candidate is similar.
  std::string operator()(std::string_view word);

 private:
  static constexpr int kMaxWords = 5;

  std::span<const std::string_view> candidates_;
  int left_ = kMaxWords;
};

/// Calls `each(item, i)` for every object in the list. The schema reports other items.
template <typename Each>
void forEachObject(const json::Value* list, Each each) {
  if (list == nullptr || !list->IsArray()) return;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    if ((*list)[i].IsObject()) each((*list)[i], static_cast<std::size_t>(i));
  }
}

/// Calls `each(key, value)` for every member that is not null.
template <typename Each>
void forEachMember(const json::Value* map, Each each) {
  if (map == nullptr || !map->IsObject()) return;
  for (const auto& member : map->GetObject()) {
    if (!member.value.IsNull()) each(json::text(member.name), member.value);
  }
}

inline bool isEmptyList(const json::Value* list) {
  return list == nullptr || !list->IsArray() || list->Empty();
}

}  // namespace dynamo::field
