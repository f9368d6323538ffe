#include "common/schema/patterns.h"

#include <re2/re2.h>

#include <stdexcept>
#include <string>

namespace dynamo::schema {
namespace {

re2::StringPiece piece(std::string_view text) {
  return {text.data(), text.size()};
}

re2::RE2::Options patternOptions() {
  re2::RE2::Options options;
  // By default RE2 logs errors to standard error, with the text that it matches. The text may be secret.
  options.set_log_errors(false);
  options.set_never_capture(true);
  return options;
}

}  // namespace

Pattern::Pattern(std::string_view text)
    : expression_(std::make_unique<const re2::RE2>(piece(text), patternOptions())) {
  if (!expression_->ok()) throw std::logic_error("runtime schema: pattern " + expression_->error());
}
Pattern::~Pattern() = default;

std::string_view Pattern::text() const {
  return expression_->pattern();
}

bool Pattern::matches(std::string_view value) const {
  return re2::RE2::PartialMatch(piece(value), *expression_);
}

}  // namespace dynamo::schema
