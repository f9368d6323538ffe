#include "common/commands/manifest_review.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/admission/create.h"
#include "common/config/load.h"

namespace dynamo::commands {
namespace {

using Category = ManifestKind::Category;

FileFinding makeFinding(const text::Manifest& manifest, const field::Path& field) {
  FileFinding finding;
  finding.file = manifest.file == "-" ? "stdin" : manifest.file;
  finding.at = manifest.locate(field);
  finding.kind = manifest.kind();
  finding.name = manifest.name().empty() ? "(no name)" : std::string{manifest.name()};
  finding.field = field.text();
  return finding;
}

/// Whether errors of this rule stay errors with `validation.mode: warn`, because the API server or the
/// operator itself reports them.
bool ignoresWarnMode(std::string_view rule) {
  return rule.starts_with("schema.") || rule.starts_with("config-");
}

FileFinding fromError(const text::Manifest& manifest, const field::FieldError& error, bool warnOnly) {
  FileFinding finding = makeFinding(manifest, error.field);
  finding.isError = !warnOnly || ignoresWarnMode(error.rule);
  finding.rule = error.rule;
  finding.message = error.body();
  return finding;
}

FileFinding fromWarning(const text::Manifest& manifest, const field::Warning& warning) {
  FileFinding finding = makeFinding(manifest, warning.field);
  finding.isError = false;
  finding.rule = warning.rule;
  finding.message = warning.text;
  return finding;
}

}  // namespace

bool ManifestReview::refused() const {
  return std::any_of(findings.begin(), findings.end(),
                     [](const FileFinding& finding) { return finding.isError; });
}

ManifestReview reviewManifest(text::Manifest& manifest, const std::string& namespaceName,
                              const admission::Settings& settings) {
  ManifestKind kind = classifyManifest(manifest);
  ManifestReview review;
  review.category = kind.category;
  field::Findings found;
  switch (kind.category) {
    case Category::OtherGroup:
      break;
    case Category::Invalid:
      found.errors = std::move(kind.errors);
      break;
    case Category::Configuration: {
      config::LoadResult loaded = config::loadConfigObject(manifest.object, manifest.positions, manifest.file,
                                                           config::Purpose::Check);
      found.errors = std::move(loaded.errors);
      found.warnings = std::move(loaded.warnings);
      break;
    }
    case Category::Dynamo: {
      admission::Created created = admission::create(*kind.node, manifest.object, namespaceName, settings,
                                                     manifest.object.GetAllocator());
      found = std::move(created.findings);
      review.admitted = std::move(created.admitted);
      review.stored = std::move(created.stored);
      break;
    }
  }
  for (const field::FieldError& error : found.errors) {
    review.findings.push_back(fromError(manifest, error, settings.warnOnly));
  }
  for (const field::Warning& warning : found.warnings) {
    review.findings.push_back(fromWarning(manifest, warning));
  }
  return review;
}

}  // namespace dynamo::commands
