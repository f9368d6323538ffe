#pragma once
// TCP connections of clients.

#include <vector>

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/socket_address.h"
#include "common/runtime/transport_error.h"

namespace dynamo::runtime {

/// Connects to the first address of the endpoint that responds. An endpoint for all addresses is reached over
/// the loopback interface.
Task<TransportResult<Descriptor>> connectTo(EventLoop& loop, Endpoint endpoint, Deadline deadline);

/// Connects to the first of the addresses that responds. The addresses are tried in order. The remaining time
/// is divided equally among them, so that an address that never responds does not use the time of the others.
/// Error messages contain `endpoint`.
Task<TransportResult<Descriptor>> connectToAny(EventLoop& loop, Endpoint endpoint,
                                               std::vector<SocketAddress> addresses, Deadline deadline);

}  // namespace dynamo::runtime
