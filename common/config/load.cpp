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

/// Adds an error about the whole file, without a field path.
void addFileError(LoadResult& result, ErrorType type, std::string detail) {
  result.errors.push_back({type, {}, {}, std::move(detail), "config-syntax"});
}

/// The configuration object of the text. nullptr if there is none; this is an error unless the text is empty.
const json::Value* rootObject(const text::TextDocuments& text, LoadResult& result) {
  if (text.error) {
    addFileError(result, ErrorType::Invalid, text.error->message());
  } else if (text.documents.size() > 1) {
    addFileError(result, ErrorType::Invalid, "must contain exactly one document");
  } else if (!text.documents.empty()) {
    const json::Value& root = text.documents.front().value;
    if (root.IsObject()) return &root;
    addFileError(result, ErrorType::Invalid, "must contain an object");
  }
  return nullptr;
}

/// Turns errors about settings that only the controller requires into warnings.
void downgradeControllerErrors(field::Findings& findings) {
  std::erase_if(findings.errors, [&](const FieldError& error) {
    if (error.rule != kControllerRule) return false;
    findings.warn(error.field, error.body(), error.rule);
    return true;
  });
}

/// `root` may be nullptr: then the configuration consists of defaults.
void decodeAndValidate(const json::Value* root, Purpose purpose, LoadResult& result) {
  field::Findings findings;
  if (root != nullptr) result.config = decodeConfig(*root, findings);
  applyConfigDefaults(result.config);
  if (!result.errors.empty()) return;  // nothing was decoded, so rules would report follow-up errors
  for (FieldError& error : validateConfig(result.config, purpose)) {
    const bool notDecoded = std::any_of(findings.errors.begin(), findings.errors.end(),
                                        [&](const FieldError& e) { return error.field.isWithin(e.field); });
    if (!notDecoded) findings.error(std::move(error));
  }
  for (field::Warning& warning : configWarnings(result.config)) {
    findings.warnings.push_back(std::move(warning));
  }
  if (purpose == Purpose::Check) downgradeControllerErrors(findings);
  findings.sort();
  result.errors = std::move(findings.errors);
  result.warnings = std::move(findings.warnings);
}

void load(std::string_view text, Purpose purpose, LoadResult& result) {
  text::TextDocuments documents = text::parseDocuments(text);
  const json::Value* root = rootObject(documents, result);
  if (root != nullptr) result.positions = std::move(documents.documents.front().positions);
  decodeAndValidate(root, purpose, result);
}

/// Runs `work` and turns an exception into an error of the result.
template <typename Work>
LoadResult catchExceptions(std::string source, const Work& work) noexcept {
  LoadResult result;
  result.source = source.empty() ? "configuration" : std::move(source);
  try {
    work(result);
  } catch (const std::exception& error) {
    addFileError(result, ErrorType::Invalid, fmt::format("could not be processed: {}", error.what()));
  }
  return result;
}

}  // namespace

std::vector<std::string> LoadResult::report() const {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view severity, const field::Path& field, std::string_view text) {
    if (field.empty()) {  // about the whole file
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
  return catchExceptions(std::move(source), [&](LoadResult& result) { load(text, purpose, result); });
}

LoadResult loadConfigObject(const json::Value& root, text::Positions positions, std::string source,
                            Purpose purpose) noexcept {
  return catchExceptions(std::move(source), [&](LoadResult& result) {
    result.positions = std::move(positions);
    decodeAndValidate(&root, purpose, result);
  });
}

LoadResult loadConfigFile(const std::string& path, Purpose purpose) noexcept {
  std::ifstream file{path, std::ios::binary};
  const std::string text = text::readText(file);
  if (file.is_open() && !file.bad()) return loadConfigText(text, path, purpose);
  const int reason = errno;
  LoadResult result;
  result.source = path.empty() ? "configuration" : path;
  addFileError(result, ErrorType::NotFound, std::system_category().message(reason));
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
