#pragma once
// Finds the GPUs of the cluster: asks DCGM exporters, or reads the labels of nodes. Decisions life-Q17,
// life-Q28, life-Q40, life-Q43.

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/gpu/exporter_pods.h"
#include "common/gpu/inventory.h"
#include "common/gpu/request_hardware.h"
#include "common/lifecycle/ending.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"

namespace dynamo::controller {

/// How long what was found is used again. What was not found is looked for again.
inline constexpr std::chrono::seconds kInventoryTime{60};
/// The time for one exporter, and for all of them, which are asked at the same time.
inline constexpr std::chrono::seconds kExporterTime{5};
inline constexpr std::chrono::seconds kExportersTime{10};
/// This many exporters are asked at the same time.
inline constexpr std::size_t kExportersAtOnce = 64;

struct GpuDiscoveryOptions {
  std::vector<std::string> namespaces;  ///< of exporters
  std::string url{gpu::kMetricsUrl};    ///< gpu::exporterOf
  /// The operator may have rights in one namespace only. What it may not read is then left out; otherwise its
  /// roles are expected to arrive.
  bool restricted = false;
};

/// Must be used on the loop's thread. The loop and the client must outlive it and its tasks.
class GpuDiscovery {
 public:
  GpuDiscovery(runtime::EventLoop& loop, kube::Client& client, GpuDiscoveryOptions options);

  using Found = std::variant<std::shared_ptr<const gpu::Inventory>, lifecycle::Ending>;

  /// Returns what was found up to kInventoryTime ago, or looks for it. One look serves all that wait for it.
  /// Ending: the API server does not answer. An inventory without nodes says why.
  runtime::Task<Found> find();

 private:
  class Scrape;

  runtime::Task<Found> look();
  runtime::Task<std::vector<gpu::Exporter>> listExporters(gpu::Inventory& inventory);
  runtime::Task<void> ask(std::vector<gpu::Exporter> exporters, gpu::Inventory& inventory);
  runtime::Task<void> readLabels(gpu::Inventory& inventory);
  void failed(gpu::Inventory& inventory, const std::string& what, const kube::ApiError& error);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  GpuDiscoveryOptions options_;
  runtime::Notification looked_;
  bool looking_ = false;
  std::optional<Found> last_;
  std::chrono::steady_clock::time_point lastTime_;
  std::optional<lifecycle::Ending> passing_;  ///< a failure of the current look that may pass
};

}  // namespace dynamo::controller
