#include "controller/plugin/dry_run.h"

#include <optional>
#include <utility>

#include "common/k8s/kubectl_apply.h"
#include "controller/kube/client_options.h"

namespace dynamo::plugin {
namespace {

using kube::ApiError;
using kube::Result;
using runtime::Task;

std::string_view metadataOf(const json::Value& object, std::string_view field) {
  return json::findText(json::find(&object, "metadata"), field);
}

}  // namespace

std::string serverSideApplier(const json::Value& live) {
  const json::Value* entries = json::find(json::find(&live, "metadata"), "managedFields");
  if (entries == nullptr || !entries->IsArray()) return {};
  for (const json::Value& entry : entries->GetArray()) {
    if (json::findText(&entry, "operation") == "Apply" && json::findText(&entry, "subresource").empty())
      return std::string{json::findText(&entry, "manager")};
  }
  return {};
}

Task<Result<DryRun>> dryRunApply(kube::Client& client, kube::Resource resource, const json::Value& manifest) {
  const std::string namespaceName{metadataOf(manifest, "namespace")};
  const std::string name{metadataOf(manifest, "name")};
  json::Document memory;
  auto got = co_await client.get(resource, namespaceName, name);
  const auto* missing = std::get_if<ApiError>(&got);
  if (missing != nullptr && missing->reason != kube::Reason::NotFound) co_return *missing;
  std::optional<Result<json::Document>> answer;
  if (missing != nullptr) {
    std::string body = json::dump(k8s::withLastApplied(manifest, memory.GetAllocator()));
    answer = co_await client.create(resource, namespaceName, std::move(body), true);
  } else {
    const json::Document& live = std::get<json::Document>(got);
    kube::PatchOptions options;
    options.dryRun = true;
    options.fieldManager = serverSideApplier(live);
    const bool serverSide = !options.fieldManager.empty();
    std::string body = json::dump(serverSide ? json::copy(manifest, memory.GetAllocator())
                                             : k8s::applyPatch(manifest, live, memory.GetAllocator()));
    const kube::PatchType type = serverSide ? kube::PatchType::Apply : kube::PatchType::Merge;
    answer = co_await client.patch(resource, namespaceName, name, type, std::move(body), options);
  }
  if (auto* error = std::get_if<ApiError>(&*answer)) co_return std::move(*error);
  DryRun result;
  result.object = std::move(std::get<json::Document>(*answer));
  result.exists = missing == nullptr;
  co_return result;
}

}  // namespace dynamo::plugin
