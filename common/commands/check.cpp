#include "common/commands/check.h"

#include <iostream>
#include <iterator>

#include "common/commands/manifest_review.h"
#include "common/commands/report.h"
#include "common/text/manifests.h"

namespace dynamo::commands {

int runCheck(const CheckOptions& options, const Program& program) {
  const auto settings = loadSettings(options, config::Purpose::Check, program.name, std::cerr);
  if (!settings) return 2;
  text::Manifests manifests = text::readManifests(options.files);
  for (const std::string& error : manifests.errors) std::cerr << program.name << ": " << error << '\n';
  Summary summary;
  for (text::Manifest& manifest : manifests.objects) {
    ManifestReview review = reviewManifest(manifest, options.namespaceName, *settings);
    const bool ours = review.category != ManifestKind::Category::OtherGroup;
    ++(ours ? summary.objects : summary.skipped);
    std::move(review.findings.begin(), review.findings.end(), std::back_inserter(summary.findings));
  }
  std::cout << (options.output == "json"    ? toJson(summary)
                : options.output == "sarif" ? toSarif(summary, program.name, program.version)
                                            : toText(summary))
            << std::flush;
  if (!manifests.errors.empty() || !std::cout) return 2;
  return summary.errors() == 0 ? 0 : 1;
}

}  // namespace dynamo::commands
