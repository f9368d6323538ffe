#include "controller/reconcile/child_requests.h"

#include <optional>
#include <utility>
#include <variant>

#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "common/render/child_kinds.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/takeover.h"

namespace dynamo::controller {
namespace {

using json::Document;
using json::Value;
using kube::ApiError;
using runtime::Task;

/// `wanted` as a merge patch that removes what an apply request cannot: null for objects that are empty.
Value replacementOf(const Value& wanted, json::Allocator& allocator) {
  if (!wanted.IsObject()) return json::copy(wanted, allocator);
  Value patch{rapidjson::kObjectType};
  for (const auto& member : wanted.GetObject()) {
    const bool empty = member.value.IsObject() && member.value.ObjectEmpty();
    patch.AddMember(json::copy(member.name, allocator),
                    empty ? Value{} : replacementOf(member.value, allocator), allocator);
  }
  return patch;
}

/// Whether the API server refused the result of an apply request that is valid itself. The request adds its
/// list items to edited ones: a port whose number was edited then exists twice with one name. And if it
/// empties an object whose members it applied before, the object becomes null, which custom resources forbid.
bool isMergeError(const ApiError& refused) {
  return refused.cause("FieldValueDuplicate") != nullptr || refused.cause("FieldValueTypeInvalid") != nullptr;
}

std::string bodyOf(const k8s::ObjectKey& key, const Value& wanted, const Value* live) {
  const bool shared = render::childKind(key).policy == render::Policy::Shared;
  const std::string_view version =
      live == nullptr ? "" : json::findText(lifecycle::metadataOf(*live), "resourceVersion");
  if (version.empty() || !shared) return json::dump(wanted);
  Document request;
  json::Allocator& allocator = request.GetAllocator();
  request.CopyFrom(wanted, allocator);
  json::set(*json::find(request, "metadata"), "resourceVersion", json::string(version, allocator), allocator);
  return json::dump(request);
}

Task<kube::Result<Document>> patch(kube::Client& client, const kube::Resource& resource,
                                   const k8s::ObjectKey& key, kube::PatchType type, std::string body,
                                   bool force) {
  kube::PatchOptions options;
  options.force = force;
  options.fieldManager = kFieldManager;
  auto answer = co_await client.patch(resource, key.namespaceName, key.name, type, std::move(body), options);
  co_return answer;
}

}  // namespace

Task<kube::Result<Document>> applyChild(kube::Client& client, const kube::Resource& resource,
                                        const k8s::ObjectKey& key, const Value& wanted, bool force,
                                        const Value* live) {
  auto answer =
      co_await patch(client, resource, key, kube::PatchType::Apply, bodyOf(key, wanted, live), force);
  const auto* refused = std::get_if<ApiError>(&answer);
  if (live == nullptr || refused == nullptr || !isMergeError(*refused)) co_return answer;
  Document memory;
  std::string body = json::dump(replacementOf(wanted, memory.GetAllocator()));
  auto replaced = co_await patch(client, resource, key, kube::PatchType::Merge, std::move(body), true);
  if (std::holds_alternative<ApiError>(replaced)) co_return answer;
  // The merge patch owns the fields, too: they would stay when they are no longer applied.
  auto taken = co_await takeOver(client, resource, key, wanted);
  const auto* stored = std::get_if<std::optional<Document>>(&taken);
  if (stored == nullptr || !*stored) co_return answer;
  auto again =
      co_await patch(client, resource, key, kube::PatchType::Apply, bodyOf(key, wanted, &**stored), force);
  co_return again;
}

}  // namespace dynamo::controller
