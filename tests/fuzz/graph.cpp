// Objects of every kind, mutated by their schemas: defaulting is idempotent, an update with an unchanged spec
// is never rejected, and every pathway renders the object without a crash.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "common/admission/dgdr.h"
#include "common/admission/validate.h"
#include "common/api/dynamo.h"
#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/json/parse.h"
#include "common/json/patch.h"
#include "common/render/children.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "require.h"
#include "tests/unit/render/bypass.h"

namespace dynamo {
namespace {

using fuzz::require;
using json::Value;

const admission::Settings& settings() {
  static const admission::Settings kSettings = [] {
    config::OperatorConfig config = config::defaultConfig();
    config.mpi.sshSecretName = "mpi-secret";
    config.checkpoint.enabled = true;
    return admission::Settings{std::move(config), "1.0.0", "dynamo-system/operator"};
  }();
  return kSettings;
}

Value admit(const Value& request, const Value* old, json::Allocator& allocator) {
  Value object = json::copy(request, allocator);
  defaults::applyComponentDefaults(object, old, {settings().defaults, settings().config, "1.0.0", "ns"},
                                   allocator);
  return object;
}

std::string textOf(const std::vector<field::FieldError>& errors) {
  std::string text;
  for (const auto& error : errors) text += error.message() + "\n";
  return text;
}

std::string refusals(const Value& object, const Value* old) {
  const std::string_view kind = json::findText(&object, "kind");
  const rules::DgdrPolicy policy;
  const auto findings =
      kind == api::kDynamoGraphDeploymentRequest
          ? admission::validateDgdr({object, old, "v1beta1", policy})
          : admission::judge(object, {.kind = kind, .username = "user", .old = old}, settings());
  for (const auto& error : findings.errors) {
    require(!error.field.empty() && !error.rule.empty(), "an error has a path and a rule", error.message());
  }
  return textOf(findings.errors);
}

bool isRendered(std::string_view kind) {
  return kind == api::kDynamoGraphDeployment || kind == api::kDynamoComponentDeployment;
}

const Value* annotationsOf(const Value& object) {
  return json::find(json::find(&object, "metadata"), "annotations");
}

render::Children renderOn(bool grove, const Value& object) {
  const render::Context usual = settings().context();
  const render::Context context{usual.config, usual.defaults, usual.facts, grove};
  return json::findText(&object, "kind") == api::kDynamoGraphDeployment
             ? render::renderAll(object, context, {})
             : render::renderComponentDeployment(object, context);
}

/// The children are the same with and without admission.
void renderEverywhere(const Value& stored, const Value& request, json::Allocator& allocator) {
  if (!isRendered(json::findText(&stored, "kind"))) return;
  const Value bypassed = render::test::stamped(request, stored, allocator);
  const bool comparable = json::findObject(&request, "metadata") != nullptr &&
                          json::find(annotationsOf(request), api::annotation::kDefaulted) == nullptr;
  for (const bool grove : {true, false}) {
    const render::Children made = renderOn(grove, stored);
    const render::Children same = renderOn(grove, bypassed);
    if (!comparable) continue;
    require(textOf(made.errors) == textOf(same.errors), "the same errors without admission", [&] {
      return fmt::format("{}\n{}\n{}", json::dump(request), textOf(made.errors), textOf(same.errors));
    });
    require(made.items.size() == same.items.size(), "as many children without admission",
            [&] { return json::dump(request); });
    for (std::size_t i = 0; i < made.items.size(); ++i) {
      const Value& wanted = render::test::compared(made.items[i]);
      const Value& got = render::test::compared(same.items[i]);
      require(json::equal(wanted, got), "the same children without admission", [&] {
        return fmt::format("{}\n{}\n{}", json::dump(request), json::dump(wanted), json::dump(got));
      });
    }
  }
}

/// The patch of admission has the same result as admission itself. Another implementation reads and applies
/// it.
void checkPatch(const Value& before, const Value& after, json::Allocator& allocator) {
  json::Patch patch;
  json::diff(before, after, "", patch);
  const std::string text = patch.dump();
  if (text.find("\\u0000") != std::string::npos) return;  // the other implementation ends names at NUL
  json::Document operations{&allocator};
  require(!json::parse(text, operations), "the patch is JSON", text);
  Value made = json::copy(before, allocator);
  for (const Value& operation : operations.GetArray()) {
    const std::string_view path = json::findText(&operation, "path");
    const rapidjson::Pointer pointer{path.data(), path.size()};
    const std::string_view kind = json::findText(&operation, "op");
    const bool there = pointer.Get(made) != nullptr;
    require(pointer.IsValid() && there == (kind != "add"), "the patch fits the object",
            [&] { return json::dump(before) + "\n" + text; });
    if (kind == "remove") {
      pointer.Erase(made);
    } else {
      pointer.Set(made, json::copy(*json::findRaw(operation, "value"), allocator), allocator);
    }
  }
  require(json::equal(made, after), "the patch makes of the object what admission made of it",
          [&] { return json::dump(before) + "\n" + text + "\n" + json::dump(after); });
}

void checkObject(const Value& request, json::Allocator& allocator) {
  const Value stored = admit(request, nullptr, allocator);
  const Value again = admit(stored, nullptr, allocator);
  checkPatch(request, stored, allocator);
  const auto dumped = [&] { return json::dump(stored); };
  require(json::equal(stored, again), "CREATE again changes nothing", dumped);
  const Value left = admit(stored, &stored, allocator);
  require(json::equal(stored, left), "UPDATE without a change changes nothing", dumped);
  const Value replaced = admit(request, &stored, allocator);
  require(json::equal(stored, replaced), "applying the manifest again changes nothing",
          [&] { return json::dump(stored) + "\n" + json::dump(replaced); });
  refusals(stored, nullptr);
  // An UPDATE is never rejected for errors in unchanged fields.
  Value labelled = json::copy(stored, allocator);
  Value& metadata = json::ensureObject(labelled, "metadata", allocator);
  json::set(json::ensureObject(metadata, "labels", allocator), "team", json::string("a", allocator),
            allocator);
  const std::string later = refusals(labelled, &stored);
  require(later.empty(), "an update with an unchanged spec is not rejected",
          [&] { return later + json::dump(stored); });
  // Only objects without type errors reach the controller.
  if (!admission::wrongTypes(stored, nullptr).errors.empty()) return;
  renderEverywhere(stored, request, allocator);
}

/// Reads an object as the API server sends it to webhooks. Returns false when it would not send it. `wild` is
/// the object before schema defaults.
bool read(std::string_view text, json::Document& object, Value& wild) {
  if (json::parse(text, object) || !object.IsObject()) return false;
  const std::string_view kind = json::findText(&object, "kind");
  const std::string_view version = json::findText(&object, "apiVersion");
  const schema::Node* node = schema::find(version, kind);
  // Requests only reach webhooks in their stored version.
  if (node == nullptr || (kind == api::kDynamoGraphDeploymentRequest && version != api::kV1beta1))
    return false;
  wild = json::copy(object, object.GetAllocator());
  schema::applySchemaDefaults(*node, object, object.GetAllocator());
  if (Value* metadata = json::find(object, "metadata"); metadata != nullptr && metadata->IsObject()) {
    json::set(*metadata, "namespace", json::string("ns", object.GetAllocator()), object.GetAllocator());
  }
  return true;
}

/// Updating a stored object with a new manifest has the same result as creating the manifest.
void checkReplacement(Value& manifest, const Value& request, json::Allocator& allocator) {
  // The webhook's own annotations belong to the object that they were written for.
  for (const Value* object : std::initializer_list<const Value*>{&manifest, &request}) {
    if (!admission::wrongTypes(*object, nullptr).errors.empty()) return;
    for (const std::string_view key : {api::annotation::kDefaulted, api::annotation::kOriginVersion}) {
      if (json::find(annotationsOf(*object), key) != nullptr) return;
    }
  }
  const Value* metadata = json::findObject(&request, "metadata");
  if (metadata == nullptr || json::findObject(&request, "spec") == nullptr) return;
  json::set(manifest, "metadata", json::copy(*metadata, allocator), allocator);
  const Value stored = admit(request, nullptr, allocator);
  Value updated = admit(manifest, &stored, allocator);
  Value created = admit(manifest, nullptr, allocator);
  refusals(updated, &stored);
  for (Value* object : {&updated, &created}) {
    if (Value* texts = const_cast<Value*>(annotationsOf(*object)))
      json::remove(*texts, api::annotation::kDefaulted);
  }
  require(json::equal(updated, created), "a manifest has the same result for every stored object", [&] {
    return fmt::format("{}\n{}\n{}\n{}", json::dump(stored), json::dump(manifest), json::dump(updated),
                       json::dump(created));
  });
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace dynamo;
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  const std::size_t end = std::min(text.find('\n'), size);
  json::Document document;
  auto& allocator = document.GetAllocator();
  Value wild;
  if (!read(text.substr(0, end), document, wild)) return 0;
  checkObject(document, allocator);
  // A webhook may also receive an object without schema defaults.
  admit(wild, nullptr, allocator);
  refusals(document, &wild);
  json::Document old{&allocator};
  if (end == size || !read(text.substr(end + 1), old, wild)) return 0;
  if (json::findText(&old, "kind") == json::findText(&document, "kind"))
    checkReplacement(document, old, allocator);
  return 0;
}
