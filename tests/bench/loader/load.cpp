#include "tests/bench/loader/load.h"

#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <deque>
#include <fstream>
#include <iterator>
#include <memory>
#include <stdexcept>

#include "tests/bench/loader/connection.h"

namespace dynamo::bench {
namespace {

using std::chrono::duration;
using std::chrono::nanoseconds;
using Step = Connection::Step;

// A server that fails this many requests in a row is down, and more requests would measure nothing.
constexpr std::uint64_t kMaxFailures = 200;
constexpr duration<double> kConnectDeadline{10};
constexpr duration<double> kDrainDeadline{5};
constexpr std::chrono::milliseconds kHeldUp{100};

Clock::duration seconds(double value) {
  return std::chrono::duration_cast<Clock::duration>(duration<double>(value));
}

double cpuSeconds(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double cpuSeconds(const std::vector<pid_t>& processes) {
  double sum = 0;
  for (const pid_t process : processes) {
    clockid_t clock{};
    if (clock_getcpuclockid(process, &clock) == 0) sum += cpuSeconds(clock);
  }
  return sum;
}

std::string readFile(const std::string& name) {
  std::ifstream file(name, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + name);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string makeRequest(const LoadOptions& options) {
  const std::string body = readFile(options.bodyFile);
  return "POST " + options.path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(options.port) +
         "\r\nUser-Agent: kube-apiserver-admission\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nAccept: application/json, */*\r\nContent-Type: application/json\r\n" +
         (options.fresh ? "Connection: close\r\n\r\n" : "\r\n") + body;
}

class Load {
 public:
  explicit Load(const LoadOptions& options)
      : options_(options),
        request_(makeRequest(options)),
        context_(makeClientContext()),
        epoll_(epoll_create1(EPOLL_CLOEXEC)) {
    if (epoll_ < 0) throw std::runtime_error("epoll_create1 failed");
    for (std::uint32_t number = 0; number < options.connections; ++number) {
      connections_.push_back(std::make_unique<Connection>(context_.get(), epoll_, options.port, number));
    }
  }
  ~Load() {
    connections_.clear();
    ::close(epoll_);
  }
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  LoadResult run() {
    connectAll();
    const Clock::time_point begin = Clock::now();
    windowStart_ = begin + seconds(options_.requests > 0 ? 0 : options_.warmup);
    windowEnd_ = windowStart_ + seconds(options_.seconds);
    nextDue_ = begin;
    for (auto& connection : connections_) next(*connection);
    if (options_.requests == 0) loopUntil(windowStart_);
    const double serverCpu = cpuSeconds(options_.servers);
    const double loaderCpu = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    const Clock::time_point measured = Clock::now();
    loopUntil(windowEnd_);
    result_.seconds = duration<double>(Clock::now() - measured).count();
    result_.serverCpuSeconds = cpuSeconds(options_.servers) - serverCpu;
    result_.loaderCpuSeconds = cpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - loaderCpu;
    draining_ = true;
    loopUntil(Clock::now() + seconds(kDrainDeadline.count()));
    if (const auto stuck = busy()) result_.errors["no answer before the end"] += stuck;
    result_.answered = answered_;
    return std::move(result_);
  }

 private:
  std::uint64_t busy() const {
    return static_cast<std::uint64_t>(std::count_if(
        connections_.begin(), connections_.end(),
        [this](const auto& one) { return one->isBusy() || (options_.fresh && one->isOpen()); }));
  }

  void connectAll() {
    if (options_.fresh) return;
    pending_ = options_.connections;
    for (auto& connection : connections_) handle(*connection, connection->open());
    const Clock::time_point deadline = Clock::now() + seconds(kConnectDeadline.count());
    while (pending_ > 0 && Clock::now() < deadline) poll(deadline);
    if (pending_ > 0) throw std::runtime_error("cannot connect: " + lastFailure_);
  }

  /// Whether another request is sent. An open loop continues until every request that was due in the window
  /// has been sent. Otherwise a server that falls behind would look better than it is.
  bool wantsMore() const {
    if (options_.requests > 0) return sent_ < options_.requests;
    return options_.rate > 0 ? nextDue_ < windowEnd_ : !draining_;
  }

  bool finished() const {
    if (options_.requests > 0 && answered_ + failed_ >= options_.requests) return true;
    return draining_ && !wantsMore() && busy() == 0;
  }

  void loopUntil(Clock::time_point deadline) {
    while (Clock::now() < deadline && !finished()) {
      Clock::time_point wake = deadline;
      if (options_.rate > 0 && wantsMore()) {
        // The loader was delayed. Connections that the server has closed meanwhile must be detected before a
        // write.
        if (Clock::now() - nextDue_ > kHeldUp) poll(Clock::now());
        assignDue();
        if (!free_.empty()) wake = std::min(wake, nextDue_);
      }
      poll(wake);
    }
  }

  void poll(Clock::time_point wake) {
    std::array<epoll_event, 256> events;
    const auto wait = std::max<std::int64_t>(0, nanoseconds(wake - Clock::now()).count());
    timespec timeout{};
    timeout.tv_sec = wait / 1'000'000'000;
    timeout.tv_nsec = wait % 1'000'000'000;
    const int count = epoll_pwait2(epoll_, events.data(), static_cast<int>(events.size()), &timeout, nullptr);
    for (int i = 0; i < count; ++i) {
      auto& connection = *static_cast<Connection*>(events.at(static_cast<std::size_t>(i)).data.ptr);
      handle(connection, connection.drive());
    }
  }

  /// The open loop: every request that is due gets a free connection. Its latency starts when it was due, so
  /// a slow server cannot hide latency by slowing the loader down.
  void assignDue() {
    const Clock::time_point now = Clock::now();
    while (nextDue_ <= now && wantsMore() && !free_.empty()) {
      Connection* connection = free_.front();
      free_.pop_front();
      begin(*connection, nextDue_);
      nextDue_ += seconds(1 / options_.rate);
    }
  }

  void next(Connection& connection) {
    if (options_.rate > 0) {
      free_.push_back(&connection);
    } else if (wantsMore()) {
      begin(connection, Clock::now());
    }
  }

  void begin(Connection& connection, Clock::time_point started) {
    ++sent_;
    if (connection.isOpen() && !options_.fresh) {
      handle(connection, connection.send(request_, started));
    } else {
      connection.setStarted(started);
      handle(connection, connection.open());
    }
  }

  void handle(Connection& connection, Step step) {
    switch (step) {
      case Step::kWaiting:
        return;
      case Step::kReady:
        ++result_.opened;
        if (result_.session.empty()) result_.session = connection.session();
        if (pending_ > 0) {
          --pending_;
        } else {
          handle(connection, connection.send(request_, connection.started()));
        }
        return;
      case Step::kAnswered:
        record(connection);
        if (options_.fresh || connection.response().closes()) connection.close();
        next(connection);
        return;
      case Step::kGone:  // opened again for the next request
        ++result_.closedIdle;
        return;
      case Step::kFailed:
        lastFailure_ = connection.failure();
        if (pending_ > 0) throw std::runtime_error("cannot connect: " + lastFailure_);
        ++result_.errors[lastFailure_];
        ++failed_;
        if (++failuresInARow_ > kMaxFailures) throw std::runtime_error("server gone: " + lastFailure_);
        std::erase(free_, &connection);
        next(connection);
        return;
    }
  }

  void record(const Connection& connection) {
    const Clock::time_point now = Clock::now();
    const Response& response = connection.response();
    ++answered_;
    failuresInARow_ = 0;
    if (response.status() != 200) ++result_.errors["status " + std::to_string(response.status())];
    if (!options_.expect.empty() && response.body().find(options_.expect) == std::string_view::npos) {
      ++result_.errors["unexpected answer"];
    }
    result_.answerBytes = response.body().size();
    if (!options_.saveFile.empty()) {
      std::ofstream(options_.saveFile, std::ios::binary) << response.body();
    }
    if (now >= windowStart_ && now < windowEnd_) ++result_.inWindow;
    if (connection.started() >= windowStart_ && connection.started() < windowEnd_) {
      result_.latencies.push_back(nanoseconds(now - connection.started()).count());
    }
  }

  const LoadOptions& options_;
  std::string request_;
  SslContext context_;
  int epoll_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::deque<Connection*> free_;  // open loop: idle connections, the longest idle first
  LoadResult result_;
  std::string lastFailure_ = "no answer";
  Clock::time_point windowStart_, windowEnd_, nextDue_;
  std::uint64_t sent_ = 0, answered_ = 0, failed_ = 0, failuresInARow_ = 0;
  std::uint32_t pending_ = 0;  // connections that are not established yet before the run
  bool draining_ = false;
};

}  // namespace

LoadResult runLoad(const LoadOptions& options) {
  // The default slack of 50 us would make a constant rate inexact.
  prctl(PR_SET_TIMERSLACK, 1);
  return Load(options).run();
}

}  // namespace dynamo::bench
