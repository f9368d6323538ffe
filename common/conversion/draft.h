#pragma once
// The object that a conversion creates. It consists mostly of values of the source object. A draft refers to
// them instead of copying them (copy on write).
//
// Rules for all views and drafts in this folder:
// - Views are read-only.
// - A view refers to values of a document or of a draft. These must neither move nor change while the view is
//   used, so a draft must be complete before a view of it is added to another draft.
// - The objects and lists of a draft live in the allocator until it is cleared, even after the draft is gone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/json/text_writer.h"
#include "common/json/value.h"

namespace dynamo::conversion {

struct DraftNode;
struct NamedView;

/// A read-only view of a JSON value. An empty view has no type, members, items or text.
class View {
 public:
  View() = default;
  View(const json::Value* value) : value_(value) {}
  explicit View(const DraftNode* node) : node_(node) {}

  /// Whether the view is not empty. Null is a value.
  explicit operator bool() const { return value_ != nullptr || node_ != nullptr; }
  bool isNull() const { return value_ != nullptr && value_->IsNull(); }
  bool isObject() const;
  bool isList() const;
  bool isString() const { return value_ != nullptr && value_->IsString(); }
  bool isEmptyText() const { return isString() && value_->GetStringLength() == 0; }
  std::string_view text() const { return json::text(value_); }
  std::optional<bool> boolean() const;
  /// The value of a document; nullptr if the view is empty or refers to an object or list of a draft.
  const json::Value* value() const { return value_; }

  /// Number of members or items.
  std::uint32_t size() const;
  NamedView member(std::uint32_t index) const;
  View item(std::uint32_t index) const;

  /// The member `name` of an object, which may be null.
  View findRaw(std::string_view name) const {
    return value_ != nullptr ? View{json::findRaw(*value_, name)} : findInNode(name);
  }
  /// The member `name`; null counts as absent.
  View find(std::string_view name) const {
    const View found = findRaw(name);
    return found.isNull() ? View{} : found;
  }
  View findObject(std::string_view name) const {
    const View found = findRaw(name);
    return found.isObject() ? found : View{};
  }
  std::string_view findText(std::string_view name) const { return findRaw(name).text(); }

  /// Whether both views refer to the same value, or both are empty.
  bool isSame(View other) const { return value_ == other.value_ && node_ == other.node_; }

 private:
  View findInNode(std::string_view name) const;

  const json::Value* value_ = nullptr;
  const DraftNode* node_ = nullptr;
};

struct NamedView {
  std::string_view name;
  View view;
};

/// json::equal() of the values. An empty view equals only an empty view.
bool equal(View a, View b);

/// The view must not be empty.
void write(View view, json::TextWriter& writer);
std::string dump(View view);

/// Copies the value. The copy shares only the text of long strings (json::share).
json::Value toValue(View view, json::Allocator& allocator);

/// Moves `value` into `allocator` and returns a view of it.
View keep(json::Value&& value, json::Allocator& allocator);

/// A JSON value under construction: either a view, or an object or list that this draft owns exclusively.
class Draft {
 public:
  Draft() = default;
  Draft(View view) : shared_(view) {}
  Draft(Draft&& other) noexcept
      : shared_(std::exchange(other.shared_, {})), own_(std::exchange(other.own_, nullptr)) {}
  Draft& operator=(Draft&& other) noexcept {
    shared_ = std::exchange(other.shared_, {});
    own_ = std::exchange(other.own_, nullptr);
    return *this;
  }
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft() = default;

  /// An owned {} or [] with capacity for `expected` members or items.
  static Draft object(json::Allocator& allocator, std::uint32_t expected = kExpectedMembers);
  static Draft list(json::Allocator& allocator, std::uint32_t expected = kExpectedMembers);

  View view() const { return own_ != nullptr ? View{own_} : shared_; }

  /// Turns a view of an object or list into an owned one. Its members or items are views.
  void own(json::Allocator& allocator);

  // The next functions require an owned object. Names are not copied, so they must live as long as views.

  /// Adds a member that does not exist yet.
  void add(std::string_view name, Draft&& value, json::Allocator& allocator);
  /// Replaces a member, or appends it if absent.
  void set(std::string_view name, Draft&& value, json::Allocator& allocator);
  /// Removes a member if present. The other members keep their order.
  void remove(std::string_view name);
  /// The member `name`, which may be null; nullptr if absent.
  Draft* findRaw(std::string_view name);
  /// The member `name` as an owned object; replaced by {} if it is absent or not an object.
  Draft& ensureObject(std::string_view name, json::Allocator& allocator);

  // The next functions require an owned list.

  void push(Draft&& value, json::Allocator& allocator);
  Draft& item(std::uint32_t index);
  void erase(std::uint32_t index);

 private:
  static constexpr std::uint32_t kExpectedMembers = 8;

  static DraftNode* make(bool list, std::uint32_t expected, json::Allocator& allocator);
  DraftNode& node();

  View shared_;               ///< the value if the draft is a view
  DraftNode* own_ = nullptr;  ///< the owned object or list
};

}  // namespace dynamo::conversion
