// The operator's configuration: every text gives a configuration or errors with paths, and nothing throws.

#include <cstdint>

#include "common/config/load.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

void checkText(std::string_view text, config::Purpose purpose) {
  const config::LoadResult loaded = config::loadConfigText(text, "config.yaml", purpose);
  require(loaded.ok() == loaded.errors.empty(), "errors refuse the configuration", text);
  for (const auto& error : loaded.errors)
    require(!error.field.empty() || error.rule == "config-syntax", "an error within the text has a path",
            error.message());
  const auto report = loaded.report();
  require(report.size() == loaded.errors.size() + loaded.warnings.size(), "every finding is reported", text);
  for (const std::string& line : report) {
    require(!line.empty() && fuzz::isOneLine(line), "a finding is one line", line);
    require(line.starts_with("config.yaml"), "a finding names the file", line);
  }
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  using dynamo::config::Purpose;
  for (const Purpose purpose : {Purpose::Offline, Purpose::Webhook, Purpose::Controller}) {
    dynamo::checkText(text, purpose);
  }
  return 0;
}
