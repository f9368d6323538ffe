#pragma once
// How rules are written down: a table of rules, each with the function that finds what breaks it.

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/field/rule.h"
#include "common/json/value.h"

namespace dynamo::field {

/// Writes the findings of one rule, in apimachinery's words; the first kMostOfRule of them, as nobody reads
/// more and each costs a search in the old object.
class Report {
 public:
  static constexpr int kMostOfRule = 1000;

  Report(Findings& findings, std::string_view rule) : findings_(findings), rule_(rule) {}

  void required(std::string field, std::string detail) const;
  void invalid(std::string field, std::string_view value, std::string detail) const;
  void invalid(std::string field, const json::Value& value, std::string detail) const;
  /// An error without the value: it is a map or a list, or says nothing.
  void refused(std::string field, std::string detail) const;
  /// "supported values: …", and what was probably meant.
  void notSupported(std::string field, std::string_view value,
                    std::span<const std::string_view> supported) const;
  void forbidden(std::string field, std::string detail) const;
  void duplicate(std::string field, std::string_view value, std::string detail = {}) const;
  void notFound(std::string field, std::string_view value, std::string detail) const;
  /// `about`: what is too long, where the field alone does not say it.
  void tooLong(std::string field, std::string detail, std::string_view about = {}) const;
  /// One plain sentence: about 100 bytes, so that many fit into what an API server passes on.
  void warn(std::string field, std::string text) const;
  /// invalid() unless `problem` is empty.
  void check(std::string field, std::string_view value, const std::string& problem) const;

 private:
  void error(ErrorType type, std::string field, std::string shown, std::string detail) const;

  Findings& findings_;
  std::string_view rule_;
  mutable int left_ = kMostOfRule;
};

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

/// The rules of a table, for a constant beside it.
template <typename Subject, std::size_t N>
constexpr std::array<Rule, N> rulesIn(const std::array<Check<Subject>, N>& checks) {
  std::array<Rule, N> rules{};
  for (std::size_t i = 0; i < N; ++i) rules[i] = checks[i].rule;
  return rules;
}

// Reading

/// " (did you mean "x"?)" for the first words that one rule asks about, as comparing is dear.
class Suggestions {
 public:
  explicit Suggestions(std::span<const std::string_view> candidates) : candidates_(candidates) {}

  /// Empty when nothing is near.
  std::string operator()(std::string_view word);

 private:
  static constexpr int kMost = 5;

  std::span<const std::string_view> candidates_;
  int left_ = kMost;
};

/// Calls `each(item, i)` for every object in the list; other items are the schema's business.
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
