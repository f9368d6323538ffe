// Manifests: every text gives documents or one error with a position. Documents survive writing and reading.

#include "common/text/yaml.h"

#include <cstdint>

#include "common/text/yaml_writer.h"
#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

void checkText(std::string_view text) {
  const text::TextDocuments read = text::parseDocuments(text);
  if (read.error) {
    require(read.error->line >= 1 && read.error->column >= 1, "an error has a place", text);
    require(!read.error->reason.empty(), "an error has a reason", text);
    require(fuzz::isOneLine(read.error->message()), "an error is one line", text);
  }
  require(read.documents.size() <= text::kMaxDocuments, "documents are bounded", text);
  for (const text::TextDocument& document : read.documents) {
    require(!document.value.IsNull(), "null documents are left out", text);
    const std::string dumped = json::dump(document.value);
    json::Document again;
    require(!json::parse(dumped, again), "a document is valid JSON", dumped);
    require(json::equal(again, document.value), "and the same", dumped);
    if (!document.value.IsObject() || document.value.ObjectEmpty()) continue;
    const std::string written = text::toYaml(document.value);
    const text::TextDocuments reread = text::parseDocuments(written);
    require(!reread.error, "what is written can be read", written);
    require(reread.documents.size() == 1, "as one document", written);
    require(json::equal(reread.documents[0].value, document.value), "and is the same", written);
  }
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynamo::checkText({reinterpret_cast<const char*>(data), size});
  return 0;
}
