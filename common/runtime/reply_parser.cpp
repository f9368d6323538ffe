#include "common/runtime/reply_parser.h"

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <limits>
#include <utility>

namespace dynamo::runtime {
namespace {

namespace http = boost::beast::http;
using Error = boost::beast::error_code;
using BeastView = boost::beast::string_view;

// The maximum number of interim replies before a reply.
constexpr unsigned kMaxInterim = 4;
constexpr int kSwitchingProtocols = 101;
constexpr int kFirstFinal = 200;

bool equalText(std::string_view a, std::string_view b) {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return lower(x) == lower(y); });
}

}  // namespace

const std::string* ReplyHead::find(std::string_view name) const {
  const auto found = std::find_if(headers.begin(), headers.end(),
                                  [&](const Header& header) { return equalText(header.name, name); });
  return found == headers.end() ? nullptr : &found->value;
}

/// Receives one reply from Beast.
class ReplyParser::Receiver final : public http::basic_parser<false> {
 public:
  explicit Receiver(bool toHead) {
    // The session limits the head before it is parsed, and its caller limits the body.
    header_limit(std::numeric_limits<std::uint32_t>::max());
    body_limit(boost::none);
    eager(true);
    skip(toHead);
  }

  ReplyHead head;
  std::string_view problem;
  std::string* body = nullptr;

  void fail(std::string_view why) {
    if (problem.empty()) problem = why;
  }

 private:
  void refuse(Error& ec, std::string_view why) {
    fail(why);
    ec = http::error::bad_value;
  }

  void on_response_impl(int status, BeastView, int, Error&) override { head.status = status; }

  void on_field_impl(http::field field, BeastView name, BeastView beastValue, Error& ec) override {
    if (headEnded_) return;  // ignore trailers
    const std::string_view value{beastValue.data(), beastValue.size()};
    if (head.headers.size() == kMaxReplyHeaders) return refuse(ec, "the reply has too many headers");
    if (field == http::field::content_length && std::exchange(hasLength_, true)) {
      return refuse(ec, "the reply has two lengths");
    }
    // Beast itself rejects a length together with chunks.
    if (field == http::field::transfer_encoding && !equalText(value, "chunked")) {
      return refuse(ec, "the reply has an unknown transfer encoding");
    }
    head.headers.push_back({std::string{name.data(), name.size()}, std::string{value}});
  }

  void on_header_impl(Error& ec) override {
    headEnded_ = true;
    head.keepAlive = keep_alive();
    if (need_eof()) return refuse(ec, "the reply has neither a length nor chunks");
    if (is_done()) {
      head.length = 0;
    } else if (const auto length = content_length()) {
      head.length = *length;
    }
  }

  std::size_t on_body_impl(BeastView part, Error&) override { return keep(part); }
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView part, Error&) override { return keep(part); }
  std::size_t keep(BeastView part) {
    body->append(part.data(), part.size());
    return part.size();
  }

  void on_body_init_impl(const boost::optional<std::uint64_t>&, Error&) override {}
  void on_chunk_header_impl(std::uint64_t, BeastView, Error&) override {}
  void on_finish_impl(Error&) override {}
  void on_request_impl(http::verb, BeastView, BeastView, int, Error&) override {}

  bool headEnded_ = false;
  bool hasLength_ = false;
};

ReplyParser::ReplyParser(bool toHead) : receiver_(std::make_unique<Receiver>(toHead)), toHead_(toHead) {}
ReplyParser::ReplyParser(ReplyParser&&) noexcept = default;
ReplyParser& ReplyParser::operator=(ReplyParser&&) noexcept = default;
ReplyParser::~ReplyParser() = default;

std::size_t ReplyParser::put(std::string_view in, std::string& body) {
  std::size_t taken = 0;
  while (taken < in.size() && (state() == State::Head || state() == State::Body)) {
    Error error;
    receiver_->body = &body;
    const std::size_t some =
        receiver_->put(boost::asio::const_buffer{in.data() + taken, in.size() - taken}, error);
    taken += some;
    if (error == http::error::need_more) return taken;
    if (error) {
      receiver_->fail("the reply is malformed");
      return taken;
    }
    const int status = receiver_->head.status;
    if (!receiver_->is_done() || status >= kFirstFinal) continue;
    if (status == kSwitchingProtocols || ++interim_ > kMaxInterim) {
      receiver_->fail("the reply is not final");
      return taken;
    }
    receiver_ = std::make_unique<Receiver>(toHead_);
  }
  return taken;
}

ReplyParser::State ReplyParser::state() const {
  if (!receiver_->problem.empty()) return State::Malformed;
  if (!receiver_->is_header_done()) return State::Head;
  return receiver_->is_done() ? State::Done : State::Body;
}

const ReplyHead& ReplyParser::head() const {
  return receiver_->head;
}

std::string_view ReplyParser::problem() const {
  return receiver_->problem;
}

}  // namespace dynamo::runtime
