#include "common/runtime/plain_connection.h"

#include <algorithm>
#include <memory>
#include <utility>

namespace dynamo::runtime {
namespace {

using Clock = std::chrono::steady_clock;

// A probe's request head is about 100 bytes; 16 KiB leaves room for what proxies add.
constexpr std::size_t kMaxHead = std::size_t{16} << 10;
constexpr std::size_t kPart = std::size_t{4} << 10;
// Bytes a second that a long reply must keep up.
constexpr std::size_t kMinRate = std::size_t{4} << 20;
// How often it is looked whether a client that sends no more has taken its reply.
constexpr std::chrono::milliseconds kTakenPause{50};

Page failed() {
  return {500, "application/json", statusBody(500, "the handler failed")};
}

/// What is thrown may quote anything, so it is not told.
Page madeBy(const std::function<Page()>& make) try { return make(); } catch (...) {
  return failed();
}

const std::function<Page()>* findPage(const Pages& pages, std::string_view path) {
  const auto found = pages.find(path);
  return found == pages.end() ? nullptr : &found->second;
}

}  // namespace

void PlainConnection::cut() {
  cut_ = true;
  socket_.cancel();
}

void PlainConnection::hurry() {
  firstBy_ = Clock::now() + limits_.firstRequestGrace;
  if (in_.empty() && !asked_) socket_.cancel();
}

void PlainConnection::refuse(int status, std::string_view message, std::string_view allow) {
  page_ = {status, "application/json", statusBody(status, message)};
  allow_ = allow;
}

Task<PlainConnection::Read> PlainConnection::readHead() {
  Deadline deadline = Clock::now() + limits_.idle;
  for (;;) {
    const std::size_t before = in_.size();
    in_.resize(std::min(before + kPart, kMaxHead));
    const IoResult got = wire_.read(in_.data() + before, in_.size() - before);
    in_.resize(before + got.bytes);
    if (got.io == Io::closed) co_return Read::Over;
    if (cut_) co_return Read::Over;  // before this wait
    if (got.io != Io::ok) {
      const Woken how = co_await socket_.readable(in_.empty() ? std::min(deadline, firstBy_) : deadline);
      if (cut_ || loop_.stopping()) co_return Read::Over;
      if (how != Woken::TimedOut) continue;
      if (in_.empty()) co_return Read::Over;
      unread_ = true;
      refuse(408, "the request head came too slowly");
      co_return Read::Refused;
    }
    if (before == 0) deadline = Clock::now() + limits_.header;
    const HeadParser::Result result = parser_.parse(in_);
    if (result == HeadParser::Result::complete) co_return Read::Complete;
    unread_ = true;  // of a head that is refused, nobody knows where the request ends
    if (result == HeadParser::Result::refused) {
      if (parser_.refusal().status == 0) {
        co_await linger();
        co_return Read::Over;
      }
      refuse(parser_.refusal().status, parser_.refusal().message);
      co_return Read::Refused;
    }
    if (in_.size() == kMaxHead) {
      refuse(431, "the request head is too large");
      co_return Read::Refused;
    }
  }
}

/// Of a request whose head is complete.
Task<Page> PlainConnection::makePage() {
  const Head& head = parser_.head();
  const std::string_view path = head.target.substr(0, head.target.find('?'));
  const auto* const quick = findPage(listener_.pages, path);
  const auto* const slow = findPage(listener_.slow, path);
  if (quick == nullptr && slow == nullptr) {
    refuse(404, "there is nothing under this path");
  } else if (head.method != "GET" && head.method != "HEAD") {
    refuse(405, "the method is not allowed here", "GET, HEAD");
  } else if (head.contentLength > 0) {
    refuse(413, "the request body is too large");
  } else if (quick != nullptr) {
    co_return madeBy(*quick);
  } else {
    const auto made = std::make_shared<Page>();
    std::function<void()> work = [made, make = *slow] { *made = madeBy(make); };
    const Woken how = co_await loop_.offload(std::move(work));
    if (how == Woken::Ready) co_return std::move(*made);
    cut_ = true;  // the server has stopped waiting for it
  }
  co_return std::move(page_);
}

/// False: the client is gone, or does not take it.
Task<bool> PlainConnection::write(std::string text) {
  const Deadline start = Clock::now();
  for (std::size_t sent = 0; sent < text.size();) {
    const IoResult result = wire_.write(text.data() + sent, text.size() - sent);
    sent += result.bytes;
    if (result.io == Io::ok) continue;
    if (result.io == Io::closed || cut_) co_return false;
    waitsSince_ = Clock::now();
    const Deadline deadline = start + limits_.write + std::chrono::seconds{sent / kMinRate};
    const Woken how = co_await socket_.writable(deadline);
    waitsSince_ = kNoDeadline;
    if (how == Woken::Ready) continue;
    wire_.giveUpUntaken();
    co_return false;
  }
  co_return true;
}

Task<void> PlainConnection::serve() {
  const Read read = co_await readHead();
  if (read == Read::Over) co_return;
  asked_ = true;
  bool headOnly = false;
  if (read == Read::Complete) {
    const Head& head = parser_.head();
    headOnly = head.method == "HEAD";
    unread_ = head.contentLength > 0 || in_.size() > parser_.headBytes();
    page_ = co_await makePage();
    if (cut_) co_return;
  }
  std::string text;
  const ReplyForm form{page_.status, page_.contentType, false, allow_};
  appendHead(text, form, page_.body.size());
  if (!headOnly) text += page_.body;
  page_ = {};
  const bool sent = co_await write(std::move(text));
  if (sent) co_await linger();
}

/// Ends the connection so that what was sent arrives. A socket that is closed while the kernel holds
/// something is nobody's any more: in no count and under no deadline of ours.
Task<void> PlainConnection::linger() {
  const bool mustWait = unread_ || wire_.untaken() > 0;
  wire_.shutdown();
  if (!mustWait) co_return;
  const Deadline start = Clock::now();
  waitsSince_ = start;
  for (;;) {
    const IoResult got = wire_.discard();
    const bool taken = wire_.untaken() == 0;
    if (taken && (!unread_ || got.io == Io::closed)) co_return;
    const Deadline now = Clock::now();
    const Deadline end = start + (taken ? limits_.linger : limits_.write);
    if (cut_ || now >= end) break;
    if (got.io == Io::ok) {
      static_cast<void>(co_await loop_.sleepUntil(now));  // the other connections have their turn
    } else if (got.io == Io::closed || !taken) {
      static_cast<void>(co_await loop_.sleepUntil(std::min(end, now + kTakenPause)));
    } else {
      static_cast<void>(co_await socket_.readable(end));
    }
    if (loop_.stopping()) break;
  }
  wire_.giveUpUntaken();
}

}  // namespace dynamo::runtime
