#pragma once
// Helpers of the pod rules that read values and write findings.

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

/// Makes a field::Report for each rule, because one function may check several rules.
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
/// oneOf() for pointer fields, in which the API server rejects an empty string, too.
void oneOfGiven(const field::Report& report, const At& at, const json::Value* value,
                std::initializer_list<std::string_view> supported);
/// Warns that API servers older than `version` ("1.33") drop the field.
void needsVersion(const Reports& report, const At& at, std::string_view version);
/// Warns that API servers drop the field unless the feature gate `gate` is on. It is off by default.
void needsGate(const Reports& report, const At& at, std::string_view gate);

/// The integer in a value (30.0 is one); nullopt for everything else.
std::optional<long long> integer(const json::Value* value);

/// Calls `each(item, place)` for every object in the list. The schema reports other items.
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
