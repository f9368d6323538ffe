#include "controller/reconcile/gpu_discovery.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "common/runtime/plain_client.h"
#include "controller/kube/decode.h"
#include "controller/reconcile/kinds.h"

namespace dynamo::controller {

using gpu::Exporter;
using gpu::GpuNode;
using gpu::Inventory;
using lifecycle::Ending;
using runtime::Task;

namespace {

constexpr int kOk = 200;
constexpr std::int64_t kPageSize = 500;

const kube::Resource& nodes() {
  static const kube::Resource kNodes{"", "v1", "nodes", "Node", false};
  return kNodes;
}

/// The node of an exporter, or why it is unknown.
std::variant<GpuNode, std::string> nodeOf(const Exporter& exporter,
                                          const runtime::TransportResult<runtime::PlainReply>& answer) {
  if (const auto* error = std::get_if<runtime::TransportError>(&answer)) return error->message;
  const auto& reply = std::get<runtime::PlainReply>(answer);
  if (reply.status != kOk) return fmt::format("HTTP status {}", reply.status);
  auto parsed = gpu::parseExporterMetrics(reply.body);
  auto* node = std::get_if<GpuNode>(&parsed);
  if (node != nullptr && !exporter.node.empty()) node->name = exporter.node;
  return parsed;
}

}  // namespace

/// Several tasks that ask exporters. It lives until the last of them has ended.
class GpuDiscovery::Scrape {
 public:
  Scrape(runtime::EventLoop& loop, std::vector<Exporter> exporters)
      : exporters_(std::move(exporters)),
        answers_(exporters_.size(), std::string{"no answer in time"}),
        done_(loop),
        end_(std::chrono::steady_clock::now() + kExportersTime) {}

  static Task<void> run(runtime::EventLoop& loop, std::shared_ptr<Scrape> scrape) {
    const std::size_t tasks = std::min(kExportersAtOnce, scrape->exporters_.size());
    scrape->running_ = tasks;
    for (std::size_t i = 0; i < tasks; ++i) loop.spawn(work(loop, scrape));
    while (scrape->running_ != 0 && std::chrono::steady_clock::now() < scrape->end_ && !loop.stopping())
      co_await scrape->done_.wait(scrape->end_);
  }

  /// In the order of the exporters, so that the result does not depend on who answers first.
  void addTo(Inventory& inventory) const {
    for (std::size_t i = 0; i < exporters_.size(); ++i) {
      if (const auto* node = std::get_if<GpuNode>(&answers_[i])) {
        gpu::addNode(inventory, *node);
      } else {
        inventory.problems.push_back(
            fmt::format("exporter {}: {}", exporters_[i].pod, std::get<std::string>(answers_[i])));
      }
    }
  }

 private:
  static Task<void> work(runtime::EventLoop& loop, std::shared_ptr<Scrape> scrape) {
    while (scrape->next_ < scrape->exporters_.size() && !loop.stopping()) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          scrape->end_ - std::chrono::steady_clock::now());
      if (left.count() <= 0) break;
      const std::size_t index = scrape->next_++;
      const Exporter& exporter = scrape->exporters_[index];
      const auto address = gpu::parseMetricsUrl(exporter.url);
      if (!address) {
        scrape->answers_[index] = fmt::format("{} is no URL http://ADDRESS:PORT/PATH", exporter.url);
        continue;
      }
      runtime::PlainRequest request{"GET", runtime::Endpoint{address->address, address->port}, address->path};
      request.accept = "text/plain";
      request.timeout = std::min<std::chrono::milliseconds>(kExporterTime, left);
      request.maxReplyBytes = gpu::kMaxMetricsBytes;
      const auto answer = co_await runtime::askPlain(loop, std::move(request));
      scrape->answers_[index] = nodeOf(exporter, answer);
    }
    if (--scrape->running_ == 0) scrape->done_.notify();
  }

  std::vector<Exporter> exporters_;
  std::vector<std::variant<GpuNode, std::string>> answers_;
  runtime::Notification done_;
  runtime::Deadline end_;
  std::size_t next_ = 0;
  std::size_t running_ = 0;
};

GpuDiscovery::GpuDiscovery(runtime::EventLoop& loop, kube::Client& client, GpuDiscoveryOptions options)
    : loop_(loop), client_(client), options_(std::move(options)), looked_(loop) {}

Task<GpuDiscovery::Found> GpuDiscovery::find() {
  if (looking_) {
    while (looking_ && !loop_.stopping()) co_await looked_.wait();
    if (!looking_) co_return *last_;
    co_return Ending{lifecycle::Transient{"the controller stops"}};
  }
  const auto* known = last_ ? std::get_if<std::shared_ptr<const Inventory>>(&*last_) : nullptr;
  if (known != nullptr && !(*known)->nodes.empty() &&
      std::chrono::steady_clock::now() < lastTime_ + kInventoryTime)
    co_return *last_;
  looking_ = true;
  try {
    last_ = co_await look();
  } catch (...) {
    last_ = Ending{lifecycle::Transient{"GPU discovery failed"}};
    looking_ = false;
    looked_.notify();
    throw;
  }
  lastTime_ = std::chrono::steady_clock::now();
  looking_ = false;
  looked_.notify();
  co_return *last_;
}

Task<GpuDiscovery::Found> GpuDiscovery::look() {
  passing_.reset();
  auto inventory = std::make_shared<Inventory>();
  std::vector<Exporter> exporters = co_await listExporters(*inventory);
  inventory->exporters = exporters.size();
  if (!exporters.empty()) co_await ask(std::move(exporters), *inventory);
  if (inventory->nodes.empty() && !passing_) {
    inventory->source = gpu::Source::NodeLabels;
    co_await readLabels(*inventory);
  }
  // What was found is used even if something else failed.
  if (inventory->nodes.empty() && passing_) co_return std::move(*passing_);
  co_return std::shared_ptr<const Inventory>{std::move(inventory)};
}

/// The result has each pod once, sorted by name.
Task<std::vector<Exporter>> GpuDiscovery::listExporters(Inventory& inventory) {
  std::vector<Exporter> found;
  for (const std::string& namespaceName : options_.namespaces) {
    bool read = true;
    for (const std::string_view selector : gpu::kExporterSelectors) {
      kube::ListOptions list;
      list.labelSelector = selector;
      auto got = co_await client_.list(resourceOf("", "Pod"), namespaceName, list);
      if (const auto* error = std::get_if<kube::ApiError>(&got)) {
        failed(inventory, fmt::format("pods in namespace {}", namespaceName), *error);
        read = false;
        break;  // the other selectors would fail, too
      }
      const json::Value* items = json::find(std::get<json::Document>(got), "items");
      for (rapidjson::SizeType i = 0; items != nullptr && items->IsArray() && i < items->Size(); ++i) {
        if (auto exporter = gpu::exporterOf((*items)[i], options_.url)) found.push_back(std::move(*exporter));
      }
    }
    if (read) inventory.namespaces.push_back(namespaceName);
  }
  std::sort(found.begin(), found.end(), [](const Exporter& a, const Exporter& b) { return a.pod < b.pod; });
  const auto end = std::unique(found.begin(), found.end(),
                               [](const Exporter& a, const Exporter& b) { return a.pod == b.pod; });
  found.erase(end, found.end());
  co_return found;
}

Task<void> GpuDiscovery::ask(std::vector<Exporter> exporters, Inventory& inventory) {
  auto scrape = std::make_shared<Scrape>(loop_, std::move(exporters));
  co_await Scrape::run(loop_, scrape);
  scrape->addTo(inventory);
}

Task<void> GpuDiscovery::readLabels(Inventory& inventory) {
  kube::ListOptions list;
  list.labelSelector = "nvidia.com/gpu.product";
  list.limit = kPageSize;
  do {
    auto got = co_await client_.list(nodes(), "", list);
    if (const auto* error = std::get_if<kube::ApiError>(&got)) {
      failed(inventory, "nodes", *error);
      co_return;
    }
    auto page = kube::decodeList(std::move(std::get<json::Document>(got)));
    if (const auto* error = std::get_if<kube::ApiError>(&page)) {
      failed(inventory, "nodes", *error);
      co_return;
    }
    const auto& decoded = std::get<kube::ListPage>(page);
    for (const json::Value& node : decoded.items()) {
      if (auto found = gpu::nodeOfLabels(node)) gpu::addNode(inventory, std::move(*found));
    }
    list.continueToken = decoded.continueToken();
  } while (!list.continueToken.empty());
  inventory.labelsRead = true;
}

void GpuDiscovery::failed(Inventory& inventory, const std::string& what, const kube::ApiError& error) {
  const bool forbidden =
      error.reason == kube::Reason::Forbidden || error.reason == kube::Reason::Unauthorized;
  std::string message = fmt::format("{}: {}", what, error.message);
  if (error.transient() || (forbidden && !options_.restricted)) {
    passing_ = lifecycle::Transient{std::move(message), lifecycle::kInternalError,
                                    error.retryAfter.value_or(std::chrono::seconds{0})};
  } else {
    inventory.problems.push_back(std::move(message));
  }
}

}  // namespace dynamo::controller
