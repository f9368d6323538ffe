#pragma once
// Who besides the webhook names a place of an object. What the webhook wrote has no owner in managedFields,
// so a named place holds what a user wants there.

#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::defaults {

/// A place in the claims on one object; goes down as one goes down the object.
class Claim {
 public:
  Claim member(std::string_view name) const;
  /// The item of a list whose member `key` is `name`.
  Claim item(std::string_view key, std::string_view name) const;
  /// The item of a list of ports. A list in last-applied-configuration names all of them.
  Claim port(const json::Value& port) const;

  /// A manager in managedFields names the place, be it only with a null.
  bool managed() const { return !managers_.empty(); }
  /// A manager, or a value in last-applied-configuration.
  bool named() const { return managed() || applied_ != nullptr; }

 private:
  friend class Claims;
  std::vector<const json::Value*> managers_;  ///< FieldsV1 below the place, of each manager that names it
  const json::Value* applied_ = nullptr;
};

/// Holds what claims point into: kubectl's annotation is parsed, managedFields stay in `object`.
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
