#pragma once
// Keeps the namespaceSelector of this operator's webhooks, so that no webhook serves a namespace that another
// operator holds (adm-Q17).

#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/backoff.h"
#include "controller/kube/client.h"
#include "controller/kube/reflector.h"
#include "controller/scope/namespace_selector.h"

namespace dynamo::controller {

/// All functions must be called on the loop's thread. The loop and the client must outlive the object, and
/// the object must outlive the run of the loop. Only the leader runs it: its writes are subject to the
/// client's write gate.
class WebhookSelectors {
 public:
  WebhookSelectors(runtime::EventLoop& loop, kube::Client& client, WebhookService service);

  /// Sets the namespaces that the webhooks serve. No selector is written before the first call. A change is
  /// written immediately.
  void serve(ServedNamespaces served);
  /// Runs until the loop stops. Writes each selector that differs, also after another program has changed it.
  runtime::Task<void> run();

 private:
  struct Configuration {
    json::Document object;
    kube::Backoff backoff;
    runtime::Deadline lastWrite = runtime::Deadline::min();
    runtime::Deadline notBefore = runtime::Deadline::min();
  };
  struct Kind {
    kube::Resource resource;
    std::map<std::string, Configuration> configurations;
    std::optional<kube::Reflector> reflector;
  };

  void lookAgain();
  kube::Sink sinkFor(Kind& kind);
  void present(Kind& kind, const json::Value& object);
  runtime::Task<void> write(Kind& kind, std::string name, std::string patch);
  /// Writes the selectors that differ and may be written now. Returns the time of the next attempt.
  runtime::Task<runtime::Deadline> writeDue();

  runtime::EventLoop& loop_;
  kube::Client& client_;
  WebhookService service_;
  std::optional<ServedNamespaces> served_;
  std::array<Kind, 2> kinds_;
  runtime::Notification changed_;
  bool dirty_ = false;
};

}  // namespace dynamo::controller
