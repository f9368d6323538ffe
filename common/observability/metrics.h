#pragma once
// Counters, gauges and histograms with cheap handles, and their Prometheus text.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace dynamo::observability {

/// The name and value of a label.
using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

/// Counter, Gauge and Histogram are handles of one series each. They are created once at the start and then
/// used without a lookup, on any thread. They are valid as long as their registry. A default-constructed
/// handle does nothing.
class Counter {
 public:
  Counter() = default;
  void increment(double by = 1) noexcept;

 private:
  friend class Registry;
  explicit Counter(void* series) : series_(series) {}
  void* series_ = nullptr;
};

class Gauge {
 public:
  Gauge() = default;
  void set(double value) noexcept;
  void add(double by) noexcept;

 private:
  friend class Registry;
  explicit Gauge(void* series) : series_(series) {}
  void* series_ = nullptr;
};

class Histogram {
 public:
  Histogram() = default;
  void observe(double value) noexcept;

 private:
  friend class Registry;
  explicit Histogram(void* series) : series_(series) {}
  void* series_ = nullptr;
};

/// All metrics of a process. The same name and labels always return the same series. An invalid name or label
/// is a programming error and throws std::invalid_argument.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge gauge(std::string_view name, std::string_view help, Labels labels = {});
  /// Removes the series of a gauge with that name. Its handle then does nothing; copies of the handle must
  /// not be used any more.
  void removeGauge(std::string_view name, Gauge& gauge);
  /// `buckets` are upper bounds in ascending order, without +Inf.
  Histogram histogram(std::string_view name, std::string_view help, std::span<const double> buckets,
                      Labels labels = {});

  /// Removes the series of a metric that have these labels. Their handles must not be used any more.
  void removeCounters(std::string_view name, Labels labels);
  void removeHistograms(std::string_view name, Labels labels);

  /// All metrics and the current process_* metrics in the text format 0.0.4 (content type kTextFormat).
  std::string render() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view kTextFormat = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace dynamo::observability
