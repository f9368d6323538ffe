// Answers of the LoRA endpoints: any status and any body give one short line that a status can hold, or
// success. The first two bytes are the status, the rest is the body and the name of an adapter.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/json/build.h"
#include "common/json/parse.h"
#include "common/json/utf8.h"
#include "common/lifecycle/conditions.h"
#include "common/lifecycle/model.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

constexpr std::size_t kMaxProblem = 300;  // 200 bytes of the answer, its status, and the advice about 404

void checkProblem(const std::string& problem, std::string_view body) {
  require(problem.size() <= kMaxProblem, "a problem is short", body);
  require(fuzz::isOneLine(problem) && json::isUtf8(problem), "a problem is one line of text", body);
}

json::Value modelNamed(std::string_view name, const json::Maker& make) {
  return make.object("apiVersion", "nvidia.com/v1alpha1", "kind", "DynamoModel", "metadata",
                     make.object("name", "m", "namespace", "ns", "uid", "u", "generation", 1), "spec",
                     make.object("modelName", name, "baseModelName", "b", "modelType", "lora", "source",
                                 make.object("uri", name)));
}

/// A status with the problem is valid JSON, and the same problem does not change it again.
void checkStatus(const std::string& problem, std::string_view body) {
  json::Document memory;
  const json::Maker make{memory.GetAllocator()};
  json::Value model = modelNamed("adapter", make);
  const lifecycle::ModelState state{1, {{"pod", "10.0.0.1", problem.empty(), problem}}};
  lifecycle::Outcome outcome = lifecycle::modelOutcome(model, state, {}, memory.GetAllocator());
  require(outcome.status.has_value(), "a new problem changes the status", body);
  json::Document stored;
  require(!json::parse(json::dump(*outcome.status), stored), "the status is valid JSON", body);
  for (const lifecycle::Event& event : outcome.events)
    require(json::isUtf8(event.message) && event.message.size() <= lifecycle::kMaxEventMessage,
            "Events have bounds", body);
  make.set(model, "status", make.value(stored));
  outcome = lifecycle::modelOutcome(model, state, {}, memory.GetAllocator());
  require(!outcome.status && outcome.events.empty(), "the same problem changes nothing", body);
}

void checkRequests(std::string_view name) {
  if (!json::isUtf8(name)) return;  // the API server stores no other names
  json::Document memory;
  const json::Value model = modelNamed(name, json::Maker{memory.GetAllocator()});
  json::Document body;
  require(!json::parse(lifecycle::loadBody(model), body), "what is posted is JSON", name);
  require(json::findText(&body, "lora_name") == name, "with the name of the adapter", name);
  const std::string path = lifecycle::unloadPath(lifecycle::modelNameOf(model));
  require(path.starts_with(lifecycle::kLoadPath), "the path is that of the endpoint", name);
  for (const char c : path) require(c > ' ' && c < 0x7F && c != '?' && c != '#', "a path is escaped", name);
}

void checkAnswer(int status, std::string_view body) {
  const bool success = status >= 200 && status < 300;
  const std::string load = lifecycle::loadProblem(status, body);
  const std::string unload = lifecycle::unloadProblem(status, body);
  require(load.empty() == success, "only a success loads an adapter", body);
  require(unload.empty() || unload == load, "an answer says the same of both", body);
  require(!success || unload.empty(), "a success unloads it", body);
  checkProblem(load, body);
  checkStatus(load, body);
  checkRequests(body);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  dynamo::checkAnswer(data[0] * 256 + data[1], {reinterpret_cast<const char*>(data) + 2, size - 2});
  return 0;
}
