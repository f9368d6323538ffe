#pragma once
// The one table of kinds: what admission does with each. Routes of the webhook, rules and commands read it; a
// new kind is a new row.

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
  Components,  ///< of graphs and component deployments (defaults/apply.h)
  Request,     ///< of a DynamoGraphDeploymentRequest (defaults/dgdr.h)
};

struct Kind {
  std::string_view name;
  std::string_view apiVersion;  ///< the version that admission judges; API servers convert to it
  Defaults defaults;
  /// The rules beyond the schema; nullptr of requests, whose rules also read what conversion makes of them
  /// (request.h).
  field::Findings (*judge)(const rules::Request&);
  /// Renders the children and judges their pods; nullptr: the kind has no children that could be refused.
  field::Findings (*dryRender)(const json::Value&, const render::Context&);
  /// The rules, for `dynamo-webhook rules`.
  std::vector<field::Rule> (*rules)();
};

/// In the order of the documentation.
std::span<const Kind> kinds();

/// nullptr: admission has nothing to say of the kind.
const Kind* findKind(std::string_view name);

}  // namespace dynamo::admission
