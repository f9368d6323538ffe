#include "webhook/commands/facts_file.h"

#include <fstream>
#include <iterator>
#include <utility>

#include "common/render/facts.h"

namespace dynamo::webhook {
namespace {

std::optional<std::string> contentOf(const std::string& path) {
  std::ifstream file{path, std::ios::binary};
  if (!file) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>{file}, {}};
}

}  // namespace

std::optional<FactsReading> FactsFile::poll() {
  if (path_.empty()) return std::nullopt;
  std::optional<std::string> content = contentOf(path_);
  if (!std::exchange(first_, false) && content == seen_) return std::nullopt;
  seen_ = std::move(content);
  FactsReading reading;
  reading.missing = !seen_;
  if (seen_) reading.error = render::parseFacts(*seen_, reading.facts);
  return reading;
}

}  // namespace dynamo::webhook
