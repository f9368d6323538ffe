#pragma once
// What a DynamoGraphDeploymentRequest (v1beta1) needs next, and the objects that its output becomes. The
// controller does the step, then writes the status that request_status.h makes of its result.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/json/value.h"
#include "common/lifecycle/profiling_output.h"
#include "common/lifecycle/time.h"
#include "common/render/children.h"
#include "common/render/context.h"

namespace dynamo::lifecycle {

enum class RequestStep {
  Nothing,      ///< it is Ready or Failed
  Validate,     ///< it is Pending with a spec that was not checked yet
  CreateJob,    ///< it is Pending, and its spec is good
  FollowJob,    ///< it is Profiling
  CreateGraph,  ///< it is Deploying, and its graph is only in its annotation or its results
  KeepGraph,    ///< it is Deploying, but its spec says that nothing is to be deployed
  FollowGraph,  ///< it is Deploying or Deployed
  Fail,         ///< its phase is none that this operator knows
};

RequestStep requestStep(const json::Value& request);

/// The keys of the request's annotations for the text of the graph, and of what belongs to it.
inline constexpr std::string_view kGeneratedGraph = "nvidia.com/generated-dgd-spec";
inline constexpr std::string_view kAdditionalResources = "dgdr.nvidia.com/additional-resources";

/// Why the request cannot be profiled, one text each; empty: it can. `profiling`: of renderProfiling.
/// `hasClaim`: whether the claim of its model cache exists. `hardware`: why its hardware was not found;
/// empty: it was, or is given.
std::vector<std::string> requestProblems(const json::Value& request, const render::Children& profiling,
                                         bool hasClaim, const std::string& hardware = {});

/// Whether a Job that is missing may not be seen yet (decision life-Q3).
bool mayBeLate(const json::Value& request, Time now);

/// The error that the output copier has left in the ConfigMap of the output; empty if there is none.
std::string_view toldError(const json::Value& configMap);

/// Whether the Job may profile again although a pod has failed. Not if the user has set how often.
bool mayRepeat(const json::Value& request, const json::Value& job);
/// The patch of a Job that lets it fail with the pods that have failed. The same input ends in the same error
/// after the same hours (decision life-Q33).
json::Value withoutRetries(json::Allocator& allocator);

/// The patch of the request's annotations with the output. What would not fit beside its other annotations is
/// left out: first the additional documents, then the graph, which is in the results, too (decision
/// life-Q18).
/// What a request has of another output is removed. `room`: the most bytes of the annotations.
json::Value annotationsPatch(const json::Value& request, const ProfilingOutput& output, std::size_t room,
                             json::Allocator& allocator);
/// How many bytes the annotations of the output may take beside those that the cache has.
std::size_t roomForOutput(const json::Value& request);

/// Whether a request has the annotations of a patch already.
bool hasAnnotations(const json::Value& request, const json::Value& patch);

/// The graph of the annotation with the labels, the name and the namespace that the request gives it
/// (decision conv-Q2). Without the annotation, the graph of the results in the status counts. An error if
/// there is none, or if the annotation was changed to something else.
std::variant<json::Value, std::string> generatedGraph(const json::Value& request, json::Allocator& allocator);

/// The name that generatedGraph gives to a graph of the output.
std::string graphNameOf(const json::Value& request, const json::Value& generated);

/// The namespace of that graph and of its ConfigMaps: the one that the request names, or its own (conv-Q2).
std::string graphNamespaceOf(const json::Value& request);
/// Why the graph may not be created there; empty: it may. `mayBeAnother`: than that of the request.
std::string graphNamespaceProblem(const json::Value& request, bool mayBeAnother);

/// The ConfigMaps among additional documents, with the labels of the request. `graph`:
/// their owner once it exists (decision life-Q19); nullptr: none yet.
std::vector<json::Value> additionalConfigMaps(const json::Value& request,
                                              const std::vector<json::Value>& documents,
                                              const json::Value* graph, json::Allocator& allocator);
/// The documents of the request's annotation.
std::vector<json::Value> additionalDocuments(const json::Value& request, json::Allocator& allocator);

/// Whether an object has the labels of the request.
bool isOfRequest(const json::Value& object, const json::Value& request);

/// Whether an object was there before the request, so that an earlier request of this name has made it.
bool isOlderThanRequest(const json::Value& object, const json::Value& request);

}  // namespace dynamo::lifecycle
