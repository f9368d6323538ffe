#pragma once
// The interface by which a rule reports its findings.

#include <span>
#include <string>
#include <string_view>

#include "common/field/finding.h"
#include "common/field/path.h"
#include "common/json/value.h"

namespace dynamo::field {

/// Adds the findings of one rule. Only the first kMaxFindingsPerRule findings are kept. Each of them costs a
/// search in the old object, and users do not read more.
class Report {
 public:
  static constexpr int kMaxFindingsPerRule = 1000;

  Report(Findings& findings, std::string_view rule) : findings_(findings), rule_(rule) {}

  void required(const At& at, std::string detail = {}) const;
  void invalid(const At& at, std::string_view value, std::string detail) const;
  void invalid(const At& at, const json::Value& value, std::string detail) const;
  /// An Invalid error without the value, for maps, lists and values that explain nothing.
  void refused(const At& at, std::string detail) const;
  /// A NotSupported error with the list of supported values.
  void notSupported(const At& at, std::string_view value, std::span<const std::string_view> supported) const;
  void forbidden(const At& at, std::string detail) const;
  void duplicate(const At& at, std::string_view value, std::string detail = {}) const;
  void notFound(const At& at, std::string_view value, std::string detail) const;
  /// `about`: identifies the defect for ratcheting if the field alone does not.
  void tooLong(const At& at, std::string detail, std::string_view about = {}) const;
  /// A warning of one plain sentence of about 100 bytes, because API servers limit the total size of
  /// warnings.
  void warn(const At& at, std::string text) const;
  /// Calls invalid() unless `problem` is empty.
  void check(const At& at, std::string_view value, const std::string& problem) const;

 private:
  void error(ErrorType type, const At& at, std::string shown, std::string detail) const;

  Findings& findings_;
  std::string_view rule_;
  mutable int left_ = kMaxFindingsPerRule;
};

}  // namespace dynamo::field
