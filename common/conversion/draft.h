#pragma once
// The object that a conversion makes. Most of it is the source's: a draft refers to those values instead of
// copying them, and writes only to what it has made itself.
//
// What holds for every view and draft in this folder:
// - Nothing can be written through a view.
// - A view refers to values of a document or to a draft. Both must stay in place and unchanged while it is
//   used; so a draft is complete before views of it are put into another one.
// - What a draft makes lives in the allocator, until that is cleared, even when the draft itself is gone.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "common/json/text_writer.h"
#include "common/json/value.h"

namespace dynamo::conversion {

struct Made;
struct NamedView;

/// A JSON value to read. An empty view shows none: it has no type, members, items or text.
class View {
 public:
  View() = default;
  View(const json::Value* value) : value_(value) {}
  explicit View(const Made* made) : made_(made) {}

  /// Whether the view shows a value. Null is a value.
  explicit operator bool() const { return value_ != nullptr || made_ != nullptr; }
  bool isNull() const { return value_ != nullptr && value_->IsNull(); }
  bool isObject() const;
  bool isList() const;
  bool isString() const { return value_ != nullptr && value_->IsString(); }
  bool isEmptyText() const { return isString() && value_->GetStringLength() == 0; }
  std::string_view text() const { return json::text(value_); }
  std::optional<bool> boolean() const;
  /// The value of a document; nullptr when the view is empty or of an object or list that a draft has made.
  const json::Value* value() const { return value_; }

  /// How many members or items there are.
  std::uint32_t size() const;
  NamedView member(std::uint32_t index) const;
  View item(std::uint32_t index) const;

  /// The member `name` of an object as it stands, null included.
  View findRaw(std::string_view name) const {
    return value_ != nullptr ? View{json::findRaw(*value_, name)} : findMade(name);
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

  /// Whether both views are of the same place, or both empty.
  bool isSame(View other) const { return value_ == other.value_ && made_ == other.made_; }

 private:
  View findMade(std::string_view name) const;

  const json::Value* value_ = nullptr;
  const Made* made_ = nullptr;
};

struct NamedView {
  std::string_view name;
  View view;
};

/// json::equal() of what the views show. An empty view equals only an empty one.
bool equal(View a, View b);

/// The view must not be empty.
void write(View view, json::TextWriter& writer);
std::string dump(View view);

/// A value with a structure of its own. It shares only the text of long strings (json::share).
json::Value toValue(View view, json::Allocator& allocator);

/// Gives `value` a place in `allocator`.
View keep(json::Value&& value, json::Allocator& allocator);

/// A JSON value in the making: a view, or an object or list of its own. No two drafts own the same one.
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

  /// {} and [], with room for `expected` members or items.
  static Draft object(json::Allocator& allocator, std::uint32_t expected = kUsualMembers);
  static Draft list(json::Allocator& allocator, std::uint32_t expected = kUsualMembers);

  View view() const { return own_ != nullptr ? View{own_} : shared_; }

  /// An object or list that was a view becomes one of its own with the same members or items, which are
  /// views.
  void own(json::Allocator& allocator);

  // Of an object of its own. Names are not copied: they live as long as views do.

  /// Adds a member that is not there yet.
  void add(std::string_view name, Draft&& value, json::Allocator& allocator);
  /// Sets a member, at the end when it is not there.
  void set(std::string_view name, Draft&& value, json::Allocator& allocator);
  /// Removes a member, if it is there; the others keep their order.
  void remove(std::string_view name);
  /// The member `name`, null included; nullptr when absent.
  Draft* findRaw(std::string_view name);
  /// The member `name`, to be changed: {} when it is absent or no object.
  Draft& ensureObject(std::string_view name, json::Allocator& allocator);

  // Of a list of its own.

  void push(Draft&& value, json::Allocator& allocator);
  Draft& item(std::uint32_t index);
  void erase(std::uint32_t index);

 private:
  static constexpr std::uint32_t kUsualMembers = 8;

  static Made* make(bool list, std::uint32_t expected, json::Allocator& allocator);
  Made& made();

  View shared_;          ///< what the draft shows while it has nothing of its own
  Made* own_ = nullptr;  ///< no other draft can change it
};

}  // namespace dynamo::conversion
