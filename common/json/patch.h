#pragma once
// RFC 6902 patches as admission answers need them: minimal, pointers escaped (RFC 6901).

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::json {

/// `name` as one reference token of a JSON pointer: "~" becomes "~0", "/" becomes "~1".
std::string escapePointer(std::string_view name);

/// Collects operations; dump() is the array's text. Nothing is written when nothing changed.
class Patch {
 public:
  Patch() : operations_(rapidjson::kArrayType) {}

  /// "add" at `pointer` (already escaped, token by token).
  void add(std::string_view pointer, const Value& value);
  void replace(std::string_view pointer, const Value& value);
  void remove(std::string_view pointer);

  bool empty() const { return operations_.Empty(); }
  std::string dump() const { return json::dump(operations_); }

 private:
  void append(std::string_view operation, std::string_view pointer, const Value* value);

  Document operations_;
};

/// The operations that turn `before` into `after`, `base` put before every pointer. Arrays that differ are
/// replaced whole unless only their tail grew.
void diff(const Value& before, const Value& after, const std::string& base, Patch& patch);

}  // namespace dynamo::json
