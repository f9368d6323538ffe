// Graphs and components as any bytes give them: defaulting twice is defaulting once, nothing that admission
// made and accepted is refused afterwards, and every pathway renders it without harm.

#include <cstdint>
#include <string>
#include <vector>

#include "common/admission/validate.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/json/parse.h"
#include "common/render/children.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;
using json::Value;

const admission::Settings& settings() {
  static const admission::Settings kSettings = [] {
    config::OperatorConfig config = config::defaultConfig();
    config.mpi.sshSecretName = "mpi-secret";
    config.checkpoint.enabled = true;
    return admission::Settings{std::move(config), "dynamo-system/operator"};
  }();
  return kSettings;
}

Value admit(const Value& request, const Value* old, json::Allocator& allocator) {
  Value object = json::copy(request, allocator);
  defaults::applyDefaults(object, old, {settings().defaults, settings().config, "1.0.0", "ns"}, allocator);
  return object;
}

std::string refusals(const Value& object, const Value* old) {
  std::string text;
  const std::string_view kind = json::findText(&object, "kind");
  for (const auto& error : admission::validate({kind, object, old, "user"}, settings()).errors) {
    require(!error.field.empty() && !error.rule.empty(), "an error has a path and a rule", error.message());
    text += error.message() + "\n";
  }
  return text;
}

void renderEverywhere(const Value& object, json::Allocator& allocator) {
  const bool graph = json::findText(&object, "kind") == api::kDynamoGraphDeployment;
  const render::Context usual = settings().context();
  for (const bool grove : {true, false}) {
    const render::Context context{usual.config, usual.defaults, usual.facts, grove};
    const render::Children once = graph ? render::renderAll(object, context, {}, allocator)
                                        : render::renderComponentDeployment(object, context, allocator);
    const render::Children twice = graph ? render::renderAll(object, context, {}, allocator)
                                         : render::renderComponentDeployment(object, context, allocator);
    require(once.items.size() == twice.items.size(), "rendering is deterministic");
    for (std::size_t i = 0; i < once.items.size(); ++i) {
      require(json::equal(once.items[i].object, twice.items[i].object), "rendering is deterministic");
    }
  }
}

void checkObject(const Value& request, json::Allocator& allocator) {
  const Value stored = admit(request, nullptr, allocator);
  const Value again = admit(stored, nullptr, allocator);
  require(json::equal(stored, again), "CREATE again changes nothing", json::dump(stored));
  const Value left = admit(stored, &stored, allocator);
  require(json::equal(stored, left), "UPDATE without a change changes nothing", json::dump(stored));
  if (refusals(stored, nullptr).empty()) {
    const std::string later = refusals(stored, &stored);
    require(later.empty(), "what was accepted is accepted again", later + json::dump(stored));
  }
  // Only an object of right types reaches the controller.
  if (!admission::wrongTypes(stored, nullptr).errors.empty()) return;
  renderEverywhere(stored, allocator);
  renderEverywhere(request, allocator);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynamo;
  json::Document document;
  if (json::parse({reinterpret_cast<const char*>(data), size}, document) || !document.IsObject()) return 0;
  auto& allocator = document.GetAllocator();
  const std::string_view kind = json::findText(&document, "kind");
  if (kind != api::kDynamoGraphDeployment && kind != api::kDynamoComponentDeployment) return 0;
  const schema::Node* node = schema::find(json::findText(&document, "apiVersion"), kind);
  if (node == nullptr) return 0;
  const Value wild = json::copy(document, allocator);
  schema::applyDefaults(*node, document, allocator);
  checkObject(document, allocator);
  // A webhook may also see what the API server has not filled in.
  admit(wild, nullptr, allocator);
  refusals(wild, nullptr);
  refusals(document, &wild);
  return 0;
}
