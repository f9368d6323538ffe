#pragma once
// The runtime schema that dynamo-crdgen makes at build time (gen/embed.h says its form).

#include <string>

namespace dynamo::schema {

/// The text of the runtime schema.
std::string embeddedSchema();

}  // namespace dynamo::schema
