#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace dynamo::bench {

/// The request and the load.
struct LoadOptions {
  std::uint16_t port = 0;
  std::string path = "/";
  std::string bodyFile;
  std::string expect;          // every answer's body must contain this text; empty: not checked
  std::string saveFile;        // file for the last answer's body; empty: none
  std::vector<pid_t> servers;  // processes whose CPU time is counted
  std::uint32_t connections = 1;
  std::uint64_t requests = 0;  // 0: as many as possible in `seconds`
  double rate = 0;             // requests per second, open loop; 0: closed loop
  double seconds = 5;          // measured window; with `requests`, the deadline
  double warmup = 0.3;         // seconds before the window
  bool fresh = false;          // a new TCP connection and full TLS handshake for every request
};

/// The results. Latencies are unsorted nanoseconds. They start when a request was due (open loop), with its
/// connection (fresh), or with its first byte.
struct LoadResult {
  std::vector<std::int64_t> latencies;
  std::map<std::string, std::uint64_t> errors;  // kinds of errors and their counts; empty in a good run
  std::string session;
  double seconds = 0;            // length of the window
  std::uint64_t inWindow = 0;    // answers that arrived within it
  std::uint64_t answered = 0;    // all answers
  std::uint64_t opened = 0;      // connections with a finished TLS handshake
  std::uint64_t closedIdle = 0;  // connections that the server closed between requests
  double serverCpuSeconds = 0;
  double loaderCpuSeconds = 0;
  std::uint64_t answerBytes = 0;  // body of the last answer
};

/// Runs the load; throws std::runtime_error when the server cannot be reached at all.
LoadResult runLoad(const LoadOptions& options);

}  // namespace dynamo::bench
