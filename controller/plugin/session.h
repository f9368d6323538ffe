#pragma once
// What the commands that use a cluster share: exit statuses, messages, the client, and how one object is
// read.

#include <chrono>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/kube/client_options.h"
#include "controller/kube/decode.h"
#include "controller/kube/resource.h"
#include "controller/kube/rest_config.h"
#include "controller/plugin/status_target.h"
#include "controller/plugin/target_tree.h"

namespace dynamo::plugin {

/// Exit statuses.
inline constexpr int kDone = 0;
inline constexpr int kNotReady = 1;
inline constexpr int kFailed = 2;

/// Prints one line, after the name of the program, to the standard error.
void report(std::string_view message);

/// Reports the error and returns kFailed.
int fail(std::string_view message);

/// Returns options with the name and version of this program as the user agent, and its name as the field
/// manager. People run this program where HTTPS_PROXY is set for kubectl, so errors tell that it is not used.
kube::ClientOptions clientOptions();

std::chrono::sys_seconds currentTime();

struct TargetOptions {
  std::string name;           ///< NAME, or KIND/NAME where a command accepts other kinds than graphs
  std::string namespaceName;  ///< empty: that of the kubeconfig context
  kube::RestConfigFlags cluster;
};

struct Session {
  runtime::EventLoop& loop;
  kube::Client& client;
  std::string namespaceName;
};

/// Runs `work` with a client of the cluster. Returns its exit status, or kFailed if there is no client.
int runInCluster(const TargetOptions& options, const std::function<runtime::Task<int>(Session)>& work);

/// Objects of a list. The pointers are into the pages.
struct Listed {
  std::deque<kube::ListPage> pages;
  std::vector<const json::Value*> pointers;
};

/// Reads all pages of a list in the namespace. The error is one line.
runtime::Task<std::variant<Listed, std::string>> listAll(Session session, kube::Resource resource,
                                                         kube::ListOptions options);

struct FoundTarget {
  StatusTarget target;  ///< with its kind
  TargetTree tree;
  std::string notes;  ///< why objects may be missing, one line each
};

/// Reads the object that `name` says (status_target.h), with what belongs to it. The error is one line.
runtime::Task<std::variant<FoundTarget, std::string>> readTarget(Session session, std::string name);

/// Reads the DynamoGraphDeployment of the name. The error is one line.
runtime::Task<std::variant<json::Document, std::string>> readGraph(Session session, std::string name);

/// Returns the problem if the graph has no service of the name: one line with those that it has.
std::optional<std::string> missingService(const json::Value& graph, std::string_view service);

}  // namespace dynamo::plugin
