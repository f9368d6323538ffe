#include "webhook/http/server.h"

#include <utility>

#include "webhook/http/engine.h"

namespace dynamo::webhook {
using runtime::StartError;

std::variant<Server, StartError> Server::start(ServerOptions options, FindRoute find, TlsSource tls) {
  detail::Site site{std::move(find), std::move(tls), std::move(options.events), std::move(options.admits)};
  auto engine = detail::Engine::start(std::move(options.listen), std::move(site), options.limits,
                                      options.threads, options.workers);
  if (auto* error = std::get_if<std::string>(&engine)) return StartError{std::move(*error)};
  return Server{std::move(std::get<0>(engine))};
}

Server::Server(std::unique_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::uint16_t Server::port() const {
  return engine_->port();
}
ServerMetrics Server::metrics() const {
  return engine_->metrics();
}
void Server::beginDrain() {
  engine_->beginDrain();
}
void Server::stop(std::chrono::milliseconds deadline) {
  engine_->stop(deadline);
}

}  // namespace dynamo::webhook
