#include "controller/kube/credentials.h"

#include <utility>
#include <variant>

#include "common/runtime/notification.h"

namespace dynamo::kube {

using runtime::Deadline;
using runtime::EventLoop;
using runtime::Task;
using runtime::WaitResult;

namespace {

using PluginResult = std::variant<ExecCredential, std::string>;

}  // namespace

struct Credentials::Run {
  explicit Run(EventLoop& loop) : ended(loop) {}

  runtime::Notification ended;
  std::optional<PluginResult> result;
};

Task<void> Credentials::runPlugin(EventLoop& loop, std::shared_ptr<Run> run, Plugin plugin) {
  // The result is shared with the thread, which may outlive this task.
  const auto result = std::make_shared<PluginResult>();
  std::function<void()> work = [result, plugin = std::move(plugin)] { *result = plugin.run(plugin.exec); };
  const WaitResult how = co_await loop.offload(std::move(work));
  if (how == WaitResult::Ready) {
    run->result = std::move(*result);
  } else {
    run->result = std::string{"the wait for the credential plugin was cancelled"};
  }
  run->ended.notify();
}

bool Credentials::credentialValid() const {
  return given_ && (!given_->expires || clock_() + kExpiryLeeway < *given_->expires);
}

/// Stores the credential of the plugin if its run has ended.
void Credentials::takePluginResult() {
  if (!run_ || !run_->result) return;
  const auto run = std::exchange(run_, nullptr);
  if (const auto* given = std::get_if<ExecCredential>(&*run->result)) {
    given_ = *given;
    givenAt_ = clock_();
  }
}

std::optional<ApiError> Credentials::refreshFiles() {
  std::optional<TextSource::Instant> now = std::chrono::steady_clock::now();
  if (std::exchange(lookAgain_, false)) now = std::nullopt;
  for (TextSource* source : {&parts_.token, &parts_.certificate, &parts_.key}) {
    if (!source->given()) continue;
    if (auto error = source->refresh(now)) return ApiError{Reason::Transport, 0, std::move(*error)};
  }
  return std::nullopt;
}

void Credentials::refused(const Authentication& used) {
  lookAgain_ = true;
  // Another task may have renewed the credential in the meantime.
  const bool same = given_ && (parts_.token.given() || given_->token == used.token) &&
                    (parts_.certificate.given() || given_->certificate == used.certificate);
  if (same && clock_() - givenAt_ >= kPluginInterval) given_.reset();
}

Task<Result<Authentication>> Credentials::current(EventLoop& loop, Deadline deadline) {
  if (auto error = refreshFiles()) co_return std::move(*error);
  Authentication out{parts_.token.text(), parts_.certificate.text(), parts_.key.text()};
  if (!parts_.plugin) co_return out;
  takePluginResult();
  ExecCredential given;
  if (credentialValid()) {
    given = *given_;
  } else {
    if (!run_) {
      run_ = std::make_shared<Run>(loop);
      loop.spawn(runPlugin(loop, run_, *parts_.plugin));
    }
    const std::shared_ptr<Run> run = run_;
    const WaitResult how = co_await run->ended.wait(deadline);
    if (!run->result) {
      co_return ApiError{how == WaitResult::TimedOut ? Reason::Timeout : Reason::Transport, 0,
                         "the credential plugin has not ended in time"};
    }
    takePluginResult();
    if (auto* error = std::get_if<std::string>(&*run->result)) {
      co_return ApiError{Reason::Transport, 0, *error};
    }
    given = std::get<ExecCredential>(*run->result);
  }
  if (out.token.empty()) out.token = given.token;
  if (out.certificate.empty()) {
    out.certificate = given.certificate;
    out.key = given.key;
  }
  co_return out;
}

}  // namespace dynamo::kube
