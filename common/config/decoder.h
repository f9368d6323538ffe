#pragma once
// Reads a JSON object into a struct, field by field, and remembers which names are known.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/k8s/duration.h"

namespace dynamo::config {

/// The names of a whole document, and those that nobody asked for: a setting that stands in the wrong place
/// is known by its name.
class KnownSettings {
 public:
  void know(field::Path path) { known_.push_back(std::move(path)); }
  /// `path`: of a name that none of its neighbours is near to.
  void unknown(field::Path path, std::string name) {
    unknown_.emplace_back(std::move(path), std::move(name));
  }
  /// Warns of the unknown ones, with the places where a setting of such a name stands.
  void report(field::Findings& findings) const;

 private:
  std::vector<field::Path> known_;
  std::vector<std::pair<field::Path, std::string>> unknown_;
};

/// Decodes one object: absent and null leave a field as it is (durations: null
/// is an error); a wrong type is an error at its path; names are compared byte by byte. finish() reports
/// every name that no call asked for, with the closest of those asked for.
class ObjectDecoder {
 public:
  /// With `names`, absent sections are gone through as well, so that all names are known in the end.
  ObjectDecoder(const json::Value& object, field::Path path, field::Findings& findings,
                KnownSettings* names = nullptr)
      : object_(object), path_(std::move(path)), findings_(findings), names_(names) {}

  void read(std::string_view name, std::string& out);
  void read(std::string_view name, bool& out);
  void read(std::string_view name, std::optional<bool>& out);
  void read(std::string_view name, std::int32_t& out);
  void read(std::string_view name, std::int64_t& out);
  void read(std::string_view name, k8s::Duration& out);
  void read(std::string_view name, std::optional<k8s::Duration>& out);
  void read(std::string_view name, std::vector<std::string>& out);
  void read(std::string_view name, std::map<std::string, std::string>& out);

  /// The member `name` if it is an object; an error if it is something else.
  const json::Value* object(std::string_view name);

  /// Decodes the object member `name` with `decode(ObjectDecoder&)`, unknown names included.
  template <typename Decode>
  void section(std::string_view name, Decode&& decode) {
    static const json::Value kNothing{rapidjson::kObjectType};
    const json::Value* member = object(name);
    if (member == nullptr && names_ == nullptr) return;
    ObjectDecoder inner{member == nullptr ? kNothing : *member, pathOf(name), findings_, names_};
    decode(inner);
    inner.finish();
  }

  void finish();

 private:
  field::Path pathOf(std::string_view name) const;
  const json::Value* take(std::string_view name);
  void wrongType(field::Path path, const json::Value& value, std::string_view expected);
  std::optional<std::int64_t> integer(std::string_view name, std::int64_t lowest, std::int64_t highest);

  const json::Value& object_;
  field::Path path_;
  field::Findings& findings_;
  KnownSettings* names_;
  std::vector<std::string_view> known_;
};

}  // namespace dynamo::config
