#include "common/defaults/placeholders.h"

#include <array>
#include <utility>

namespace dynamo::defaults {

std::string fill(std::string_view text, const Placeholders& placeholders) {
  const std::array<std::pair<std::string_view, std::string_view>, 4> known = {{
      {"${dynamoNamespace}", placeholders.dynamoNamespace},
      {"${graph}", placeholders.graph},
      {"${namespace}", placeholders.namespaceName},
      {"${componentType}", placeholders.componentType},
  }};
  std::string out;
  while (!text.empty()) {
    const std::size_t at = text.find("${");
    out += text.substr(0, at);
    if (at == std::string_view::npos) break;
    text.remove_prefix(at);
    bool replaced = false;
    for (const auto& [name, value] : known) {
      if (!text.starts_with(name)) continue;
      out += value;
      text.remove_prefix(name.size());
      replaced = true;
      break;
    }
    if (replaced) continue;
    out += text.substr(0, 2);
    text.remove_prefix(2);
  }
  return out;
}

}  // namespace dynamo::defaults
