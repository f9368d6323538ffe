#include "controller/kube/discovery.h"

#include <algorithm>
#include <functional>
#include <utility>
#include <variant>

#include "controller/kube/url.h"

namespace dynamo::kube {

using runtime::Task;

namespace {

const CallOptions kCall{Slots::Cluster};

/// Calls `use` for each object in a list member.
void forEach(const json::Value& owner, std::string_view name,
             const std::function<void(const json::Value&)>& use) {
  const json::Value* const list = json::find(owner, name);
  if (list == nullptr || !list->IsArray()) return;
  for (const json::Value& each : list->GetArray()) {
    if (each.IsObject()) use(each);
  }
}

void addOnce(std::vector<std::string>& to, std::string_view text) {
  if (!text.empty() && std::find(to.begin(), to.end(), text) == to.end()) to.emplace_back(text);
}

}  // namespace

const ApiGroup* ApiGroups::find(std::string_view group) const {
  const auto found =
      std::find_if(groups.begin(), groups.end(), [&](const ApiGroup& each) { return each.name == group; });
  return found == groups.end() ? nullptr : &*found;
}

bool ApiGroups::serves(std::string_view group, std::string_view version) const {
  const ApiGroup* const found = find(group);
  return found != nullptr &&
         std::find(found->versions.begin(), found->versions.end(), version) != found->versions.end();
}

void ApiGroups::remove(std::string_view group, std::string_view version) {
  for (ApiGroup& each : groups) {
    if (each.name == group) std::erase(each.versions, version);
  }
  std::erase_if(groups, [&](const ApiGroup& each) { return each.name == group && each.versions.empty(); });
}

const Resource* ApiResources::ofKind(std::string_view kind) const {
  const auto found = std::find_if(resources.begin(), resources.end(),
                                  [&](const Resource& each) { return each.kind == kind; });
  return found == resources.end() ? nullptr : &*found;
}

bool ApiResources::hasSubresource(std::string_view plural, std::string_view subresource) const {
  const std::string wanted = std::string{plural} + "/" + std::string{subresource};
  return std::find(subresources.begin(), subresources.end(), wanted) != subresources.end();
}

ApiGroups decodeGroups(const json::Value& apiGroupList) {
  ApiGroups out;
  forEach(apiGroupList, "groups", [&](const json::Value& each) {
    ApiGroup group{std::string{json::findText(&each, "name")}, {}};
    if (group.name.empty()) return;
    addOnce(group.versions, json::findText(json::findObject(&each, "preferredVersion"), "version"));
    forEach(each, "versions", [&](const json::Value& version) {
      addOnce(group.versions, json::findText(&version, "version"));
    });
    out.groups.push_back(std::move(group));
  });
  return out;
}

ApiResources decodeResources(const json::Value& apiResourceList, std::string_view group,
                             std::string_view version) {
  ApiResources out;
  forEach(apiResourceList, "resources", [&](const json::Value& each) {
    const std::string_view name = json::findText(&each, "name");
    const std::string_view kind = json::findText(&each, "kind");
    if (name.empty() || kind.empty()) return;
    if (name.find('/') != std::string_view::npos) {
      out.subresources.emplace_back(name);
      return;
    }
    out.resources.emplace_back(std::string{group}, std::string{version}, std::string{name}, std::string{kind},
                               json::findBool(&each, "namespaced").value_or(false));
  });
  return out;
}

Task<Result<ApiGroups>> discover(Client& client) {
  auto found = co_await client.raw("GET", "/apis", {}, {}, kCall);
  if (auto* error = std::get_if<ApiError>(&found)) co_return std::move(*error);
  co_return decodeGroups(std::get<json::Document>(found));
}

Task<Result<ApiResources>> discoverResources(Client& client, std::string group, std::string version) {
  std::string path = group.empty() ? "/api/" : "/apis/" + escapeSegment(group) + "/";
  path += escapeSegment(version);
  auto found = co_await client.raw("GET", path, {}, {}, kCall);
  if (auto* error = std::get_if<ApiError>(&found)) co_return std::move(*error);
  co_return decodeResources(std::get<json::Document>(found), group, version);
}

Task<Result<std::string>> serverVersion(Client& client) {
  auto found = co_await client.raw("GET", "/version", {}, {}, kCall);
  if (auto* error = std::get_if<ApiError>(&found)) co_return std::move(*error);
  co_return std::string{json::findText(&std::get<json::Document>(found), "gitVersion")};
}

}  // namespace dynamo::kube
