#pragma once
// Replies of HTTP/1.1: Boost.Beast's parser, in pieces as they come. A reply must say where its body ends, by
// a length or by chunks: of one that ends with the connection nobody can tell whether it was cut.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dynamo::runtime {

struct Header {
  std::string name;
  std::string value;
};

struct ReplyHead {
  int status = 0;
  std::vector<Header> headers;
  std::optional<std::uint64_t> length;  ///< of the body; nullopt: it comes in chunks
  bool keepAlive = false;               ///< the connection takes a further request after this reply

  /// The first header of that name, in any case of letters; nullptr when there is none.
  const std::string* find(std::string_view name) const;
};

// As Go's client has it: a head of 1 MiB is no head. Ours is lower, for no API server sends even a quarter.
inline constexpr std::size_t kMaxReplyHead = std::size_t{64} << 10;
inline constexpr unsigned kMaxReplyHeaders = 200;

class ReplyParser {
 public:
  enum class State { Head, Body, Done, Malformed };

  /// `toHead`: the request was HEAD, whose reply has no body.
  explicit ReplyParser(bool toHead);
  ReplyParser(ReplyParser&&) noexcept;
  ReplyParser& operator=(ReplyParser&&) noexcept;
  ~ReplyParser();

  /// Takes what it can of `in`, which is all that has come and was not taken; what it takes of the body is
  /// appended to `body`. The number of bytes taken. Interim replies (1xx) are passed over.
  std::size_t put(std::string_view in, std::string& body);
  State state() const;
  /// From State::Body on.
  const ReplyHead& head() const;
  /// Why it is malformed: a fixed sentence.
  std::string_view problem() const;

 private:
  class Receiver;
  std::unique_ptr<Receiver> receiver_;
  bool toHead_;
  unsigned interim_ = 0;
};

}  // namespace dynamo::runtime
