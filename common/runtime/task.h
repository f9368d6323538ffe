#pragma once
// A lazy coroutine. It starts when it is awaited, and the awaiting coroutine continues when it has ended.

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace dynamo::runtime {

template <class T = void>
class Task;

namespace detail {

struct PromiseBase {
  std::suspend_always initial_suspend() const noexcept { return {}; }
  auto final_suspend() const noexcept {
    struct Resume {
      bool await_ready() const noexcept { return false; }
      std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return next; }
      void await_resume() const noexcept {}
      std::coroutine_handle<> next;
    };
    return Resume{continuation};
  }
  void unhandled_exception() { failure = std::current_exception(); }
  void rethrow() const {
    if (failure) std::rethrow_exception(failure);
  }

  std::coroutine_handle<> continuation = std::noop_coroutine();
  std::exception_ptr failure;
};

template <class T>
struct Promise : PromiseBase {
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& given) {
    value.emplace(std::forward<U>(given));
  }
  T take() {
    rethrow();
    return std::move(*value);
  }
  std::optional<T> value;
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() const noexcept {}
  void take() const { rethrow(); }
};

}  // namespace detail

/// Must be awaited at most once. An exception is rethrown in the awaiting coroutine. Reference parameters
/// must outlive the task. The destructor of an unfinished task destroys the objects of its coroutine.
template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Task& operator=(Task&&) = delete;
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool await_ready() const noexcept { return false; }
  std::coroutine_handle<> await_suspend(std::coroutine_handle<> awaiting) noexcept {
    handle_.promise().continuation = awaiting;
    return handle_;
  }
  T await_resume() { return handle_.promise().take(); }

 private:
  Handle handle_;
};

template <class T>
Task<T> detail::Promise<T>::get_return_object() {
  return Task<T>{std::coroutine_handle<Promise<T>>::from_promise(*this)};
}
inline Task<void> detail::Promise<void>::get_return_object() {
  return Task<void>{std::coroutine_handle<Promise<void>>::from_promise(*this)};
}

}  // namespace dynamo::runtime
