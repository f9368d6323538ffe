#pragma once
// One reconcile of a DynamoGraphDeploymentRequest. request.cpp chooses the step and checks the request,
// request_job.cpp follows its Job, request_graph.cpp what the Job has left.

#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "common/lifecycle/object.h"
#include "common/lifecycle/request.h"
#include "common/lifecycle/request_status.h"
#include "controller/reconcile/environment.h"
#include "controller/reconcile/finish.h"
#include "controller/reconcile/request_hardware.h"
#include "controller/reconcile/result.h"

namespace dynamo::controller {

using json::Document;
using json::Value;
using lifecycle::Ending;
using lifecycle::Outcome;
using runtime::Task;

/// How often an object is read that should exist, but may be late.
inline constexpr std::chrono::seconds kLateAgain{3};

class RequestReconcile {
 public:
  RequestReconcile(Environment& environment, const Document& request, Writer writer)
      : environment_(environment), request_(request), writer_(std::move(writer)) {}

  Task<ReconcileResult> run();

 private:
  json::Allocator& allocator() { return memory_.GetAllocator(); }
  lifecycle::RequestStatus status() { return {request_, environment_.now(), allocator()}; }
  std::string space() const { return std::string{lifecycle::namespaceOf(request_)}; }
  std::string nameWith(std::string_view prefix) const {
    return fmt::format("{}{}", prefix, lifecycle::nameOf(request_));
  }
  k8s::ObjectKey jobKey() const;
  k8s::ObjectKey outputKey() const;
  static ReconcileResult again(std::chrono::seconds time) { return {.requeueAfter = time}; }

  Task<ReconcileResult> finish(Outcome outcome);
  Task<ReconcileResult> notDiscovered(Ending why);
  /// See readObject().
  Task<std::variant<Document, Ending>> read(k8s::ObjectKey key);
  /// The Job of this request in the cache.
  std::optional<kube::Cached> ownJob() const;
  render::Children profiling();

  Task<ReconcileResult> validate();
  Task<ReconcileResult> createJob();
  Task<ReconcileResult> followJob();
  Task<ReconcileResult> createGraph();
  Task<ReconcileResult> followGraph();

  /// The graph of this name that the request has, in its namespace or where it may be created; null if there
  /// is none. If the request names another namespace, only one with its labels counts.
  Task<std::variant<Document, Ending>> readOwnGraph(std::string_view name);

  /// The ClusterRole of the account of the Job; empty if the controller does not bind one.
  std::string profilingRole() const;
  /// Whether the ClusterRole exists. The API server lets the controller bind one that does not, and the
  /// output copier then waits for its rights. Without the right to read it, it is taken to exist.
  Task<std::variant<bool, Ending>> hasProfilingRole();
  /// The output of an earlier request of this name would be taken for that of this one.
  Task<Ending> removeEarlierOutput();
  Outcome jobWritten(const render::Children& children, const lifecycle::Applied& applied);
  /// The Job of a request in Profiling does not exist.
  Task<ReconcileResult> jobIsGone();
  Task<ReconcileResult> jobRuns(const Document& job);
  Task<ReconcileResult> jobFailed(const Document& job);

  Task<ReconcileResult> readOutput(const Document& job);
  Task<ReconcileResult> takeOutput(const Document& configMap);
  /// The outcome of an output that is stored. `room`: the most bytes of annotations.
  Outcome outputTaken(const lifecycle::ProfilingOutput& output, std::size_t room,
                      const std::vector<std::string>& left);
  /// Tells what cannot be stored.
  using Tell = Outcome (lifecycle::RequestStatus::*)(const std::string&);
  /// The output or the graph cannot be stored. It is tried again; if that has lasted, the status tells it.
  Task<ReconcileResult> waits(Ending why, Tell tell);
  /// Applies the ConfigMaps among the documents. One of somebody else or of another graph stays as it is, and
  /// an invalid one is left out, which a text in `left` tells (decision life-Q19). `graph`: their owner;
  /// nullptr: it does not exist yet. `adopts`: see adoptsGraph().
  Task<Ending> applyConfigMaps(const std::vector<Value>& documents, const Value* graph, bool adopts,
                               std::vector<std::string>& left);
  /// Whether a graph of an earlier request has the name that the generated one would get. It is adopted as it
  /// is (decision life-Q9).
  Task<std::variant<bool, Ending>> adoptsGraph(const Value& generated);
  Value forgetGraph();
  /// Why the graph must not be created in the namespace that the request names; empty: it may.
  std::string namespaceProblem() const;

  Environment& environment_;
  const Document& request_;
  Writer writer_;
  Document memory_;
  render::FactKeys lookedUp_;
  gpu::RequestHardware hardware_;
};

}  // namespace dynamo::controller
