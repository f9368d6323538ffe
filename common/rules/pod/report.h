#pragma once
// How the pod rules read values and write findings; nothing here knows a rule.

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/json/value.h"

namespace dynamo::rules::pod {

/// A place in an object, as a chain of stack frames: most places are never printed, so their text is only
/// made for a finding. A parent must outlive its children, hence no children of temporaries.
class At {
 public:
  explicit At(std::string_view root) : name_{root} {}

  At operator/(std::string_view field) const& { return At{this, field, Kind::Field, 0}; }
  At operator[](std::size_t index) const& { return At{this, {}, Kind::Index, index}; }
  /// "[key]", as in labels and resource names.
  At key(std::string_view key) const& { return At{this, key, Kind::Key, 0}; }
  At operator/(std::string_view field) const&& = delete;
  At operator[](std::size_t index) const&& = delete;
  At key(std::string_view key) const&& = delete;

  std::string text() const;

 private:
  enum class Kind { Field, Index, Key };

  At(const At* parent, std::string_view name, Kind kind, std::size_t index)
      : parent_{parent}, name_{name}, kind_{kind}, index_{index} {}

  const At* parent_ = nullptr;
  std::string_view name_;
  Kind kind_ = Kind::Field;
  std::size_t index_ = 0;
};

/// Where findings go.
class Report {
 public:
  explicit Report(field::Findings& findings) : findings_{findings} {}

  void required(const At& at, std::string_view rule, std::string detail = {}) const;
  void invalid(const At& at, std::string_view value, std::string detail, std::string_view rule) const;
  void invalid(const At& at, const json::Value& value, std::string detail, std::string_view rule) const;
  /// An error without the value: it is an object, or could hold a secret.
  void refused(const At& at, std::string detail, std::string_view rule) const;
  void forbidden(const At& at, std::string detail, std::string_view rule) const;
  void duplicate(const At& at, std::string_view value, std::string_view rule) const;
  void notFound(const At& at, std::string_view value, std::string detail, std::string_view rule) const;
  void tooLong(const At& at, std::size_t bytes, std::string_view rule) const;
  void warn(const At& at, std::string text, std::string_view rule) const;
  /// A field that API servers drop unless they are of `version` ("1.33") or newer.
  void needsVersion(const At& at, std::string_view version) const;
  /// A field that API servers drop unless `gate` is on, which it is not by default.
  void needsGate(const At& at, std::string_view gate) const;

  /// invalid() unless `problem` is empty.
  void check(const At& at, std::string_view value, const std::string& problem, std::string_view rule) const;
  /// The text must be one of `supported`; empty counts as absent.
  void oneOf(const At& at, std::string_view value, std::initializer_list<std::string_view> supported,
             std::string_view rule) const;
  /// oneOf() for fields that the API server knows to be given though empty: "" is no value of theirs.
  void oneOfGiven(const At& at, const json::Value* value, std::initializer_list<std::string_view> supported,
                  std::string_view rule) const;

 private:
  field::Findings& findings_;
};

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
