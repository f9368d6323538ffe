#include "tests/bench/loader/response.h"

#include <strings.h>

#include <charconv>
#include <optional>

namespace dynamo::bench {
namespace {

std::optional<std::size_t> parseNumber(std::string_view text, int base) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool equalsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && strncasecmp(a.data(), b.data(), a.size()) == 0;
}

std::string_view trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

}  // namespace

void Response::reset() {
  raw_.clear();
  decoded_.clear();
  position_ = remaining_ = 0;
  state_ = State::kHead;
  status_ = 0;
  chunked_ = closes_ = false;
}

std::string_view Response::body() const {
  return chunked_ ? std::string_view(decoded_) : std::string_view(raw_).substr(position_);
}

bool Response::parseHead() {
  const std::string_view all = raw_;
  const std::size_t end = all.find("\r\n\r\n");
  if (end == std::string_view::npos) return false;
  std::string_view head = all.substr(0, end + 2);
  position_ = end + 4;
  state_ = State::kBad;
  const auto status = head.size() > 12 ? parseNumber(head.substr(9, 3), 10) : std::nullopt;
  if (!head.starts_with("HTTP/1.1 ") || !status) return true;
  status_ = static_cast<int>(*status);

  std::optional<std::size_t> length;
  for (std::size_t at = head.find("\r\n") + 2; at < head.size();) {
    const std::size_t lineEnd = head.find("\r\n", at);
    const std::string_view line = head.substr(at, lineEnd - at);
    at = lineEnd + 2;
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return true;
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = trim(line.substr(colon + 1));
    if (equalsIgnoringCase(name, "Content-Length")) length = parseNumber(value, 10);
    if (equalsIgnoringCase(name, "Transfer-Encoding")) chunked_ = equalsIgnoringCase(value, "chunked");
    if (equalsIgnoringCase(name, "Connection")) closes_ = equalsIgnoringCase(value, "close");
  }
  if (chunked_) {
    state_ = State::kChunkSize;
  } else if (length) {
    remaining_ = *length;
    raw_.reserve(position_ + remaining_);
    state_ = State::kBody;
  }
  return true;
}

bool Response::parseChunkSize() {
  const std::string_view rest = std::string_view(raw_).substr(position_);
  const std::size_t end = rest.find("\r\n");
  if (end == std::string_view::npos) return false;
  const auto size = parseNumber(rest.substr(0, end), 16);
  if (!size) {
    state_ = State::kBad;
    return true;
  }
  position_ += end + 2;
  remaining_ = *size;
  state_ = State::kChunkData;
  return true;
}

Response::State Response::append(std::string_view bytes) {
  if (state_ == State::kDone && !bytes.empty()) state_ = State::kBad;
  raw_.append(bytes);
  while (true) {
    switch (state_) {
      case State::kHead:
        if (!parseHead()) return state_;
        break;
      case State::kBody:
        if (raw_.size() - position_ < remaining_) return state_;
        state_ = raw_.size() - position_ == remaining_ ? State::kDone : State::kBad;
        break;
      case State::kChunkSize:
        if (!parseChunkSize()) return state_;
        break;
      case State::kChunkData: {
        if (raw_.size() - position_ < remaining_ + 2) return state_;
        decoded_.append(raw_, position_, remaining_);
        position_ += remaining_ + 2;
        // The measured servers send no trailers, so the empty chunk and its line end are the end.
        state_ = remaining_ == 0 ? State::kDone : State::kChunkSize;
        break;
      }
      case State::kDone:
      case State::kBad:
        return state_;
    }
  }
}

}  // namespace dynamo::bench
