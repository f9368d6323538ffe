#include "common/commands/effective.h"

#include <functional>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

#include "common/api/dynamo.h"
#include "common/commands/manifest_review.h"
#include "common/defaults/annotations.h"
#include "common/defaults/apply.h"
#include "common/text/manifests.h"
#include "common/text/yaml_writer.h"

namespace dynamo::commands {
namespace {

using json::Value;
using Category = ManifestKind::Category;

void print(const Value& object, const std::string& output) {
  if (output == "json") {
    std::cout << json::dump(object) << '\n';
  } else {
    std::cout << "---\n" << text::toYaml(object);
  }
}

/// Prints what `choose` returns of each manifest, unless that is nullptr. `select` removes findings that do
/// not count.
int printEach(
    const EffectiveOptions& options, const Program& program,
    const std::function<void(std::vector<FileFinding>&)>& select,
    const std::function<const Value*(text::Manifest&, ManifestReview&, const admission::Settings&)>& choose) {
  const auto settings = loadSettings(options, config::Purpose::Offline, program.name, std::cerr);
  if (!settings) return 2;
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << program.name << ": " << error << '\n';
  bool refused = false;
  for (text::Manifest& manifest : manifests.objects) {
    ManifestReview review = reviewManifest(manifest, options.namespaceName, *settings);
    select(review.findings);
    refused = reportErrors(review.findings, std::cerr) || refused;
    if (const Value* chosen = choose(manifest, review, *settings)) print(*chosen, options.output);
  }
  if (!manifests.errors.empty() || !std::cout.flush()) return 2;
  return refused ? 1 : 0;
}

/// Removes a namespace and a name that the manifest leaves to the request.
void leaveIdentityToRequest(const text::Manifest& manifest, Value& object) {
  Value& metadata = object["metadata"];
  const Value* given = json::find(&manifest.object, "metadata");
  for (const std::string_view member : {"namespace", "name"}) {
    if (json::findText(given, member).empty()) json::remove(metadata, member);
  }
}

}  // namespace

int runEffective(const EffectiveOptions& options, const Program& program) {
  const auto choose = [&](text::Manifest& manifest, ManifestReview& review,
                          const admission::Settings& settings) -> const Value* {
    if (review.refused()) return nullptr;
    if (review.category != Category::Dynamo) return &manifest.object;
    if (options.all) {
      const defaults::DefaultContext context{settings.defaults, settings.config, settings.operatorVersion,
                                             options.namespaceName};
      defaults::addDefaultsOfPods(review.stored, context, manifest.object.GetAllocator());
      // It records what is stored, and this object never is.
      defaults::dropAnnotation(review.stored, api::annotation::kDefaulted);
    }
    leaveIdentityToRequest(manifest, review.stored);
    return &review.stored;
  };
  return printEach(
      options, program, [](std::vector<FileFinding>&) {}, choose);
}

int runIntent(const EffectiveOptions& options, const Program& program) {
  const auto choose = [](text::Manifest& manifest, ManifestReview& review,
                         const admission::Settings&) -> const Value* {
    if (review.category == Category::Invalid) return nullptr;
    defaults::reduceToIntent(manifest.object);
    return &manifest.object;
  };
  // Rules judge new objects, and this one may be stored.
  const auto ofSchema = [](std::vector<FileFinding>& findings) {
    std::erase_if(findings, [](const auto& finding) { return !finding.rule.starts_with("schema."); });
  };
  return printEach(options, program, ofSchema, choose);
}

}  // namespace dynamo::commands
