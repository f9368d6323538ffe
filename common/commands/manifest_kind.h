#pragma once
// Classifies a manifest for the offline commands.

#include <optional>
#include <vector>

#include "common/field/finding.h"
#include "common/schema/node.h"
#include "common/text/manifests.h"

namespace dynamo::commands {

struct ManifestKind {
  enum class Category {
    Dynamo,         ///< an object of one of Dynamo's kinds
    Configuration,  ///< an OperatorConfiguration
    OtherGroup,     ///< an object of another API group
    Invalid,        ///< an unknown kind or version that was probably meant to be one of Dynamo's
  };
  Category category = Category::OtherGroup;
  const schema::Node* node = nullptr;     ///< of a Dynamo object
  std::vector<field::FieldError> errors;  ///< of an Invalid object
};

ManifestKind classifyManifest(const text::Manifest& manifest);

}  // namespace dynamo::commands
