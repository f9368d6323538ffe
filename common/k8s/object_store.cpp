#include "common/k8s/object_store.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "common/json/parse.h"
#include "common/k8s/packed_text.h"

namespace dynamo::k8s {
namespace {

using json::Value;

constexpr ObjectStore::Slot kNone = std::numeric_limits<ObjectStore::Slot>::max();
constexpr std::size_t kFirstTable = 64;

std::uint32_t hashOf(std::uint16_t kind, std::string_view space, std::string_view name) {
  const std::hash<std::string_view> hash;
  // The constants keep a name and a namespace that are equal from cancelling each other out.
  const std::uint64_t mixed =
      (hash(name) * 0x9e3779b97f4a7c15U) ^ (hash(space) * 0xc2b2ae3d27d4eb4fU) ^ (kind * 0x165667b19e3779f9U);
  return static_cast<std::uint32_t>(mixed >> 32U);
}

std::string ownerTerm(std::string_view uid) {
  return std::string{uid};
}

/// No uid holds a NUL, so no term of an owner is one of a label.
std::string labelTerm(std::string_view space, std::string_view key, std::string_view value) {
  std::string term;
  term.reserve(space.size() + key.size() + value.size() + 2);
  return term.append(space).append(1, '\0').append(key).append(1, '\0').append(value);
}

}  // namespace

ObjectStore::ObjectStore(const std::vector<StoredKind>& kinds) : table_(kFirstTable, kNone) {
  for (const StoredKind& kind : kinds) {
    kinds_.push_back({kind.apiVersion, kind.kind, Trimmer{kind.kept}, kind.labels});
  }
}

std::optional<std::uint16_t> ObjectStore::kindOf(std::string_view apiVersion, std::string_view kind) const {
  for (std::size_t i = 0; i < kinds_.size(); ++i) {
    if (kinds_[i].kind == kind && kinds_[i].apiVersion == apiVersion) return static_cast<std::uint16_t>(i);
  }
  return std::nullopt;
}

std::string_view ObjectStore::nameOf(const Entry& entry) const {
  return {entry.block.get() + entry.terms * sizeof(Term) + entry.nameAt, entry.nameSize};
}

std::optional<std::size_t> ObjectStore::placeOf(std::uint16_t kind, std::string_view space,
                                                std::string_view name, std::uint32_t hash) const {
  const std::size_t mask = table_.size() - 1;
  for (std::size_t at = hash & mask; table_[at] != kNone; at = (at + 1) & mask) {
    const Entry& entry = entries_[table_[at]];
    if (entry.hash == hash && entry.kind == kind && nameOf(entry) == name &&
        *spaceNames_[entry.space] == space) {
      return at;
    }
  }
  return std::nullopt;
}

void ObjectStore::place(Slot slot) {
  const std::size_t mask = table_.size() - 1;
  std::size_t at = entries_[slot].hash & mask;
  while (table_[at] != kNone) at = (at + 1) & mask;
  table_[at] = slot;
}

void ObjectStore::unplace(std::size_t at) {
  // What stands behind a gap moves up, as far as it was pushed there: nothing is left that only says
  // "deleted".
  const std::size_t mask = table_.size() - 1;
  std::size_t gap = at;
  for (std::size_t next = (at + 1) & mask; table_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t home = entries_[table_[next]].hash & mask;
    if (((next - home) & mask) < ((next - gap) & mask)) continue;
    table_[gap] = table_[next];
    gap = next;
  }
  table_[gap] = kNone;
}

void ObjectStore::grow() {
  if (size_ * 10 < table_.size() * 7) return;
  table_.assign(table_.size() * 2, kNone);
  for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].block != nullptr) place(static_cast<Slot>(slot));
  }
}

ObjectStore::Term ObjectStore::termFor(const std::string& text) {
  const auto [known, added] = terms_.try_emplace(text, 0);
  if (!added) return known->second;
  if (freeTerms_.empty()) {
    known->second = static_cast<Term>(postings_.size());
    postings_.emplace_back();
  } else {
    known->second = freeTerms_.back();
    freeTerms_.pop_back();
  }
  postings_[known->second].text = &known->first;
  return known->second;
}

std::vector<ObjectStore::Term> ObjectStore::termsOf(const Value& object, const Kind& kind) {
  std::vector<Term> terms;
  const auto add = [&](const std::string& text) {
    const Term term = termFor(text);
    if (std::find(terms.begin(), terms.end(), term) == terms.end()) terms.push_back(term);
  };
  const Value* metadata = json::findObject(&object, "metadata");
  const Value* owners = json::find(metadata, "ownerReferences");
  if (owners != nullptr && owners->IsArray()) {
    for (const Value& owner : owners->GetArray()) {
      if (const std::string_view uid = json::findText(&owner, "uid"); !uid.empty()) add(ownerTerm(uid));
    }
  }
  const Value* labels = json::findObject(metadata, "labels");
  for (const std::string& key : kind.labels) {
    const Value* value = json::find(labels, key);
    if (value != nullptr) add(labelTerm(json::findText(metadata, "namespace"), key, json::text(*value)));
  }
  return terms;
}

ObjectStore::Term ObjectStore::termAt(const Entry& entry, std::size_t index) const {
  Term term = 0;
  std::memcpy(&term, entry.block.get() + index * sizeof(Term), sizeof(Term));
  return term;
}

void ObjectStore::unlist(Slot slot) {
  const Entry& entry = entries_[slot];
  for (std::size_t i = 0; i < entry.terms; ++i) {
    const Term term = termAt(entry, i);
    std::vector<Slot>& slots = postings_[term].slots;
    const auto found = std::find(slots.begin(), slots.end(), slot);
    *found = slots.back();
    slots.pop_back();
    if (!slots.empty()) continue;
    terms_.erase(*postings_[term].text);
    postings_[term] = {};
    freeTerms_.push_back(term);
  }
}

void ObjectStore::fill(Slot slot, const std::string& text, const std::vector<Term>& terms,
                       std::string_view name) {
  Entry& entry = entries_[slot];
  const std::size_t head = terms.size() * sizeof(Term);
  // A name that JSON escapes stands in the text in another form: it follows the text.
  const std::size_t at = text.find(name);
  const bool apart = at == std::string::npos;
  entry.block = std::make_unique_for_overwrite<char[]>(head + text.size() + (apart ? name.size() : 0));
  if (head != 0) std::memcpy(entry.block.get(), terms.data(), head);
  text.copy(entry.block.get() + head, text.size());
  if (apart) name.copy(entry.block.get() + head + text.size(), name.size());
  entry.textSize = static_cast<std::uint32_t>(text.size());
  entry.nameAt = static_cast<std::uint32_t>(apart ? text.size() : at);
  entry.nameSize = static_cast<std::uint16_t>(name.size());
  entry.terms = static_cast<std::uint16_t>(terms.size());
  textBytes_ += text.size();
  for (const Term term : terms) postings_[term].slots.push_back(slot);
}

ObjectStore::Change ObjectStore::put(const Value& object) {
  const auto kind = kindOf(json::findText(&object, "apiVersion"), json::findText(&object, "kind"));
  if (!kind) return Change::UnknownKind;
  const Value* metadata = json::findObject(&object, "metadata");
  const std::string_view name = json::findText(metadata, "name");
  const std::string_view space = json::findText(metadata, "namespace");
  const std::string text = pack(kinds_[*kind].trimmer.text(object));
  const std::uint32_t hash = hashOf(*kind, space, name);
  const std::optional<std::size_t> known = placeOf(*kind, space, name, hash);
  if (known) {
    const Slot slot = table_[*known];
    if (packedOf(entries_[slot]) == text) return Change::Same;
    unlist(slot);  // frees terms that nobody has any more: before those of the new object are looked up
    textBytes_ -= entries_[slot].textSize;
    fill(slot, text, termsOf(object, kinds_[*kind]), name);
    return Change::Changed;
  }
  Slot slot = static_cast<Slot>(entries_.size());
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    slot = free_.back();
    free_.pop_back();
  }
  Entry& entry = entries_[slot];
  const auto [interned, added] = spaces_.try_emplace(std::string{space}, spaceNames_.size());
  if (added) spaceNames_.push_back(&interned->first);
  entry.space = interned->second;
  entry.kind = *kind;
  entry.hash = hash;
  fill(slot, text, termsOf(object, kinds_[*kind]), name);
  ++size_;
  place(slot);
  grow();
  return Change::Added;
}

bool ObjectStore::remove(const ObjectKey& key) {
  const std::optional<Slot> slot = find(key);
  if (!slot) return false;
  Entry& entry = entries_[*slot];
  unplace(*placeOf(entry.kind, key.namespaceName, key.name, entry.hash));
  unlist(*slot);
  textBytes_ -= entry.textSize;
  entry = {};
  free_.push_back(*slot);
  --size_;
  return true;
}

std::optional<ObjectStore::Slot> ObjectStore::find(const ObjectKey& key) const {
  const std::string apiVersion = key.group.empty() ? key.version : key.group + '/' + key.version;
  const auto kind = kindOf(apiVersion, key.kind);
  if (!kind) return std::nullopt;
  const auto at = placeOf(*kind, key.namespaceName, key.name, hashOf(*kind, key.namespaceName, key.name));
  return at ? std::optional{table_[*at]} : std::nullopt;
}

std::vector<ObjectStore::Slot> ObjectStore::sorted(const std::string& term) const {
  const auto found = terms_.find(term);
  if (found == terms_.end()) return {};
  std::vector<Slot> slots = postings_[found->second].slots;
  std::sort(slots.begin(), slots.end(), [&](Slot a, Slot b) {
    const Entry& x = entries_[a];
    const Entry& y = entries_[b];
    if (x.kind != y.kind) return x.kind < y.kind;
    if (x.space != y.space) return *spaceNames_[x.space] < *spaceNames_[y.space];
    return nameOf(x) < nameOf(y);
  });
  return slots;
}

std::vector<ObjectStore::Slot> ObjectStore::ownedBy(std::string_view uid) const {
  return sorted(ownerTerm(uid));
}

std::vector<ObjectStore::Slot> ObjectStore::labelled(std::string_view namespaceName, std::string_view key,
                                                     std::string_view value) const {
  return sorted(labelTerm(namespaceName, key, value));
}

std::vector<ObjectStore::Slot> ObjectStore::ofKind(std::string_view apiVersion, std::string_view kind) const {
  std::vector<Slot> slots;
  const auto wanted = kindOf(apiVersion, kind);
  if (!wanted) return slots;
  for (std::size_t slot = 0; slot < entries_.size(); ++slot) {
    if (entries_[slot].block != nullptr && entries_[slot].kind == *wanted)
      slots.push_back(static_cast<Slot>(slot));
  }
  return slots;
}

ObjectKey ObjectStore::key(Slot slot) const {
  const Entry& entry = entries_[slot];
  const Kind& kind = kinds_[entry.kind];
  const std::size_t slash = kind.apiVersion.find('/');
  ObjectKey key;
  if (slash != std::string::npos) key.group = kind.apiVersion.substr(0, slash);
  key.version = slash == std::string::npos ? kind.apiVersion : kind.apiVersion.substr(slash + 1);
  key.kind = kind.kind;
  key.namespaceName = *spaceNames_[entry.space];
  key.name = nameOf(entry);
  return key;
}

std::string_view ObjectStore::packedOf(const Entry& entry) {
  return {entry.block.get() + entry.terms * sizeof(Term), entry.textSize};
}

std::string ObjectStore::text(Slot slot) const {
  return unpack(packedOf(entries_[slot]));
}

json::Document ObjectStore::object(Slot slot) const {
  json::Document document;
  json::parse(text(slot), document);
  if (!document.IsObject()) document.SetObject();
  auto& allocator = document.GetAllocator();
  const Kind& kind = kinds_[entries_[slot].kind];
  document.AddMember("apiVersion", json::string(kind.apiVersion, allocator), allocator);
  document.AddMember("kind", json::string(kind.kind, allocator), allocator);
  return document;
}

}  // namespace dynamo::k8s
