#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dynamo::bench {

/// What to send and how hard.
struct LoadOptions {
  std::uint16_t port = 0;
  std::string path = "/";
  std::string bodyFile;
  std::string expect;          // every answer's body must hold this text; empty: not looked at
  std::string saveFile;        // the last answer's body goes here; empty: nowhere
  std::vector<pid_t> servers;  // processes whose CPU time is counted
  std::uint32_t connections = 1;
  std::uint64_t requests = 0;  // 0: as many as fit into `seconds`
  double rate = 0;             // requests a second, open loop; 0: closed loop, as fast as answered
  double seconds = 5;          // measured window; with `requests`, the deadline
  double warmup = 0.3;         // seconds before it
  bool fresh = false;          // a new TCP connection and full TLS handshake for every request
};

/// What was seen. Latencies are nanoseconds, unsorted: from the moment a request was due (open loop),
/// from the start of its connection (fresh), or from its first byte sent.
struct LoadResult {
  std::vector<std::int64_t> latencies;
  std::map<std::string, std::uint64_t> errors;  // what went wrong, how often; empty in a good run
  std::string session;
  double seconds = 0;            // length of the window
  std::uint64_t inWindow = 0;    // answers that arrived within it
  std::uint64_t answered = 0;    // all of them
  std::uint64_t opened = 0;      // connections, with the TLS handshake done
  std::uint64_t closedIdle = 0;  // connections that the server closed between requests
  double serverCpuSeconds = 0;
  double loaderCpuSeconds = 0;
  std::uint64_t answerBytes = 0;  // body of the last answer
};

/// Runs the load; throws std::runtime_error when the server cannot be reached at all.
LoadResult runLoad(const LoadOptions& options);

}  // namespace dynamo::bench
