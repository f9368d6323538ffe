// Advice about unknown fields. The schema tells which fields pods and containers have, so no field is
// forgotten.

#include "common/admission/field_advice.h"

#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "common/admission/renamed_fields.h"
#include "common/api/kinds.h"
#include "common/json/parse.h"
#include "common/schema/registry.h"

namespace dynamo::admission {
namespace {

using field::Path;
using schema::Node;

/// The advice about the member `name` of the object at `holder`, in a graph with the service "a".
std::string adviceIn(const Path& holder, std::string_view name) {
  const json::Document nothing;
  const auto advice = adviceFor(api::kDynamoGraphDeployment, "v1alpha1", nothing, holder / name);
  return advice ? advice->text : std::string{};
}

const Node& serviceNode() {
  return *schema::find(api::kV1alpha1, api::kDynamoGraphDeployment)
              ->property("spec")
              ->node->property("services")
              ->node->additional;
}

TEST_CASE("every field of pods and containers has its place at a service") {
  const Path service{Path{"spec.services"}.key("a")};
  const Node& pod = *serviceNode().property("extraPodSpec")->node;
  const Node& container = *pod.property("mainContainer")->node;
  const std::set<std::string_view> renamed = {"env", "name", "containers", "priorityClassName"};
  std::size_t told = 0;
  for (const auto& [node, place] :
       {std::pair{&container, "extraPodSpec.mainContainer"}, std::pair{&pod, "extraPodSpec"}}) {
    for (const schema::Property& property : node->properties) {
      const bool inContainer = node == &pod && container.property(property.name) != nullptr;
      if (serviceNode().property(property.name) != nullptr || renamed.contains(property.name) || inContainer)
        continue;
      INFO(property.name);
      // Pods have the field, too, and there it means what is usually meant.
      const std::string_view in = property.name == "restartPolicy" ? "extraPodSpec" : place;
      CHECK(adviceIn(service, property.name) == fmt::format("unknown field, use {}.{}", in, property.name));
      ++told;
    }
  }
  CHECK(told > 45);
}

TEST_CASE("names of fields of a service have no place in metadata") {
  json::Document object;
  REQUIRE_FALSE(
      json::parse(R"({"metadata":{"priorityClassName":{"a":1},"env":[],"gpu":1},"spec":{}})", object));
  for (const char* kind : {"DynamoComponentDeployment", "DynamoGraphDeployment"}) {
    for (const char* name : {"priorityClassName", "env", "gpu"}) {
      CAPTURE(kind, name);
      const Path path = Path{"metadata"} / std::string_view{name};
      const std::optional<Advice> advice = adviceFor(kind, "v1alpha1", object, path);
      CHECK((!advice || advice->place.empty()));
    }
  }
}

TEST_CASE("every field of pods has its place in the main container, and the reverse") {
  const Path main{Path{"spec.services"}.key("a") / "extraPodSpec.mainContainer"};
  const Node& pod = *serviceNode().property("extraPodSpec")->node;
  const Node& container = *pod.property("mainContainer")->node;
  for (const schema::Property& property : pod.properties) {
    if (container.property(property.name) != nullptr) continue;
    INFO(property.name);
    CHECK(adviceIn(main, property.name) == fmt::format("unknown field, use extraPodSpec.{}", property.name));
  }
  const Path podSpec{Path{"spec.services"}.key("a") / "extraPodSpec"};
  for (const schema::Property& property : container.properties) {
    if (pod.property(property.name) != nullptr) continue;
    INFO(property.name);
    CHECK(adviceIn(podSpec, property.name) ==
          fmt::format("unknown field, use extraPodSpec.mainContainer.{}", property.name));
  }
}

TEST_CASE("fields of the table that move have a place in the schema, and are unknown where they were") {
  const auto at = [](const Node* node, std::string_view names) {
    while (!names.empty() && node != nullptr) {
      const std::size_t dot = std::min(names.find('.'), names.size());
      std::string_view name = names.substr(0, dot);
      if (name.ends_with("[]")) name.remove_suffix(2);
      const schema::Property* property = node->property(name);
      node = property == nullptr ? nullptr : property->node;
      if (node != nullptr && node->items != nullptr) node = node->items;
      names.remove_prefix(std::min(dot + 1, names.size()));
    }
    return node;
  };
  const auto root = [](std::string_view parent) {
    if (parent.starts_with("graph")) return schema::find(api::kV1alpha1, api::kDynamoGraphDeployment);
    if (parent.starts_with("adapter"))
      return schema::find(api::kV1alpha1, api::kDynamoGraphDeploymentScalingAdapter);
    if (parent.starts_with("alpha")) return schema::find(api::kV1alpha1, api::kDynamoGraphDeploymentRequest);
    if (parent.starts_with("request"))
      return schema::find("nvidia.com/v1beta1", api::kDynamoGraphDeploymentRequest);
    return schema::find(api::kV1alpha1, api::kDynamoComponentDeployment);
  };
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const RenamedField& row : renamedFields()) {
    INFO(row.parent << " " << row.name);
    CHECK(seen.emplace(row.parent, row.name).second);
    const std::size_t dot = std::min(row.parent.find('.'), row.parent.size());
    std::string parent{"spec"};
    if (dot < row.parent.size()) parent += row.parent.substr(dot);
    const Node* holder = at(root(row.parent), parent);
    REQUIRE(holder != nullptr);
    CHECK(holder->property(row.name) == nullptr);
    if (!row.moves) continue;
    const bool absolute = row.use.starts_with("spec.");
    CHECK(at(root(row.parent), absolute ? std::string{row.use} : fmt::format("spec.{}", row.use)) != nullptr);
  }
}

TEST_CASE("a similar name is left to the schema, and an unlike one has no advice") {
  const Path service{Path{"spec.services"}.key("a")};
  CHECK(adviceIn(service, "replica").empty());
  CHECK(adviceIn(service, "quux").empty());
  CHECK(adviceIn(Path{"metadata"}, "label").empty());
  CHECK(adviceIn(Path{"status"}, "image").empty());
  CHECK(adviceIn(Path{"status.services"}.key("a"), "image").empty());
}

}  // namespace
}  // namespace dynamo::admission
