#include "common/observability/log.h"

#include <spdlog/async.h>
#include <spdlog/async_logger.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cstdlib>
#include <memory>

namespace dynamo::log {
namespace {

/// Maximum number of queued lines. Their memory is allocated at the start, about 300 bytes per line.
constexpr std::size_t kQueueLines = 1024;

/// The state of the log. It is global because the process has only one standard error.
struct Output {
  std::shared_ptr<spdlog::sinks::stderr_sink_mt> sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  std::shared_ptr<spdlog::details::thread_pool> background;
  std::shared_ptr<spdlog::logger> logger;
  std::atomic<Level> level{Level::Info};
  std::atomic<Format> format{Format::Json};

  Output() { writeAtOnce(); }

  void writeAtOnce() {
    use(std::make_shared<spdlog::logger>("", sink));
    background.reset();  // joins the thread after it has written the queued lines
  }

  void writeInBackground() {
    background = std::make_shared<spdlog::details::thread_pool>(kQueueLines, 1U);
    use(std::make_shared<spdlog::async_logger>("", sink, background,
                                               spdlog::async_overflow_policy::overrun_oldest));
  }

 private:
  void use(std::shared_ptr<spdlog::logger> next) {
    next->set_level(spdlog::level::trace);  // write() checks the level
    next->set_pattern("%v");
    next->flush_on(spdlog::level::trace);
    logger = std::move(next);
  }
};

Output& output() {
  static Output instance;
  return instance;
}

std::string lineOf(Level level, std::string_view logger, std::string_view message, Fields fields) {
  return renderLine(output().format.load(std::memory_order_relaxed), level, std::chrono::system_clock::now(),
                    logger, message, std::span<const Field>{fields.begin(), fields.size()});
}

void write(Level level, std::string_view logger, std::string_view message, Fields fields) {
  if (!enabled(level)) return;
  Output& out = output();
  const std::string line = lineOf(level, logger, message, fields);
  out.logger->log(spdlog::level::info, spdlog::string_view_t{line.data(), line.size()});
}

}  // namespace

std::error_code configure(const Options& options) {
  Output& out = output();
  out.level.store(options.level, std::memory_order_relaxed);
  out.format.store(options.format, std::memory_order_relaxed);
  out.writeAtOnce();
  try {
    if (options.background) out.writeInBackground();
  } catch (const std::system_error& error) {
    return error.code();
  }
  return {};
}

bool enabled(Level level) {
  return level >= output().level.load(std::memory_order_relaxed);
}

void drain() {
  output().writeAtOnce();
}

void Logger::debug(std::string_view message, Fields fields) const {
  write(Level::Debug, name_, message, fields);
}
void Logger::info(std::string_view message, Fields fields) const {
  write(Level::Info, name_, message, fields);
}
void Logger::warn(std::string_view message, Fields fields) const {
  write(Level::Warn, name_, message, fields);
}
void Logger::error(std::string_view message, Fields fields) const {
  write(Level::Error, name_, message, fields);
}
void Logger::fatal(std::string_view message, Fields fields) const {
  const std::string line = lineOf(Level::Error, name_, message, fields);
  // Other threads may be logging, so neither the queue nor static objects are destroyed.
  output().sink->log({"", spdlog::level::err, spdlog::string_view_t{line.data(), line.size()}});
  std::_Exit(EXIT_FAILURE);
}

}  // namespace dynamo::log
