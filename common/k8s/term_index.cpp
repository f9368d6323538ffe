#include "common/k8s/term_index.h"

#include <algorithm>

namespace dynamo::k8s {

TermIndex::Term TermIndex::number(std::string_view text) {
  const auto found = terms_.find(text);
  if (found != terms_.end()) return found->second;
  Term term = static_cast<Term>(postings_.size());
  if (free_.empty()) {
    postings_.emplace_back();
  } else {
    term = free_.back();
    free_.pop_back();
  }
  postings_[term].text = &terms_.emplace(text, term).first->first;
  return term;
}

void TermIndex::remove(Term term, Slot slot) {
  std::vector<Slot>& slots = postings_[term].slots;
  const auto found = std::find(slots.begin(), slots.end(), slot);
  *found = slots.back();
  slots.pop_back();
  if (!slots.empty()) return;
  terms_.erase(*postings_[term].text);
  postings_[term] = {};
  free_.push_back(term);
}

std::vector<TermIndex::Slot> TermIndex::find(std::string_view text) const {
  const auto found = terms_.find(text);
  return found == terms_.end() ? std::vector<Slot>{} : postings_[found->second].slots;
}

}  // namespace dynamo::k8s
