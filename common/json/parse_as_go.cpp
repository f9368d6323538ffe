// A separate translation unit, so that a second instance of the parser cannot slow down the one that reads
// reviews.
#include <algorithm>
#include <utility>
#include <vector>

#include "common/json/parse.h"

namespace dynamo::json {
namespace {

void keepLastOfName(Value& value, Allocator& allocator) {
  if (value.IsArray()) {
    for (Value& item : value.GetArray()) keepLastOfName(item, allocator);
  }
  if (!value.IsObject()) return;
  std::vector<std::pair<std::string_view, rapidjson::SizeType>> names;
  for (rapidjson::SizeType i = 0; i < value.MemberCount(); ++i) {
    names.emplace_back(text(value.MemberBegin()[i].name), i);
  }
  std::sort(names.begin(), names.end());
  std::vector<bool> dropped(names.size());
  for (std::size_t i = 1; i < names.size(); ++i) {
    if (names[i - 1].first == names[i].first) dropped[names[i - 1].second] = true;
  }
  if (std::find(dropped.begin(), dropped.end(), true) != dropped.end()) {
    Value kept{rapidjson::kObjectType};
    for (rapidjson::SizeType i = 0; i < value.MemberCount(); ++i) {
      Value::Member& member = value.MemberBegin()[i];
      if (!dropped[i]) kept.AddMember(member.name, member.value, allocator);
    }
    value = std::move(kept);
  }
  for (auto& member : value.GetObject()) keepLastOfName(member.value, allocator);
}

}  // namespace

bool parseAsGo(std::string_view text, Document& document) {
  if (guard(text)) return false;
  document.Parse<rapidjson::kParseFullPrecisionFlag>(text.data() == nullptr ? "" : text.data(), text.size());
  if (document.HasParseError()) return false;
  keepLastOfName(document, document.GetAllocator());
  return true;
}

}  // namespace dynamo::json
