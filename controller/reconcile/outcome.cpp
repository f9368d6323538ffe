#include "controller/reconcile/outcome.h"

#include <fmt/format.h>

#include <utility>
#include <variant>

#include "common/json/build.h"
#include "common/lifecycle/object.h"
#include "controller/reconcile/kinds.h"
#include "controller/reconcile/owner.h"
#include "controller/reconcile/removal.h"

namespace dynamo::controller {
namespace {

using json::Document;
using json::Value;
using kube::ApiError;
using lifecycle::Done;
using lifecycle::Ending;
using lifecycle::Permanent;
using runtime::Task;

/// Returns a merge patch with the preconditions of `target`. The API server returns a conflict if
/// metadata.uid or metadata.resourceVersion differs.
std::string patchBody(const Value& patch, const lifecycle::Reference& target) {
  Document memory;
  auto& allocator = memory.GetAllocator();
  const json::Maker make{allocator};
  Value body = json::copy(patch, allocator);
  Value& metadata = json::ensureObject(body, "metadata", allocator);
  if (!target.uid.empty()) make.set(metadata, "uid", target.uid);
  if (!target.resourceVersion.empty()) make.set(metadata, "resourceVersion", target.resourceVersion);
  return json::dump(body);
}

std::string scaleBody(const lifecycle::Write& write) {
  Document memory;
  const json::Maker make{memory.GetAllocator()};
  Value body = make.object("spec", make.object("replicas", static_cast<std::int64_t>(write.replicas)));
  if (!write.target.resourceVersion.empty())
    make.set(body, "metadata", make.object("resourceVersion", write.target.resourceVersion));
  return json::dump(body);
}

/// Returns a JSON patch of the status. It replaces the resourceVersion, so that the API server returns a
/// conflict if the object has changed. A failed `test` operation would return 422.
std::string statusBody(const Value& status, std::string_view resourceVersion) {
  Document memory;
  const json::Maker make{memory.GetAllocator()};
  Value operations = make.list();
  make.push(operations,
            make.object("op", "replace", "path", "/metadata/resourceVersion", "value", resourceVersion));
  make.push(operations, make.object("op", "add", "path", "/status", "value", make.value(status)));
  return json::dump(operations);
}

/// Whether the write makes `owner` the controller of an object.
bool addsOwner(const lifecycle::Write& write, const Value& owner) {
  if (write.verb != lifecycle::Write::Verb::Patch) return false;
  const Value* controller = k8s::controllerOf(write.patch);
  return controller != nullptr && json::findText(controller, "uid") == lifecycle::uidOf(owner);
}

class Execution {
 public:
  Execution(Environment& environment, const Value& object, Writer writer)
      : environment_(environment), object_(object), key_(k8s::keyOf(object)), writer_(std::move(writer)) {
    resourceVersion_ = json::findText(lifecycle::metadataOf(object), "resourceVersion");
  }

  Task<Ending> run(const lifecycle::Outcome& outcome) {
    for (const lifecycle::Write& write : outcome.writes) {
      Ending ended = co_await carryOutWrite(write);
      if (!isDone(ended)) co_return ended;
    }
    Ending ended;
    if (outcome.status) ended = co_await writeStatus(*outcome.status);
    // The next reconcile finds the writes done, and reports them no more. Without writes it finds the same
    // change of the status.
    if (isDone(ended) || !outcome.writes.empty()) {
      for (const lifecycle::Event& event : outcome.events) record(event);
    }
    co_return ended;
  }

 private:
  Task<Ending> carryOutWrite(const lifecycle::Write& write) {
    const k8s::ObjectKey key = write.target.key;
    const WatchedKind* kind = findWatchedKind(key);
    if (kind == nullptr) co_return Permanent{fmt::format("{}: unknown kind", k8s::toText(key))};
    if (write.verb == lifecycle::Write::Verb::Delete) co_return co_await remove(kind->resource, key, write);
    if (addsOwner(write, object_)) {
      // Its references are gone because it is deleted with --cascade=orphan, and its watch may be late.
      OwnerRead read = co_await readOwner(environment_, object_);
      if (!isDone(read.ending)) co_return std::move(read.ending);
      if (!read.present) co_return lifecycle::Conflict{fmt::format("{} has changed", k8s::toText(key_))};
    }
    kube::PatchOptions options;
    const bool scale = write.verb == lifecycle::Write::Verb::Scale;
    if (scale) {
      options.subresource = "scale";
      options.fieldManager = kFieldManager;
    }
    std::string body = scale ? scaleBody(write) : patchBody(write.patch, write.target);
    const kube::Cache::Writing writing{environment_.cache, key};
    auto answer = co_await environment_.client.patch(kind->resource, key.namespaceName, key.name,
                                                     kube::PatchType::Merge, std::move(body), options);
    if (auto* error = std::get_if<ApiError>(&answer)) {
      // Grove has not created the object yet, or has deleted it. Its next event triggers the graph.
      if (scale && error->reason == kube::Reason::NotFound) co_return Done{};
      co_return failureOf(key, *error);
    }
    // The reply of the scale subresource is a Scale.
    if (!scale) took(key, std::get<Document>(answer));
    if (write.plan) environment_.contests.remember(key, *write.plan, render::Clock::now());
    co_return Done{};
  }

  Task<Ending> remove(const kube::Resource& resource, const k8s::ObjectKey& key,
                      const lifecycle::Write& write) {
    const kube::Preconditions same{write.target.uid, write.target.resourceVersion};
    Ending ended = co_await removeObject(environment_, resource, key, same, writer_.name);
    // An object that finalizers keep has been asked to go.
    if (mustLookAgain(ended)) co_return Done{};
    co_return ended;
  }

  Task<Ending> writeStatus(const Value& status) {
    const WatchedKind* kind = findWatchedKind(key_);
    if (kind == nullptr) co_return Permanent{fmt::format("{}: unknown kind", k8s::toText(key_))};
    kube::PatchOptions options;
    options.subresource = "status";
    options.fieldManager = kStatusManager;
    std::string body = statusBody(status, resourceVersion_);
    const kube::Cache::Writing writing{environment_.cache, key_};
    auto answer = co_await environment_.client.patch(kind->resource, key_.namespaceName, key_.name,
                                                     kube::PatchType::Json, std::move(body), options);
    if (auto* error = std::get_if<ApiError>(&answer)) {
      if (error->reason == kube::Reason::NotFound) co_return Done{};
      co_return failureOf(key_, *error);
    }
    took(key_, std::get<Document>(answer));
    co_return Done{};
  }

  void took(const k8s::ObjectKey& key, const Document& answer) {
    if (key != key_) {
      // A merge patch changes only some fields, so the reply may contain changes by others that no watch has
      // reported yet. The cache then ignores their watch events as too old. Without a writer, the change
      // triggers this reconciler again, which compares the whole object.
      environment_.cache.wrote(answer, {});
      return;
    }
    environment_.cache.wrote(answer, writer_.name);
    // The status depends on the version of the object after the writes of this outcome.
    resourceVersion_ = json::findText(lifecycle::metadataOf(answer), "resourceVersion");
  }

  void record(const lifecycle::Event& event) {
    kube::EventInput input;
    input.object = kube::referenceTo(object_);
    input.warning = event.type == lifecycle::Event::Type::Warning;
    input.reason = event.reason;
    input.message = event.message;
    input.component = writer_.component;
    environment_.events.record(std::move(input));
  }

  Environment& environment_;
  const Value& object_;
  k8s::ObjectKey key_;
  Writer writer_;
  std::string resourceVersion_;
};

}  // namespace

Task<Ending> carryOut(Environment& environment, const Value& object, const lifecycle::Outcome& outcome,
                      Writer writer) {
  Execution execution{environment, object, std::move(writer)};
  co_return co_await execution.run(outcome);
}

}  // namespace dynamo::controller
