#pragma once
// The type of an exception for logs. The text of an exception is not logged, because it may quote a request.

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

namespace dynamo::runtime {

/// Returns the type name of the current exception, or an empty text outside of a handler.
inline std::string currentExceptionType() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free};
  return name ? name.get() : type->name();
}

}  // namespace dynamo::runtime
