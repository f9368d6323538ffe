// The parser's result does not depend on how the bytes are split.

#include "common/runtime/head_parser.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

namespace dynamo::runtime {
namespace {

using Result = HeadParser::Result;

struct Parsed {
  Result result = Result::incomplete;
  int status = 0;
  std::string target;
  std::uint64_t contentLength = 0;
  std::size_t headBytes = 0;

  bool operator==(const Parsed&) const = default;
};

/// Feeds `request` in steps of `step` bytes, as a connection does.
Parsed parse(const std::string& request, std::size_t step) {
  // The parser may need more bytes before it reports an error in the last ones.
  const std::string text = request + "zzzzzzzz";
  HeadParser parser{100};
  Parsed out;
  std::size_t size = 0;
  while (size < text.size() && out.result == Result::incomplete) {
    size = std::min(text.size(), size + step);
    out.result = parser.parse({text.data(), size});
  }
  if (out.result == Result::refused) out.status = parser.refusal().status;
  if (out.result != Result::complete) return out;
  out.target = parser.head().target;
  out.contentLength = parser.head().contentLength;
  out.headBytes = parser.headBytes();
  return out;
}

/// xorshift: the same sequence in every run.
class Random {
 public:
  std::uint32_t below(std::uint32_t limit) {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 7;
    state_ ^= state_ << 17;
    return static_cast<std::uint32_t>(state_ >> 33) % limit;
  }

 private:
  std::uint64_t state_ = 0x9e3779b97f4a7c15;
};

const std::vector<std::string>& seeds() {
  static const std::string kChunked = "POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  static const std::vector<std::string> kSeeds{
      "POST /a?b=c HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}",
      kChunked + "5\r\nhello\r\n3;x=y\r\nabc\r\n0\r\n\r\n",
      kChunked + "0\r\nA: b\r\n\r\n",
      "GET /healthz HTTP/1.0\r\nConnection: keep-alive, x\r\n\r\n",
      "POST /a HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nTransfer-Encoding: gzip\r\n\r\n",
  };
  return kSeeds;
}

}  // namespace

TEST_CASE("the result does not depend on how the bytes are split") {
  Random random;
  constexpr std::string_view kBytes = "\r\n\t :;,=0123456789abcdefxX/HTP.-\"\\\x01\x7f\xff";
  for (int round = 0; round < 20'000; ++round) {
    std::string text = seeds()[random.below(static_cast<std::uint32_t>(seeds().size()))];
    for (auto edits = random.below(4); edits > 0; --edits) {
      const auto at = random.below(static_cast<std::uint32_t>(text.size()));
      const char byte = kBytes[random.below(static_cast<std::uint32_t>(kBytes.size()))];
      switch (random.below(3)) {
        case 0:
          text[at] = byte;
          break;
        case 1:
          text.insert(at, 1, byte);
          break;
        default:
          text.erase(at, 1 + random.below(3));
      }
    }
    const auto whole = parse(text, text.size() + 1);
    for (const std::size_t step : {std::size_t{1}, std::size_t{1} + random.below(40)}) {
      const auto cut = parse(text, step);
      INFO(text);
      REQUIRE(cut == whole);
    }
  }
}

}  // namespace dynamo::runtime
