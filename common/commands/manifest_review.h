#pragma once
// What commands know of a manifest before they print anything: what a CREATE of it would be answered, and the
// object that would be stored.

#include <string>
#include <vector>

#include "common/admission/settings.h"
#include "common/commands/manifest_kind.h"
#include "common/commands/report.h"
#include "common/json/value.h"
#include "common/text/manifests.h"

namespace dynamo::commands {

struct ManifestReview {
  ManifestKind::Category category = ManifestKind::Category::OtherGroup;
  /// First those of the schema, then those of the rules. With `validation.mode: warn` the errors of rules are
  /// warnings. An OperatorConfiguration is validated as the programs that read it do.
  std::vector<FileFinding> findings;
  /// Of an object of one of Dynamo's kinds: with all defaults, in the version that admission reads
  /// (admission/create.h). Else null.
  json::Value admitted;
  /// The same in the version of the manifest.
  json::Value stored;

  /// The API server or the webhook would refuse the object.
  bool refused() const;
};

/// Reviews a manifest as the object of a CREATE. `namespaceName`: of an object without one. The values are
/// allocated by the manifest and refer to its strings.
ManifestReview reviewManifest(text::Manifest& manifest, const std::string& namespaceName,
                              const admission::Settings& settings);

}  // namespace dynamo::commands
