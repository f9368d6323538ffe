#include "webhook/http/server.h"

#include <utility>

#include "webhook/http/engine.h"

namespace dynamo::webhook {
namespace {

// Probes and scrapes come from a handful of clients.
constexpr std::size_t kPlainConnections = 256;

FindRoute routesOf(const PlainListener& listener) {
  auto routes = std::make_shared<std::map<std::string, Route, std::less<>>>();
  const auto add = [&routes](const Pages& pages, bool slow) {
    for (const auto& [path, page] : pages) {
      routes->emplace(path,
                      Route{0, false, [make = page](Request&) { return make(); }, slow ? 0 : kHeavyBody});
    }
  };
  add(listener.pages, false);
  add(listener.slow, true);
  return [routes](std::string_view path) -> const Route* {
    const auto found = routes->find(path);
    return found == routes->end() ? nullptr : &found->second;
  };
}

}  // namespace

std::variant<Server, StartError> Server::start(ServerOptions options, FindRoute find, TlsSource tls) {
  std::vector<detail::Door> doors;
  doors.push_back({std::move(options.listen),
                   {detail::Site::Speaks::reviews, std::move(find), std::move(tls), std::move(options.events),
                    std::move(options.admits)}});
  auto engine = detail::Engine::start(std::move(doors), options.limits, options.threads, options.workers,
                                      /*reusePort=*/true);
  if (auto* error = std::get_if<std::string>(&engine)) return StartError{std::move(*error)};
  return Server{std::move(std::get<0>(engine))};
}

Server::Server(std::unique_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}
Server::Server(Server&&) noexcept = default;
Server& Server::operator=(Server&&) noexcept = default;
Server::~Server() = default;

std::uint16_t Server::port() const {
  return engine_->port(0);
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

std::variant<PlainServer, StartError> PlainServer::start(std::vector<PlainListener> listeners,
                                                         const Limits& limits) {
  std::vector<detail::Door> doors;
  doors.reserve(listeners.size());
  for (auto& listener : listeners) {
    detail::Site site;
    site.speaks = detail::Site::Speaks::pages;
    site.find = routesOf(listener);
    doors.push_back({std::move(listener.listen), std::move(site)});
  }
  Limits own = limits;
  own.connections = std::min(own.connections, kPlainConnections);
  // Without SO_REUSEPORT: a second process on the port is a mistake here, and is told so.
  auto engine = detail::Engine::start(std::move(doors), own, 1, 1, /*reusePort=*/false);
  if (auto* error = std::get_if<std::string>(&engine)) return StartError{std::move(*error)};
  return PlainServer{std::move(std::get<0>(engine))};
}

PlainServer::PlainServer(std::unique_ptr<detail::Engine> engine) : engine_(std::move(engine)) {}
PlainServer::PlainServer(PlainServer&&) noexcept = default;
PlainServer& PlainServer::operator=(PlainServer&&) noexcept = default;
PlainServer::~PlainServer() = default;

std::uint16_t PlainServer::port(std::size_t listener) const {
  return engine_->port(listener);
}
void PlainServer::stop(std::chrono::milliseconds deadline) {
  engine_->stop(deadline);
}

}  // namespace dynamo::webhook
