#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dynamo::bench {

/// An incremental parser of one HTTP/1.1 response. It accepts Content-Length and chunked bodies, which is all
/// that the measured servers send. Anything else is `kBad`.
class Response {
 public:
  enum class State { kHead, kBody, kChunkSize, kChunkData, kDone, kBad };

  /// Adds received bytes and returns the state. Bytes after `kDone` are `kBad`: the loader never pipelines,
  /// so the server must not send them.
  State append(std::string_view bytes);
  void reset();

  State state() const { return state_; }
  bool started() const { return !raw_.empty(); }
  int status() const { return status_; }
  bool closes() const { return closes_; }
  std::string_view body() const;

 private:
  bool parseHead();
  bool parseChunkSize();

  std::string raw_;
  std::string decoded_;  // chunked bodies only
  std::size_t position_ = 0;
  std::size_t remaining_ = 0;
  State state_ = State::kHead;
  int status_ = 0;
  bool chunked_ = false;
  bool closes_ = false;
};

}  // namespace dynamo::bench
