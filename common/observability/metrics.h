#pragma once
// Counters, gauges and histograms with cheap handles, and their text for Prometheus.

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace dynamo::observability {

/// Names and values of a series' labels.
using Label = std::pair<std::string_view, std::string_view>;
using Labels = std::initializer_list<Label>;

/// Handles of one series each: resolved once at start, then used without any look-up, from any thread. They
/// live as long as their registry; a default-made one does nothing.
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

/// All metrics of a process. Asking twice for the same name and labels gives the same series. Names and
/// labels are ours and valid; a wrong one is a programming error and throws std::invalid_argument.
class Registry {
 public:
  Registry();
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  Counter counter(std::string_view name, std::string_view help, Labels labels = {});
  Gauge gauge(std::string_view name, std::string_view help, Labels labels = {});
  /// `buckets` are upper bounds in ascending order, without +Inf.
  Histogram histogram(std::string_view name, std::string_view help, std::span<const double> buckets,
                      Labels labels = {});

  /// All metrics, and process_* of this moment, in the text format 0.0.4 (content type kTextFormat).
  std::string render() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

inline constexpr std::string_view kTextFormat = "text/plain; version=0.0.4; charset=utf-8";

}  // namespace dynamo::observability
