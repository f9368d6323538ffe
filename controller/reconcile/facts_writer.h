#pragma once
// Publishes the facts of the cluster to the webhook, which does not query the cluster: the ConfigMap
// dynamo-operator-facts is mounted into its pods.

#include <optional>
#include <string>

#include "common/render/fact_index.h"
#include "common/runtime/event_loop.h"
#include "common/runtime/notification.h"
#include "controller/kube/client.h"

namespace dynamo::controller {

/// Returns the text of facts.yaml (common/render/facts.h).
std::string factsDocument(const render::Facts& facts);

/// Must be used on the loop's thread. All references must outlive it.
class FactsWriter {
 public:
  FactsWriter(runtime::EventLoop& loop, kube::Client& client, const render::Facts& facts,
              std::string namespaceName)
      : loop_(loop), client_(client), facts_(facts), namespace_(std::move(namespaceName)), changed_(loop) {}

  /// Writes the ConfigMap if it does not exist. A process that does not lead may do so.
  runtime::Task<void> writeIfAbsent();
  /// Writes the ConfigMap whenever it differs. Returns after the loop stops or `stop` is called.
  runtime::Task<void> run();
  void factsChanged() { changed_.notify(); }
  void stop();

 private:
  /// Returns an error message, or an empty text after success. `replace`: whether to change one that exists.
  runtime::Task<std::string> write(bool replace);

  runtime::EventLoop& loop_;
  kube::Client& client_;
  const render::Facts& facts_;
  std::string namespace_;
  runtime::Notification changed_;
  std::string written_;  ///< the document that the ConfigMap had after the last request
  bool stopped_ = false;
};

}  // namespace dynamo::controller
