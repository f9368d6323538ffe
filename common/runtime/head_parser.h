#pragma once
// Heads of HTTP/1.x requests: Boost.Beast's parser, hardened against request smuggling. Beast 345 (Boost
// 1.81) accepts Transfer-Encoding with Content-Length in some orders and folded lines; here they are refused.
// Only bodies with a length are taken: API servers always send one. No allocation per request.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::runtime {

/// What the server needs to know of a request head. The views point into the parsed bytes.
struct Head {
  std::string_view method;
  std::string_view target;  ///< origin-form, query included
  std::string_view contentType;
  std::uint64_t contentLength = 0;
  bool keepAlive = false;
};

/// Why a request is refused. Status 0: close without an answer (an HTTP/2 client would not read it).
struct Refusal {
  int status = 400;
  std::string_view message;
};

class HeadParser {
 public:
  enum class Result { incomplete, complete, refused };

  explicit HeadParser(unsigned maxHeaders) : maxHeaders_(maxHeaders) {}

  /// Parses the head at the start of `in`, which grows from call to call until the result is not
  /// `incomplete`. The caller bounds its size.
  Result parse(std::string_view in);
  /// After `complete`: the head and its length in bytes, blank line included.
  const Head& head() const { return head_; }
  std::size_t headBytes() const { return headBytes_; }
  /// After `refused`.
  const Refusal& refusal() const { return refusal_; }

  /// Makes ready for the next request.
  void reset() { *this = HeadParser{maxHeaders_}; }

 private:
  Result refuse(int status, std::string_view message);
  bool findEnd(std::string_view in);

  unsigned maxHeaders_;
  Head head_;
  Refusal refusal_;
  std::size_t headBytes_ = 0;
  std::size_t scanned_ = 0;
};

}  // namespace dynamo::runtime
