#include "common/conversion/pointer.h"

#include <algorithm>
#include <charconv>

namespace dynamo::conversion {

std::string_view nextToken(std::string_view& pointer) {
  pointer.remove_prefix(1);  // the slash
  const std::size_t end = std::min(pointer.find('/'), pointer.size());
  const std::string_view token = pointer.substr(0, end);
  pointer.remove_prefix(end);
  return token;
}

std::string unescape(std::string_view token) {
  std::string name;
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size()) {
      name += token[++i] == '1' ? '/' : '~';
    } else {
      name += token[i];
    }
  }
  return name;
}

std::optional<std::uint32_t> asIndex(std::string_view token) {
  std::uint32_t index = 0;
  const auto parsed = std::from_chars(token.data(), token.data() + token.size(), index);
  if (parsed.ec != std::errc{} || parsed.ptr != token.data() + token.size()) return std::nullopt;
  return index;
}

View lookUp(View object, std::string_view pointer) {
  View at = object;
  while (at && !pointer.empty()) {
    const std::string name = unescape(nextToken(pointer));
    if (at.isList()) {
      const auto index = asIndex(name);
      at = index && *index < at.size() ? at.item(*index) : View{};
    } else {
      at = at.findRaw(name);
    }
  }
  return at.isNull() ? View{} : at;
}

bool pointerLess(std::string_view a, std::string_view b) {
  while (!a.empty() && !b.empty()) {
    const std::string_view left = nextToken(a);
    const std::string_view right = nextToken(b);
    if (left == right) continue;
    const auto i = asIndex(left);
    const auto j = asIndex(right);
    return i && j ? *i < *j : left < right;
  }
  return a.empty() && !b.empty();
}

}  // namespace dynamo::conversion
