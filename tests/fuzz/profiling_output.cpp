// Outputs of profilers: any two texts give a graph within its limits or one problem, and a graph that was
// read survives the annotations of its request. The text after a NUL byte is the data of the web interface.

#include "common/lifecycle/profiling_output.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "common/api/dgdr.h"
#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/json/utf8.h"
#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"
#include "common/lifecycle/request_status.h"
#include "common/text/yaml_writer.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

bool hasNull(const json::Value& value) {
  if (value.IsObject()) {
    return std::any_of(value.MemberBegin(), value.MemberEnd(),
                       [](const auto& member) { return hasNull(member.value); });
  }
  if (value.IsArray()) return std::any_of(value.Begin(), value.End(), hasNull);
  return value.IsNull();
}

void checkOutcome(const lifecycle::Outcome& outcome, std::string_view text) {
  require(outcome.status.has_value(), "the status changes", text);
  const json::Value* conditions = json::find(&*outcome.status, "conditions");
  require(conditions != nullptr && conditions->IsArray(), "it has conditions", text);
  for (const json::Value& condition : conditions->GetArray()) {
    const std::string_view message = json::findText(&condition, "message");
    require(!message.empty() && message.size() <= lifecycle::kMaxConditionMessage, "messages have bounds",
            text);
    require(json::isUtf8(message) && fuzz::isOneLine(message), "messages are one line", text);
  }
  for (const lifecycle::Event& event : outcome.events)
    require(event.message.size() <= lifecycle::kMaxEventMessage, "Events have bounds", text);
}

/// What the annotations keep of an output is the same graph and the same ConfigMaps.
void checkAnnotations(const lifecycle::ProfilingOutput& output, const json::Value& request,
                      std::string_view text) {
  json::Document stored;
  json::Allocator& allocator = stored.GetAllocator();
  stored.CopyFrom(request, allocator);
  const json::Value patch =
      lifecycle::annotationsPatch(request, output, lifecycle::kMaxGraphBytes, allocator);
  json::Value& metadata = *json::find(stored, "metadata");
  json::set(metadata, "annotations", json::copy(*lifecycle::annotationsOf(patch), allocator), allocator);
  std::size_t bytes = 0;
  for (const auto& annotation : json::find(metadata, "annotations")->GetObject())
    bytes += json::text(annotation.value).size();
  require(bytes <= lifecycle::kMaxGraphBytes, "annotations have bounds", text);
  const auto made = lifecycle::generatedGraph(stored, allocator);
  require(std::holds_alternative<json::Value>(made), "the annotation has the graph", text);
  const json::Value* spec = lifecycle::specOf(std::get<json::Value>(made));
  require(spec != nullptr && json::equal(*spec, *lifecycle::specOf(output.graph)), "with the same spec",
          text);
  const auto documents = lifecycle::additionalDocuments(stored, allocator);
  const bool kept =
      json::find(*json::find(metadata, "annotations"), lifecycle::kAdditionalResources) != nullptr;
  require(documents.size() == (kept ? output.additional.size() : 0), "all documents are kept", text);
  for (std::size_t i = 0; i < documents.size(); ++i)
    require(json::equal(documents[i], output.additional[i]), "as they were", text);
  for (const json::Value& each :
       lifecycle::additionalConfigMaps(request, output.additional, nullptr, allocator)) {
    require(json::findText(&each, "kind") == "ConfigMap", "only ConfigMaps are created", text);
    require(lifecycle::namespaceOf(each) == "ns", "in the namespace of the request", text);
    require(lifecycle::isOfRequest(each, request), "with the labels of the request", text);
    require(json::find(lifecycle::metadataOf(each), "ownerReferences") == nullptr, "without owners", text);
  }
}

void checkText(std::string_view text, std::string_view page) {
  json::Document memory;
  json::Allocator& allocator = memory.GetAllocator();
  const json::Maker make{allocator};
  const json::Value request =
      make.object("metadata", make.object("name", "r", "namespace", "ns", "uid", "u", "generation", 1));
  const json::Value configMap =
      make.object("data", make.object(api::dgdr::kResultKey, text, api::dgdr::kWebUiKey, page));
  const auto read = lifecycle::readProfilingOutput(configMap, allocator);
  lifecycle::RequestStatus status{request, {}, allocator};
  if (const auto* problem = std::get_if<lifecycle::ProfilingProblem>(&read)) {
    require(!problem->message.empty() && !problem->ofProfiler, "a problem has a reason", text);
    return checkOutcome(status.generationFailed(problem->message), text);
  }
  const auto& output = std::get<lifecycle::ProfilingOutput>(read);
  require(json::findText(&output.graph, "kind") == "DynamoGraphDeployment", "the result is a graph", text);
  require(!hasNull(output.graph), "without nulls", text);
  require(!lifecycle::nameOf(output.graph).empty(), "with a name", text);
  const std::string written = text::toYaml(output.graph);
  require(written.size() <= lifecycle::kMaxGraphBytes, "a graph has bounds", text);
  const text::TextDocuments again = text::parseDocuments(written);
  require(!again.error && again.documents.size() == 1 && json::equal(again.documents[0].value, output.graph),
          "a graph survives writing and reading", text);
  require(output.additional.size() < lifecycle::kMaxOutputDocuments, "documents have bounds", text);
  require(json::dump(output.pareto).size() <= 2 * lifecycle::kMaxParetoBytes, "alternatives have bounds",
          page);
  checkAnnotations(output, request, text);
  checkOutcome(status.generated(output), text);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  const std::size_t end = std::min(input.find('\0'), size);
  dynamo::checkText(input.substr(0, end), input.substr(std::min(end + 1, size)));
  return 0;
}
