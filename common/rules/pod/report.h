#pragma once
// How the pod rules read values and write findings; nothing here knows a rule.

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/field/report.h"
#include "common/json/value.h"

namespace dynamo::rules::pod {

using field::At;

/// A field::Report for each rule: one function of these rules tells of several.
class Reports {
 public:
  explicit Reports(field::Findings& findings) : findings_{findings} {}

  field::Report operator()(std::string_view rule) const { return {findings_, rule}; }

 private:
  field::Findings& findings_;
};

void tooLong(const field::Report& report, const At& at, std::size_t bytes);
/// The text must be one of `supported`; empty counts as absent.
void oneOf(const field::Report& report, const At& at, std::string_view value,
           std::initializer_list<std::string_view> supported);
/// oneOf() for fields that the API server knows to be given though empty: "" is no value of theirs.
void oneOfGiven(const field::Report& report, const At& at, const json::Value* value,
                std::initializer_list<std::string_view> supported);
/// Of a field that API servers drop unless they are of `version` ("1.33") or newer.
void needsVersion(const Reports& report, const At& at, std::string_view version);
/// Of a field that API servers drop unless `gate` is on, which it is not by default.
void needsGate(const Reports& report, const At& at, std::string_view gate);

/// The number of an integer value (30.0 is one); nullopt for everything else.
std::optional<long long> integer(const json::Value* value);

/// Calls `each(item, place)` for every object in the list; other items are the schema's business.
template <typename Each>
void forEach(const json::Value* list, const At& at, Each each) {
  if (list == nullptr || !list->IsArray()) return;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    if ((*list)[i].IsObject()) each((*list)[i], at[i]);
  }
}

/// Calls `each(text, place)` for every string in the list.
template <typename Each>
void forEachText(const json::Value* list, const At& at, Each each) {
  if (list == nullptr || !list->IsArray()) return;
  for (rapidjson::SizeType i = 0; i < list->Size(); ++i) {
    if ((*list)[i].IsString()) each(json::text((*list)[i]), at[i]);
  }
}

/// Calls `each(key, value, place)` for every member that is not null; the place is "[key]".
template <typename Each>
void forEachMember(const json::Value* map, const At& at, Each each) {
  if (map == nullptr || !map->IsObject()) return;
  for (const auto& member : map->GetObject()) {
    const std::string_view key = json::text(member.name);
    if (!member.value.IsNull()) each(key, member.value, at.key(key));
  }
}

}  // namespace dynamo::rules::pod
