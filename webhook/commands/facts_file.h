#pragma once
// The facts of the cluster in a file, which the controller keeps in a ConfigMap (quirk adm-Q13).

#include <optional>
#include <string>

#include "common/render/context.h"
#include "common/runtime/watched_file.h"

namespace dynamo::webhook {

/// What a changed file says: facts, none at all when it is missing, or why it cannot be used.
struct FactsReading {
  render::Facts facts;
  bool missing = false;
  std::string error;
};

class FactsFile {
 public:
  /// An empty path: there never are facts.
  explicit FactsFile(std::string path);

  /// nullopt while nothing has changed since the last call.
  std::optional<FactsReading> poll();

 private:
  runtime::WatchedFile file_;
};

}  // namespace dynamo::webhook
