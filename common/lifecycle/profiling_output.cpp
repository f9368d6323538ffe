#include "common/lifecycle/profiling_output.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "common/api/dgdr.h"
#include "common/api/kinds.h"
#include "common/field/show.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/lifecycle/object.h"
#include "common/render/go_types.h"
#include "common/render/hash.h"
#include "common/schema/registry.h"
#include "common/schema/validator.h"
#include "common/text/yaml_writer.h"

namespace dynamo::lifecycle {
namespace {

using json::Allocator;
using json::Value;

/// The column of the web interface's table with the configuration of a row.
constexpr rapidjson::SizeType kConfigColumn = 6;

Value sorted(const Value& value, Allocator& allocator) {
  if (value.IsArray()) {
    Value made{rapidjson::kArrayType};
    for (const Value& item : value.GetArray()) made.PushBack(sorted(item, allocator), allocator);
    return made;
  }
  if (!value.IsObject()) return json::copy(value, allocator);
  Value made{rapidjson::kObjectType};
  for (const auto* member : render::sortedMembers(value))
    made.AddMember(json::string(json::text(member->name), allocator), sorted(member->value, allocator),
                   allocator);
  return made;
}

/// The value as Go writes the type; null as an empty one.
Value typed(const Value* value, std::string_view type, Allocator& allocator) {
  const Value none{rapidjson::kObjectType};
  json::Document made;
  json::parse(render::goTypedJson(value != nullptr && value->IsObject() ? *value : none, type), made);
  return json::copy(made, allocator);
}

/// The value without nulls. An object is copied member by member, because a search for each takes too long
/// in one of a megabyte.
Value withoutNulls(const Value& value, Allocator& allocator) {
  if (value.IsArray()) {
    Value made{rapidjson::kArrayType};
    for (const Value& item : value.GetArray()) {
      if (!item.IsNull()) made.PushBack(withoutNulls(item, allocator), allocator);
    }
    return made;
  }
  if (!value.IsObject()) return json::copy(value, allocator);
  Value made{rapidjson::kObjectType};
  for (const auto& member : value.GetObject()) {
    if (member.value.IsNull()) continue;
    made.AddMember(json::string(json::text(member.name), allocator), withoutNulls(member.value, allocator),
                   allocator);
  }
  return made;
}

/// The status of a graph as Go writes it: the state is always there.
Value typedStatus(const Value* given, const json::Maker& make) {
  Value status = make.object("state", "");
  if (given == nullptr) return status;
  for (const auto* each : render::sortedMembers(*given))
    make.set(status, json::text(each->name), make.value(each->value));
  return status;
}

/// The graph as Go writes its type. `graph` must have the types of its schema.
Value typedGraph(const Value& graph, Allocator& allocator) {
  const json::Maker make{allocator};
  const Value* given = json::findObject(&graph, "spec");
  Value spec = typed(given, "GraphSpec", allocator);
  Value services = make.object();
  if (const Value* all = json::findObject(given, "services")) {
    for (const auto* each : render::sortedMembers(*all))
      make.set(services, json::text(each->name), typed(&each->value, "GraphService", allocator));
  }
  if (!services.ObjectEmpty()) make.set(spec, "services", std::move(services));
  return make.object("apiVersion", json::findText(&graph, "apiVersion"), "kind", api::kDynamoGraphDeployment,
                     "metadata", typed(json::findObject(&graph, "metadata"), "ObjectMeta", allocator), "spec",
                     std::move(spec), "status", typedStatus(json::findObject(&graph, "status"), make));
}

/// A line of YAML of the web interface that begins with # is a comment, also inside of a text.
std::string withoutComments(std::string_view text) {
  std::string kept;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end == std::string_view::npos ? text.size() : end + 1);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos || line[first] != '#') kept += line;
    text.remove_prefix(line.size());
  }
  return kept;
}

/// The rows of cost.table.data that have a configuration. Others, what cannot be read, and what is over the
/// limits, are left out.
Value paretoOf(std::string_view text, const json::Maker& make) {
  Value made = make.list();
  json::Document page;
  if (text.empty() || json::parse(text, page)) return made;
  const Value* table = json::findObject(json::findObject(&page, "cost"), "table");
  const Value* rows = json::find(table, "data");
  if (rows == nullptr || !rows->IsArray()) return made;
  text::Expansion left = kOutputExpansion;
  std::size_t bytes = 0;
  for (const Value& row : rows->GetArray()) {
    if (!row.IsArray() || row.Size() <= kConfigColumn || !row[kConfigColumn].IsString()) continue;
    const text::TextDocuments read =
        text::parseDocuments(withoutComments(json::text(row[kConfigColumn])), left);
    if (read.error || read.documents.empty()) continue;
    const Value& config = read.documents.front().value;
    if (!config.IsObject() || config.ObjectEmpty()) continue;
    bytes += json::dump(config).size();
    if (bytes > kMaxParetoBytes) break;
    make.push(made, make.object("config", sorted(config, make.allocator())));
  }
  return made;
}

ProfilingProblem generation(std::string_view message) {
  return {field::oneLine(message), false};
}

class Reader {
 public:
  explicit Reader(Allocator& allocator) : allocator_(allocator), make_(allocator) {}

  std::variant<ProfilingOutput, ProfilingProblem> read(const Value& configMap) {
    const Value* data = json::findObject(&configMap, "data");
    if (const std::string_view told = json::findText(data, api::dgdr::kCopierErrorKey); !told.empty())
      return ProfilingProblem{std::string{told}, true};
    const std::string_view text = json::findText(data, api::dgdr::kResultKey);
    const std::string key{api::dgdr::kResultKey};
    if (text.empty()) return generation(fmt::format("the output has no {}", key));
    if (text.size() > kMaxOutputBytes)
      return generation(
          fmt::format("{} has {} bytes; at most {} are read", key, text.size(), kMaxOutputBytes));
    text::Expansion left = kOutputExpansion;
    const text::TextDocuments parsed = text::parseDocuments(text, left);
    if (parsed.error) return generation(fmt::format("{}: {}", key, parsed.error->message()));
    if (parsed.documents.size() > kMaxOutputDocuments)
      return generation(fmt::format("{} has {} documents; at most {} are read", key, parsed.documents.size(),
                                    kMaxOutputDocuments));
    const Value* graph = nullptr;
    for (const text::TextDocument& document : parsed.documents) {
      const std::string_view kind = json::findText(&document.value, "kind");
      if (kind == api::kDynamoGraphDeployment) {
        graph = &document.value;
      } else if (!kind.empty()) {
        output_.additional.push_back(sorted(document.value, allocator_));
      }
    }
    if (graph == nullptr) return generation(fmt::format("{} has no DynamoGraphDeployment", key));
    if (auto problem = take(*graph)) return std::move(*problem);
    output_.pareto = paretoOf(json::findText(data, api::dgdr::kWebUiKey), make_);
    return std::move(output_);
  }

 private:
  std::optional<ProfilingProblem> take(const Value& graph) {
    const schema::Node* node = schema::find(api::kV1alpha1, api::kDynamoGraphDeployment);
    const std::string name = fmt::format("DynamoGraphDeployment {}", nameOf(graph));
    for (const field::FieldError& wrong : schema::wrongTypes(*node, graph))
      return generation(fmt::format("{}: {}", name, wrong.message()));
    if (nameOf(graph).empty()) return generation("the DynamoGraphDeployment has no name");
    for (const field::FieldError& found : schema::validate(*node, graph)) {
      if (found.rule == "schema.unknown-field")
        output_.unknownFields.push_back(field::oneLine(found.field.text()));
    }
    output_.graph = withoutNulls(typedGraph(graph, allocator_), allocator_);
    const std::size_t bytes = text::toYaml(output_.graph).size();
    if (bytes > kMaxGraphBytes)
      return generation(fmt::format("{} has {} bytes as YAML; an annotation holds at most {}", name, bytes,
                                    kMaxGraphBytes));
    return std::nullopt;
  }

  Allocator& allocator_;
  json::Maker make_;
  ProfilingOutput output_;
};

}  // namespace

std::variant<ProfilingOutput, ProfilingProblem> readProfilingOutput(const Value& configMap,
                                                                    Allocator& allocator) {
  return Reader{allocator}.read(configMap);
}

std::string additionalText(const ProfilingOutput& output) {
  std::string text;
  for (const Value& document : output.additional)
    text.append(text.empty() ? "" : "\n---\n").append(text::toYaml(document));
  return text;
}

}  // namespace dynamo::lifecycle
