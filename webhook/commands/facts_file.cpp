#include "webhook/commands/facts_file.h"

#include <utility>

#include "common/render/facts.h"
#include "common/text/yaml.h"

namespace dynamo::webhook {

FactsFile::FactsFile(std::string path) : file_(std::move(path), text::kMaxTextBytes) {}

std::optional<FactsReading> FactsFile::poll() {
  std::optional<runtime::FileReading> content = file_.poll();
  if (!content) return std::nullopt;
  FactsReading reading;
  reading.missing = !content->text;
  reading.error = std::move(content->error);
  if (content->text && reading.error.empty())
    reading.error = render::parseFacts(*content->text, reading.facts);
  return reading;
}

}  // namespace dynamo::webhook
