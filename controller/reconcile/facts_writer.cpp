#include "controller/reconcile/facts_writer.h"

#include <fmt/format.h>

#include <chrono>
#include <variant>

#include "common/json/build.h"
#include "common/observability/log.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using namespace std::chrono_literals;
using kube::ApiError;
using runtime::Task;

constexpr log::Logger kLog{"facts"};
constexpr const char* kName = "dynamo-operator-facts";
constexpr const char* kKey = "facts.yaml";
/// The interval in which the ConfigMap is checked for changes by others.
constexpr std::chrono::seconds kCheckInterval{60};
constexpr std::chrono::seconds kRetry{5};

}  // namespace

std::string factsDocument(const render::Facts& facts) {
  std::string text = "apis:\n";
  for (std::size_t i = 0; i < render::kApiNames.size(); ++i) {
    const auto present = facts.api(static_cast<render::Api>(i));
    if (present) text += fmt::format("  {}: {}\n", render::kApiNames[i], *present);
  }
  return text;
}

Task<void> FactsWriter::writeIfAbsent() {
  const std::string error = co_await write(false);
  if (!error.empty()) kLog.warn("the ConfigMap with the facts was not written", {{"error", error}});
}

Task<void> FactsWriter::run() {
  while (!stopped_ && !loop_.stopping()) {
    const std::string error = co_await write(true);
    if (stopped_ || loop_.stopping()) break;
    if (!error.empty()) kLog.warn("the ConfigMap with the facts was not written", {{"error", error}});
    // A change during the requests notified nobody.
    if (error.empty() && factsDocument(facts_) != written_) continue;
    const auto pause = error.empty() ? kCheckInterval : kRetry;
    co_await changed_.wait(std::chrono::steady_clock::now() + pause);
  }
}

void FactsWriter::stop() {
  stopped_ = true;
  changed_.notify();
}

Task<std::string> FactsWriter::write(bool replace) {
  const std::string wanted = factsDocument(facts_);
  kube::CallOptions call{kube::Slots::Cluster};
  // Before this process leads it only creates what nobody has written.
  call.ungated = !replace;
  auto got = co_await client_.get(resourceOf("", "ConfigMap"), namespace_, kName, call);
  if (const auto* error = std::get_if<ApiError>(&got)) {
    if (error->reason != kube::Reason::NotFound) co_return error->message;
  } else if (json::findText(json::findObject(&std::get<json::Document>(got), "data"), kKey) == wanted) {
    written_ = wanted;
    co_return "";
  } else if (!replace) {
    co_return "";
  }
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  const json::Value object =
      make.object("apiVersion", "v1", "kind", "ConfigMap", "metadata",
                  make.object("name", kName, "namespace", namespace_), "data", make.object(kKey, wanted));
  kube::PatchOptions options;
  options.fieldManager = kFieldManager;
  auto written = co_await client_.patch(resourceOf("", "ConfigMap"), namespace_, kName,
                                        kube::PatchType::Apply, json::dump(object), options, call);
  if (const auto* error = std::get_if<ApiError>(&written)) co_return error->message;
  written_ = wanted;
  kLog.info("facts published", {{"namespace", namespace_}, {"name", kName}});
  co_return "";
}

}  // namespace dynamo::controller
