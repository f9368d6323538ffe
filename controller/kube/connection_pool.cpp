#include "controller/kube/connection_pool.h"

#include <iterator>

namespace dynamo::kube {

using runtime::ClientContext;
using runtime::ClientSession;

std::optional<ClientSession> ConnectionPool::take(const ClientContext& context, Instant now) {
  // Connections with an outdated client identity are closed.
  idle_.remove_if([&](const Idle& each) { return each.context != context || now - each.since > kMaxIdle; });
  while (!idle_.empty()) {
    Idle last = std::move(idle_.back());
    idle_.pop_back();
    if (last.session.reusable()) return std::move(last.session);
  }
  return std::nullopt;
}

void ConnectionPool::give(ClientSession session, ClientContext context, Instant now) {
  if (!session.reusable()) return;
  if (idle_.size() == max_) idle_.pop_front();
  idle_.push_back(Idle{std::move(session), std::move(context), now});
}

}  // namespace dynamo::kube
