#include "kube_support.h"

namespace dynamo::kube::test {

Authentication presented(const RestConfig& config) {
  EventLoop loop;
  auto got = runtime::runTask(loop, config.credentials->current(loop, in(10s)));
  if (const auto* error = std::get_if<ApiError>(&got)) throw std::runtime_error{error->message};
  return std::get<Authentication>(got);
}

RestConfig configFor(const ScriptedPeer& peer) {
  RestConfig config;
  config.server = {"127.0.0.1", peer.port()};
  config.serverName = "localhost";
  config.authorities = TextSource::ofText(authority().pem());
  Credentials::Parts parts;
  parts.token = TextSource::ofText("t");
  config.credentials = std::make_shared<Credentials>(std::move(parts));
  return config;
}

std::string reply(int status, std::string_view body, std::string_view headers) {
  std::string out = "HTTP/1.1 " + std::to_string(status) + " Word\r\n";
  out.append(headers).append("Content-Length: ").append(std::to_string(body.size()));
  return out.append("\r\n\r\n").append(body);
}

std::string failure(int status, std::string_view reason, std::string_view headers) {
  return reply(status,
               R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"no","reason":")" +
                   std::string{reason} + R"(","code":)" + std::to_string(status) + "}",
               headers);
}

std::string bodyOf(const std::string& request) {
  return request.substr(request.find("\r\n\r\n") + 4);
}

std::string lineOf(const std::string& request) {
  return request.substr(0, request.find(" HTTP/1.1\r\n"));
}

std::string headerOf(const std::string& request, const std::string& name) {
  const std::string start = "\r\n" + name + ": ";
  const auto at = request.find(start);
  if (at == std::string::npos) return {};
  const auto begin = at + start.size();
  return request.substr(begin, request.find("\r\n", begin) - begin);
}

ApiServer::ApiServer(Handler handler) : handler_(std::move(handler)) {
  const auto serve = [this](PeerConnection& connection) {
    for (;;) {
      const std::string request = connection.request();
      if (request.empty()) return;
      int number = 0;
      {
        const std::lock_guard lock{mutex_};
        number = static_cast<int>(requests_.size());
        requests_.push_back(request);
      }
      const std::string answer = handler_(request, number);
      if (answer.empty()) return;
      connection.send(answer);
    }
  };
  peer_ = std::make_unique<ScriptedPeer>(runtime::test::goodPair(), serve, nullptr, Serves::AllAtOnce);
}

std::vector<std::string> ApiServer::requests() const {
  const std::lock_guard lock{mutex_};
  return requests_;
}

Task<Result<Answer>> FakeRoundTripper::send(HttpRequest request) {
  if (request.write && gate_ && !gate_(request.namespaceName))
    co_return ApiError{Reason::Transport, 0, "writes are stopped"};
  const int number = static_cast<int>(requests_.size());
  requests_.push_back(request.method + " " + request.path +
                      " HTTP/1.1\r\nContent-Type: " + request.contentType + "\r\n\r\n" + request.body);
  const std::string replied = co_await handler_(requests_.back(), number);
  if (replied.empty()) co_return ApiError{Reason::Transport, 0, "the connection was closed"};
  runtime::ReplyHead head;
  head.status = std::stoi(replied.substr(replied.find(' ')));
  if (head.status >= 300) co_return errorOf(head, bodyOf(replied), request.messagePolicy);
  Answer answer;
  answer.body = bodyOf(replied);
  co_return std::move(answer);
}

std::string textOf(const Result<json::Document>& result) {
  if (const auto* error = std::get_if<ApiError>(&result)) {
    return std::string{nameOf(error->reason)} + ": " + error->message;
  }
  return json::dump(std::get<json::Document>(result));
}

Task<void> getOnce(Client& client, std::vector<std::string>& out, CallOptions call) {
  auto result = co_await client.get(configMaps(), "a", "b", call);
  out.push_back(textOf(result));
}

}  // namespace dynamo::kube::test
