#include "common/gpu/exporter_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "common/field/show.h"

namespace dynamo::gpu {
namespace {

/// Every GPU has this gauge, so its rows are the list of GPUs.
constexpr std::string_view kTemperature = "DCGM_FI_DEV_GPU_TEMP";
/// Their sum is the memory of a GPU in MiB.
constexpr std::array<std::string_view, 3> kMemory = {"DCGM_FI_DEV_FB_FREE", "DCGM_FI_DEV_FB_USED",
                                                     "DCGM_FI_DEV_FB_RESERVED"};
/// 16 TiB. A larger value is no memory of a GPU.
constexpr double kMaxMemory = 16.0 * 1024 * 1024;

/// A row of one of the gauges, with the labels that are used.
struct Row {
  std::string gpu;
  std::string model;
  std::string host;
  double value = 0;
};

bool isBlank(char c) {
  return c == ' ' || c == '\t' || c == '\r';
}

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == ':';
}

/// Takes parts from the front of a line.
class Reader {
 public:
  explicit Reader(std::string_view line) : rest_(line) {}

  void skipBlanks() {
    while (!rest_.empty() && isBlank(rest_.front())) rest_.remove_prefix(1);
  }
  bool take(char c) {
    skipBlanks();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view name() {
    skipBlanks();
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), isNameCharacter);
    return cut(static_cast<std::size_t>(end - rest_.begin()));
  }
  std::string_view word() {
    skipBlanks();
    const auto end = std::find_if(rest_.begin(), rest_.end(), isBlank);
    return cut(static_cast<std::size_t>(end - rest_.begin()));
  }
  /// The content of a quoted text after its first quote; nullopt if it has no end.
  std::optional<std::string> quoted() {
    std::string text;
    for (std::size_t i = 0; i < rest_.size(); ++i) {
      const char c = rest_[i];
      if (c == '"') {
        rest_.remove_prefix(i + 1);
        return text;
      }
      if (c != '\\') {
        text += c;
        continue;
      }
      if (++i == rest_.size()) break;
      text += rest_[i] == 'n' ? '\n' : rest_[i];
    }
    return std::nullopt;
  }

 private:
  std::string_view cut(std::size_t length) {
    const std::string_view part = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return part;
  }

  std::string_view rest_;
};

/// Returns the problem of the labels, or an empty text.
std::string_view readLabels(Reader& reader, Row& row) {
  while (!reader.take('}')) {
    const std::string_view name = reader.name();
    if (name.empty()) return "a label has no name";
    if (!reader.take('=') || !reader.take('"')) return "a label has no quoted value";
    std::optional<std::string> value = reader.quoted();
    if (!value) return "the value of a label has no end";
    if (name == "gpu")
      row.gpu = std::move(*value);
    else if (name == "modelName")
      row.model = field::oneLine(*value, kMaxNameBytes);
    else if (name == "Hostname")
      row.host = field::oneLine(*value, kMaxNameBytes);
    if (reader.take(',')) continue;
    if (!reader.take('}')) return "labels are not separated by a comma";
    break;
  }
  return {};
}

std::optional<double> numberOf(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return HUGE_VAL;
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

class Metrics {
 public:
  /// Returns the problem of the line, or an empty text.
  std::string_view add(std::string_view line) {
    Reader reader{line};
    const std::string_view name = reader.name();
    const auto memory = std::find(kMemory.begin(), kMemory.end(), name);
    if (name != kTemperature && memory == kMemory.end()) return {};
    Row row;
    if (reader.take('{')) {
      if (const std::string_view problem = readLabels(reader, row); !problem.empty()) return problem;
    }
    const std::optional<double> value = numberOf(reader.word());
    if (!value) return "the value is no number";
    row.value = *value;
    if (node_.name.empty()) node_.name = row.host;
    if (row.gpu.empty()) return {};
    if (name == kTemperature) {
      if (node_.model.empty()) node_.model = row.model;
      gpus_.insert(std::move(row.gpu));
      if (gpus_.size() > kMaxGpusOfNode) return "there are more GPUs than a node can have";
    } else if (row.value >= 0 && row.value <= kMaxMemory) {  // not NaN
      memory_[std::move(row.gpu)][static_cast<std::size_t>(memory - kMemory.begin())] = row.value;
    }
    return {};
  }

  std::variant<GpuNode, std::string> node() {
    if (gpus_.empty()) return fmt::format("no metric {} of a GPU", kTemperature);
    node_.gpus = static_cast<long long>(gpus_.size());
    for (const auto& [gpu, parts] : memory_) {
      if (gpus_.contains(gpu))
        node_.vramMb = std::max(node_.vramMb, std::floor(parts[0] + parts[1] + parts[2]));
    }
    return std::move(node_);
  }

 private:
  GpuNode node_;
  std::set<std::string> gpus_;
  std::map<std::string, std::array<double, kMemory.size()>> memory_;
};

}  // namespace

std::variant<GpuNode, std::string> parseExporterMetrics(std::string_view text) {
  if (text.size() > kMaxMetricsBytes) return fmt::format("more than {} bytes", kMaxMetricsBytes);
  Metrics metrics;
  for (std::size_t number = 1; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    if (const std::string_view problem = metrics.add(text.substr(0, end)); !problem.empty())
      return fmt::format("line {}: {}", number, problem);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return metrics.node();
}

}  // namespace dynamo::gpu
