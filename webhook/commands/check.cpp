#include "webhook/commands/check.h"

#include <iostream>
#include <iterator>

#include "common/commands/manifest_review.h"
#include "common/commands/report.h"
#include "common/text/manifests.h"
#include "webhook/version.h"

namespace dynamo::webhook {

int runCheck(const CheckOptions& options) {
  const auto settings = commands::loadSettings(options, config::Purpose::Check, kProgram, std::cerr);
  if (!settings) return 2;
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << kProgram << ": " << error << '\n';
  commands::Summary summary;
  for (text::Manifest& manifest : manifests.objects) {
    commands::ManifestReview review = commands::reviewManifest(manifest, options.namespaceName, *settings);
    const bool ours = review.category != commands::ManifestKind::Category::OtherGroup;
    ++(ours ? summary.objects : summary.skipped);
    std::move(review.findings.begin(), review.findings.end(), std::back_inserter(summary.findings));
  }
  std::cout << (options.output == "json"    ? toJson(summary)
                : options.output == "sarif" ? toSarif(summary, kProgram, kVersion)
                                            : toText(summary))
            << std::flush;
  if (!manifests.errors.empty() || !std::cout) return 2;
  return summary.errors() == 0 ? 0 : 1;
}

}  // namespace dynamo::webhook
