#pragma once
// What a profiling Job has left in its ConfigMap: a graph, objects that belong to it, and alternatives.
// Decisions life-Q12, life-Q18.

#include <string>
#include <variant>
#include <vector>

#include "common/json/value.h"

namespace dynamo::lifecycle {

struct ProfilingOutput {
  /// The DynamoGraphDeployment as a Go client of the reference would write it: without nulls and unknown
  /// fields, with the empty status that Go adds.
  json::Value graph;
  std::vector<std::string> unknownFields;  ///< paths in the graph that no schema has
  std::vector<json::Value> additional;     ///< the documents of other kinds, in order
  json::Value pareto;                      ///< a list of {"config": object}; empty: none
};

/// Why there is no graph, in a text for users.
struct ProfilingProblem {
  std::string message;
  bool ofProfiler = false;  ///< the profiler or the copier reports it: profiling has failed
};

/// The largest text of additional resources that a request keeps in an annotation.
inline constexpr std::size_t kMaxAdditionalBytes = 250'000;

/// Reads the ConfigMap of a Job that has completed. Text of any size and content is read within the limits of
/// text::parseDocuments. The last DynamoGraphDeployment counts.
std::variant<ProfilingOutput, ProfilingProblem> readProfilingOutput(const json::Value& configMap,
                                                                    json::Allocator& allocator);

/// The additional documents as one YAML text, with sorted members.
std::string additionalText(const ProfilingOutput& output);

}  // namespace dynamo::lifecycle
