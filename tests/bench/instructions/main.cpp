// bench_handlers PATH FILE COUNT answers the review in FILE repeatedly, without a socket. Under callgrind
// with --toggle-collect=*measured* the instructions of COUNT answers are counted. Without callgrind it prints
// the time.

#include <fmt/format.h>

#include <charconv>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "webhook/routes.h"

namespace {

using dynamo::webhook::HttpRequest;
using dynamo::webhook::Reply;
using dynamo::webhook::Route;

constexpr unsigned kWarmUp = 20;

Reply answer(const Route& route, const std::string& body) {
  HttpRequest request{body};
  return route.handle(request);
}

// Not inlined, because callgrind finds the function by name.
[[gnu::noinline]] std::size_t measured(const Route& route, const std::string& body, unsigned count) {
  std::size_t bytes = 0;
  for (unsigned i = 0; i < count; ++i) bytes += answer(route, body).body.size();
  return bytes;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    fmt::print(stderr, "usage: bench_handlers PATH FILE COUNT\n");
    return 2;
  }
  const std::string_view text = argv[3];
  unsigned count = 0;
  std::from_chars(text.data(), text.data() + text.size(), count);
  std::ifstream file{argv[2], std::ios::binary};
  const std::string body{std::istreambuf_iterator<char>{file}, {}};
  auto settings =
      std::make_shared<const dynamo::admission::Settings>(dynamo::config::defaultConfig(), "1.0.0");
  const dynamo::webhook::Routes routes{
      std::make_shared<dynamo::webhook::CurrentSettings>(std::move(settings)), {}};
  const Route* route = routes.find(argv[1]);
  if (route == nullptr || body.empty() || count == 0) {
    fmt::print(stderr, "bench_handlers: no such path, file or count\n");
    return 2;
  }
  Reply first = answer(*route, body);
  for (unsigned i = 0; i < kWarmUp; ++i) first = answer(*route, body);
  if (first.status != 200 || first.body.find(R"("allowed":false)") != std::string::npos ||
      first.body.find(R"("status":"Failure")") != std::string::npos) {
    fmt::print(stderr, "bench_handlers: {} {}\n", first.status, first.body);
    return 1;
  }
  const auto start = std::chrono::steady_clock::now();
  const std::size_t bytes = measured(*route, body, count);
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - start;
  fmt::print("{:.1f} us per review of {} bytes, answer of {}\n", spent.count() / count, body.size(),
             bytes / count);
  return 0;
}
