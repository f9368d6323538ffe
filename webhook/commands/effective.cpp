#include "webhook/commands/effective.h"

#include <functional>
#include <iostream>

#include "common/api/kinds.h"
#include "common/defaults/apply.h"
#include "common/defaults/dgdr.h"
#include "common/schema/defaults.h"
#include "common/schema/registry.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"

namespace dynamo::webhook {
namespace {

using json::Value;

int printEach(const EffectiveOptions& options, const std::function<void(Value&, json::Allocator&)>& change) {
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << "dynamo-webhook: " << error << '\n';
  for (text::Manifest& manifest : manifests.objects) {
    change(manifest.object, manifest.object.GetAllocator());
    if (options.output == "json") {
      std::cout << json::dump(manifest.object) << '\n';
    } else {
      std::cout << "---\n" << text::toYaml(manifest.object);
    }
  }
  return manifests.errors.empty() && std::cout.flush() ? 0 : 2;
}

}  // namespace

int runEffective(const EffectiveOptions& options) {
  const std::optional<Policy> policy = loadPolicy(options, config::Purpose::Offline, std::cerr);
  if (!policy) return 2;
  return printEach(options, [&](Value& object, json::Allocator& allocator) {
    const schema::Node* node =
        schema::find(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
    if (node == nullptr) return;
    schema::applySchemaDefaults(*node, object, allocator);
    if (json::findText(&object, "apiVersion") == api::kV1beta1) {
      defaults::defaultDgdr(object, policy->operatorVersion, allocator);
    }
    const auto settings = policy->settings->get();
    defaults::applyComponentDefaults(
        object, nullptr,
        {settings->defaults, settings->config, policy->operatorVersion, options.namespaceName}, allocator);
  });
}

int runIntent(const EffectiveOptions& options) {
  if (!loadPolicy(options, config::Purpose::Offline, std::cerr)) return 2;
  return printEach(options, [](Value& object, json::Allocator&) { defaults::reduceToIntent(object); });
}

}  // namespace dynamo::webhook
