#include "common/observability/process_stats.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <system_error>

namespace dynamo::observability {
namespace {

/// The boot time in seconds since the epoch.
double bootTime() {
  std::ifstream file{"/proc/stat"};
  for (std::string word; file >> word;) {
    double seconds = 0;
    if (word == "btime" && file >> seconds) return seconds;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

double countOpenFds() {
  std::error_code error;
  const std::filesystem::directory_iterator entries{"/proc/self/fd", error};
  if (error) return 0;
  return static_cast<double>(std::distance(begin(entries), end(entries))) -
         1;  // minus the descriptor of this iteration
}

}  // namespace

ProcessStats readProcessStats() {
  ProcessStats stats;
  std::ifstream file{"/proc/self/stat"};
  std::string text;
  std::getline(file, text);
  // The second field is the program's name in brackets, which may contain anything, so the fields are read
  // after it.
  const std::size_t name = text.rfind(") ");
  if (name != std::string::npos) {
    std::istringstream fields{text.substr(name + 2)};
    constexpr int kUserTicks = 14;
    constexpr int kSystemTicks = 15;
    constexpr int kThreads = 20;
    constexpr int kStartTicks = 22;
    constexpr int kVirtualBytes = 23;
    constexpr int kResidentPages = 24;
    const auto ticks = static_cast<double>(sysconf(_SC_CLK_TCK));
    std::string field;
    for (int number = 3; number <= kResidentPages && fields >> field; ++number) {
      if (number == 3) continue;  // the state, a letter
      const double value = std::stod(field);
      if (number == kUserTicks || number == kSystemTicks) stats.cpuSeconds += value / ticks;
      if (number == kThreads) stats.threads = value;
      if (number == kStartTicks) stats.startTimeSeconds = bootTime() + value / ticks;
      if (number == kVirtualBytes) stats.virtualBytes = value;
      if (number == kResidentPages) stats.residentBytes = value * static_cast<double>(sysconf(_SC_PAGESIZE));
    }
  }
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.maxFds = static_cast<double>(limit.rlim_cur);
  stats.openFds = countOpenFds();
  return stats;
}

}  // namespace dynamo::observability
