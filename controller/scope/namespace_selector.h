#pragma once
// The namespaceSelector of this operator's webhooks (adm-Q17). Pure.
//
// A selector may also contain requirements of the installation, which are kept. An annotation of the webhook
// configuration records the requirement of the controller, which distinguishes it from the others.

#include <string>
#include <string_view>
#include <vector>

#include "common/json/value.h"

namespace dynamo::controller {

/// The label of an operator's webhook configurations. Its value is the namespace of the operator.
inline constexpr std::string_view kOperatorNamespaceLabel = "nvidia.com/dynamo-operator-namespace";
/// The requirement that the controller has added to the selectors, as JSON.
inline constexpr std::string_view kSelectorAnnotation = "nvidia.com/dynamo-namespace-selector";

/// The namespaces that the webhooks serve.
struct ServedNamespaces {
  std::string only;                  ///< the namespace of a restricted operator; empty: all except `without`
  std::vector<std::string> without;  ///< sorted

  bool operator==(const ServedNamespaces&) const = default;
};

/// The Service of this operator's webhooks. Other operators in the same namespace have the same label.
struct WebhookService {
  std::string namespaceName;
  std::string name;  ///< empty: any
};

/// Returns the requirement of the controller, or null if none is needed.
json::Value selectorRequirement(const ServedNamespaces& served, json::Allocator& allocator);

/// Returns the namespaceSelector `current` with the requirement of the controller. `current` is nullptr if it
/// is absent. `recorded` is the requirement that was added before, or nullptr. In restricted mode other
/// requirements on the name of the namespace are removed.
json::Value wantedSelector(const json::Value* current, const json::Value* recorded,
                           const ServedNamespaces& served, json::Allocator& allocator);

/// Returns the JSON patch for a webhook configuration, or an empty text if nothing differs. The patch fails
/// with Conflict if the configuration has changed. Entries whose clientConfig names another Service are not
/// changed.
///
/// Server-side apply of the selectors would make the controller a co-owner of the entries. If the
/// installation then removes an entry with server-side apply, the API server keeps the name and the selector
/// of the entry and rejects it as invalid. A JSON patch owns only the field that it sets.
std::string selectorPatch(const json::Value& configuration, const ServedNamespaces& served,
                          const WebhookService& service);

}  // namespace dynamo::controller
