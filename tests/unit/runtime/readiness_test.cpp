// Answers to probes.

#include "common/runtime/readiness.h"

#include <catch2/catch.hpp>

#include "support.h"

namespace dynamo::runtime::test {

TEST_CASE("the slow check runs at most once a second, and only after the quick check has passed") {
  std::string quick;
  std::string slow;
  int asked = 0;
  std::chrono::steady_clock::time_point now{1h};
  Readiness readiness{[&] { return quick; },
                      [&] {
                        ++asked;
                        return slow;
                      },
                      [&] { return now; }};
  quick = "no certificate";
  CHECK(readiness.problem() == "no certificate");
  CHECK(asked == 0);
  quick = "";
  CHECK(readiness.problem().empty());
  slow = "no answer";
  now += 999ms;
  CHECK(readiness.problem().empty());
  CHECK(asked == 1);
  now += 1ms;
  CHECK(readiness.problem() == "no answer");
  CHECK(asked == 2);
  quick = "expired";
  CHECK(readiness.problem() == "expired");
  readiness.drain();
  CHECK(readiness.problem() == "shutting down");
}

TEST_CASE("a thread that does not come back to its loop is reported after a minute") {
  std::chrono::steady_clock::time_point now{1h};
  Heartbeat heartbeat{[&] { return now; }};
  now += 60s;
  CHECK(heartbeat.problem().empty());
  now += 1s;
  CHECK(heartbeat.problem() == "the event loop has not run for 61 s");
  heartbeat.beat();
  CHECK(heartbeat.problem().empty());
}

TEST_CASE("the listener of probes answers 200 or 500") {
  Noted problem;
  Noted hang;
  const auto ready = [&] { return problem.get(); };
  const auto live = [&] { return hang.get(); };
  auto started = PlainServer::start({probeListener({"127.0.0.1", 0}, ready, live)});
  const PlainServer& server = std::get<PlainServer>(started);
  const auto get = [&](const std::string& path) {
    const std::string reply = PlainClient{server.port(0)}.ask("GET " + path + " HTTP/1.1\r\nHost: h\r\n\r\n");
    return reply.substr(9, 4) + reply.substr(reply.find("\r\n\r\n") + 4);
  };
  CHECK(get("/healthz") == "200 ok\n");
  CHECK(get("/readyz") == "200 ok\n");
  problem.set("shutting down");
  CHECK(get("/healthz") == "200 ok\n");
  CHECK(get("/readyz") == "500 shutting down\n");
  problem.set("");
  hang.set("blocked");
  CHECK(get("/healthz") == "500 blocked\n");
  CHECK(get("/readyz") == "200 ok\n");
}

}  // namespace dynamo::runtime::test
