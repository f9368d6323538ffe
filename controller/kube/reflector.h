#pragma once
// Runs a list and watch against an API server and passes the objects to a sink.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "common/runtime/event_loop.h"
#include "controller/kube/client.h"
#include "controller/kube/restores.h"
#include "controller/kube/watcher.h"

namespace dynamo::kube {

/// The lines of a watch.
struct Lines {
  /// Returns the next line. Only one call may be in progress.
  std::function<runtime::Task<Result<std::optional<std::string>>>(runtime::Deadline)> next;
  /// Makes the call in progress, and all later ones, return an error.
  std::function<void()> cancel;
};

/// The requests of a reflector.
struct ListWatch {
  std::function<runtime::Task<Result<json::Document>>(ListOptions)> list;
  std::function<runtime::Task<Result<Lines>>(WatchOptions)> watch;
  /// What reflectors of one API server share.
  std::shared_ptr<Restores> restores = std::make_shared<Restores>();
};

/// Returns the requests of a client, which must outlive the calls. `call` applies to the lists, and to the
/// watches until the server has accepted them.
ListWatch listWatchOf(Client& client, const Resource& resource, const std::string& namespaceName,
                      CallOptions call = CallOptions{Slots::Cluster});

/// The functions that receive the objects. They are called on the thread of the loop and must not throw.
struct Sink {
  std::function<void()> listBegins;                 ///< starts a list, which replaces the known objects
  std::function<void(const json::Value&)> present;  ///< the current object, with apiVersion and kind
  std::function<void(const json::Value&)> deleted;  ///< the last state of a deleted object
  /// Ends a list. The argument is the resourceVersion of the list.
  std::function<void(std::string_view)> listEnds;
  /// Optional. Called before `listBegins` if what was reported before may be newer than the list: the API
  /// server has gone back, as after a restore of etcd, and the list is right.
  std::function<void()> wentBack = {};
};

/// Not thread-safe. The event loop and everything that `source` and `sink` refer to must outlive the
/// reflector.
class Reflector {
 public:
  Reflector(runtime::EventLoop& loop, Resource resource, WatchedSet set, ListWatch source, Sink sink,
            Random random = systemRandom());

  /// Runs until the loop stops or `stop` is called.
  runtime::Task<void> run();
  /// Makes `run` return at its next step.
  void stop() { stopped_ = true; }
  bool synced() const { return watcher_.synced(); }
  /// Returns the error of the last request, or an empty text if it succeeded.
  const std::string& problem() const { return problem_; }
  const Resource& resource() const { return resource_; }

 private:
  runtime::Task<void> list(Watcher::List action);
  runtime::Task<void> watch(Watcher::Watch action);
  runtime::Task<void> probe(Watcher::Probe action);
  /// Returns true if another reflector noticed a restore that this one does not know yet.
  bool behind() const { return knownRestores_ != source_.restores->count(); }
  void noticeRestore();
  /// Reports the event of a line. Returns false if the watch cannot go on.
  bool handle(std::string_view line);
  void fail(std::string_view what, const ApiError& error);

  runtime::EventLoop& loop_;
  Resource resource_;
  ListWatch source_;
  Sink sink_;
  Watcher watcher_;
  std::string problem_;
  unsigned knownRestores_ = 0;
  bool stopped_ = false;
};

}  // namespace dynamo::kube
