#include "common/runtime/head_parser.h"

#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <charconv>
#include <limits>
#include <optional>

namespace dynamo::runtime {
namespace {

namespace http = boost::beast::http;
using Error = boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view toStd(BeastView text) {
  return {text.data(), text.size()};
}

/// Accepts digits only. Beast would also accept a list of equal numbers.
std::optional<std::uint64_t> parseLength(std::string_view text) {
  std::uint64_t out = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return out;
}

/// Returns whether the request line is well-formed but has an unsupported version, such as "GET / HTTP/2.0".
bool hasUnsupportedVersion(std::string_view in) {
  const auto line = in.substr(0, in.find('\r'));
  const auto version = line.substr(line.rfind(' ') + 1);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return version.size() == 8 && version.starts_with("HTTP/") && digit(version[5]) && version[6] == '.' &&
         digit(version[7]) && version != "HTTP/1.0" && version != "HTTP/1.1";
}

/// Receives one request from Beast. The handlers reject everything that RFC 9112 allows a server to reject
/// and that a proxy and this server could interpret differently.
class Receiver final : public http::basic_parser<true> {
 public:
  Receiver(Head& head, Refusal& refusal, unsigned maxHeaders)
      : head_(head), refusal_(refusal), maxHeaders_(maxHeaders) {
    // The connection limits the head before it is parsed.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
  }

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
        if (hasLength_ || hasEncoding_) return refuse(ec, 400, "ambiguous Transfer-Encoding");
        hasEncoding_ = true;
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
      case http::field::authorization:
        if (hasAuthorization_) return refuse(ec, 400, "more than one Authorization");
        hasAuthorization_ = true;
        head_.authorization = value;
        return;
      case http::field::expect:
        // Also for 100-continue: RFC 9110 requires the client to repeat the request without it. HTTP/1.0
        // ignores Expect.
        if (version_ >= 11) refuse(ec, 417, "Expect is not supported");
        return;
      default:
        return;
    }
  }

  void on_header_impl(Error& ec) override {
    head_.keepAlive = keep_alive();
    if (hasEncoding_ && version_ < 11) return refuse(ec, 400, "Transfer-Encoding requires HTTP/1.1");
    if (hasEncoding_) return refuse(ec, 411, "Content-Length is required");
    if (!hasHost_ && version_ >= 11) return refuse(ec, 400, "missing Host");
  }

  // The connection reads the body directly into its buffer.
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView, Error&) override { return 0; }
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
  bool hasAuthorization_ = false;
};

}  // namespace

HeadParser::Result HeadParser::refuse(int status, std::string_view message) {
  // A handler of the receiver may have set the reason.
  if (refusal_.message.empty()) refusal_ = {status, message};
  return Result::refused;
}

/// Searches for the blank line. Returns false for a bare line feed or a folded line, as soon as it arrives.
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
      scanned_ = at;  // it is not known yet whether the next line is folded
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
  Receiver receiver{head_, refusal_, maxHeaders_};
  Error error;
  receiver.put(boost::asio::const_buffer{in.data(), headBytes_}, error);
  if (!error) return Result::complete;
  if (error == http::error::bad_version && hasUnsupportedVersion(in)) {
    return refuse(505, "only HTTP/1.0 and HTTP/1.1 are supported");
  }
  return refuse(400, "malformed request head");
}

}  // namespace dynamo::runtime
