#pragma once
#include <string>
#include <string_view>

namespace dynamo::webhook {

/// Standard base64 with padding, the JSON form of `[]byte` that an AdmissionReview has for patches.
inline std::string base64(std::string_view bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto at = [&](std::size_t k) {
      return i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0U;
    };
    const unsigned word = (at(0) << 16) | (at(1) << 8) | at(2);
    text += kDigits[word >> 18];
    text += kDigits[(word >> 12) & 63];
    text += i + 1 < bytes.size() ? kDigits[(word >> 6) & 63] : '=';
    text += i + 2 < bytes.size() ? kDigits[word & 63] : '=';
  }
  return text;
}

}  // namespace dynamo::webhook
