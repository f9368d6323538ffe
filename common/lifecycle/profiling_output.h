#pragma once
// What a profiling Job has left in its ConfigMap: a graph, objects that belong to it, and alternatives.
// Decisions life-Q12, life-Q18, life-Q36.

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/text/yaml.h"

namespace dynamo::lifecycle {

struct ProfilingOutput {
  /// The DynamoGraphDeployment as a Go client of the reference would write it: without nulls and unknown
  /// fields, with the empty status that Go adds.
  json::Value graph;
  std::vector<std::string> unknownFields;  ///< paths in the graph that no schema has, one line each
  std::vector<json::Value> additional;     ///< the documents of other kinds, in order
  json::Value pareto;                      ///< a list of {"config": object}; empty: none
};

/// Why there is no graph, in a text for users.
struct ProfilingProblem {
  std::string message;
  bool ofProfiler = false;  ///< the profiler or the copier reports it: profiling has failed
};

/// The most bytes of final_config.yaml. A ConfigMap holds no more.
inline constexpr std::size_t kMaxOutputBytes = std::size_t{1} << 20U;
/// The most documents of final_config.yaml. Profilers write three.
inline constexpr std::size_t kMaxOutputDocuments = 100;
/// The most bytes of a graph as YAML, and of a graph with its additional documents: the API server accepts
/// 256 KiB of annotations in all, of which some are left for those of others.
inline constexpr std::size_t kMaxGraphBytes = 240'000;
/// The most bytes of the alternatives as JSON. etcd stores up to 1.5 MiB of a request in all.
inline constexpr std::size_t kMaxParetoBytes = 500'000;
/// How much aliases may add to an output. Those of profilers repeat lists of a few values.
inline constexpr text::Expansion kOutputExpansion{100'000, std::size_t{1} << 20U};

/// Reads the ConfigMap of a Job that has completed. The last DynamoGraphDeployment counts. Text of any size
/// and content is read, or refused, within these limits; alternatives over theirs are left out.
std::variant<ProfilingOutput, ProfilingProblem> readProfilingOutput(const json::Value& configMap,
                                                                    json::Allocator& allocator);

/// The additional documents as one YAML text, with sorted members.
std::string additionalText(const ProfilingOutput& output);

}  // namespace dynamo::lifecycle
