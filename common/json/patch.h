#pragma once
// JSON patches (RFC 6902) for admission answers, with escaped pointers (RFC 6901).

#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::json {

/// `name` as one reference token of a JSON pointer: "~" becomes "~0", "/" becomes "~1".
std::string escapePointer(std::string_view name);

/// Collects operations. dump() returns the JSON array.
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

/// Adds the operations that change `before` into `after`. `base` is the prefix of every pointer. An array
/// that differs is replaced as a whole unless items were only appended.
void diff(const Value& before, const Value& after, const std::string& base, Patch& patch);

}  // namespace dynamo::json
