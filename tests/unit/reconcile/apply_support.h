#pragma once
// Children of several kinds, and reconciles that apply them against a small API server.

#include <initializer_list>
#include <string>
#include <vector>

#include "controller/reconcile/apply.h"
#include "fake_api.h"
#include "reconcile_support.h"

namespace dynamo::controller::test {

using kube::Client;
using kube::test::failure;
using runtime::EventLoop;
using runtime::Task;

inline const std::string kWriter = "DynamoComponentDeployment";
inline const std::string kPath = "/apis/apps/v1/namespaces/n/deployments/d";
inline const std::string kServicePath = "/api/v1/namespaces/n/services/s";
inline const std::string kBindingPath = "/apis/rbac.authorization.k8s.io/v1/namespaces/n/rolebindings/b";

/// The owner of the children, and its path.
inline const std::string kOwnerObject =
    "{'apiVersion':'nvidia.com/v1alpha1','kind':'DynamoComponentDeployment','metadata':{'namespace':'n',"
    "'name':'c','uid':'owner','generation':1}}";
inline const std::string kOwnerPath = "/apis/nvidia.com/v1alpha1/namespaces/n/dynamocomponentdeployments/c";

inline std::string ownersOf(const std::string& uid) {
  return "'ownerReferences':[{'apiVersion':'nvidia.com/"
         "v1alpha1','kind':'DynamoComponentDeployment','name':'c','uid':'" +
         uid + "','controller':true}]";
}
inline std::string deployment(const std::string& spec, const std::string& uid = "owner") {
  return "{'apiVersion':'apps/v1','kind':'Deployment','metadata':{'namespace':'n','name':'d',"
         "'labels':{'nvidia.com/dynamo-component':'web'}," +
         ownersOf(uid) + "},'spec':" + spec + "}";
}
inline std::string service(const std::string& name, int port) {
  return "{'apiVersion':'v1','kind':'Service','metadata':{'namespace':'n','name':'" + name +
         "','labels':{'nvidia.com/dynamo-component':'web'}," + ownersOf("owner") +
         "},'spec':{'ports':[{'name':'http','port':" + std::to_string(port) + "}]}}";
}
inline std::string binding(const std::string& role, const std::string& rest = "") {
  return "{'apiVersion':'rbac.authorization.k8s.io/"
         "v1','kind':'RoleBinding','metadata':{'namespace':'n','name':'b',"
         "'labels':{'app.kubernetes.io/managed-by':'dynamo-operator'}" +
         rest + "},'roleRef':{'kind':'Role','name':'" + role + "'}}";
}
inline std::string claim(const std::string& name) {
  return "{'apiVersion':'v1','kind':'PersistentVolumeClaim','metadata':{'namespace':'n','name':'" + name +
         "'},'spec':{}}";
}
inline std::string adapter(int replicas) {
  return "{'apiVersion':'nvidia.com/"
         "v1alpha1','kind':'DynamoGraphDeploymentScalingAdapter','metadata':{'namespace':'n',"
         "'name':'a'," +
         ownersOf("owner") + "},'spec':{'replicas':" + std::to_string(replicas) + "}}";
}

inline render::Children childrenOf(const std::vector<std::string>& objects) {
  render::Children children;
  for (const std::string& object : objects) {
    const json::Document document = parsed(object);
    children.add(json::copy(document, children.memory()));
  }
  return children;
}

/// Applies children through one client. Each call is one reconcile with what the cache holds at its start.
class Applier {
 public:
  Applier(EventLoop& loop, Client& client) : f(loop, client) {
    f.cache.onChange([this](const kube::Change& change) {
      changes += change.key.name + (change.writer.empty() ? "" : " by " + std::string{change.writer}) + ";";
    });
  }

  /// Returns the failures, one per line (textOf()).
  template <class... Objects>
  Task<std::string> apply(const Objects&... objects) {
    return applyAll(std::vector<std::string>{objects...});
  }
  Task<std::string> applyAll(std::vector<std::string> objects) {
    const render::Children children = childrenOf(objects);
    observed = Observed{};
    const json::Document owner = parsed(kOwnerObject);
    AppliedChildren applied = co_await applyChildren(f.environment, owner, children, observed, kWriter);
    notices = std::move(applied.notices);
    std::string text;
    for (const lifecycle::Ending& failure : applied.failures) text += textOf(failure) + "\n";
    if (applied.ownerGone) text += "the owner is gone\n";
    co_return text;
  }

  EnvironmentFixture f;
  Observed observed;
  std::vector<render::WriteNotice> notices;
  std::string changes;
};

/// Runs `use(applier)` against `api`.
template <class Use>
inline void withApplier(const FakeApi& api, Use use) {
  kube::test::withClient(api.roundTripper(), [&](EventLoop& loop, Client& client) -> Task<void> {
    Applier applier{loop, client};
    co_await use(applier);
  });
}

/// The owner exists, and is read before a live object gets it.
inline void storeOwner(FakeApi& api) {
  api.store(kOwnerPath, kOwnerObject);
}

/// The object at `path` of `api` is reported by a watch.
inline void watchSees(const FakeApi& api, Applier& applier, const std::string& path) {
  applier.f.see(api.at(path));
}

inline std::string lines(std::initializer_list<std::string> all) {
  std::string text;
  for (const std::string& line : all) text += line + "\n";
  return text;
}

}  // namespace dynamo::controller::test
