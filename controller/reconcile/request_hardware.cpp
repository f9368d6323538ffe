#include "controller/reconcile/request_hardware.h"

#include <utility>
#include <variant>

#include "common/render/profiler_config.h"
#include "controller/reconcile/gpu_discovery.h"

namespace dynamo::controller {

using lifecycle::Done;
using lifecycle::Ending;

runtime::Task<Ending> discoverHardware(Environment& environment, const json::Value& request,
                                       gpu::RequestHardware& hardware) {
  if (environment.gpus == nullptr || !render::needsDiscovery(request)) co_return Done{};
  if (!environment.config.discoversGpus()) {
    hardware.problem =
        gpu::hardwareProblem(request, "gpu.discoveryEnabled of the operator's configuration is false");
    co_return Done{};
  }
  auto found = co_await environment.gpus->find();
  if (auto* failed = std::get_if<Ending>(&found)) co_return std::move(*failed);
  hardware = gpu::hardwareFor(request, *std::get<std::shared_ptr<const gpu::Inventory>>(found));
  co_return Done{};
}

}  // namespace dynamo::controller
