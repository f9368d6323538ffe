#include "webhook/commands/facts_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>
#include <utility>

#include "common/config/yaml.h"
#include "common/render/facts.h"

namespace dynamo::webhook {
namespace {

/// What can be read of the file, one byte more than would be parsed at most. `error`: why the rest cannot;
/// that of a directory is told by the first read.
std::optional<std::string> contentOf(const std::string& path, std::string& error) {
  std::ifstream file{path, std::ios::binary};
  if (!file && errno == ENOENT) return std::nullopt;
  std::string text;
  constexpr std::size_t kChunk = std::size_t{64} << 10U;
  while (file && text.size() <= config::kMaxTextBytes) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    file.read(text.data() + size, kChunk);
    text.resize(size + static_cast<std::size_t>(file.gcount()));
  }
  if (!file && !file.eof()) error = std::generic_category().message(errno);
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
