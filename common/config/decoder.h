#pragma once
// Decodes a JSON object into a struct, field by field, and reports unknown fields.

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

/// The known field paths of a document and its unknown fields. An unknown field may be a known setting in the
/// wrong section, so report() suggests the paths with the same or a similar name.
class KnownSettings {
 public:
  void addKnown(field::Path path) { known_.push_back(std::move(path)); }
  /// An unknown field at `path` whose name resembles no known field of the same object.
  void addUnknown(field::Path path, std::string name) {
    unknown_.emplace_back(std::move(path), std::move(name));
  }
  /// Adds a warning for each unknown field, with the suggested paths.
  void report(field::Findings& findings) const;

 private:
  std::vector<field::Path> known_;
  std::vector<std::pair<field::Path, std::string>> unknown_;
};

/// Decodes one object. An absent or null field leaves the C++ field unchanged (for durations null is an
/// error). A wrong type is an error at the field path. Names are case-sensitive. finish() reports each field
/// that was not read, with the most similar known name.
class ObjectDecoder {
 public:
  /// `names` may be nullptr. Otherwise it gets the known fields of all sections: an absent section is then
  /// decoded as an empty object.
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
  void read(std::string_view name, std::optional<std::vector<std::string>>& out);
  void read(std::string_view name, std::map<std::string, std::string>& out);

  /// The member `name` if it is an object. Any other value except null is an error.
  const json::Value* object(std::string_view name);

  /// Decodes the object member `name` with `decode(ObjectDecoder&)` and reports its unknown fields.
  template <typename Decode>
  void section(std::string_view name, Decode&& decode) {
    static const json::Value kEmptyObject{rapidjson::kObjectType};
    const json::Value* member = object(name);
    if (member == nullptr && names_ == nullptr) return;
    ObjectDecoder inner{member == nullptr ? kEmptyObject : *member, pathOf(name), findings_, names_};
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
