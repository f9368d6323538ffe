#pragma once
// Defaults of component types as data: components.yaml, compiled in, and a site's overlay over it.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// The text of components.yaml.
std::string_view builtInDefaults();

/// The defaults of each component type. Immutable once made; safe to share between threads.
class ComponentDefaults {
 public:
  /// `overlay`: OperatorConfiguration's `defaults`, same form as components.yaml; nullptr: none.
  explicit ComponentDefaults(const json::Value* overlay = nullptr);

  /// {"sharedMemory", "podSpec", "mainContainer"} of a type; of `common` alone for every other string. `env`
  /// is a map; "${…}" in strings is not yet filled in.
  const json::Value& of(std::string_view componentType) const;

  /// The whole page with the overlay applied: {"userLists", "common", "types"}.
  const json::Value& page() const { return page_; }

  /// Whether the webhook also completes lists that the user wrote (`userLists`); rendering always does.
  bool completesUserLists() const { return json::findText(&page_, "userLists") != "leave"; }

 private:
  json::Document document_;
  json::Value page_;
  json::Value types_;  ///< type -> common with the type laid over it
};

/// RFC 7386: lays `patch` over `target`.
void mergePatch(json::Value& target, const json::Value& patch, json::Allocator& allocator);

}  // namespace dynamo::model
