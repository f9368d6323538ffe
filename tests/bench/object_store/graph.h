#pragma once
// Manifests of graphs as users write them.

#include <cstddef>
#include <string>

#include "tests/bench/object_store/random.h"

namespace dynamo::bench {

/// A DynamoGraphDeployment of four services. Each namespace has its own image, engine and conventions; each
/// graph has its own model, arguments, environment and sizes.
std::string graphManifest(std::size_t number, Random& random);

}  // namespace dynamo::bench
