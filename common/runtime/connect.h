#pragma once
// TCP connections of clients.

#include "common/runtime/endpoint.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/transport_error.h"

namespace dynamo::runtime {

/// A socket that is connected to the first address of the endpoint that answers. All addresses of the own
/// host are reached over the loopback.
Task<Transported<Descriptor>> connectTo(EventLoop& loop, Endpoint endpoint, Deadline deadline);

}  // namespace dynamo::runtime
