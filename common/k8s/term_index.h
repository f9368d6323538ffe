#pragma once
// Finds objects by terms, which are texts such as the uid of an owner. Each text is stored once.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace dynamo::k8s {

class TermIndex {
 public:
  using Term = std::uint32_t;
  using Slot = std::uint32_t;  ///< identifies an object

  /// The number of a term. It is valid until the last object with that term is removed.
  Term number(std::string_view text);
  void add(Term term, Slot slot) { postings_[term].slots.push_back(slot); }
  /// `slot` must have been added to `term`.
  void remove(Term term, Slot slot);

  /// The objects with a term, in no particular order.
  std::vector<Slot> find(std::string_view text) const;

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const { return std::hash<std::string_view>{}(text); }
  };
  struct Posting {
    const std::string* text = nullptr;
    std::vector<Slot> slots;
  };

  std::unordered_map<std::string, Term, TextHash, std::equal_to<>> terms_;
  std::vector<Posting> postings_;
  std::vector<Term> free_;
};

}  // namespace dynamo::k8s
