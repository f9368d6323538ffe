#include "common/render/profiling_job.h"

#include <fmt/format.h>

#include <string>

#include "common/api/dgdr.h"
#include "common/api/dynamo.h"
#include "common/json/parse.h"
#include "common/render/go_types.h"
#include "common/render/object.h"
#include "common/render/output_copier.h"
#include "common/render/profiler_config.h"
#include "common/render/profiling_override.h"
#include "common/render/rbac.h"

namespace dynamo::render {
namespace {

namespace dgdr = api::dgdr;

using json::Allocator;
using json::Value;

constexpr int kBackoffLimit = 3;
/// User and group of the containers, and group of the volumes. It is not root.
constexpr int kUser = 1000;
/// The lifetime of the tokens that the API server mounts into pods by default.
constexpr int kTokenSeconds = 3607;
constexpr std::string_view kTokenPath = "/var/run/secrets/kubernetes.io/serviceaccount";

const Value* overrideOf(const Value& request) {
  return json::findObject(json::findObject(specOf(request), "overrides"), "profilingJob");
}

std::string_view imageOf(const Value& request) {
  return json::findText(specOf(request), "image");
}

std::string_view claimOf(const Value& request) {
  return json::findText(json::findObject(specOf(request), "modelCache"), "pvcName");
}

/// The ConfigMap that a v1alpha1 request refers to. An empty name means none.
struct ConfigMapRef {
  std::string name;
  std::string key;
};

ConfigMapRef configMapOf(const Value& request) {
  const std::string_view text = json::findText(annotationsOf(request), dgdr::kConfigMapRef);
  json::Document reference;
  if (text.empty() || json::parse(text, reference)) return {};
  const std::string_view key = json::findText(&reference, "key");
  return {std::string{json::findText(&reference, "name")},
          std::string{key.empty() ? dgdr::kDefaultConfigMapKey : key}};
}

class JobSpec {
 public:
  JobSpec(const Value& request, const Context& context, Allocator& allocator)
      : request_(request),
        context_(context),
        make_(allocator),
        configMap_(configMapOf(request)),
        override_(overrideOf(request)) {}

  Value render() {
    Value pod = make_.object(
        "restartPolicy", "Never", "serviceAccountName", dgdr::kProfilingServiceAccount, "securityContext",
        make_.object("runAsNonRoot", true, "runAsUser", kUser, "runAsGroup", kUser, "fsGroup", kUser),
        "imagePullSecrets", make_.list(make_.object("name", "nvcr-imagepullsecret")), "containers",
        make_.list(profiler(), outputCopier()), "volumes", volumes());
    Value spec =
        make_.object("backoffLimit", kBackoffLimit, "template", make_.object("spec", std::move(pod)));
    if (override_ != nullptr) {
      mergeJobOverride(spec, *override_, context_.trial() ? Texts::Shared : Texts::Copied, make_.allocator());
    }
    // The form that the API server stores. A trial checks the form that the API server receives.
    if (!context_.trial()) normalize(spec, "JobSpec", make_.allocator());
    return spec;
  }

 private:
  Value mount(std::string_view volume, std::string_view path, bool readOnly) const {
    Value made = make_.object("name", volume, "mountPath", path);
    if (readOnly) make_.set(made, "readOnly", true);
    return made;
  }

  Value profiler() const {
    // Admission may run the trial before the request has its default image. The pod rules require an image.
    const bool lacksImage = context_.trial() && imageOf(request_).empty();
    Value made =
        make_.object("name", dgdr::kProfiler, "image", lacksImage ? dgdr::kProfiler : imageOf(request_),
                     "workingDir", "/workspace", "command", make_.list("python", "-m", "dynamo.profiler"));
    if (!context_.trial()) {
      make_.set(made, "args",
                make_.list("--config", std::string_view{profilerConfig(request_, context_)}, "--output-dir",
                           dgdr::kOutputPath));
      make_.set(made, "env", env());
    }
    Value mounts = make_.list(mount(dgdr::kOutputVolume, dgdr::kOutputPath, false));
    if (!claimOf(request_).empty()) {
      const Value* cache = json::findObject(specOf(request_), "modelCache");
      const std::string_view path = json::findText(cache, "pvcMountPath");
      make_.push(mounts, mount(dgdr::kModelCacheVolume,
                               path.empty() ? dgdr::kDefaultModelCacheMountPath : path, true));
    }
    if (!configMap_.name.empty()) make_.push(mounts, mount(dgdr::kConfigVolume, dgdr::kConfigPath, true));
    make_.set(made, "volumeMounts", std::move(mounts));
    return made;
  }

  Value env() const {
    const config::InfrastructureConfig& addresses = context_.config.infrastructure;
    const std::string_view space = namespaceOf(request_);
    const auto either = [](const std::string& configured, const std::string& derived) {
      return configured.empty() ? derived : configured;
    };
    const auto variable = [&](std::string_view name, std::string_view value) {
      return make_.object("name", name, "value", value);
    };
    Value token = make_.object("name", "hf-token-secret", "key", "HF_TOKEN", "optional", true);
    return make_.list(
        make_.object("name", "HUGGING_FACE_HUB_TOKEN", "valueFrom",
                     make_.object("secretKeyRef", std::move(token))),
        variable("NATS_SERVER", either(addresses.natsAddress, fmt::format("nats://{}-nats:4222", space))),
        variable("ETCD_ENDPOINTS", either(addresses.etcdAddress, fmt::format("{}-etcd:2379", space))),
        variable("DGDR_NAME", nameOf(request_)), variable("DGDR_NAMESPACE", space),
        variable("DGDR_UID", uidOf(request_)));
  }

  Value copierCommand() const {
    if (context_.config.outputCopierCommand.empty()) return make_.list("/bin/sh", "-c");
    Value command = make_.list();
    for (const std::string& word : context_.config.outputCopierCommand)
      make_.push(command, std::string_view{word});
    return command;
  }

  Value copierArguments() const {
    if (!context_.config.outputCopierCommand.empty())
      return make_.list("--request", nameOf(request_), "--namespace", namespaceOf(request_));
    return make_.list(std::string_view{outputCopierScript(nameOf(request_), namespaceOf(request_))});
  }

  Value outputCopier() const {
    Value made = make_.object("name", dgdr::kOutputCopier, "image", context_.config.outputCopierImage,
                              "command", copierCommand());
    if (!context_.trial()) make_.set(made, "args", copierArguments());
    Value mounts = make_.list(mount(dgdr::kOutputVolume, dgdr::kOutputPath, true));
    if (needsToken()) make_.push(mounts, mount(dgdr::kTokenVolume, kTokenPath, true));
    make_.set(made, "volumeMounts", std::move(mounts));
    return made;
  }

  /// Whether the override may leave the pod without the token of its account (life-Q26).
  bool needsToken() const {
    const Value* pod = json::findObject(json::findObject(override_, "template"), "spec");
    const std::string_view account = json::findText(pod, "serviceAccountName");
    const bool other = !account.empty() && account != dgdr::kProfilingServiceAccount;
    return !json::findBool(pod, "automountServiceAccountToken").value_or(!other);
  }

  Value claimVolume(std::string_view name, std::string_view claim, bool readOnly) const {
    Value source = make_.object("claimName", claim);
    if (readOnly) make_.set(source, "readOnly", true);
    return make_.object("name", name, "persistentVolumeClaim", std::move(source));
  }

  Value volumes() const {
    const std::string_view output = json::findText(annotationsOf(request_), dgdr::kOutputPvc);
    Value made = make_.list();
    make_.push(made, output.empty() ? make_.object("name", dgdr::kOutputVolume, "emptyDir", make_.object())
                                    : claimVolume(dgdr::kOutputVolume, output, false));
    const std::string_view claim = claimOf(request_);
    if (!claim.empty()) make_.push(made, claimVolume(dgdr::kModelCacheVolume, claim, true));
    if (!configMap_.name.empty()) {
      Value item = make_.object("key", configMap_.key, "path", dgdr::kDefaultConfigMapKey);
      make_.push(made,
                 make_.object("name", dgdr::kConfigVolume, "configMap",
                              make_.object("name", configMap_.name, "items", make_.list(std::move(item)))));
    }
    if (needsToken()) make_.push(made, tokenVolume());
    return made;
  }

  /// The same projected volume as the API server adds to pods with automountServiceAccountToken.
  Value tokenVolume() const {
    Value authority = make_.object("name", "kube-root-ca.crt", "items",
                                   make_.list(make_.object("key", "ca.crt", "path", "ca.crt")));
    Value space = make_.object(
        "items",
        make_.list(make_.object("path", "namespace", "fieldRef",
                                make_.object("apiVersion", "v1", "fieldPath", "metadata.namespace"))));
    Value token = make_.object("path", "token", "expirationSeconds", kTokenSeconds);
    return make_.object(
        "name", dgdr::kTokenVolume, "projected",
        make_.object("sources", make_.list(make_.object("serviceAccountToken", std::move(token)),
                                           make_.object("configMap", std::move(authority)),
                                           make_.object("downwardAPI", std::move(space)))));
  }

  const Value& request_;
  const Context& context_;
  json::Maker make_;
  ConfigMapRef configMap_;
  const Value* override_;
};

}  // namespace

Value profilingJobSpec(const Value& request, const Context& context, Allocator& allocator) {
  return JobSpec{request, context, allocator}.render();
}

Children renderProfiling(const Value& request, const Context& context) {
  Children children;
  if (!canOwn(request, context, kUidField, children.errors)) return children;
  checkProfilerConfig(request, context, children.errors);
  if (!children.errors.empty()) return children;
  Allocator& allocator = children.memory();
  const json::Maker make{allocator};
  const std::string_view name = nameOf(request);
  const std::string jobName = fmt::format("{}{}", dgdr::kProfilingJobPrefix, name);
  Value spec = profilingJobSpec(request, context, allocator);

  const std::string_view role = context.config.rbac.dgdrProfilingClusterRoleName;
  renderClusterRoleAccount(dgdr::kProfilingServiceAccount, role, namespaceOf(request), context, children);
  const std::string_view account =
      json::findText(json::find(json::find(&spec, "template"), "spec"), "serviceAccountName");
  // The output copier uses this account. The request owns the RoleBinding, so both are deleted together
  // (life-Q26).
  if (account != dgdr::kProfilingServiceAccount)
    renderClusterRoleBinding(request, jobName, account, role, context, children);

  Value job = makeObject("batch/v1", "Job", jobName, namespaceOf(request), allocator);
  setMetadata(job, "labels",
              make.object("app", "dynamo-profiler", "dgdr", name, api::label::kManagedBy, api::kOperatorName),
              allocator);
  setOwner(job, request, allocator);
  make.set(job, "spec", std::move(spec));
  children.add(std::move(job));
  return children;
}

}  // namespace dynamo::render
