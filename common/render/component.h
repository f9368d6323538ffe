#pragma once
// One component on its way to pods: an entry of a DGD's spec.services, or a DCD's spec, with everything that
// its surroundings add.

#include <string>
#include <string_view>
#include <vector>

#include "common/field/finding.h"
#include "common/json/value.h"
#include "common/render/context.h"
#include "common/render/framework.h"
#include "common/render/multinode.h"

namespace dynamo::render {

/// An object with the members of `spec`, aliases all (json::alias): they may be replaced, and annotations
/// changed.
json::Value aliasOf(const json::Value& spec, json::Allocator& allocator);

/// A checkpoint as a component uses it.
struct CheckpointUse {
  bool enabled = false;
  bool ready = false;
  std::string name;  ///< of the DynamoCheckpoint; empty: none known yet
  std::string hash;
};

struct Component {
  /// The service's, the DGD's envs merged in, annotations handed down. Its members are aliases (json::alias)
  /// of what it was made of: each is replaced as a whole, or owned before it is changed, as annotations are.
  json::Value spec;
  std::string path;             ///< "spec.services[Frontend]" or "spec"
  std::string service;          ///< the service key
  std::string graph;            ///< name of the DynamoGraphDeployment
  std::string namespaceName;    ///< of Kubernetes
  std::string dynamoNamespace;  ///< of Dynamo's discovery
  std::string discovery;        ///< "kubernetes" or "etcd"
  Framework framework;
  std::string workerHash;  ///< value of the label; empty: none
  Hosts hosts;
  CheckpointUse checkpoint;

  Component clone(json::Allocator& allocator) const {
    return {aliasOf(spec, allocator),
            path,
            service,
            graph,
            namespaceName,
            dynamoNamespace,
            discovery,
            framework,
            workerHash,
            hosts,
            checkpoint};
  }

  std::string_view type() const { return json::findText(&spec, "componentType"); }
  const json::Value* annotations() const { return json::findObject(&spec, "annotations"); }
  const json::Value* podSpec() const { return json::findObject(&spec, "extraPodSpec"); }
  const json::Value* mainContainer() const { return json::findObject(podSpec(), "mainContainer"); }
  long long nodes() const { return hosts.nodes; }
  bool multinode() const { return hosts.nodes > 1; }
  std::string at(std::string_view field) const { return path + '.' + std::string{field}; }
};

using Errors = std::vector<field::FieldError>;

/// The annotation of the component, else of the graph (already handed down), else `fallback`: what decides
/// discovery. Every value but "etcd" and "" means kubernetes (quirk pod-Q26).
std::string discoveryBackend(const json::Value* serviceAnnotations, const json::Value* graphAnnotations,
                             std::string_view configured);

/// GPUs of one pod with the container `main`: limits.gpu; where only requests.gpu is given, the limit that
/// `main` has of its own, else that (quirk pod-Q1). 0 when absent or no whole number.
long long gpusOf(const json::Value& component, const json::Value& main);

/// A number of GPUs, and the field that gives it.
struct GpuCount {
  long long number = 0;
  std::string field;  ///< "resources.limits.gpu"; empty: nothing gives one
};

/// What mpirun counts with on each node: requests.gpu, else limits.gpu, else limits.custom[<gpu type>]
/// (quirks pod-Q1, pod-Q40). What is no whole quantity does not count; zero and less do, and validation
/// refuses them.
GpuCount countedGpus(const json::Value& component);

}  // namespace dynamo::render
