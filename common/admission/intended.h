#pragma once
// The object that a manifest means although it has fields at wrong places, or names that API servers refuse.
// Rules that judge it instead of the manifest tell what else is wrong, and not what follows from these
// mistakes.

#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/schema/node.h"

namespace dynamo::admission {

class Intended {
 public:
  /// `kind`, `version`: those of `schema`.
  Intended(const schema::Node& schema, std::string_view kind, std::string_view version,
           const json::Value& object, json::Allocator& allocator);

  const json::Value& object() const { return object_; }
  /// The errors about unknown fields, about fields beside services, and about metadata. Paths are those of
  /// the manifest.
  std::vector<field::FieldError>& errors() { return errors_; }
  /// Moves findings about the intended object to the fields of the manifest.
  void tellAtManifest(field::Findings& findings) const;

 private:
  struct Move {
    field::Path from;
    field::Path to;
  };

  /// `found`: the errors of the schema.
  void moveStrayFields(const schema::Node& schema, const std::vector<field::FieldError>& found,
                       json::Allocator& allocator);

  json::Value object_;
  std::vector<field::FieldError> errors_;
  std::vector<Move> moves_;
};

}  // namespace dynamo::admission
