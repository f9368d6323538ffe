#pragma once
// Reads the metrics of a DCGM exporter, in Prometheus' text format.

#include <cstddef>
#include <string>
#include <string_view>
#include <variant>

namespace dynamo::gpu {

/// The GPUs of a node.
struct GpuNode {
  std::string name;
  std::string model;  ///< as NVIDIA names it, such as "NVIDIA H100 80GB HBM3"; empty if unknown
  long long gpus = 0;
  double vramMb = 0;  ///< memory of one GPU in MiB, of the largest; 0 if unknown

  bool operator==(const GpuNode&) const = default;
};

/// The maximum size of the metrics of one exporter.
inline constexpr std::size_t kMaxMetricsBytes = std::size_t{1} << 20U;
/// The maximum number of GPUs that one exporter may report.
inline constexpr std::size_t kMaxGpusOfNode = 1024;
/// Longer names of models and nodes are cut. They appear in conditions.
inline constexpr std::size_t kMaxNameBytes = 128;

/// The node that the metrics describe, or an error in one line. Only four gauges are parsed; other lines may
/// be anything. A gauge that is malformed is an error with its line number.
std::variant<GpuNode, std::string> parseExporterMetrics(std::string_view text);

}  // namespace dynamo::gpu
