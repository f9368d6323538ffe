#pragma once
// The field reference, deploy/crds/FIELDS.md.

#include <string>

#include "common/schema/gen/model.h"

namespace dynamo::schema::gen {

/// A Markdown page with one table per kind, version and shared type.
std::string makeReference(const Model& model);

}  // namespace dynamo::schema::gen
