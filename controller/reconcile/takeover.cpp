#include "controller/reconcile/takeover.h"

#include <utility>
#include <variant>

#include "common/json/build.h"
#include "common/render/takeover.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

using Found = runtime::Task<kube::Result<std::optional<json::Document>>>;

// Controllers of workloads write an object only a few times after it was created.
constexpr int kMaxAttempts = 3;

/// The object of this name in a list; nullopt: none.
Found listed(kube::Client& client, const kube::Resource& resource, const k8s::ObjectKey& key) {
  kube::ListOptions named;
  named.fieldSelector = "metadata.name=" + key.name;
  auto list = co_await client.list(resource, key.namespaceName, named);
  if (auto* error = std::get_if<kube::ApiError>(&list)) co_return std::move(*error);
  const json::Value* items = json::find(std::get<json::Document>(list), "items");
  if (items == nullptr || !items->IsArray() || items->Empty()) co_return std::nullopt;
  json::Document found;
  found.CopyFrom(*items->Begin(), found.GetAllocator());
  const json::Maker make{found.GetAllocator()};
  make.set(found, "apiVersion", kube::apiVersionOf(resource));
  make.set(found, "kind", resource.kind);
  co_return std::optional{std::move(found)};
}

}  // namespace

Found readLive(kube::Client& client, const WatchedKind& kind, k8s::ObjectKey key) {
  if (kind.complete()) co_return co_await listed(client, kind.resource, key);
  auto got = co_await client.get(kind.resource, key.namespaceName, key.name);
  auto* error = std::get_if<kube::ApiError>(&got);
  if (error == nullptr) co_return std::optional{std::move(std::get<json::Document>(got))};
  if (error->reason == kube::Reason::NotFound) co_return std::nullopt;
  co_return std::move(*error);
}

runtime::Task<kube::Result<std::optional<json::Document>>> takeOver(kube::Client& client,
                                                                    kube::Resource resource,
                                                                    k8s::ObjectKey key,
                                                                    const json::Value& wanted) {
  for (int attempt = 1;; ++attempt) {
    // The cache has no managedFields.
    auto list = co_await listed(client, resource, key);
    if (std::holds_alternative<kube::ApiError>(list)) co_return list;
    const std::optional<json::Document>& live = std::get<std::optional<json::Document>>(list);
    if (!live) co_return std::nullopt;
    json::Document memory;
    std::string patch =
        json::dump(render::takeoverPatch(*live, wanted, kFieldManager, memory.GetAllocator()));
    kube::PatchOptions options;
    options.fieldManager = kFieldManager;
    auto answer = co_await client.patch(resource, key.namespaceName, key.name, kube::PatchType::Merge,
                                        std::move(patch), options);
    if (auto* error = std::get_if<kube::ApiError>(&answer)) {
      // Another controller has written the object since it was read.
      if (error->reason == kube::Reason::Conflict && attempt < kMaxAttempts) continue;
      co_return std::move(*error);
    }
    co_return std::optional{std::move(std::get<json::Document>(answer))};
  }
}

}  // namespace dynamo::controller
