// Addresses of listeners and servers.

#include "common/runtime/endpoint.h"

#include <catch2/catch.hpp>
#include <string>
#include <variant>
#include <vector>

#include "common/runtime/socket_address.h"

namespace dynamo::runtime::test {

TEST_CASE("endpoints") {
  struct Row {
    const char* text;
    const char* expected;
  };
  const std::vector<Row> rows{
      {"127.0.0.1:9443", "127.0.0.1:9443"},
      {"[::1]:0", "[::1]:0"},
      {":8080", ":8080"},
      {"9443", "\"9443\": must be ADDRESS:PORT or :PORT"},
      {"::1:80", "\"::1:80\": an IPv6 address must be in brackets, e.g. [::1]:9443"},
      {"1.2.3.4:", "\"1.2.3.4:\": the port must be a number from 0 to 65535"},
      {"1.2.3.4:65536", "\"1.2.3.4:65536\": the port must be a number from 0 to 65535"},
      {"1.2.3.4:1x", "\"1.2.3.4:1x\": the port must be a number from 0 to 65535"},
      {"localhost:1", "localhost:1"},
  };
  for (const auto& row : rows) {
    const auto parsed = parseEndpoint(row.text);
    const auto* endpoint = std::get_if<Endpoint>(&parsed);
    CHECK((endpoint != nullptr ? toString(*endpoint) : std::get<std::string>(parsed)) == row.expected);
  }
}

TEST_CASE("an address is not resolved, and IPv4 is the first address of a name") {
  const auto given = resolve({"::1", 80});
  REQUIRE(std::get<0>(given).size() == 1);
  CHECK(std::get<0>(given).front().family() == AF_INET6);
  const auto found = resolve({"localhost", 80});
  REQUIRE_FALSE(std::get<0>(found).empty());
  CHECK(std::get<0>(found).front().family() == AF_INET);
  CHECK_FALSE(std::get<std::string>(resolve({"no host", 80})).empty());
  CHECK(isIpAddress("10.0.0.1"));
  CHECK(isIpAddress("fd00::1"));
  CHECK_FALSE(isIpAddress("kubernetes.default.svc"));
}

}  // namespace dynamo::runtime::test
