#pragma once
// The table of kinds and what admission does with each. The webhook's routes, the list of rules and the
// commands read it. A new kind is a new row.

#include <span>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/field/rule.h"
#include "common/json/value.h"
#include "common/render/context.h"
#include "common/rules/validators.h"

namespace dynamo::admission {

/// Which defaults admission writes into objects of a kind.
enum class Defaults {
  None,
  Components,    ///< of graphs and component deployments (defaults/apply.h)
  GraphRequest,  ///< of a DynamoGraphDeploymentRequest (defaults/dgdr.h)
};

struct Kind {
  std::string_view name;
  std::string_view apiVersion;  ///< the version that admission validates; API servers convert to it
  Defaults defaults;
  /// Validates the object beyond its schema; nullptr for requests, which dgdr.h validates.
  field::Findings (*judge)(const rules::Write&);
  /// Renders the children and checks their pods; nullptr when the kind has no children that can be rejected.
  field::Findings (*dryRender)(const json::Value&, const render::Context&);
  /// The rules, for `dynamo-webhook rules`.
  std::vector<field::Rule> (*rules)();
};

/// In the order of the documentation.
std::span<const Kind> kinds();

/// nullptr when admission does not handle the kind.
const Kind* findKind(std::string_view name);

}  // namespace dynamo::admission
