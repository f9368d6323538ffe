#include "webhook/commands/facts_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/render/facts.h"
#include "common/text/input.h"

namespace dynamo::webhook {
namespace {

/// `error`: why not all of the file can be read.
std::optional<std::string> contentOf(const std::string& path, std::string& error) {
  std::ifstream file{path, std::ios::binary};
  if (!file && errno == ENOENT) return std::nullopt;
  std::string text = text::readText(file);
  if (!file.is_open() || file.bad()) error = std::generic_category().message(errno);
  return text;
}

}  // namespace

std::optional<FactsReading> FactsFile::poll() {
  if (path_.empty()) return std::nullopt;
  FactsReading reading;
  std::optional<std::string> content = contentOf(path_, reading.error);
  if (!std::exchange(first_, false) && content == seen_ && reading.error == failure_) return std::nullopt;
  seen_ = std::move(content);
  failure_ = reading.error;
  reading.missing = !seen_;
  if (seen_ && failure_.empty()) reading.error = render::parseFacts(*seen_, reading.facts);
  return reading;
}

}  // namespace dynamo::webhook
