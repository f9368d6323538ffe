#include "common/k8s/packed_text.h"

#include <array>
#include <cstdint>

namespace dynamo::k8s {
namespace {

// Byte i + 1 stands for the i-th phrase. JSON text escapes control characters, so none is taken.
constexpr std::array<std::string_view, 30> kPhrases = {R"(",")",
                                                       R"(},")",
                                                       R"(name":")",
                                                       R"(namespace":")",
                                                       R"(resourceVersion":")",
                                                       R"(generation":)",
                                                       R"(metadata":{")",
                                                       R"(ownerReferences":[{")",
                                                       R"(apiVersion":"nvidia.com/v1alpha1",")",
                                                       R"(kind":"Dynamo)",
                                                       R"(controller":true)",
                                                       R"(blockOwnerDeletion":true)",
                                                       R"(status":{")",
                                                       R"(status":"True")",
                                                       R"(observedGeneration":)",
                                                       R"(availableReplicas":)",
                                                       R"(readyReplicas":)",
                                                       R"(updatedReplicas":)",
                                                       R"(replicas":)",
                                                       R"(conditions":[{")",
                                                       R"(lastTransitionTime":")",
                                                       R"(reason":")",
                                                       R"(message":")",
                                                       R"(type":")",
                                                       R"(labels":{")",
                                                       R"(annotations":{")",
                                                       R"(spec":{")",
                                                       R"(nvidia.com/dynamo-)",
                                                       R"(value":")",
                                                       R"(creationTimestamp":")"};
/// Stands for kUid and the sixteen bytes of a UUID that follow it.
constexpr char kUidCode = 31;
constexpr std::string_view kUid = R"(uid":")";
constexpr std::string_view kHex = "0123456789abcdef";
constexpr std::size_t kUuidBytes = 16;
constexpr std::size_t kUuidLength = 36;

constexpr bool isDash(std::size_t at) {
  return at == 8 || at == 13 || at == 18 || at == 23;
}

/// Appends the bytes of a UUID in its usual form; false, with nothing appended, for everything else.
bool packUuid(std::string_view text, std::string& packed) {
  const std::size_t before = packed.size();
  std::size_t digits = 0;
  unsigned high = 0;
  bool good = text.size() >= kUuidLength;
  for (std::size_t i = 0; good && i < kUuidLength; ++i) {
    if (isDash(i)) {
      good = text[i] == '-';
      continue;
    }
    const std::size_t digit = kHex.find(text[i]);
    good = digit != std::string_view::npos;
    if (digits++ % 2 == 0) {
      high = static_cast<unsigned>(digit) << 4U;
    } else {
      packed += static_cast<char>(high | static_cast<unsigned>(digit));
    }
  }
  if (!good) packed.resize(before);
  return good;
}

void unpackUuid(std::string_view bytes, std::string& text) {
  std::size_t length = 0;
  for (const char byte : bytes) {
    const auto value = static_cast<std::uint8_t>(byte);
    for (const unsigned digit : {value / 16U, value % 16U}) {
      if (isDash(length)) {
        text += '-';
        ++length;
      }
      text += kHex[digit];
      ++length;
    }
  }
}

/// The phrases that begin with a character, as bits.
constexpr std::array<std::uint32_t, 128> phrasesByFirst() {
  std::array<std::uint32_t, 128> found{};
  for (std::size_t i = 0; i < kPhrases.size(); ++i) {
    found[static_cast<unsigned char>(kPhrases[i].front())] |= 1U << i;
  }
  return found;
}
constexpr std::array<std::uint32_t, 128> kByFirst = phrasesByFirst();

}  // namespace

std::string pack(std::string_view text) {
  std::string packed;
  packed.reserve(text.size());
  while (!text.empty()) {
    if (text.starts_with(kUid)) {
      packed += kUidCode;
      if (packUuid(text.substr(kUid.size()), packed)) {
        text.remove_prefix(kUid.size() + kUuidLength);
        continue;
      }
      packed.pop_back();
    }
    const auto first = static_cast<std::uint8_t>(text.front());
    std::size_t longest = kPhrases.size();
    for (std::uint32_t some = first < kByFirst.size() ? kByFirst[first] : 0; some != 0; some &= some - 1) {
      const auto i = static_cast<std::size_t>(__builtin_ctz(some));
      const bool longer = longest == kPhrases.size() || kPhrases[i].size() > kPhrases[longest].size();
      if (longer && text.starts_with(kPhrases[i])) longest = i;
    }
    if (longest == kPhrases.size()) {
      packed += text.front();
      text.remove_prefix(1);
    } else {
      packed += static_cast<char>(longest + 1);
      text.remove_prefix(kPhrases[longest].size());
    }
  }
  return packed;
}

std::string unpack(std::string_view packed) {
  std::string text;
  text.reserve(packed.size() * 2);
  for (std::size_t i = 0; i < packed.size(); ++i) {
    const auto code = static_cast<std::uint8_t>(packed[i]);
    if (code > kPhrases.size() + 1) {
      text += packed[i];
    } else if (packed[i] == kUidCode) {
      text += kUid;
      unpackUuid(packed.substr(i + 1, kUuidBytes), text);
      i += kUuidBytes;
    } else if (code != 0) {
      text += kPhrases[code - 1];
    }
  }
  return text;
}

}  // namespace dynamo::k8s
