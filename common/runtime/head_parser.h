#pragma once
// Parses heads of HTTP/1.x requests with Boost.Beast, hardened against request smuggling. Beast 345
// (Boost 1.81) accepts folded lines, and in some orders Transfer-Encoding together with Content-Length; this
// parser rejects both. A body must have a length, which API servers always send. The parser does not allocate
// memory per request.

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace dynamo::runtime {

/// The parts of a request head that the server uses. The views point into the parsed bytes.
struct Head {
  std::string_view method;
  std::string_view target;  ///< origin-form, including the query
  std::string_view contentType;
  std::string_view authorization;  ///< value of the header; empty: absent
  std::uint64_t contentLength = 0;
  bool keepAlive = false;
};

/// The reason for rejecting a request. If the status is 0, the connection is closed without a reply, because
/// an HTTP/2 client would not read it.
struct Refusal {
  int status = 400;
  std::string_view message;
};

class HeadParser {
 public:
  enum class Result { incomplete, complete, refused };

  explicit HeadParser(unsigned maxHeaders) : maxHeaders_(maxHeaders) {}

  /// Parses the head at the start of `in`. If the result is `incomplete`, the caller adds bytes and calls
  /// again. The caller limits the size.
  Result parse(std::string_view in);
  /// Return the head and its length in bytes, including the blank line. Valid after `complete`.
  const Head& head() const { return head_; }
  std::size_t headBytes() const { return headBytes_; }
  /// Returns the reason. Valid after `refused`.
  const Refusal& refusal() const { return refusal_; }

  /// Prepares the parser for the next request.
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
