#pragma once
// What an API server and other controllers add to objects: identity, defaults, field ownership and status.

#include <cstddef>
#include <string_view>
#include <vector>

#include "common/json/value.h"
#include "tests/bench/object_store/random.h"

namespace dynamo::bench {

/// Turns a graph as admission leaves it into a stored graph that kubectl has applied from `manifest`.
void storeGraph(json::Document& graph, std::string_view manifest, Random& random);

/// Turns a rendered child into a stored one.
void storeChild(json::Value& child, Random& random, json::Allocator& allocator);

/// The pods of a stored Deployment.
std::vector<json::Document> podsOf(const json::Value& deployment, Random& random);

}  // namespace dynamo::bench
