#pragma once
// The defaults of component types: components.yaml, which is compiled in, merged with the overlay of the
// site.

#include <string_view>

#include "common/json/value.h"

namespace dynamo::model {

/// The text of components.yaml.
std::string_view builtInDefaults();

/// The defaults of each component type. Immutable, so threads may share it.
class ComponentDefaults {
 public:
  /// `overlay` is `defaults` of OperatorConfiguration, in the format of components.yaml; nullptr if absent.
  explicit ComponentDefaults(const json::Value* overlay = nullptr);

  /// {"minReadySeconds", "preStop", "preStopEnv", "sharedMemory", "podSpec", "mainContainer"} of a component
  /// type. An unknown type has the `common` defaults. `env` is a map. Placeholders "${…}" are not
  /// substituted.
  const json::Value& of(std::string_view componentType) const;

  /// components.yaml merged with the overlay: {"userLists", "common", "types"}.
  const json::Value& merged() const { return merged_; }

  /// Whether the webhook adds default items to lists of the user (`userLists`). Rendering always does.
  bool completesUserLists() const { return json::findText(&merged_, "userLists") == "complete"; }

 private:
  json::Document document_;
  json::Value merged_;
  json::Value types_;  ///< type -> defaults of the type merged over common
};

/// Applies the JSON merge patch `patch` to `target` (RFC 7386).
void mergePatch(json::Value& target, const json::Value& patch, json::Allocator& allocator);

}  // namespace dynamo::model
