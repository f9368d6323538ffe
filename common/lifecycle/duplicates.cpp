#include "common/lifecycle/duplicates.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/api/kinds.h"
#include "common/k8s/names.h"
#include "common/lifecycle/object.h"

namespace dynamo::lifecycle {
namespace {

using json::Value;

void addError(render::Children& children, const std::set<std::string>& services, std::string_view child) {
  std::string names;
  for (const std::string& service : services)
    names += fmt::format("{}\"{}\"", names.empty() ? "" : ", ", service);
  children.errors.push_back(
      {field::ErrorType::Invalid, field::Path{"spec.services"}, "",
       fmt::format("services {} have the same child {}; rename one of them", names, child),
       "dgd.service-names-distinct"});
}

/// The services of the graph whose names begin a clique's name, whatever their case.
std::set<std::string> servicesOf(const Value& graph, std::string_view clique) {
  std::set<std::string> found;
  const Value* services = json::findObject(specOf(graph), "services");
  if (services == nullptr) return found;
  for (const auto& service : services->GetObject()) {
    const std::string name = k8s::lowerAscii(json::text(service.name));
    if (clique == name || clique.starts_with(name + '-')) found.emplace(json::text(service.name));
  }
  return found;
}

/// A name that two cliques of the set have; empty: none.
std::string_view duplicateClique(const Value& set) {
  const Value* cliques = json::find(json::findObject(specOf(set), "template"), "cliques");
  std::set<std::string_view> names;
  if (cliques == nullptr || !cliques->IsArray()) return {};
  for (const Value& clique : cliques->GetArray()) {
    const std::string_view name = json::findText(&clique, "name");
    if (!names.insert(name).second) return name;
  }
  return {};
}

}  // namespace

void withholdDuplicates(const Value& graph, render::Children& children) {
  std::map<k8s::ObjectKey, std::set<std::string>> services;
  std::map<k8s::ObjectKey, int> count;
  for (const render::Child& child : children.items) {
    if (child.policy != render::Policy::Applied) continue;  // others are equal, or never written again
    services[child.key].insert(child.service);
    ++count[child.key];
  }
  std::set<std::set<std::string>> told;
  for (const auto& [key, names] : services) {
    if (count[key] > 1 && told.insert(names).second) addError(children, names, k8s::toText(key));
  }
  std::erase_if(children.items, [&](const render::Child& child) {
    if (count[child.key] > 1) return true;
    const std::string_view clique =
        child.key.kind == "PodCliqueSet" ? duplicateClique(child.object) : std::string_view{};
    if (clique.empty()) return false;
    const std::set<std::string> names = servicesOf(graph, clique);
    if (told.insert(names).second) addError(children, names, fmt::format("PodClique {}", clique));
    return true;
  });
}

}  // namespace dynamo::lifecycle
