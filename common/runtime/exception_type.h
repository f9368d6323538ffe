#pragma once
// What may be told of an exception: its text may quote a request, its type does not.

#include <cxxabi.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <typeinfo>

namespace dynamo::runtime {

/// The type of the exception that is being handled, of any type; "" outside a handler.
inline std::string currentExceptionType() {
  const std::type_info* type = abi::__cxa_current_exception_type();
  if (type == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> name{
      abi::__cxa_demangle(type->name(), nullptr, nullptr, &status), &std::free};
  return name ? name.get() : type->name();
}

}  // namespace dynamo::runtime
