#pragma once
// The runtime schema, which dynamo-crdgen generates at build time. gen/embed.h describes its format.

#include <string>

namespace dynamo::schema {

/// The runtime schema as JSON text.
std::string embeddedSchema();

}  // namespace dynamo::schema
