// The operating modes of controller/scope against a real API server. test_scope.py starts it, with
// KUBECONFIG:
//   scope_probe cluster OPERATOR_NAMESPACE SERVICE WRITE_NAMESPACE [LABEL=VALUE]
//   scope_probe restricted OPERATOR_NAMESPACE SERVICE NAMESPACE VERSION POD DURATION_MS RENEW_MS
// It prints what happens, one event in a line. Every 20 ms it writes the ConfigMap `shared` of the namespace
// if it may act there, and prints the resourceVersion. It stops when its standard input ends.

#include <unistd.h>

#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "controller/kube/client.h"
#include "controller/kube/rest_config.h"
#include "controller/scope/marker_holder.h"
#include "controller/scope/marker_watcher.h"
#include "controller/scope/scope.h"
#include "controller/scope/webhook_selectors.h"

namespace dynamo::controller {
namespace {

using namespace std::chrono_literals;
using runtime::Task;

const kube::Resource kConfigMaps{"", "v1", "configmaps", "ConfigMap"};

void print(const std::string& line) {
  std::cout << line << std::endl;  // the test reads it at once
}

kube::RestConfig restConfig() {
  auto loaded = kube::loadRestConfig({});
  if (const auto* error = std::get_if<std::string>(&loaded)) throw std::runtime_error{*error};
  return std::get<kube::RestConfig>(std::move(loaded));
}

/// What both modes share.
struct Probe {
  runtime::EventLoop loop;
  kube::Client client{loop, restConfig(), nullptr};
  int status = 0;

  Task<void> inputEnds() {
    runtime::Descriptor input{loop, runtime::UniqueFd{dup(STDIN_FILENO)}};
    co_await input.readable();
  }
  /// Writes as a reconciler does: the scope is checked before each write.
  Task<void> write(const Scope& scope, std::string namespaceName, std::function<bool()> mayWrite) {
    for (int i = 0; !loop.stopping(); ++i) {
      if (scope.handles(namespaceName) && mayWrite()) {
        std::string patch =
            R"({"data":{"turn":")" + std::to_string(getpid()) + "-" + std::to_string(i) + R"("}})";
        auto written =
            co_await client.patch(kConfigMaps, namespaceName, "shared", kube::PatchType::Merge, patch);
        if (const auto* object = std::get_if<json::Document>(&written))
          print("wrote " + std::string{json::findText(json::find(*object, "metadata"), "resourceVersion")});
      }
      const auto next = std::chrono::steady_clock::now() + 20ms;
      co_await loop.sleepUntil(next);
    }
  }
};

Task<void> runCluster(Probe& probe, MarkerLeaseWatcher& watcher, WebhookSelectors& selectors,
                      const Scope& scope, std::string namespaceName) {
  const auto deadline = std::chrono::steady_clock::now() + 10s;
  const auto error = co_await watcher.waitSynced(deadline);
  if (error) {
    print("failed " + *error);
    probe.status = 1;
    probe.loop.stop();
    co_return;
  }
  const auto serve = [&] { selectors.serve({{}, watcher.excluded()}); };
  watcher.onChange([&, serve](const std::string& name, bool excluded) {
    print((excluded ? "excluded " : "returned ") + name);
    serve();
  });
  for (const std::string& name : watcher.excluded()) print("excluded " + name);
  serve();
  print("synced");
  probe.loop.spawn(selectors.run());
  std::function<bool()> always = [] { return true; };
  probe.loop.spawn(probe.write(scope, namespaceName, always));
  co_await probe.inputEnds();
  probe.loop.stop();
}

int clusterWide(const std::vector<std::string>& arguments) {
  Probe probe;
  std::map<std::string, std::string> labels;
  if (arguments.size() > 5) {
    const auto at = arguments[5].find('=');
    labels.emplace(arguments[5].substr(0, at), arguments[5].substr(at + 1));
  }
  MarkerLeaseWatcher watcher{probe.loop, markerSource(probe.client), labels, nullptr};
  WebhookSelectors selectors{probe.loop, probe.client, {arguments[2], arguments[3]}};
  const Scope scope = scopeOf({}, [&](std::string_view name) { return watcher.excludes(name); });
  probe.loop.spawn(watcher.run());
  probe.loop.spawn(runCluster(probe, watcher, selectors, scope, arguments[4]));
  probe.loop.run();
  return probe.status;
}

Task<void> hold(Probe& probe, MarkerLeaseHolder& holder) {
  const auto failure = co_await holder.hold();
  if (failure) {
    print("failed " + *failure);
    probe.status = 1;
    probe.loop.stop();
  }
}

Task<void> runRestricted(Probe& probe, MarkerLeaseHolder& holder, WebhookSelectors& selectors,
                         const Scope& scope) {
  const auto failure = co_await holder.acquire();
  if (failure) {
    print("failed " + *failure);
    probe.status = 1;
    probe.loop.stop();
    co_return;
  }
  print("acquired " + holder.identity());
  selectors.serve({scope.restrictedTo, {}});
  probe.loop.spawn(selectors.run());
  probe.loop.spawn(hold(probe, holder));
  std::function<bool()> holding = [&holder] { return holder.holding(); };
  probe.loop.spawn(probe.write(scope, scope.restrictedTo, holding));
  co_await probe.inputEnds();
  co_await holder.release();
  print("released");
  probe.loop.stop();
}

int restricted(const std::vector<std::string>& arguments) {
  Probe probe;
  MarkerOptions options;
  options.namespaceName = arguments[4];
  options.operatorVersion = arguments[5];
  options.podName = arguments[6];
  options.times = MarkerTimes{std::chrono::milliseconds{std::stoi(arguments[7])},
                              std::chrono::milliseconds{std::stoi(arguments[8])}};
  MarkerLeaseHolder holder{probe.loop, options, markerAccess(probe.client, options.namespaceName)};
  WebhookSelectors selectors{probe.loop, probe.client, {arguments[2], arguments[3]}};
  config::NamespaceConfig config;
  config.restricted = options.namespaceName;
  const Scope scope = scopeOf(config, {});
  probe.loop.spawn(runRestricted(probe, holder, selectors, scope));
  probe.loop.run();
  return probe.status;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() >= 5 && arguments[1] == "cluster") return clusterWide(arguments);
  if (arguments.size() == 9 && arguments[1] == "restricted") return restricted(arguments);
  std::cerr << "see the top of scope_probe.cpp\n";
  return 2;
}

}  // namespace
}  // namespace dynamo::controller

int main(int argc, char** argv) {
  try {
    return dynamo::controller::run({argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
