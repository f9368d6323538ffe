#pragma once
// The GPUs of a cluster, and which of them a DynamoGraphDeploymentRequest is told of. Decisions life-Q1,
// life-Q41.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/gpu/exporter_metrics.h"
#include "common/json/value.h"
#include "common/render/fact_index.h"

namespace dynamo::gpu {

enum class Source {
  Exporters,  ///< the metrics of DCGM exporters
  NodeLabels  ///< the labels that GPU feature discovery gives to nodes
};

/// What one discovery has found.
struct Inventory {
  Source source = Source::Exporters;
  std::vector<GpuNode> nodes;           ///< one entry a node
  std::vector<std::string> namespaces;  ///< whose pods could be listed
  std::size_t exporters = 0;            ///< pods of exporters in them
  bool labelsRead = false;              ///< whether the nodes could be listed
  std::vector<std::string> problems;    ///< what could not be read, one line each
};

/// The value of spec.hardware.gpuSku for a model, such as "h100_sxm" for "NVIDIA H100 80GB HBM3"; the model
/// itself if there is none.
std::string skuOf(std::string_view model);

/// The GPUs that the labels of a Node tell of; nullopt if a label is missing or is no positive number.
std::optional<GpuNode> nodeOfLabels(const json::Value& node);

/// Adds the node unless there is one of this name: two exporters may run on it.
void addNode(Inventory& inventory, GpuNode node);

/// What is chosen for a request.
struct Choice {
  GpuNode node;             ///< the one with the most GPUs, then with the most memory, then the first
  bool asRequested = true;  ///< whether it has GPUs of the request's gpuSku, if this is set
  std::size_t alike = 0;    ///< nodes with GPUs of the same gpuSku
  long long inTotal = 0;    ///< their GPUs
  render::HardwareFact hardware;
};

/// The most GPUs that a request is told of. Profiling tries deployments of up to this size.
inline constexpr long long kMaxTotalGpus = 32;

/// Chooses among the nodes of `gpuSku`, or among all if it is empty or no node has it. nullopt: there are
/// none.
std::optional<Choice> choose(const Inventory& inventory, std::string_view gpuSku);

/// The message of a condition: what was chosen, and where it was found.
std::string foundText(const Inventory& inventory, const Choice& choice, std::string_view gpuSku);
/// The same if no node has GPUs: where they were looked for.
std::string notFoundText(const Inventory& inventory);

}  // namespace dynamo::gpu
