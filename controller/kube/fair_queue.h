#pragma once
// Divides a fixed number of slots fairly among tenants, such as namespaces. Pure.

#include <algorithm>
#include <cstddef>
#include <deque>
#include <limits>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace dynamo::kube {

inline constexpr std::size_t kUnlimited = std::numeric_limits<std::size_t>::max();

/// Returns whether a tenant that holds `held` slots may take one more while `free` slots are free. One tenant
/// alone gets two thirds of the slots, two get about 40 % each, and so on: some slots are always free for the
/// next.
constexpr bool mayTake(std::size_t held, std::size_t free) {
  return held / 2 < free;
}

/// Items wait in first-in, first-out order within a tenant, and tenants take turns. Not thread-safe.
template <class Item>
class FairQueue {
 public:
  /// No tenant holds more than `most` slots.
  explicit FairQueue(std::size_t slots, std::size_t most = kUnlimited) : free_(slots), most_(most) {}

  void push(std::string_view tenant, Item item) {
    const auto line = lineOf(tenant);
    if (line->second.items.empty()) turns_.push_back(line);
    line->second.items.push_back(std::move(item));
    ++waiting_;
  }

  /// Takes a slot for the next item. Returns nullopt if no item may have one now.
  std::optional<Item> take() {
    const auto next = std::find_if(turns_.begin(), turns_.end(), [&](const auto& line) {
      return mayTake(line->second.held, free_) && line->second.held < most_;
    });
    if (next == turns_.end()) return std::nullopt;
    const auto line = *next;
    turns_.erase(next);
    Item item = std::move(line->second.items.front());
    line->second.items.pop_front();
    if (!line->second.items.empty()) turns_.push_back(line);
    ++line->second.held;
    --free_;
    --waiting_;
    return item;
  }

  /// Returns a slot that an item of the tenant has taken.
  void release(std::string_view tenant) {
    const auto line = lines_.find(tenant);
    if (line == lines_.end() || line->second.held == 0) return;
    ++free_;
    --line->second.held;
    forgetIfUnused(line);
  }

  /// Removes an item that waits.
  void erase(std::string_view tenant, const Item& item) {
    const auto line = lines_.find(tenant);
    if (line != lines_.end()) waiting_ -= std::erase(line->second.items, item);
    endTurns(line);
  }

  /// Removes the oldest item of the tenant with the most items that wait. One must wait.
  void dropOldest() {
    const auto longest = *std::max_element(turns_.begin(), turns_.end(), [](const auto& a, const auto& b) {
      return a->second.items.size() < b->second.items.size();
    });
    longest->second.items.pop_front();
    --waiting_;
    endTurns(longest);
  }

  /// Returns the number of items that wait.
  std::size_t waiting() const { return waiting_; }

 private:
  struct Line {
    std::deque<Item> items;
    std::size_t held = 0;
  };
  using Lines = std::map<std::string, Line, std::less<>>;

  typename Lines::iterator lineOf(std::string_view tenant) {
    const auto known = lines_.find(tenant);
    return known != lines_.end() ? known : lines_.emplace(std::string{tenant}, Line{}).first;
  }
  void endTurns(typename Lines::iterator line) {
    if (line == lines_.end() || !line->second.items.empty()) return;
    turns_.remove(line);
    forgetIfUnused(line);
  }
  void forgetIfUnused(typename Lines::iterator line) {
    if (line->second.items.empty() && line->second.held == 0) lines_.erase(line);
  }

  std::size_t free_;
  std::size_t most_;
  std::size_t waiting_ = 0;
  Lines lines_;
  std::list<typename Lines::iterator> turns_;  ///< the tenants with items, the next one first
};

}  // namespace dynamo::kube
