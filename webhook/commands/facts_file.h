#pragma once
// Reads the facts of the cluster from a file. The controller writes this file as a ConfigMap (quirk adm-Q13).

#include <optional>
#include <string>

#include "common/render/context.h"
#include "common/runtime/watched_file.h"

namespace dynamo::webhook {

/// The result of reading a changed file: facts, which are empty when the file is missing, or an error.
struct FactsReading {
  render::Facts facts;
  bool missing = false;
  std::string error;
};

class FactsFile {
 public:
  /// With an empty path there are never any facts.
  explicit FactsFile(std::string path);

  /// Returns nullopt when nothing has changed since the last call.
  std::optional<FactsReading> poll();

 private:
  runtime::WatchedFile file_;
};

}  // namespace dynamo::webhook
