#include "webhook/http/head_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <charconv>
#include <limits>
#include <optional>

namespace dynamo::webhook::detail {
namespace {

namespace http = boost::beast::http;
using Error = boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view toStd(BeastView text) {
  return {text.data(), text.size()};
}

bool equalsIgnoreCase(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(), [](char a, char b) {
    return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b;
  });
}

/// Digits only: Beast would also take a list of equal numbers.
std::optional<std::uint64_t> parseLength(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// "GET / HTTP/2.0": well formed, of a version that is not ours.
bool asksForeignVersion(std::string_view in) {
  const auto line = in.substr(0, in.find('\r'));
  const auto version = line.substr(line.rfind(' ') + 1);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' &&
         digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

/// Receives one request from Beast. Each handler refuses what RFC 9112 allows a server to refuse and
/// what two HTTP implementations in a row could read differently.
class Receiver final : public http::basic_parser<true> {
 public:
  Receiver(Head& head, Refusal& refusal, unsigned maxHeaders)
      : head_(head), refusal_(refusal), maxHeaders_(maxHeaders) {
    // The connection bounds the head before it is parsed.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
    eager(true);
  }

  std::string* body = nullptr;  ///< where chunks go

 private:
  void refuse(Error& ec, int status, std::string_view message) {
    refusal_ = {status, message};
    ec = http::error::bad_value;
  }

  void on_request_impl(http::verb, BeastView method, BeastView target, int version, Error& ec) override {
    head_.method = toStd(method);
    head_.target = toStd(target);
    version_ = version;
    if (!head_.target.starts_with('/')) refuse(ec, 400, "the request target must be a path");
  }

  void on_field_impl(http::field name, BeastView, BeastView beastValue, Error& ec) override {
    const auto value = toStd(beastValue);
    if (headDone_) return refuse(ec, 400, "trailers are not accepted");
    if (++headers_ > maxHeaders_) return refuse(ec, 431, "too many headers");
    switch (name) {
      case http::field::content_length: {
        const auto length = parseLength(value);
        if (hasLength_ || hasEncoding_ || !length) return refuse(ec, 400, "ambiguous Content-Length");
        hasLength_ = true;
        head_.contentLength = *length;
        return;
      }
      case http::field::transfer_encoding:
        if (hasLength_ || hasEncoding_ || !equalsIgnoreCase(value, "chunked")) {
          return refuse(ec, 400, "Transfer-Encoding must be chunked, alone");
        }
        hasEncoding_ = true;
        head_.chunked = true;
        return;
      case http::field::host:
        if (hasHost_) return refuse(ec, 400, "more than one Host");
        hasHost_ = true;
        return;
      case http::field::content_type:
        if (hasType_) return refuse(ec, 400, "more than one Content-Type");
        hasType_ = true;
        head_.contentType = value;
        return;
      case http::field::expect:
        if (!equalsIgnoreCase(value, "100-continue")) return refuse(ec, 417, "unknown Expect");
        head_.expectContinue = version_ >= 11;
        return;
      default:
        return;
    }
  }

  void on_header_impl(Error& ec) override {
    headDone_ = true;
    head_.keepAlive = keep_alive();
    if (hasEncoding_ && version_ < 11) return refuse(ec, 400, "Transfer-Encoding needs HTTP/1.1");
    if (!hasHost_ && version_ >= 11) return refuse(ec, 400, "missing Host");
  }

  std::size_t on_chunk_body_impl(std::uint64_t, BeastView data, Error&) override {
    body->append(data.data(), data.size());
    return data.size();
  }

  // A body with a length is read by the connection, straight into its place.
  std::size_t on_body_impl(BeastView, Error&) override { return 0; }
  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  void on_chunk_header_impl(std::uint64_t, BeastView, Error&) override {}
  void on_finish_impl(Error&) override {}
  void on_response_impl(int, BeastView, int, Error&) override {}

  Head& head_;
  Refusal& refusal_;
  unsigned maxHeaders_;
  unsigned headers_ = 0;
  int version_ = 0;
  bool hasLength_ = false;
  bool hasEncoding_ = false;
  bool hasHost_ = false;
  bool hasType_ = false;
  bool headDone_ = false;
};

}  // namespace

class HeadParser::Beast {
 public:
  unsigned maxHeaders = 0;
  std::optional<Receiver> receiver;  // a Beast parser serves one message: made anew in place
};

HeadParser::HeadParser(unsigned maxHeaders) : beast_(std::make_unique<Beast>()) {
  beast_->maxHeaders = maxHeaders;
}
HeadParser::~HeadParser() = default;

void HeadParser::reset() {
  beast_->receiver.reset();
  head_ = {};
  refusal_ = {};
  headBytes_ = 0;
  scanned_ = 0;
}

HeadParser::Result HeadParser::refuse(int status, std::string_view message) {
  // A handler of the receiver may have named the reason already.
  if (refusal_.message.empty()) refusal_ = {status, message};
  return Result::refused;
}

/// Finds the blank line and refuses bare line feeds and folded lines, as early as they arrive.
/// False: refused.
bool HeadParser::findEnd(std::string_view in) {
  while (headBytes_ == 0) {
    const auto at = in.find('\n', scanned_);
    if (at == std::string_view::npos) {
      scanned_ = in.size();
      return true;
    }
    if (at == 0 || in[at - 1] != '\r') return false;
    if (at >= 3 && in[at - 2] == '\n') {
      headBytes_ = at + 1;
      return true;
    }
    if (at + 1 == in.size()) {
      scanned_ = at;  // whether the next line is folded is not known yet
      return true;
    }
    if (in[at + 1] == ' ' || in[at + 1] == '\t') return false;
    scanned_ = at + 1;
  }
  return true;
}

HeadParser::Result HeadParser::parse(std::string_view in) {
  if (!findEnd(in)) return refuse(400, "malformed line in the request head");
  if (headBytes_ == 0) return Result::incomplete;
  if (in.starts_with("PRI * HTTP/2.0\r\n")) return refuse(0, "HTTP/2 preface");
  auto& receiver = beast_->receiver.emplace(head_, refusal_, beast_->maxHeaders);
  Error error;
  receiver.put(boost::asio::const_buffer{in.data(), headBytes_}, error);
  if (!error) return Result::complete;
  if (error == http::error::bad_version && asksForeignVersion(in)) {
    return refuse(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
  }
  return refuse(400, "malformed request head");
}

HeadParser::Result HeadParser::feedChunks(std::string_view in, std::size_t limit, std::string& body,
                                          std::size_t& used) {
  // What is missing of a body that is not complete has at least the bytes of its end: waiting for them
  // loses nothing, and Beast (its debug build) ends the process on a last chunk in smaller pieces.
  constexpr std::size_t kEnd = sizeof "0\r\n\r\n" - 1;
  used = 0;
  auto& parsed = beast_->receiver;
  if (in.size() < kEnd || !parsed) return Result::incomplete;
  auto& receiver = *parsed;
  receiver.body = &body;
  Error error;
  used = receiver.put(boost::asio::const_buffer{in.data(), in.size()}, error);
  if (body.size() > limit) return refuse(413, "the request body is too large");
  if (error && error != http::error::need_more) return refuse(400, "malformed chunked body");
  return receiver.is_done() ? Result::complete : Result::incomplete;
}

}  // namespace dynamo::webhook::detail
