#pragma once
// HTTP/1.x syntax: Boost.Beast's parser, hardened against request smuggling. Beast 345 (Boost 1.81)
// accepts Transfer-Encoding with Content-Length in some orders, folded lines and trailers; here they are
// refused. No allocation per request.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace dynamo::webhook::detail {

/// What the server needs to know of a request head. The views point into the parsed bytes.
struct Head {
  std::string_view method;
  std::string_view target;  ///< origin-form, query included
  std::string_view contentType;
  std::uint64_t contentLength = 0;
  bool chunked = false;
  bool keepAlive = false;
  bool expectContinue = false;

  bool hasBody() const { return chunked || contentLength > 0; }
};

/// Why a request is refused. Status 0: close without an answer (an HTTP/2 client would not read it).
struct Refusal {
  int status = 400;
  std::string_view message;
};

class HeadParser {
 public:
  enum class Result { incomplete, complete, refused };

  explicit HeadParser(unsigned maxHeaders);
  ~HeadParser();
  HeadParser(const HeadParser&) = delete;
  HeadParser& operator=(const HeadParser&) = delete;

  /// Parses the head at the start of `in`, which grows from call to call until the result is not
  /// `incomplete`. The caller bounds its size.
  Result parse(std::string_view in);
  /// After `complete`: the head and its length in bytes, blank line included.
  const Head& head() const { return head_; }
  std::size_t headBytes() const { return headBytes_; }
  /// After `refused`, of parse or feedChunks.
  const Refusal& refusal() const { return refusal_; }

  /// Decodes the chunked body of the parsed head: appends what `in` holds of it to `body`, up to `limit`
  /// bytes in all (413), and sets `used` to the number of bytes of `in` that are done with.
  Result feedChunks(std::string_view in, std::size_t limit, std::string& body, std::size_t& used);

  /// Makes ready for the next request.
  void reset();

 private:
  class Beast;
  Result refuse(int status, std::string_view message);
  bool findEnd(std::string_view in);

  std::unique_ptr<Beast> beast_;
  Head head_;
  Refusal refusal_;
  std::size_t headBytes_ = 0;
  std::size_t scanned_ = 0;
};

}  // namespace dynamo::webhook::detail
