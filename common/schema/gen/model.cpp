#include "common/schema/gen/model.h"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "common/json/parse.h"
#include "common/schema/gen/notation.h"

namespace dynamo::schema::gen {
namespace {

using json::Allocator;
using json::Value;

constexpr std::string_view kShared = "shared.yaml";

std::string readFile(const std::filesystem::path& path) {
  std::ifstream in{path};
  std::stringstream text;
  text << in.rdbuf();
  if (!in) throw std::runtime_error("cannot be read");
  return text.str();
}

std::string textAt(const YAML::Node& node, const char* key, const std::string& fallback = {}) {
  return node[key] ? node[key].Scalar() : fallback;
}

Column readColumn(const std::string& line) {
  std::istringstream words{line};
  Column column;
  words >> column.name >> column.type >> column.path;
  if (column.path.empty()) throw std::runtime_error("column without path: " + line);
  words >> column.priority;
  return column;
}

/// The schema of a whole object: the fields of every kind, and spec and status from the description.
Value rootSchema(const YAML::Node& version, Allocator& a) {
  Value root = readLine("object | " + version["about"].Scalar(), a);
  if (version["rule"]) json::set(root, "rule", json::string(version["rule"].Scalar(), a), a);
  Value fields{rapidjson::kObjectType};
  json::set(fields, "apiVersion", readLine("string | Group and version of this object.", a), a);
  json::set(fields, "kind", readLine("string | Kind of this object.", a), a);
  json::set(fields, "metadata", readLine("Metadata | Name, namespace, labels and annotations.", a), a);
  for (const char* part : {"spec", "status"}) {
    if (version[part]) json::set(fields, part, readField(version[part], a), a);
  }
  json::set(root, "properties", std::move(fields), a);
  return root;
}

Version readVersion(const std::string& name, const YAML::Node& node, Allocator& a) {
  Version version;
  version.name = name;
  version.deprecated = textAt(node, "deprecated");
  version.storage = textAt(node, "storage", "true") == "true";
  if (const YAML::Node scale = node["scale"]) {
    version.scale = true;
    version.specReplicas = scale["spec"].Scalar();
    version.statusReplicas = scale["status"].Scalar();
    version.selector = scale["selector"].Scalar();
  }
  for (const auto& column : node["columns"]) version.columns.push_back(readColumn(column.Scalar()));
  version.schema = rootSchema(node, a);
  return version;
}

Kind readKind(const YAML::Node& node, Allocator& a) {
  Kind kind;
  kind.kind = node["kind"].Scalar();
  kind.plural = node["plural"].Scalar();
  kind.shortName = node["short"].Scalar();
  kind.conversion = textAt(node, "conversion") == "true";
  for (const auto& version : node["versions"]) {
    try {
      kind.versions.push_back(readVersion(version.first.Scalar(), version.second, a));
    } catch (const std::runtime_error& error) {
      throw std::runtime_error(version.first.Scalar() + ": " + error.what());
    }
  }
  return kind;
}

void readShared(const YAML::Node& shared, Model& model) {
  Allocator& a = model.allocator();
  for (const auto& entry : shared["types"]) {
    const std::string& name = entry.first.Scalar();
    if (json::find(model.types, name) != nullptr) throw std::runtime_error("duplicate type " + name);
    json::set(model.types, name, readField(entry.second, a), a);
    model.ownTypes.push_back(name);
  }
  for (const auto& entry : shared["rules"]) {
    Value rule{rapidjson::kObjectType};
    json::set(rule, "rule", json::string(entry.second["rule"].Scalar(), a), a);
    json::set(rule, "message", json::string(entry.second["message"].Scalar(), a), a);
    if (entry.second["at"]) json::set(rule, "at", json::string(entry.second["at"].Scalar(), a), a);
    json::set(model.rules, entry.first.Scalar(), std::move(rule), a);
  }
}

/// Throws unless every named type and rule below `node` exists.
void checkNames(const Model& model, const Value& node) {
  if (node.IsArray()) {
    for (const Value& item : node.GetArray()) checkNames(model, item);
  }
  if (!node.IsObject()) return;
  for (const auto& member : node.GetObject()) {
    const std::string_view key = json::text(member.name);
    const bool isName = member.value.IsString() && (key == "$ref" || key == "rule");
    if (isName &&
        json::find(key == "rule" ? model.rules : model.types, json::text(member.value)) == nullptr) {
      throw std::runtime_error(fmt::format("unknown {} {}", key, json::text(member.value)));
    }
    checkNames(model, member.value);
  }
}

}  // namespace

Model load(const std::string& directory) {
  Model model;
  Allocator& a = model.allocator();
  const std::filesystem::path root{directory};
  json::Document kubernetes{&a};
  if (auto error = json::parse(readFile(root / "k8s/types.json"), kubernetes)) {
    throw std::runtime_error("types.json: " + error->message());
  }
  model.kubernetes = json::findText(&kubernetes, "kubernetes");
  model.types = json::copy(*json::find(kubernetes, "types"), a);
  model.rules.SetObject();

  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator{root / "kinds"}) files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  for (const auto& file : files) {
    try {
      const YAML::Node node = YAML::Load(readFile(file));
      if (file.filename() == kShared) {
        readShared(node, model);
      } else {
        model.kinds.push_back(readKind(node, a));
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(fmt::format("{}: {}", file.filename().string(), error.what()));
    }
  }
  checkNames(model, model.types);
  for (const Kind& kind : model.kinds) {
    for (const Version& version : kind.versions) checkNames(model, version.schema);
  }
  return model;
}

Value expand(const Model& model, const Value& node, Allocator& a) {
  if (node.IsArray()) {
    Value list{rapidjson::kArrayType};
    for (const Value& item : node.GetArray()) list.PushBack(expand(model, item, a), a);
    return list;
  }
  if (!node.IsObject()) return json::copy(node, a);
  Value out{rapidjson::kObjectType};
  if (const Value* name = json::find(node, "$ref"); name != nullptr && name->IsString()) {
    out = expand(model, *json::find(model.types, json::text(*name)), a);
  }
  for (const auto& member : node.GetObject()) {
    const std::string_view key = json::text(member.name);
    if (key == "$ref" && member.value.IsString()) continue;
    Value value = expand(model, member.value, a);
    Value* known = json::find(out, key);
    if (key == "properties" && known != nullptr) {
      for (auto& field : value.GetObject())
        json::set(*known, json::text(field.name), std::move(field.value), a);
    } else {
      json::set(out, key, std::move(value), a);
    }
  }
  return out;
}

}  // namespace dynamo::schema::gen
