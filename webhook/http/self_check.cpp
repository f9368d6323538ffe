#include "webhook/http/self_check.h"

#include <system_error>
#include <utility>

#include "common/runtime/client_session.h"

namespace dynamo::webhook {
namespace {

using runtime::ClientReply;
using runtime::ClientSession;
using runtime::Deadline;
using runtime::EventLoop;
using runtime::Stage;
using runtime::Task;
using runtime::TransportError;
using runtime::TransportProblem;
using runtime::TransportResult;

constexpr std::size_t kMaxReply = std::size_t{1} << 20;

Task<TransportResult<ClientReply>> ask(EventLoop& loop, runtime::Target target,
                                       runtime::ClientContext context, runtime::ClientRequest request,
                                       Deadline deadline) {
  auto opened = co_await ClientSession::open(loop, std::move(target), std::move(context), deadline);
  if (auto* error = std::get_if<TransportError>(&opened)) co_return std::move(*error);
  auto& session = std::get<ClientSession>(opened);
  auto reply = co_await session.exchange(std::move(request), kMaxReply, deadline);
  session.close();
  co_return std::move(reply);
}

/// The message that /readyz reports.
std::string messageOf(const TransportError& error) {
  switch (error.stage) {
    case Stage::Connect:
      return error.message;
    case Stage::Handshake:
      return "the TLS handshake failed or took too long";
    case Stage::Send:
      return "sending the request failed or took too long";
    case Stage::Receive:
      break;
  }
  return error.problem == TransportProblem::TooLarge ? error.message : "no complete reply arrived in time";
}

}  // namespace

std::variant<SelfCheckReply, SelfCheckError> selfCheck(const runtime::Endpoint& endpoint,
                                                       std::string_view path, std::string_view body,
                                                       std::chrono::milliseconds timeout) try {
  auto context =
      runtime::makeClientContext({.authorities = {}, .verify = false, .certificate = {}, .key = {}});
  if (auto* problem = std::get_if<std::string>(&context)) return SelfCheckError{std::move(*problem)};
  runtime::ClientRequest request{"POST", std::string{path}, {}, std::string{body}};
  request.headers = {{"Content-Type", "application/json"}, {"Connection", "close"}};
  EventLoop loop;
  auto result = runtime::runTask(
      loop, ask(loop, runtime::Target{endpoint, "", "localhost"}, std::get<0>(std::move(context)),
                std::move(request), std::chrono::steady_clock::now() + timeout));
  if (const auto* error = std::get_if<TransportError>(&result)) return SelfCheckError{messageOf(*error)};
  auto& reply = std::get<ClientReply>(result);
  return SelfCheckReply{reply.head.status, std::move(reply.body)};
} catch (const std::system_error& error) {  // thrown when no file descriptors are left
  return SelfCheckError{"cannot connect to the listener: " + error.code().message()};
}

}  // namespace dynamo::webhook
