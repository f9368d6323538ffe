#pragma once
// The fields of an object that are claimed: a field manager owns them, or last-applied-configuration has
// them. Values that the webhook wrote have no owner in managedFields, so a claimed field belongs to the user.

#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::defaults {

/// The claims on one field and the fields below it.
class Claim {
 public:
  Claim member(std::string_view name) const;
  /// The claims on the list item whose member `key` is `name`.
  Claim item(std::string_view key, std::string_view name) const;
  /// The claims on an item of a list of ports. A list in last-applied-configuration claims all of its items.
  Claim port(const json::Value& port) const;

  /// Whether a field manager owns the field. It may own the field with a null value.
  bool managed() const { return !managers_.empty(); }
  /// Whether a field manager owns the field or last-applied-configuration has it.
  bool named() const { return managed() || applied_ != nullptr; }

 private:
  friend class Claims;
  std::vector<const json::Value*> managers_;  ///< FieldsV1 below the field, of each manager that owns it
  const json::Value* applied_ = nullptr;
};

/// The claims on an object. Refers to the managedFields of `object` and owns the parsed
/// last-applied-configuration.
class Claims {
 public:
  explicit Claims(const json::Value& object);
  Claims(const Claims&) = delete;
  Claims& operator=(const Claims&) = delete;

  const Claim& root() const { return root_; }

 private:
  json::Document applied_;
  Claim root_;
};

}  // namespace dynamo::defaults
