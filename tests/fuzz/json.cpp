// The JSON parser: an accepted text survives writing and reading, and parsing in place has the same result.

#include "common/json/parse.h"

#include <algorithm>
#include <cstdint>

#include "require.h"

namespace dynamo {
namespace {

using fuzz::require;

std::size_t depthOf(const json::Value& value) {
  std::size_t deepest = 0;
  if (value.IsObject()) {
    for (const auto& member : value.GetObject()) deepest = std::max(deepest, depthOf(member.value));
  } else if (value.IsArray()) {
    for (const json::Value& item : value.GetArray()) deepest = std::max(deepest, depthOf(item));
  } else {
    return 0;
  }
  return deepest + 1;
}

void checkText(std::string_view text) {
  json::Document document;
  const auto error = json::parse(text, document);
  std::string inPlace{text};
  json::Document other;
  const auto otherError = json::parseInsitu(inPlace, other);
  require(error.has_value() == otherError.has_value(), "parsing in place accepts the same", text);
  if (error) {
    require(error->offset <= text.size(), "an error lies in the text", text);
    require(error->line >= 1 && error->column >= 1, "positions count from 1", text);
    require(fuzz::isOneLine(error->message()), "an error is one line", error->message());
    return;
  }
  require(!json::guard(text), "the guard has passed what is parsed", text);
  require(!json::findDuplicateName(document), "no name stands twice", text);
  require(depthOf(document) <= json::kMaxDepth, "depth is bounded", text);
  require(json::equal(document, other), "parsing in place gives the same", text);
  const std::string dumped = json::dump(document);
  json::Document again;
  const auto dumpError = json::parse(dumped, again);
  require(!dumpError, "what is written can be read", dumped);
  require(json::equal(document, again), "and is the same", dumped);
  require(json::dump(again) == dumped, "and written alike", dumped);
  json::Allocator allocator;
  require(json::equal(document, json::copy(document, allocator)), "a copy is equal", text);
}

}  // namespace
}  // namespace dynamo

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  dynamo::checkText({reinterpret_cast<const char*>(data), size});
  return 0;
}
