#pragma once
// Credentials of the client: a token, a client certificate, or the output of a credential plugin.

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/runtime/event_loop.h"
#include "common/runtime/reply_parser.h"
#include "controller/kube/api_error.h"
#include "controller/kube/exec_plugin.h"
#include "controller/kube/text_source.h"

namespace dynamo::kube {

/// The credentials of one request. Empty members are not sent.
struct Authentication {
  std::string token;
  std::string certificate;  ///< certificate chain in PEM
  std::string key;          ///< PEM

  bool operator==(const Authentication&) const = default;
};

/// A credential is renewed this long before it expires, because clocks differ and the request takes time.
inline constexpr std::chrono::seconds kExpiryLeeway{10};
/// The minimum age of a credential before a 401 makes the plugin run again. Without this limit, a plugin that
/// returns invalid credentials would run for every request.
inline constexpr std::chrono::seconds kPluginInterval{10};

/// Not thread-safe: all functions must be called on the thread of one event loop.
class Credentials {
 public:
  using Clock = std::function<std::chrono::system_clock::time_point()>;

  struct Plugin {
    ExecPlugin exec;
    ExecRunner run;
  };
  struct Parts {
    TextSource token;
    TextSource certificate;
    TextSource key;
    std::optional<Plugin> plugin;  ///< used for credentials that the other members do not contain
    std::vector<runtime::Header> impersonation;
  };

  explicit Credentials(
      Parts parts, Clock clock = [] { return std::chrono::system_clock::now(); })
      : parts_(std::move(parts)), clock_(std::move(clock)) {}

  /// Returns the credentials of the next request. Reads files that may have changed, and runs the plugin if
  /// its credential has expired. Concurrent calls share one run of the plugin.
  runtime::Task<Result<Authentication>> current(runtime::EventLoop& loop, runtime::Deadline deadline);
  /// Reports that the server rejected the credentials with 401. The next call of `current` reads the files
  /// and runs the plugin again.
  void refused(const Authentication& used);
  /// Returns the Impersonate-* headers of each request.
  const std::vector<runtime::Header>& impersonation() const { return parts_.impersonation; }

 private:
  struct Run;
  static runtime::Task<void> runPlugin(runtime::EventLoop& loop, std::shared_ptr<Run> run, Plugin plugin);
  bool credentialValid() const;
  void takePluginResult();
  std::optional<ApiError> refreshFiles();

  Parts parts_;
  Clock clock_;
  std::shared_ptr<Run> run_;  ///< the run of the plugin that is in progress or has just ended
  std::optional<ExecCredential> given_;
  std::chrono::system_clock::time_point givenAt_;
  bool lookAgain_ = false;
};

}  // namespace dynamo::kube
