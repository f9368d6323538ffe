#pragma once
// Asks the pods of a model to load or unload an adapter. Only pods of graphs in the namespace of the model
// are asked, at their own addresses: an EndpointSlice is what somebody wrote (decision ctl-Q80).

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/model.h"
#include "common/lifecycle/model_endpoints.h"
#include "common/runtime/task.h"
#include "controller/reconcile/environment.h"

namespace dynamo::controller {

/// The limits of the reference: requests at the same time, the time of one, and of all of a reconcile.
inline constexpr std::size_t kModelCalls = 10;
inline constexpr std::chrono::milliseconds kModelCallTime{15'000};
inline constexpr std::chrono::milliseconds kModelTime{30'000};

struct ModelCall {
  std::string method;  ///< empty: pods are looked at and not asked
  std::string path;
  std::string body;
  bool whileStopping = false;  ///< also ask when the process stops, because the next one does not know of it
};

/// How a pod was asked.
struct ModelAnswer {
  enum class Kind {
    Missing,   ///< there is no pod of the name; `text` says so
    Gone,      ///< the pod has ended, is about to go, or serves no adapters
    Refused,   ///< the pod must not be asked; `text` says why
    Kept,      ///< it has the adapter already and was not asked
    Usable,    ///< it was only looked at, and can be asked
    Stopped,   ///< its main container does not run, so it was not asked
    Answered,  ///< `status` and `text` are the reply
    Failed,    ///< `text` says why there is no reply
    Unasked,   ///< `text` says why it was not asked, although it could be
  };

  Kind kind = Kind::Failed;
  std::string text;
  int status = 0;
  bool mayChange = false;           ///< of Refused: the reason may go without an event of the pod
  lifecycle::ModelMemory::Pod pod;  ///< of Kept, Usable, Stopped, Answered, and of Failed if it was asked
};

class ModelCalls {
 public:
  /// The arguments must outlive the object. `given`: the pods that have the adapter.
  ModelCalls(Environment& environment, std::string namespaceName,
             const std::map<std::string, lifecycle::ModelMemory::Pod>& given)
      : environment_(environment), namespace_(std::move(namespaceName)), given_(given) {}

  /// Asks the pods, kModelCalls at the same time, for at most kModelTime. Returns an answer for each of them.
  /// `pods` and `call` must outlive the task.
  runtime::Task<std::vector<ModelAnswer>> askAll(const std::vector<lifecycle::ModelPod>& pods,
                                                 const ModelCall& call);

 private:
  struct Work;
  /// A null document: there is no such object. The text is why it could not be read.
  using Read = std::variant<json::Document, std::string>;

  runtime::Task<void> work(Work& shared);
  runtime::Task<ModelAnswer> ask(const lifecycle::ModelPod& pod, const ModelCall& call,
                                 runtime::Deadline deadline);
  runtime::Task<std::variant<bool, std::string>> leadsToGraph(const json::Document& pod,
                                                              runtime::Deadline deadline);
  runtime::Task<Read> readObject(k8s::ObjectKey key, runtime::Deadline deadline);

  Environment& environment_;
  std::string namespace_;
  const std::map<std::string, lifecycle::ModelMemory::Pod>& given_;
  /// The controller of a pod -> whether it leads to a graph. A uid alone is what somebody wrote.
  std::map<std::pair<k8s::ObjectKey, std::string>, bool> owners_;
};

}  // namespace dynamo::controller
