#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace dynamo::bench {

/// One HTTP/1.1 response, fed as it arrives. Understands Content-Length and chunked bodies, which is all
/// that the measured servers send; anything else is `kBad`.
class Response {
 public:
  enum class State { kHead, kBody, kChunkSize, kChunkData, kDone, kBad };

  /// Adds received bytes and says how far the response has come. Bytes after `kDone` make it `kBad`: the
  /// loader never pipelines, so a server that says more than it was asked is wrong.
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
  std::string decoded_;  // a chunked body only
  std::size_t position_ = 0;
  std::size_t remaining_ = 0;
  State state_ = State::kHead;
  int status_ = 0;
  bool chunked_ = false;
  bool closes_ = false;
};

}  // namespace dynamo::bench
