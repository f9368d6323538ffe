#include "controller/kube/text_source.h"

#include <string_view>
#include <utility>

namespace dynamo::kube {
namespace {

std::string trimmed(const std::string& text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const auto begin = text.find_first_not_of(kSpace);
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) + 1 - begin);
}

}  // namespace

TextSource TextSource::ofText(const std::string& text) {
  TextSource source;
  source.text_ = trimmed(text);
  return source;
}

TextSource TextSource::ofFile(std::string path) {
  TextSource source;
  source.path_ = path;
  source.file_.emplace(std::move(path), kMaxSourceBytes);
  return source;
}

std::optional<std::string> TextSource::refresh(std::optional<Instant> now) {
  if (!file_ || (now && looked_ && *now - *looked_ < kFileLookInterval && !text_.empty()))
    return std::nullopt;
  if (now) looked_ = now;
  if (const auto reading = file_->poll()) {
    const auto failed = [this](const std::string& why) { error_ = "the file " + path_ + " " + why; };
    error_.clear();
    std::string text = reading->text ? trimmed(*reading->text) : std::string{};
    if (!reading->text) {
      failed("does not exist");
    } else if (!reading->error.empty()) {
      failed("cannot be read: " + reading->error);
    } else if (reading->text->size() > kMaxSourceBytes) {
      failed("is too large");
    } else if (text.empty()) {
      failed("is empty");
    } else {
      text_ = std::move(text);
    }
  }
  if (!text_.empty()) return std::nullopt;
  return error_;
}

}  // namespace dynamo::kube
