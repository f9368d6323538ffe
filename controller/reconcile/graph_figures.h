#pragma once
// What the gauges say about graphs: why and since when a graph is not ready, its rolling update, and the
// replicas that it lacks.

#include <functional>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::controller {

/// A gauge with the label namespace and up to two others.
struct ObjectGauge {
  std::string_view name;
  std::string_view help;
  std::string_view labels[2] = {};  ///< empty: no such label
};

/// What an object adds to the series of a gauge that has these values of the other labels.
using AddFigure = std::function<void(const ObjectGauge&, std::string_view, std::string_view, double)>;

/// Calls `add` for each figure of a graph.
void addGraphFigures(const json::Value& graph, const AddFigure& add);

}  // namespace dynamo::controller
