#include <algorithm>
#include <cctype>

#include "common/schema/registry.h"
#include "common/schema/walker.h"

namespace dynamo::schema {
namespace {

using json::Value;

constexpr std::size_t kMaxLabel = 63;  // RFC 1035

bool isKindName(std::string_view kind) {
  const auto isInner = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; };
  return kind.size() <= kMaxLabel && std::isalpha(static_cast<unsigned char>(kind.front())) != 0 &&
         kind.back() != '-' && std::all_of(kind.begin(), kind.end(), isInner);
}

}  // namespace

void Walker::checkEmbedded(const Value& object, const field::At& at) {
  for (const std::string_view name : {"apiVersion", "kind"}) {
    if (onlyUnknown_ || typesOnly_) break;
    const field::At member = at / name;
    const auto invalid = [&](const Value& value, std::string detail) {
      add(ErrorType::Invalid, member.path(), field::showValue(value), std::move(detail), "schema.embedded");
    };
    const Value* value = json::findRaw(object, name);
    const std::string_view text = json::text(value);
    if (value == nullptr) {
      add(ErrorType::Required, member.path(), {}, {}, "schema.embedded");
    } else if (!value->IsString()) {
      invalid(*value, "must be a string");
    } else if (text.empty()) {
      invalid(*value, "must not be empty");
    } else if (name == "kind" && !isKindName(text)) {
      invalid(*value, "must be letters, digits and '-', start with a letter and end with a letter or digit");
    } else if (name == "apiVersion" && std::count(text.begin(), text.end(), '/') > 1) {
      invalid(*value, "unexpected GroupVersion string: " + std::string{text});
    }
  }
  if (const Value* metadata = json::find(object, "metadata")) checkObjectMeta(*metadata, at);
}

void Walker::checkObjectMeta(const Value& metadata, const field::At& at) {
  check(metadataNode(), metadata, at / "metadata");
}

}  // namespace dynamo::schema
