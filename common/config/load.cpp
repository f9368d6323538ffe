#include "common/config/load.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <ostream>
#include <system_error>

#include "common/config/operator_config_decode.h"
#include "common/text/input.h"
#include "common/text/yaml.h"

namespace dynamo::config {
namespace {

using field::ErrorType;
using field::FieldError;

/// An error of the whole text: at no path of it.
void refuse(LoadResult& result, ErrorType type, std::string detail) {
  result.errors.push_back({type, {}, {}, std::move(detail), "config-syntax"});
}

/// The configuration object of the text; nullptr when there is none, with an error unless the text is empty.
const json::Value* onlyObject(const text::TextDocuments& text, LoadResult& result) {
  if (text.error) {
    refuse(result, ErrorType::Invalid, text.error->message());
  } else if (text.documents.size() > 1) {
    refuse(result, ErrorType::Invalid, "must hold one document");
  } else if (!text.documents.empty()) {
    const json::Value& root = text.documents.front().value;
    if (root.IsObject()) return &root;
    refuse(result, ErrorType::Invalid, "must hold an object");
  }
  return nullptr;
}

/// Moves what only the controller needs to the warnings.
void warnOfControllers(field::Findings& findings) {
  std::erase_if(findings.errors, [&](const FieldError& error) {
    if (error.rule != kControllerRule) return false;
    findings.warn(error.field, error.body(), error.rule);
    return true;
  });
}

/// `root`: nullptr when there is none; defaults hold then.
void judge(const json::Value* root, Purpose purpose, LoadResult& result) {
  field::Findings findings;
  if (root != nullptr) result.config = decodeConfig(*root, findings);
  applyDefaults(result.config);
  if (!result.errors.empty()) return;  // nothing was decoded: rules would only confuse
  for (FieldError& error : validateConfig(result.config, purpose)) {
    const bool undecoded = std::any_of(findings.errors.begin(), findings.errors.end(),
                                       [&](const FieldError& e) { return error.field.isWithin(e.field); });
    if (!undecoded) findings.error(std::move(error));
  }
  for (field::Warning& warning : configWarnings(result.config)) {
    findings.warnings.push_back(std::move(warning));
  }
  if (purpose == Purpose::Check) warnOfControllers(findings);
  findings.sort();
  result.errors = std::move(findings.errors);
  result.warnings = std::move(findings.warnings);
}

void load(std::string_view text, Purpose purpose, LoadResult& result) {
  text::TextDocuments documents = text::parseDocuments(text);
  const json::Value* root = onlyObject(documents, result);
  if (root != nullptr) result.positions = std::move(documents.documents.front().positions);
  judge(root, purpose, result);
}

/// Throws nothing: what `work` throws is an error.
template <typename Work>
LoadResult guarded(std::string source, const Work& work) noexcept {
  LoadResult result;
  result.source = source.empty() ? "configuration" : std::move(source);
  try {
    work(result);
  } catch (const std::exception& error) {
    refuse(result, ErrorType::Invalid, fmt::format("could not be processed: {}", error.what()));
  }
  return result;
}

}  // namespace

std::vector<std::string> LoadResult::report() const {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view severity, const field::Path& field, std::string_view text) {
    if (field.empty()) {  // an error of the whole text
      lines.push_back(fmt::format("{}: {}: {}", source, severity, text));
    } else {
      lines.push_back(fmt::format("{}:{}: {}: {}: {}", source, std::max(1U, positions.locate(field).line),
                                  severity, field.text(), text));
    }
  };
  for (const FieldError& error : errors) add("error", error.field, error.body());
  for (const field::Warning& warning : warnings) add("warning", warning.field, warning.text);
  return lines;
}

LoadResult loadConfigText(std::string_view text, std::string source, Purpose purpose) noexcept {
  return guarded(std::move(source), [&](LoadResult& result) { load(text, purpose, result); });
}

LoadResult loadConfigObject(const json::Value& root, text::Positions positions, std::string source,
                            Purpose purpose) noexcept {
  return guarded(std::move(source), [&](LoadResult& result) {
    result.positions = std::move(positions);
    judge(&root, purpose, result);
  });
}

LoadResult loadConfigFile(const std::string& path, Purpose purpose) noexcept {
  std::ifstream file{path, std::ios::binary};
  const std::string text = text::readText(file);
  if (file.is_open() && !file.bad()) return loadConfigText(text, path, purpose);
  const int reason = errno;
  LoadResult result;
  result.source = path.empty() ? "configuration" : path;
  refuse(result, ErrorType::NotFound, std::system_category().message(reason));
  return result;
}

std::optional<OperatorConfig> loadForCommand(const std::string& path, std::ostream& report, Purpose purpose) {
  if (path.empty()) return defaultConfig();
  LoadResult loaded = loadConfigFile(path, purpose);
  for (const std::string& line : loaded.report()) report << line << '\n';
  if (!loaded.ok()) return std::nullopt;
  return std::move(loaded.config);
}

}  // namespace dynamo::config
