#include "controller/kube/base64.h"

#include <cstdint>
#include <utility>

namespace dynamo::kube {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> decodeBase64(std::string_view text) {
  std::string out;
  std::uint32_t word = 0;
  unsigned digits = 0;
  unsigned padding = 0;
  for (const char c : text) {
    if (c == '\n' || c == '\r') continue;
    const std::size_t value = c == '=' ? 0 : kDigits.find(c);
    if (value == std::string_view::npos || (padding > 0 && c != '=')) return std::nullopt;
    if (c == '=') ++padding;
    word = (word << 6U) | static_cast<std::uint32_t>(value);
    if (++digits < 4) continue;
    if (padding > 2) return std::nullopt;
    constexpr std::uint32_t kByte = 0xff;
    out += static_cast<char>((word >> 16U) & kByte);
    if (padding < 2) out += static_cast<char>((word >> 8U) & kByte);
    if (padding < 1) out += static_cast<char>(word & kByte);
    word = 0;
    digits = 0;
    if (padding > 0) padding = 3;  // padding ends the text
  }
  return digits == 0 ? std::optional{std::move(out)} : std::nullopt;
}

std::string encodeBase64(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) -> std::uint32_t {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0;
    };
    const std::uint32_t word = (at(0) << 16U) | (at(1) << 8U) | at(2);
    out += kDigits[word >> 18U];
    out += kDigits[(word >> 12U) & 63U];
    out += i + 1 < bytes.size() ? kDigits[(word >> 6U) & 63U] : '=';
    out += i + 2 < bytes.size() ? kDigits[word & 63U] : '=';
  }
  return out;
}

}  // namespace dynamo::kube
