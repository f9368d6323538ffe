#include "controller/reconcile/ssh_key.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "certs/ssh_key.h"
#include "common/api/dynamo.h"
#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "controller/kube/base64.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {
namespace {

using json::Document;
using json::Value;
using kube::ApiError;
using runtime::Task;

constexpr std::string_view kPrivateKey = "private.key";
constexpr std::string_view kPublicKey = "private.key.pub";

const kube::Resource& secrets() {
  static const kube::Resource kSecrets{"", "v1", "secrets", "Secret"};
  return kSecrets;
}

bool mounts(const Value& value, std::string_view name) {
  if (value.IsArray())
    return std::any_of(value.Begin(), value.End(), [&](const Value& item) { return mounts(item, name); });
  if (!value.IsObject()) return false;
  if (json::findText(json::findObject(&value, "secret"), "secretName") == name) return true;
  return std::any_of(value.MemberBegin(), value.MemberEnd(),
                     [&](const auto& member) { return mounts(member.value, name); });
}

Document newSecret(std::string_view name, std::string_view namespaceName) {
  const certs::SshKeyPair pair = certs::makeSshKeyPair();
  Document secret;
  const json::Maker make{secret.GetAllocator()};
  Value made = make.object("apiVersion", "v1", "kind", "Secret", "metadata",
                           make.object("name", name, "namespace", namespaceName, "labels",
                                       make.object(api::label::kAppManagedBy, api::kOperatorName)),
                           "type", "Opaque", "data",
                           make.object(kPrivateKey, kube::encodeBase64(pair.privateKey), kPublicKey,
                                       kube::encodeBase64(pair.publicKey)));
  static_cast<Value&>(secret) = std::move(made);
  return secret;
}

}  // namespace

bool needsSecret(const render::Children& children, std::string_view name) {
  return std::any_of(children.items.begin(), children.items.end(), [&](const render::Child& child) {
    return (child.key.kind == "LeaderWorkerSet" || child.key.kind == "PodCliqueSet") &&
           mounts(child.object, name);
  });
}

kube::Sink SshKeys::sink() {
  const auto namespaceOf = [](const Value& secret) {
    return std::string{json::findText(lifecycle::metadataOf(secret), "namespace")};
  };
  kube::Sink sink;
  sink.listBegins = [this] { listed_.clear(); };
  sink.present = [this, namespaceOf](const Value& secret) {
    listed_.insert(namespaceOf(secret));
    present_.insert(namespaceOf(secret));
  };
  sink.deleted = [this, namespaceOf](const Value& secret) {
    listed_.erase(namespaceOf(secret));
    if (present_.erase(namespaceOf(secret)) != 0 && deleted_) deleted_(namespaceOf(secret));
  };
  sink.listEnds = [this](std::string_view) {
    const std::set<std::string> before = std::exchange(present_, listed_);
    for (const std::string& name : before) {
      if (!present_.contains(name) && deleted_) deleted_(name);
    }
  };
  return sink;
}

Task<lifecycle::Ending> SshKeys::ensure(std::string namespaceName) {
  if (present_.contains(namespaceName)) co_return lifecycle::Done{};
  auto created =
      co_await client_.create(secrets(), namespaceName, json::dump(newSecret(name_, namespaceName)));
  const auto* error = std::get_if<ApiError>(&created);
  if (error != nullptr && error->reason != kube::Reason::AlreadyExists)
    co_return failureOf({"", "v1", "Secret", namespaceName, name_}, *error);
  present_.insert(namespaceName);
  co_return lifecycle::Done{};
}

}  // namespace dynamo::controller
