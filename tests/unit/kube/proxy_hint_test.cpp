// Whether an error of a connection tells that proxies are not supported.

#include "controller/kube/proxy_hint.h"

#include <catch2/catch.hpp>
#include <map>
#include <string>
#include <vector>

namespace dynamo::kube::test {
namespace {

std::string hintFor(const std::string& host, const std::map<std::string, std::string>& variables) {
  return proxyHint({host, 6443}, [&](const std::string& name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string{} : found->second;
  });
}

}  // namespace

TEST_CASE("the hint names the variable and no value") {
  const std::string more = " is set, but this program does not support proxies)";
  CHECK(hintFor("a.example", {}).empty());
  CHECK(hintFor("a.example", {{"HTTP_PROXY", "http://p:1"}}).empty());
  CHECK(hintFor("a.example", {{"HTTPS_PROXY", "http://u:hunter2@p:1"}}) == " (HTTPS_PROXY" + more);
  CHECK(hintFor("a.example", {{"https_proxy", "p:1"}}) == " (https_proxy" + more);
}

TEST_CASE("there is no hint for servers that kubectl reaches without the proxy") {
  struct Row {
    std::string host;
    std::string noProxy;
    bool hint;
  };
  const std::vector<Row> rows = {
      {"localhost", "", false},
      {"127.0.0.2", "", false},
      {"::1", "", false},
      {"a.example", "", true},
      {"a.example", "*", false},
      {"a.example", "b.example, A.example ", false},
      {"A.Example", "a.example", false},
      {"b.a.example", "a.example", false},
      {"ba.example", "a.example", true},
      {"a.example", ".a.example", true},
      {"b.a.example", ".a.example", false},
      {"b.a.example", "*.a.example", false},
      {"a.example", "a.example:6443", false},
      {"a.example", "a.example:443", true},
      {"a.example", ",:,/,[],10.0.0.0/x,10.0.0.0/40,a.example/8", true},
      {"10.1.2.3", "10.1.2.3", false},
      {"10.1.2.3", "10.1.2.3:6443", false},
      {"10.1.2.3", "10.1.2.4", true},
      {"10.1.2.3", "10.0.0.0/8", false},
      {"10.1.2.3", "10.1.2.0/30", false},
      {"10.1.2.4", "10.1.2.0/30", true},
      {"10.1.2.4", "0.0.0.0/0", false},
      {"a.example", "0.0.0.0/0", true},
      {"fd00::1", "fd00:0::1", false},
      {"fd00::1", "[fd00::1]:6443", false},
      {"fd00::1", "[fd00::1]:443", true},
      {"fd00::1", "fd00::/16", false},
      {"fd00::1", "10.0.0.0/8", true},
  };
  for (const Row& row : rows) {
    CAPTURE(row.host, row.noProxy);
    CHECK(hintFor(row.host, {{"HTTPS_PROXY", "p"}, {"NO_PROXY", row.noProxy}}).empty() != row.hint);
    CHECK(hintFor(row.host, {{"HTTPS_PROXY", "p"}, {"no_proxy", row.noProxy}}).empty() != row.hint);
  }
}

}  // namespace dynamo::kube::test
