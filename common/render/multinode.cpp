#include "common/render/multinode.h"

#include <fmt/format.h>

#include "common/k8s/names.h"

namespace dynamo::render {
namespace {

std::string groveHost(std::string_view service, std::string_view pod) {
  return fmt::format("$(GROVE_PCSG_NAME)-$(GROVE_PCSG_INDEX)-{}-{}.$(GROVE_HEADLESS_SERVICE)",
                     k8s::lowerAscii(service), pod);
}

}  // namespace

std::string Hosts::leaderDirect() const {
  return grove ? groveHost(service, "ldr-0") : "$(LWS_LEADER_ADDRESS)";
}

std::string Hosts::leaderShell() const {
  return grove ? groveHost(service, "ldr-0") : "$LWS_LEADER_ADDRESS";
}

std::vector<std::string> Hosts::workers() const {
  std::vector<std::string> hosts;
  for (long long i = 0; i + 1 < nodes; ++i) {
    hosts.push_back(grove ? groveHost(service, fmt::format("wkr-{}", i))
                          : fmt::format(R"($(echo "$LWS_LEADER_ADDRESS" | sed 's/\./-{}\./'))", i + 1));
  }
  return hosts;
}

std::string Hosts::rank() const {
  return grove ? "$((GROVE_PCLQ_POD_INDEX + 1))" : "$(LWS_WORKER_INDEX)";
}

std::string Hosts::rankTimes(long long factor) const {
  return fmt::format("$(( {} * {} ))", factor, grove ? rank() : "LWS_WORKER_INDEX");
}

}  // namespace dynamo::render
