#pragma once
// What a manifest is to the offline commands.

#include <optional>
#include <vector>

#include "common/field/finding.h"
#include "common/schema/node.h"
#include "common/text/manifests.h"

namespace dynamo::webhook {

struct ManifestKind {
  enum class Is {
    Ours,           ///< an object of one of our kinds
    Configuration,  ///< an OperatorConfiguration
    Foreign,        ///< somebody else's
    Wrong,          ///< no API server has such a kind, and one of ours was probably meant
  };
  Is is = Is::Foreign;
  const schema::Node* node = nullptr;     ///< of ours
  std::vector<field::FieldError> errors;  ///< of what is wrong
};

ManifestKind kindOf(const text::Manifest& manifest);

}  // namespace dynamo::webhook
