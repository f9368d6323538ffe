#include "common/text/input.h"

#include "common/text/yaml.h"

namespace dynamo::text {

std::string readText(std::istream& input) {
  std::string text;
  constexpr std::size_t kChunk = std::size_t{64} << 10U;
  while (input && text.size() <= kMaxTextBytes) {
    const std::size_t size = text.size();
    text.resize(size + kChunk);
    input.read(text.data() + size, kChunk);
    text.resize(size + static_cast<std::size_t>(input.gcount()));
  }
  return text;
}

}  // namespace dynamo::text
