#include "controller/plugin/facts.h"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <utility>

#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/lifecycle/object.h"
#include "common/render/facts.h"
#include "controller/kube/decode.h"
#include "controller/kube/discovery.h"
#include "controller/reconcile/facts.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::plugin {
namespace {

using kube::ApiError;
using lifecycle::nameOf;
using runtime::Task;

/// The maximum number of objects in a page of a list.
constexpr std::int64_t kPageLimit = 250;
/// The label of service accounts that pods of components use.
constexpr std::string_view kComponentAccountLabel = "nvidia.com/dynamo-component-pod";

using Use = std::function<void(const json::Value&)>;

/// Calls `use` for each object of a list.
Task<std::optional<ApiError>> forEach(kube::Client& client, kube::Resource resource,
                                      std::string namespaceName, kube::ListOptions options, Use use) {
  for (;;) {
    auto answer = co_await client.list(resource, namespaceName, options);
    if (auto* error = std::get_if<ApiError>(&answer)) co_return std::move(*error);
    auto decoded = kube::decodeList(std::move(std::get<json::Document>(answer)));
    if (auto* error = std::get_if<ApiError>(&decoded)) co_return std::move(*error);
    const kube::ListPage& page = std::get<kube::ListPage>(decoded);
    for (const json::Value& each : page.items()) use(each);
    options.continueToken = page.continueToken();
    if (options.continueToken.empty()) co_return std::nullopt;
  }
}

/// A resource to list, and the consequence for rendering if it cannot be listed.
struct Source {
  kube::Resource resource;
  kube::ListOptions options;
  std::string consequence;
  Use use;
};

std::vector<Source> sourcesOf(render::Facts& facts, const std::string& namespaceName) {
  kube::ListOptions secrets;
  secrets.fieldSelector = "type=kubernetes.io/dockerconfigjson";
  secrets.limit = kPageLimit;
  kube::ListOptions accounts;
  accounts.labelSelector = std::string{kComponentAccountLabel} + "=true";
  std::vector<Source> sources;
  sources.push_back({{"", "v1", "secrets", "Secret"},
                     secrets,
                     "differences of imagePullSecrets may be wrong",
                     [&facts, namespaceName](const json::Value& secret) {
                       for (const std::string& registry : controller::registriesOf(secret))
                         facts.addPullSecrets(namespaceName, registry, {std::string{nameOf(secret)}});
                     }});
  sources.push_back({controller::resourceOf("", "ServiceAccount"), accounts,
                     "differences of serviceAccountName may be wrong",
                     [&facts, namespaceName](const json::Value& account) {
                       facts.addComponentAccount(namespaceName, nameOf(account));
                     }});
  sources.push_back(
      {controller::resourceOf(api::kGroup, api::kDynamoCheckpoint),
       {},
       "checkpoints count as absent",
       [&facts](const json::Value& checkpoint) { facts.setCheckpoint(render::checkpointFact(checkpoint)); }});
  return sources;
}

}  // namespace

Task<std::variant<DiscoveredFacts, std::string>> discoverFacts(kube::Client& client,
                                                               std::string namespaceName) {
  using Found = std::variant<DiscoveredFacts, std::string>;
  DiscoveredFacts found;
  auto groups = co_await kube::discover(client);
  if (const auto* error = std::get_if<ApiError>(&groups))
    co_return Found{fmt::format("cannot discover the APIs of the cluster: {}", error->message)};
  // The version decides about no child, so commands do without it.
  for (std::size_t i = 0; i < render::kApiNames.size(); ++i) {
    const auto api = static_cast<render::Api>(i);
    found.facts.setApi(api, controller::isServed(api, std::get<kube::ApiGroups>(groups), ""));
  }
  found.facts.setDiscovered();
  const std::vector<Source> sources = sourcesOf(found.facts, namespaceName);
  for (const Source& source : sources) {
    const std::string& plural = source.resource.plural;
    const auto error = co_await forEach(client, source.resource, namespaceName, source.options, source.use);
    if (!error || error->reason == kube::Reason::NotFound) continue;
    const std::string text = fmt::format("cannot list {}: {}", plural, error->message);
    if (error->reason != kube::Reason::Forbidden) co_return Found{text};
    found.notes.push_back(fmt::format("{}; {}", text, source.consequence));
  }
  co_return Found{std::move(found)};
}

}  // namespace dynamo::plugin
