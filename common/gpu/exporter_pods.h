#pragma once
// Which pods are DCGM exporters, and where their metrics are. Decision life-Q40.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/json/value.h"

namespace dynamo::gpu {

/// Label selectors of the exporters of NVIDIA's GPU operator and of the exporter's own chart.
inline constexpr std::array<std::string_view, 3> kExporterSelectors = {
    "app=nvidia-dcgm-exporter", "app=dcgm-exporter", "app.kubernetes.io/name=dcgm-exporter"};

/// The URL of the metrics. {POD_IP} stands for the address of the pod, an IPv6 address in brackets.
inline constexpr std::string_view kMetricsUrl = "http://{POD_IP}:9400/metrics";

struct Exporter {
  std::string pod;   ///< "namespace/name"
  std::string node;  ///< spec.nodeName
  std::string url;
};

/// The parts of a URL http://ADDRESS[:PORT][/PATH].
struct MetricsAddress {
  std::string address;  ///< without brackets
  std::uint16_t port = 80;
  std::string path = "/";
};

/// nullopt if the URL has another form.
std::optional<MetricsAddress> parseMetricsUrl(std::string_view url);

/// The exporter in a pod; nullopt unless it is a running pod of a DaemonSet with an address.
std::optional<Exporter> exporterOf(const json::Value& pod, std::string_view urlTemplate = kMetricsUrl);

}  // namespace dynamo::gpu
