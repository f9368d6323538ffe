#pragma once
// The facts of the cluster in a file, which the controller keeps in a ConfigMap (quirk adm-Q13).

#include <optional>
#include <string>

#include "common/render/context.h"

namespace dynamo::webhook {

/// What a changed file says: facts, none at all when it is missing, or why it cannot be used.
struct FactsReading {
  render::Facts facts;
  bool missing = false;
  std::string error;
};

/// Reads the file again and again without threads or timers of its own. Content is compared, not file times:
/// a ConfigMap volume swaps a symlink.
class FactsFile {
 public:
  /// An empty path: there never are facts.
  explicit FactsFile(std::string path) : path_(std::move(path)) {}

  /// nullopt while nothing has changed since the last call.
  std::optional<FactsReading> poll();

 private:
  std::string path_;
  std::optional<std::string> seen_;  ///< content; nullopt: missing
  std::string failure_;              ///< why it could not be read
  bool first_ = true;
};

}  // namespace dynamo::webhook
