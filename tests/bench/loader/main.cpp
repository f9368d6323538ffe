#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <exception>

#include "tests/bench/loader/load.h"

namespace {

using dynamo::bench::LoadOptions;
using dynamo::bench::LoadResult;

double percentile(const std::vector<std::int64_t>& sorted, double share) {
  if (sorted.empty()) return 0;
  const auto index = static_cast<std::size_t>(std::lround(share * static_cast<double>(sorted.size() - 1)));
  return static_cast<double>(sorted.at(index)) / 1e3;
}

void print(LoadResult result) {
  std::sort(result.latencies.begin(), result.latencies.end());
  std::uint64_t errors = 0;
  std::string kinds;
  for (const auto& [what, count] : result.errors) {
    errors += count;
    kinds += fmt::format("{}\"{}\":{}", kinds.empty() ? "" : ",", what, count);
  }
  const double answers = static_cast<double>(result.inWindow);
  fmt::print(
      "{{\"rate\":{:.1f},\"requests\":{},\"seconds\":{:.4f},\"p50_us\":{:.1f},\"p99_us\":{:.1f},"
      "\"p999_us\":{:.1f},\"max_us\":{:.1f},\"answered\":{},\"opened\":{},\"closed_idle\":{},\"errors\":{},"
      "\"error_kinds\":{{{}}},\"server_cpu_share\":{:.3f},"
      "\"server_cpu_us\":{:.2f},\"loader_cpu_share\":{:.3f},\"answer_bytes\":{},\"session\":\"{}\"}}\n",
      answers / result.seconds, result.inWindow, result.seconds, percentile(result.latencies, 0.5),
      percentile(result.latencies, 0.99), percentile(result.latencies, 0.999),
      percentile(result.latencies, 1), result.answered, result.opened, result.closedIdle, errors, kinds,
      result.serverCpuSeconds / result.seconds, answers > 0 ? result.serverCpuSeconds * 1e6 / answers : 0,
      result.loaderCpuSeconds / result.seconds, result.answerBytes, result.session);
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Loads one HTTPS endpoint on 127.0.0.1 and prints one line of JSON"};
  LoadOptions options;
  app.add_option("--port", options.port, "port of the server")->required();
  app.add_option("--path", options.path, "path of the POST");
  app.add_option("--body", options.bodyFile, "file with the request body")->required();
  app.add_option("--expect", options.expect, "text that every answer must hold");
  app.add_option("--save", options.saveFile, "file for the last answer's body");
  app.add_option("--server-pid", options.servers, "process whose CPU time is counted (repeatable)");
  app.add_option("--connections", options.connections, "connections")->check(CLI::Range(1, 4096));
  app.add_option("--requests", options.requests, "stop after this many answers");
  app.add_option("--rate", options.rate, "requests a second (open loop); default: as fast as answered");
  app.add_option("--seconds", options.seconds, "measured window, or deadline with --requests");
  app.add_option("--warmup", options.warmup, "seconds of load before the window");
  app.add_flag("--fresh", options.fresh, "a new connection and full TLS handshake for every request");
  CLI11_PARSE(app, argc, argv);
  std::signal(SIGPIPE, SIG_IGN);
  try {
    print(dynamo::bench::runLoad(options));
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_loader: {}\n", error.what());
    return 1;
  }
}
