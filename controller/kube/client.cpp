#include "controller/kube/client.h"

#include <optional>
#include <utility>
#include <variant>

#include "common/json/build.h"
#include "common/observability/log.h"
#include "controller/kube/decode.h"
#include "controller/kube/transport.h"
#include "controller/kube/url.h"

namespace dynamo::kube {

using runtime::Task;

namespace {

constexpr log::Logger kLog{"client"};

constexpr const char* kJson = "application/json";

const char* contentTypeOf(PatchType type) {
  switch (type) {
    case PatchType::Merge:
      return "application/merge-patch+json";
    case PatchType::Json:
      return "application/json-patch+json";
    case PatchType::Apply:
      break;
  }
  return "application/apply-patch+yaml";
}

const char* allFor(bool dryRun) {
  return dryRun ? "All" : "";
}

/// Returns a request for an object or a collection of `resource`.
HttpRequest requestFor(std::string method, const Resource& resource, std::string path, CallOptions call) {
  HttpRequest request{std::move(method), std::move(path)};
  request.write = request.method != "GET";
  request.messagePolicy =
      resource.group.empty() && resource.plural == "secrets" ? MessagePolicy::Withhold : MessagePolicy::Quote;
  request.maxBodyBytes = kMaxObjectBytes;
  request.call = call;
  return request;
}

/// Returns an error if the request lacks a required name or namespace.
std::optional<ApiError> checkNames(const Resource& resource, const std::string& namespaceName,
                                   const std::string& name) {
  const char* const lacks = name.empty()                                   ? "name"
                            : resource.namespaced && namespaceName.empty() ? "namespace"
                                                                           : "";
  if (*lacks == '\0') return std::nullopt;
  return ApiError{Reason::BadRequest, 0, "a request for " + resource.plural + " must have a " + lacks};
}

Client::ObjectTask failure(ApiError error) {
  co_return std::move(error);
}

Client::ObjectTask object(std::shared_ptr<RoundTripper> roundTripper, HttpRequest request) {
  auto sent = co_await roundTripper->send(std::move(request));
  if (auto* error = std::get_if<ApiError>(&sent)) co_return std::move(*error);
  const std::string& body = std::get<Answer>(sent).body;
  if (body.empty()) co_return json::Document{};
  co_return decodeObject(body);
}

Client::ObjectTask listed(std::shared_ptr<RoundTripper> roundTripper, HttpRequest request,
                          std::string plural) {
  auto sent = co_await roundTripper->send(std::move(request));
  if (auto* error = std::get_if<ApiError>(&sent)) co_return std::move(*error);
  auto decoded = decodeListReply(std::get<Answer>(sent).body);
  if (auto* error = std::get_if<ApiError>(&decoded)) co_return std::move(*error);
  auto& reply = std::get<ListReply>(decoded);
  if (reply.omitted > 0)
    kLog.error("objects of a list cannot be decoded", {{"resource", plural}, {"number", reply.omitted}});
  co_return std::move(reply.list);
}

std::string deleteOptions(const Preconditions& preconditions, const std::string& propagationPolicy) {
  json::Document document;
  const json::Maker make{document.GetAllocator()};
  json::Value options = make.object("apiVersion", "v1", "kind", "DeleteOptions");
  json::Value wanted = make.object();
  if (!preconditions.uid.empty()) make.set(wanted, "uid", std::string_view{preconditions.uid});
  if (!preconditions.resourceVersion.empty()) {
    make.set(wanted, "resourceVersion", std::string_view{preconditions.resourceVersion});
  }
  if (!wanted.ObjectEmpty()) make.set(options, "preconditions", std::move(wanted));
  if (!propagationPolicy.empty()) make.set(options, "propagationPolicy", std::string_view{propagationPolicy});
  return json::dump(options);
}

Task<Result<std::unique_ptr<WatchStream>>> stream(std::shared_ptr<RoundTripper> roundTripper,
                                                  HttpRequest request) {
  auto sent = co_await roundTripper->send(std::move(request));
  if (auto* error = std::get_if<ApiError>(&sent)) co_return std::move(*error);
  auto& session = std::get<Answer>(sent).stream;
  co_return std::make_unique<WatchStream>(std::move(*session));
}

}  // namespace

Client::Client(runtime::EventLoop& loop, RestConfig config, ClientMetrics* metrics, ClientOptions options)
    : fieldManager_(options.fieldManager) {
  roundTripper_ = std::make_shared<Transport>(loop, std::move(config), metrics, std::move(options));
}
Client::Client(std::shared_ptr<RoundTripper> roundTripper, std::string fieldManager)
    : roundTripper_(std::move(roundTripper)), fieldManager_(std::move(fieldManager)) {}
Client::~Client() = default;

Client::ObjectTask Client::get(const Resource& resource, const std::string& namespaceName,
                               const std::string& name, CallOptions call) {
  if (auto error = checkNames(resource, namespaceName, name)) return failure(std::move(*error));
  HttpRequest request = requestFor("GET", resource, pathOf(resource, namespaceName, name), call);
  request.namespaceName = namespaceName;
  return object(roundTripper_, std::move(request));
}

Client::ObjectTask Client::list(const Resource& resource, const std::string& namespaceName,
                                const ListOptions& options, CallOptions call) {
  Query query;
  query.add("labelSelector", options.labelSelector)
      .add("fieldSelector", options.fieldSelector)
      .add("limit", options.limit)
      .add("continue", options.continueToken)
      .add("resourceVersion", options.resourceVersion)
      .add("resourceVersionMatch", options.resourceVersionMatch);
  HttpRequest request = requestFor("GET", resource, pathOf(resource, namespaceName) + query.text(), call);
  request.maxBodyBytes = kMaxListBytes;
  request.namespaceName = namespaceName;
  return listed(roundTripper_, std::move(request), resource.plural);
}

Client::ObjectTask Client::create(const Resource& resource, const std::string& namespaceName,
                                  std::string body, bool dryRun, CallOptions call) {
  if (auto error = checkNames(resource, namespaceName, "new")) return failure(std::move(*error));
  Query query;
  query.add("fieldManager", fieldManager_).add("dryRun", allFor(dryRun));
  HttpRequest request = requestFor("POST", resource, pathOf(resource, namespaceName) + query.text(), call);
  request.contentType = kJson;
  request.body = std::move(body);
  request.repeatable = false;
  request.namespaceName = namespaceName;
  return object(roundTripper_, std::move(request));
}

Client::ObjectTask Client::replace(const Resource& resource, const std::string& namespaceName,
                                   const std::string& name, std::string body, const std::string& subresource,
                                   CallOptions call) {
  if (auto error = checkNames(resource, namespaceName, name)) return failure(std::move(*error));
  Query query;
  query.add("fieldManager", fieldManager_);
  HttpRequest request =
      requestFor("PUT", resource, pathOf(resource, namespaceName, name, subresource) + query.text(), call);
  request.contentType = kJson;
  request.body = std::move(body);
  request.namespaceName = namespaceName;
  return object(roundTripper_, std::move(request));
}

Client::ObjectTask Client::patch(const Resource& resource, const std::string& namespaceName,
                                 const std::string& name, PatchType type, std::string body,
                                 const PatchOptions& options, CallOptions call) {
  if (auto error = checkNames(resource, namespaceName, name)) return failure(std::move(*error));
  Query query;
  query.add("fieldManager", options.fieldManager.empty() ? fieldManager_ : options.fieldManager)
      .add("force", options.force && type == PatchType::Apply)
      .add("dryRun", allFor(options.dryRun));
  const std::string path = pathOf(resource, namespaceName, name, options.subresource);
  HttpRequest request = requestFor("PATCH", resource, path + query.text(), call);
  request.contentType = contentTypeOf(type);
  request.body = std::move(body);
  request.repeatable = type != PatchType::Json;  // an "add" to a list is not idempotent
  request.namespaceName = namespaceName;
  return object(roundTripper_, std::move(request));
}

Client::ObjectTask Client::remove(const Resource& resource, const std::string& namespaceName,
                                  const std::string& name, const Preconditions& preconditions,
                                  const std::string& propagationPolicy, CallOptions call) {
  if (auto error = checkNames(resource, namespaceName, name)) return failure(std::move(*error));
  HttpRequest request = requestFor("DELETE", resource, pathOf(resource, namespaceName, name), call);
  request.contentType = kJson;
  request.body = deleteOptions(preconditions, propagationPolicy);
  request.namespaceName = namespaceName;
  // Without preconditions, the second request could delete a new object with the same name.
  request.repeatable = !preconditions.uid.empty() || !preconditions.resourceVersion.empty();
  return object(roundTripper_, std::move(request));
}

Client::ObjectTask Client::raw(std::string method, std::string path, std::string body,
                               std::string contentType, CallOptions call) {
  HttpRequest request{std::move(method), std::move(path)};
  request.write = request.method != "GET";
  request.repeatable = !request.write;
  request.contentType = std::move(contentType);
  request.body = std::move(body);
  request.maxBodyBytes = kMaxObjectBytes;
  request.call = call;
  return object(roundTripper_, std::move(request));
}

Task<Result<std::unique_ptr<WatchStream>>> Client::watch(const Resource& resource,
                                                         const std::string& namespaceName,
                                                         const WatchOptions& options, CallOptions call) {
  Query query;
  query.add("watch", true)
      .add("allowWatchBookmarks", true)
      .add("labelSelector", options.labelSelector)
      .add("fieldSelector", options.fieldSelector)
      .add("resourceVersion", options.resourceVersion)
      .add("timeoutSeconds", std::int64_t{options.timeout.count()})
      .add("sendInitialEvents", options.sendInitialEvents)
      .add("resourceVersionMatch", options.sendInitialEvents ? "NotOlderThan" : "");
  HttpRequest request = requestFor("GET", resource, pathOf(resource, namespaceName) + query.text(), call);
  request.stream = true;
  return stream(roundTripper_, std::move(request));
}

void Client::setWriteGate(std::function<bool(std::string_view namespaceName)> open) {
  roundTripper_->setWriteGate(std::move(open));
}

std::size_t Client::idleConnections() const {
  return roundTripper_->idleConnections();
}

}  // namespace dynamo::kube
