#include "controller/reconcile/takeover.h"

#include <utility>
#include <variant>

#include "common/render/takeover.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {
namespace {

// Controllers of workloads write an object only a few times after it was created.
constexpr int kMaxAttempts = 3;

}  // namespace

runtime::Task<kube::Result<std::optional<json::Document>>> takeOver(kube::Client& client,
                                                                    kube::Resource resource,
                                                                    k8s::ObjectKey key,
                                                                    const json::Value& wanted) {
  for (int attempt = 1;; ++attempt) {
    // The cache has no managedFields. The controller may list all kinds, but may not get objects of some.
    kube::ListOptions named;
    named.fieldSelector = "metadata.name=" + key.name;
    auto list = co_await client.list(resource, key.namespaceName, named);
    if (auto* error = std::get_if<kube::ApiError>(&list)) co_return std::move(*error);
    const json::Value* items = json::find(std::get<json::Document>(list), "items");
    if (items == nullptr || !items->IsArray() || items->Empty()) co_return std::nullopt;
    json::Document memory;
    std::string patch =
        json::dump(render::takeoverPatch(*items->Begin(), wanted, kFieldManager, memory.GetAllocator()));
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
