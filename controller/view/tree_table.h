#pragma once
// The parts that the texts of all kinds share.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "controller/view/status_text.h"
#include "controller/view/status_tree.h"
#include "controller/view/table.h"

namespace dynamo::view {

/// Returns the age, or an empty text if the time is not known or ages are omitted.
std::string ageOf(std::optional<Time> since, const TextOptions& options);

/// Returns "1/2", or an empty cell.
Cell countsOf(const std::optional<Counts>& counts);

/// Returns the first cell of a line of a summary.
Cell label(std::string_view text);

/// Returns a head line and one line per node.
std::string treeText(const std::vector<Node>& nodes, const TextOptions& options);

}  // namespace dynamo::view
