#include "support.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <filesystem>

#include "common/api/kinds.h"
#include "common/conversion/dgdr.h"
#include "common/defaults/apply.h"
#include "common/k8s/object.h"
#include "common/render/object.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "tests/unit/source_dir.h"

namespace dynamo::render::test {

using json::Value;

json::Document parsed(std::string_view text) {
  json::Document document;
  const auto error = json::parse(text, document);
  INFO(text);
  INFO((error ? error->message() : ""));
  REQUIRE_FALSE(error.has_value());
  return document;
}

Setup::Setup(Pathway pathway) {
  config.orchestrators.grove.enabled = pathway == Pathway::Grove;
  config.orchestrators.lwsEnabled = pathway != Pathway::Deployment;
  config.mpi.sshSecretName = "mpi-secret";
  facts.setHardware({"h100_sxm", 81559, 8, 16});
}

json::Document graphOf(std::string_view service, std::string_view annotations) {
  return parsed(
      R"({"apiVersion":"nvidia.com/v1alpha1","kind":"DynamoGraphDeployment","metadata":{"name":"g","namespace":"ns","annotations":)" +
      std::string{annotations} + R"(},"spec":{"services":{"Svc":)" + std::string{service} + "}}}");
}

Children rendered(const Setup& setup, json::Document& graph) {
  return renderAll(graph, setup.context(), {});
}

const Value* podSpecOf(const Children& children, std::string_view role) {
  for (const Child& child : children.items) {
    const std::string_view kind = json::findText(&child.object, "kind");
    const Value* spec = specOf(child.object);
    if (kind == "Deployment" && role == "main") return json::find(json::find(*spec, "template"), "spec");
    if (kind == "LeaderWorkerSet" && role != "main") {
      const Value* body = json::find(*spec, "leaderWorkerTemplate");
      return json::find(json::find(body, std::string{role} + "Template"), "spec");
    }
    if (kind != "PodCliqueSet") continue;
    const Value* cliques = json::find(json::find(*spec, "template"), "cliques");
    for (const Value& clique : cliques->GetArray()) {
      const std::string_view name = json::findText(&clique, "name");
      const std::string_view has = name.ends_with("-ldr")   ? "leader"
                                   : name.ends_with("-wkr") ? "worker"
                                                            : "main";
      if (has == role) return json::find(json::find(clique, "spec"), "podSpec");
    }
  }
  return nullptr;
}

std::vector<json::Document> goldenObjects(std::string_view uid) {
  const Setup setup;
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator{dynamo::test::sourceFile("tests/golden")}) {
    const std::string name = entry.path().filename().string();
    // NAME.yaml is a manifest, and NAME.grove.yaml is its rendering.
    const bool manifest = name.ends_with(".yaml") && std::count(name.begin(), name.end(), '.') == 1;
    if (manifest && name != "config.yaml" && name != "facts.yaml") files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  text::Manifests read = text::readManifests(files);
  REQUIRE(read.errors.empty());
  std::vector<json::Document> objects;
  for (text::Manifest& manifest : read.objects) {
    json::Document& object = manifest.object;
    auto& allocator = object.GetAllocator();
    if (manifest.kind() == api::kDynamoGraphDeploymentRequest) {
      Value stored;
      REQUIRE_FALSE(conversion::convertDgdr(object, api::kV1beta1, stored, allocator));
      static_cast<Value&>(object) = std::move(stored);
    }
    const auto* node = schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
    REQUIRE(node != nullptr);
    schema::applySchemaDefaults(*node, object, allocator);
    k8s::ensureNamespace(object, "demo", allocator);
    defaults::applyComponentDefaults(object, nullptr, {setup.defaults, setup.config, "1.0.0", "demo"},
                                     allocator);
    if (!uid.empty()) json::set(metadata(object, allocator), "uid", json::string(uid, allocator), allocator);
    objects.push_back(std::move(object));
  }
  REQUIRE(objects.size() > 10);
  return objects;
}

Children childrenOf(const Value& object, const Context& context) {
  const std::string_view kind = json::findText(&object, "kind");
  if (kind == api::kDynamoCheckpoint) return renderCheckpoint(object, context);
  if (kind == api::kDynamoGraphDeploymentRequest) return renderProfiling(object, context);
  return kind == api::kDynamoGraphDeployment ? renderAll(object, context, {})
                                             : renderComponentDeployment(object, context);
}

std::string errorsOf(const Children& children) {
  std::string text;
  for (const auto& error : children.errors) text += error.message() + '\n';
  return text;
}

const Value& mainContainerOf(const Value& podSpec) {
  const Value* containers = json::find(podSpec, "containers");
  REQUIRE(containers != nullptr);
  const Value* main = json::findNamed(containers, "main");
  REQUIRE(main != nullptr);
  return *main;
}

std::string envOf(const Value& container) {
  std::string text;
  const Value* env = json::find(container, "env");
  if (env == nullptr) return text;
  for (const Value& variable : env->GetArray()) {
    const Value* field = json::find(json::find(variable, "valueFrom"), "fieldRef");
    if (!text.empty()) text += ' ';
    text += std::string{json::findText(&variable, "name")} + '=' +
            (field != nullptr ? '(' + std::string{json::findText(field, "fieldPath")} + ')'
                              : std::string{json::findText(&variable, "value")});
  }
  return text;
}

std::string commandOf(const Value& container) {
  std::string text;
  for (const std::string_view part : {"command", "args"}) {
    const Value* list = json::find(container, part);
    if (list == nullptr) continue;
    for (const Value& item : list->GetArray()) {
      if (!text.empty()) text += '|';
      text += json::text(item);
    }
  }
  return text;
}

}  // namespace dynamo::render::test
