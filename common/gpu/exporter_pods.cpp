#include "common/gpu/exporter_pods.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "common/k8s/names.h"
#include "common/k8s/object.h"

namespace dynamo::gpu {
namespace {

constexpr std::string_view kPlaceholder = "{POD_IP}";

bool isOfDaemonSet(const json::Value& pod) {
  const json::Value* controller = k8s::controllerOf(pod);
  return controller != nullptr && json::findText(controller, "kind") == "DaemonSet" &&
         json::findText(controller, "apiVersion").starts_with("apps/");
}

}  // namespace

std::optional<MetricsAddress> parseMetricsUrl(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) return std::nullopt;
  url.remove_prefix(kScheme.size());
  MetricsAddress parsed;
  const std::size_t slash = std::min(url.find('/'), url.size());
  if (slash < url.size()) parsed.path = url.substr(slash);
  // One that is malformed would break the request line.
  if (std::any_of(parsed.path.begin(), parsed.path.end(), [](char c) { return c <= ' ' || c > '~'; }))
    return std::nullopt;
  std::string_view host = url.substr(0, slash);
  std::string_view port;
  const std::size_t bracket = host.find(']');
  const std::size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  if (colon != std::string_view::npos) {
    port = host.substr(colon + 1);
    host = host.substr(0, colon);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), parsed.port);
    if (error != std::errc{} || end != port.data() + port.size() || parsed.port == 0) return std::nullopt;
  }
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  if (!k8s::isIpAddress(host)) return std::nullopt;
  parsed.address = host;
  return parsed;
}

std::optional<Exporter> exporterOf(const json::Value& pod, std::string_view urlTemplate) {
  const json::Value* metadata = json::findObject(&pod, "metadata");
  const json::Value* status = json::findObject(&pod, "status");
  const std::string_view address = json::findText(status, "podIP");
  if (json::findText(status, "phase") != "Running" || !k8s::isIpAddress(address) ||
      k8s::isBeingDeleted(pod) || !isOfDaemonSet(pod))
    return std::nullopt;
  const bool bracketed = address.find(':') != std::string_view::npos;
  const std::string host = bracketed ? fmt::format("[{}]", address) : std::string{address};
  std::string url{urlTemplate};
  for (std::size_t at = url.find(kPlaceholder); at != std::string::npos;
       at = url.find(kPlaceholder, at + host.size()))
    url.replace(at, kPlaceholder.size(), host);
  return Exporter{
      fmt::format("{}/{}", json::findText(metadata, "namespace"), json::findText(metadata, "name")),
      std::string{json::findText(json::findObject(&pod, "spec"), "nodeName")}, std::move(url)};
}

}  // namespace dynamo::gpu
