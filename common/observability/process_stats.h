#pragma once
// Linux statistics of this process for the usual process_* metrics.

namespace dynamo::observability {

struct ProcessStats {
  double cpuSeconds = 0;
  double startTimeSeconds = 0;  ///< since the Unix epoch
  double residentBytes = 0;
  double virtualBytes = 0;
  double threads = 0;
  double openFds = 0;
  double maxFds = 0;
};

/// Reads /proc. Values that cannot be read stay 0.
ProcessStats readProcessStats();

}  // namespace dynamo::observability
