#include "controller/kube/transport.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "common/observability/log.h"
#include "controller/kube/proxy_hint.h"

namespace dynamo::kube {

using runtime::ClientContext;
using runtime::ClientRequest;
using runtime::ClientSession;
using runtime::Deadline;
using runtime::ReplyHead;
using runtime::Task;
using runtime::TransportError;
using runtime::WaitResult;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

namespace {

constexpr log::Logger kLog{"client"};

// The maximum size of the body of an error. A Status usually has a few KiB, but it may quote a whole object.
constexpr std::size_t kMaxErrorBody = std::size_t{4} << 20;
/// The minimum delay before a retry, for a server that sends `Retry-After: 0`.
constexpr milliseconds kMinPause{100};

bool isSuccess(int status) {
  return status >= 200 && status < 300;
}

/// Returns who shares the slots of a request with others. Requests about the cluster do not limit each other.
const std::string& tenantOf(const HttpRequest& request) {
  return request.call.slots == Slots::Cluster ? request.path : request.namespaceName;
}

bool isPostponed(const ApiError& error) {
  return error.retryAfter && (error.status == 429 || error.status == 503);
}

}  // namespace

struct Transport::Exchange {
  Exchange(ClientRequest request_, ClientContext context_, Deadline deadline_)
      : request(std::move(request_)), context(std::move(context_)), deadline(deadline_) {}

  ClientRequest request;
  ClientContext context;
  Deadline deadline;
  std::optional<ClientSession> session;
  bool closed = false;  ///< the write gate rejected the request
};

Transport::Transport(runtime::EventLoop& loop, RestConfig config, ClientMetrics* metrics,
                     ClientOptions options)
    : loop_(loop),
      config_(std::move(config)),
      metrics_(metrics),
      options_(std::move(options)),
      pool_(options_.maxInFlight) {
  turns_.emplace(Slots::Objects, Turns{loop, options_.maxInFlight});
  turns_.emplace(Slots::Cluster, Turns{loop, options_.maxClusterInFlight});
  turns_.emplace(Slots::Events, Turns{loop, options_.maxEventsInFlight});
  if (options_.hintsAtProxy) proxyHint_ = proxyHint(config_.server, processEnvironment());
  if (!config_.credentials) config_.credentials = std::make_shared<Credentials>(Credentials::Parts{});
}

std::variant<ClientContext, ApiError> Transport::contextOf(const Authentication& who) {
  if (config_.authorities.given()) {
    std::optional<TextSource::Instant> now = steady_clock::now();
    if (std::exchange(untrusted_, false)) now = std::nullopt;  // the CA file may have changed
    if (auto error = config_.authorities.refresh(now)) {
      return ApiError{Reason::Transport, 0, std::move(*error)};
    }
  }
  const std::string& trusted = config_.authorities.text();
  if (context_ && trusted == trusted_ && who.certificate == presented_.certificate &&
      who.key == presented_.key) {
    return context_;
  }
  auto made = runtime::makeClientContext(
      {.authorities = trusted, .verify = config_.verify, .certificate = who.certificate, .key = who.key});
  if (auto* error = std::get_if<std::string>(&made)) {
    if (!context_) return ApiError{Reason::Transport, 0, *error};
    // The files may be in the middle of a rotation. They are read again.
    kLog.warn("new credentials cannot be used, the earlier ones stay in use", {{"error", *error}});
    return context_;
  }
  context_ = std::get<ClientContext>(std::move(made));
  trusted_ = trusted;
  presented_ = who;
  return context_;
}

std::vector<runtime::Header> Transport::headersOf(const HttpRequest& request,
                                                  const Authentication& who) const {
  std::vector<runtime::Header> out{{"Accept", "application/json"}, {"User-Agent", options_.userAgent}};
  if (!who.token.empty()) out.push_back({"Authorization", "Bearer " + who.token});
  if (!request.contentType.empty()) out.push_back({"Content-Type", request.contentType});
  const auto& impersonation = config_.credentials->impersonation();
  out.insert(out.end(), impersonation.begin(), impersonation.end());
  return out;
}

std::optional<ApiError> Transport::closedGate(const HttpRequest& request) const {
  if (!request.write || request.call.ungated) return std::nullopt;
  if (loop_.stopping()) return ApiError{Reason::Transport, 0, "writes are stopped: this process ends"};
  if (!gate_ || gate_(request.namespaceName)) return std::nullopt;
  return ApiError{
      Reason::Transport, 0,
      "writes are stopped: this process is not the leader, or another operator manages the namespace"};
}

/// Sends the request on a kept connection or a new one, and reads the response header.
Task<Result<ReplyHead>> Transport::sendRequest(const HttpRequest& request, Exchange& on) {
  if (auto kept = pool_.take(on.context, steady_clock::now())) on.session.emplace(std::move(*kept));
  for (;;) {
    if (!on.session) {
      runtime::Target target{config_.server, config_.serverName};
      auto opened = co_await ClientSession::open(loop_, std::move(target), on.context, on.deadline);
      if (const auto* error = std::get_if<TransportError>(&opened)) {
        untrusted_ = untrusted_ || error->problem == runtime::TransportProblem::Untrusted;
        ApiError told = errorOf(*error);
        const bool cancelled = error->problem == runtime::TransportProblem::Cancelled;
        if (error->stage == runtime::Stage::Connect && !cancelled) told.message += proxyHint_;
        co_return std::move(told);
      }
      on.session.emplace(std::get<ClientSession>(std::move(opened)));
    }
    // The gate is checked immediately before the request is sent, because connecting may take a long time.
    if (auto error = closedGate(request)) {
      on.closed = true;
      co_return std::move(*error);
    }
    auto head = co_await on.session->ask(on.request, on.deadline);
    if (auto* got = std::get_if<ReplyHead>(&head)) co_return std::move(*got);
    const auto& error = std::get<TransportError>(head);
    on.session.reset();
    // A load balancer may keep connections open whose server is gone. New ones lead to another server.
    if (error.problem == runtime::TransportProblem::TimedOut) pool_.clear();
    // Only a kept connection can be stale, so the request is sent at most twice.
    if (!error.stale || !request.repeatable) co_return errorOf(error);
  }
}

Task<Result<std::string>> Transport::readBody(Exchange& on, const ReplyHead& head, std::size_t max) {
  const ApiError tooLarge{Reason::TooLarge, 0, "the reply has more than " + std::to_string(max) + " bytes"};
  if (head.length.value_or(0) > max) co_return tooLarge;
  std::string body;
  for (;;) {
    auto part = co_await on.session->read(on.deadline);
    if (const auto* error = std::get_if<TransportError>(&part)) co_return errorOf(*error);
    const std::string_view bytes = std::get<std::string_view>(part);
    if (bytes.empty()) co_return std::move(body);
    if (bytes.size() > max - body.size()) co_return tooLarge;
    body.append(bytes);
  }
}

Task<Result<Answer>> Transport::exchange(HttpRequest request, Authentication who, Deadline deadline) {
  auto context = contextOf(who);
  if (auto* error = std::get_if<ApiError>(&context)) co_return std::move(*error);
  std::optional<Turns::Turn> turn;
  if (!request.stream && !request.call.ungated) {
    auto taken = co_await turns_.at(request.call.slots).take(tenantOf(request), deadline);
    if (const auto* how = std::get_if<WaitResult>(&taken)) {
      if (*how == WaitResult::TimedOut) {
        co_return ApiError{Reason::Timeout, 0, "too many other requests were in progress"};
      }
      co_return errorOf(runtime::waitError(runtime::Stage::Connect, *how));
    }
    turn.emplace(std::get<Turns::Turn>(std::move(taken)));
  }
  if (auto error = closedGate(request)) co_return std::move(*error);
  ClientRequest text{request.method, config_.basePath + request.path, headersOf(request, who), request.body};
  Exchange on{std::move(text), std::get<ClientContext>(std::move(context)), deadline};
  const auto began = steady_clock::now();
  auto received = co_await sendRequest(request, on);
  const auto* const head = std::get_if<ReplyHead>(&received);
  if (metrics_ != nullptr && !on.closed) {
    const std::chrono::duration<double> took = steady_clock::now() - began;
    metrics_->finished(request.method, head == nullptr ? 0 : head->status, took.count());
  }
  if (head == nullptr) co_return std::get<ApiError>(std::move(received));
  const bool success = isSuccess(head->status);
  Answer answer;
  if (success && request.stream) {
    answer.stream.emplace(std::move(*on.session));
    co_return std::move(answer);
  }
  auto body = co_await readBody(on, *head, success ? request.maxBodyBytes : kMaxErrorBody);
  const auto* const unread = std::get_if<ApiError>(&body);
  if (unread == nullptr) pool_.give(std::move(*on.session), on.context, steady_clock::now());
  // The header is sufficient for an error if the body cannot be read.
  if (!success)
    co_return errorOf(*head, unread == nullptr ? std::get<std::string>(body) : "", request.messagePolicy);
  if (unread != nullptr) co_return *unread;
  answer.body = std::get<std::string>(std::move(body));
  co_return std::move(answer);
}

/// Returns the delay that the server requested plus a random part of up to half of it, so that clients do not
/// retry at the same time.
milliseconds Transport::pauseAfter(const ApiError& error) {
  const milliseconds least = std::max(milliseconds{*error.retryAfter}, kMinPause);
  std::uniform_int_distribution<milliseconds::rep> more{0, least.count() / 2};
  return least + milliseconds{more(random_)};
}

Task<Result<Answer>> Transport::send(HttpRequest request) {
  const Deadline deadline = steady_clock::now() + request.call.timeout.value_or(options_.timeout);
  unsigned postponed = 0;
  std::optional<Authentication> refused;
  for (;;) {
    auto current = co_await config_.credentials->current(loop_, deadline);
    if (auto* error = std::get_if<ApiError>(&current)) co_return std::move(*error);
    const auto& who = std::get<Authentication>(current);
    auto result = co_await exchange(request, who, deadline);
    const auto* const error = std::get_if<ApiError>(&result);
    if (error == nullptr) co_return std::move(result);
    if (error->status == 401 && !refused) {
      config_.credentials->refused(who);
      refused = who;
      auto renewed = co_await config_.credentials->current(loop_, deadline);
      const auto* const other = std::get_if<Authentication>(&renewed);
      if (other == nullptr || *other == *refused) co_return std::move(result);
      continue;
    }
    if (!isPostponed(*error) || postponed++ == options_.maxPostponed) co_return std::move(result);
    const auto pause = pauseAfter(*error);
    if (steady_clock::now() + pause >= deadline) co_return std::move(result);
    const WaitResult how = co_await loop_.sleepUntil(steady_clock::now() + pause);
    if (how != WaitResult::Ready) co_return std::move(result);
  }
}

}  // namespace dynamo::kube
