#include "common/observability/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>

#include "common/observability/process_stats.h"

namespace dynamo::observability {
namespace {

prometheus::Labels toLabels(Labels labels) {
  prometheus::Labels result;
  for (const auto& [name, value] : labels) result.emplace(name, value);
  return result;
}

prometheus::MetricFamily processFamily(std::string name, std::string help, prometheus::MetricType type,
                                       double value) {
  prometheus::MetricFamily family;
  family.name = std::move(name);
  family.help = std::move(help);
  family.type = type;
  family.metric.emplace_back();
  (type == prometheus::MetricType::Counter ? family.metric[0].counter.value : family.metric[0].gauge.value) =
      value;
  return family;
}

void addProcessMetrics(std::vector<prometheus::MetricFamily>& families) {
  using Type = prometheus::MetricType;
  const ProcessStats stats = readProcessStats();
  const auto add = [&](const char* name, const char* help, Type type, double value) {
    families.push_back(processFamily(name, help, type, value));
  };
  add("process_cpu_seconds_total", "User and system CPU time used.", Type::Counter, stats.cpuSeconds);
  add("process_max_fds", "Maximum number of open file descriptors.", Type::Gauge, stats.maxFds);
  add("process_open_fds", "Open file descriptors.", Type::Gauge, stats.openFds);
  add("process_resident_memory_bytes", "Resident memory.", Type::Gauge, stats.residentBytes);
  add("process_start_time_seconds", "Start of the process, Unix time.", Type::Gauge, stats.startTimeSeconds);
  add("process_threads", "Threads.", Type::Gauge, stats.threads);
  add("process_virtual_memory_bytes", "Virtual memory.", Type::Gauge, stats.virtualBytes);
}

/// `add` returns the series of a family with the labels.
template <class Family, class Add>
void removeSeries(Family& family, Labels wanted, Add add) {
  for (const prometheus::MetricFamily& collected : family.Collect()) {
    for (const prometheus::ClientMetric& metric : collected.metric) {
      prometheus::Labels labels;
      for (const auto& each : metric.label) labels.emplace(each.name, each.value);
      const bool matches = std::all_of(wanted.begin(), wanted.end(), [&](const Label& label) {
        const auto found = labels.find(std::string{label.first});
        return found != labels.end() && found->second == label.second;
      });
      if (matches) family.Remove(&add(labels));
    }
  }
}

}  // namespace

void Counter::increment(double by) noexcept {
  if (series_ != nullptr) static_cast<prometheus::Counter*>(series_)->Increment(by);
}

void Gauge::set(double value) noexcept {
  if (series_ != nullptr) static_cast<prometheus::Gauge*>(series_)->Set(value);
}

void Gauge::add(double by) noexcept {
  if (series_ != nullptr) static_cast<prometheus::Gauge*>(series_)->Increment(by);
}

void Histogram::observe(double value) noexcept {
  if (series_ != nullptr) static_cast<prometheus::Histogram*>(series_)->Observe(value);
}

struct Registry::Impl {
  prometheus::Registry registry;
};

Registry::Registry() : impl_(std::make_unique<Impl>()) {}
Registry::~Registry() = default;

Counter Registry::counter(std::string_view name, std::string_view help, Labels labels) {
  auto& family =
      prometheus::BuildCounter().Name(std::string{name}).Help(std::string{help}).Register(impl_->registry);
  return Counter{&family.Add(toLabels(labels))};
}

Gauge Registry::gauge(std::string_view name, std::string_view help, Labels labels) {
  auto& family =
      prometheus::BuildGauge().Name(std::string{name}).Help(std::string{help}).Register(impl_->registry);
  return Gauge{&family.Add(toLabels(labels))};
}

void Registry::removeGauge(std::string_view name, Gauge& gauge) {
  if (gauge.series_ == nullptr) return;
  prometheus::BuildGauge()
      .Name(std::string{name})
      .Register(impl_->registry)
      .Remove(static_cast<prometheus::Gauge*>(gauge.series_));
  gauge = {};
}

Histogram Registry::histogram(std::string_view name, std::string_view help, std::span<const double> buckets,
                              Labels labels) {
  auto& family =
      prometheus::BuildHistogram().Name(std::string{name}).Help(std::string{help}).Register(impl_->registry);
  return Histogram{
      &family.Add(toLabels(labels), prometheus::Histogram::BucketBoundaries{buckets.begin(), buckets.end()})};
}

void Registry::removeCounters(std::string_view name, Labels labels) {
  auto& family = prometheus::BuildCounter().Name(std::string{name}).Register(impl_->registry);
  removeSeries(family, labels, [&](const prometheus::Labels& all) -> auto& { return family.Add(all); });
}

void Registry::removeHistograms(std::string_view name, Labels labels) {
  auto& family = prometheus::BuildHistogram().Name(std::string{name}).Register(impl_->registry);
  // The series exists, so the buckets are not used.
  removeSeries(family, labels, [&](const prometheus::Labels& all) -> auto& {
    return family.Add(all, prometheus::Histogram::BucketBoundaries{});
  });
}

std::string Registry::render() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  addProcessMetrics(families);
  std::sort(families.begin(), families.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return prometheus::TextSerializer{}.Serialize(families);
}

}  // namespace dynamo::observability
