// Events are written in the background, counted, and created again after they have expired.
#include "controller/kube/event_recorder.h"

#include <fmt/format.h>

#include "common/runtime/task_group.h"
#include "kube_support.h"

namespace dynamo::kube::test {
namespace {

constexpr std::chrono::milliseconds kShort{5};

EventInput event(const std::string& message, const std::string& namespaceName = "n") {
  return {{"v1", "Pod", namespaceName, "p", "uid", "1"}, true, "Failed", message, "dynamo"};
}

/// Records the events, writes them all, and returns the methods and paths of the requests; names are "*".
std::vector<std::string> requestsOf(const std::vector<EventInput>& inputs, const ApiServer& server,
                                    observability::Registry& metrics) {
  withClient(server.config(), [&](EventLoop& loop, Client& client) -> Task<void> {
    EventRecorder recorder{loop, client, &metrics};
    for (const EventInput& input : inputs) recorder.record(input);
    CHECK(recorder.queued() == std::min(inputs.size(), kMaxQueuedEvents));
    recorder.stop();
    co_await recorder.run();
    CHECK(recorder.queued() == 0);
  });
  std::vector<std::string> lines;
  for (const std::string& request : server.requests()) {
    std::string line = lineOf(request);
    line = line.substr(0, line.find('?'));
    if (line.starts_with("PATCH")) line = line.substr(0, line.rfind('/')) + "/*";
    lines.push_back(line);
  }
  return lines;
}

std::string droppedOf(const observability::Registry& metrics) {
  const std::string text = metrics.render();
  const std::string name = "\ndynamo_operator_events_dropped_total ";
  const auto at = text.find(name) + name.size();
  return text.substr(at, text.find('\n', at) - at);
}

}  // namespace

TEST_CASE("an Event is created once and then counted") {
  const ApiServer server{
      [](const std::string& request, int) { return reply(request.starts_with("POST") ? 201 : 200, "{}"); }};
  observability::Registry metrics;
  const std::vector<EventInput> inputs = {event("a"), event("a"), event("b")};
  CHECK(requestsOf(inputs, server, metrics) == std::vector<std::string>{"POST /api/v1/namespaces/n/events",
                                                                        "PATCH /api/v1/namespaces/n/events/*",
                                                                        "POST /api/v1/namespaces/n/events"});
  const std::string body = bodyOf(server.requests()[0]);
  for (const char* part :
       {R"("reason":"Failed")", R"("type":"Warning")", R"("message":"a")", R"("uid":"uid")"})
    CHECK(body.find(part) != std::string::npos);
  CHECK(bodyOf(server.requests()[1]).find(R"("count":2)") != std::string::npos);
  CHECK(droppedOf(metrics) == "0");
}

TEST_CASE("Events about objects of the cluster are written to the namespace default") {
  const ApiServer server{[](const std::string&, int) { return reply(201, "{}"); }};
  observability::Registry metrics;
  CHECK(requestsOf({event("a", "")}, server, metrics) ==
        std::vector<std::string>{"POST /api/v1/namespaces/default/events"});
}

TEST_CASE("an Event that has expired is created again") {
  const ApiServer server{[](const std::string& request, int) {
    return request.starts_with("POST") ? reply(201, "{}") : failure(404, "NotFound");
  }};
  observability::Registry metrics;
  CHECK(requestsOf({event("a"), event("a")}, server, metrics) ==
        std::vector<std::string>{"POST /api/v1/namespaces/n/events", "PATCH /api/v1/namespaces/n/events/*",
                                 "POST /api/v1/namespaces/n/events"});
  CHECK(bodyOf(server.requests()[2]).find(R"("count":1)") != std::string::npos);
  CHECK(droppedOf(metrics) == "0");
}

TEST_CASE("an Event that is refused is dropped and counted, and the next equal one is created") {
  const ApiServer server{[](const std::string&, int number) {
    return number == 0 ? failure(403, "Forbidden") : reply(201, "{}");
  }};
  observability::Registry metrics;
  CHECK(requestsOf({event("a"), event("a")}, server, metrics) ==
        std::vector<std::string>(2, "POST /api/v1/namespaces/n/events"));
  CHECK(droppedOf(metrics) == "1");
}

TEST_CASE("a request whose connection breaks is repeated") {
  const ApiServer server{[](const std::string& request, int number) {
    if (number < 2) return std::string{};
    return request.starts_with("POST") ? failure(409, "AlreadyExists") : reply(200, "{}");
  }};
  observability::Registry metrics;
  withClient(server.config(), [&](EventLoop& loop, Client& client) -> Task<void> {
    EventRecorder recorder{loop, client, &metrics};
    recorder.record(event("a"));
    runtime::TaskGroup running{loop};
    running.spawn(recorder.run());
    while (recorder.queued() != 0) co_await loop.sleepUntil(std::chrono::steady_clock::now() + kShort);
    recorder.record(event("a"));
    recorder.stop();
    co_await running.join();
    CHECK(recorder.queued() == 0);
  });
  // The first Event was created by a request whose reply was lost, so the second one is counted.
  REQUIRE(server.requests().size() == 4);
  CHECK(bodyOf(server.requests()[1]) == bodyOf(server.requests()[0]));
  CHECK(lineOf(server.requests()[3]).starts_with("PATCH"));
  CHECK(droppedOf(metrics) == "0");
}

TEST_CASE("the oldest Events are dropped when the queue is full") {
  const ApiServer server{[](const std::string&, int) { return reply(201, "{}"); }};
  observability::Registry metrics;
  std::vector<EventInput> inputs;
  for (std::size_t i = 0; i < kMaxQueuedEvents + 2; ++i) {
    EventInput input = event("m");
    input.object.name = input.object.uid = fmt::format("p{}", i);
    inputs.push_back(std::move(input));
  }
  CHECK(requestsOf(inputs, server, metrics).size() == kMaxQueuedEvents);
  CHECK(bodyOf(server.requests()[0]).find(R"("name":"p2")") != std::string::npos);
  CHECK(droppedOf(metrics) == "2");
}

}  // namespace dynamo::kube::test
