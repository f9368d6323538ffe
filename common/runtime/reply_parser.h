#pragma once
// Parses HTTP/1.1 replies with Boost.Beast, in pieces as they arrive. A reply must have a length or chunks. A
// reply that ends with the connection is rejected, because a truncated one could not be detected.

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
  std::optional<std::uint64_t> length;  ///< length of the body; nullopt: chunked
  bool keepAlive = false;               ///< the connection can be used for another request

  /// Returns the first header with this name, ignoring case, or nullptr.
  const std::string* find(std::string_view name) const;
};

// Go's client allows heads of 1 MiB. This limit is lower, because heads of API servers are less than a
// quarter of it.
inline constexpr std::size_t kMaxReplyHead = std::size_t{64} << 10;
inline constexpr unsigned kMaxReplyHeaders = 200;

class ReplyParser {
 public:
  enum class State { Head, Body, Done, Malformed };

  /// `toHead` must be true if the request was HEAD, whose reply has no body.
  explicit ReplyParser(bool toHead);
  ReplyParser(ReplyParser&&) noexcept;
  ReplyParser& operator=(ReplyParser&&) noexcept;
  ~ReplyParser();

  /// Parses `in`, which must contain all received bytes that are not parsed yet, and appends body bytes to
  /// `body`. Returns the number of parsed bytes. Interim replies (1xx) are skipped.
  std::size_t put(std::string_view in, std::string& body);
  State state() const;
  /// Returns the head. Valid in State::Body and State::Done.
  const ReplyHead& head() const;
  /// Returns why the reply is malformed. The text never quotes the reply.
  std::string_view problem() const;

 private:
  class Receiver;
  std::unique_ptr<Receiver> receiver_;
  bool toHead_;
  unsigned interim_ = 0;
};

}  // namespace dynamo::runtime
