#include "common/field/path.h"

#include <cstdint>
#include <cstring>

namespace dynamo::field {
namespace {

// A segment is encoded as its kind, the length of its name or its index, and the name.
using Number = std::uint32_t;
constexpr std::size_t kHead = 1 + sizeof(Number);

std::size_t encodedSize(const Segment& segment) {
  return kHead + (segment.isIndex() ? 0 : segment.name.size());
}

void encode(const Segment& segment, std::string& out) {
  const auto number = static_cast<Number>(segment.isIndex() ? segment.index : segment.name.size());
  char head[kHead] = {static_cast<char>(segment.kind)};
  std::memcpy(head + 1, &number, sizeof number);
  out.append(head, kHead);
  if (!segment.isIndex()) out.append(segment.name);
}

Segment decode(std::string_view encoded) {
  Number number = 0;
  std::memcpy(&number, encoded.data() + 1, sizeof number);
  const auto kind = static_cast<Segment::Kind>(encoded.front());
  if (kind == Segment::Kind::Index) return {kind, {}, number};
  return {kind, encoded.substr(kHead, number)};
}

}  // namespace

std::strong_ordering Segment::operator<=>(const Segment& other) const {
  if (isIndex() != other.isIndex()) return isIndex() <=> other.isIndex();
  return isIndex() ? index <=> other.index : name <=> other.name;
}

Segment PathView::front() const {
  return decode(encoded_);
}

PathView PathView::rest() const {
  return PathView{encoded_.substr(encodedSize(front()))};
}

Segment PathView::back() const {
  PathView last = *this;
  for (PathView left = rest(); !left.empty(); left = left.rest()) last = left;
  return last.front();
}

bool PathView::isWithin(PathView ancestor) const {
  PathView left = *this;
  for (const Segment segment : ancestor) {
    if (left.empty() || left.front() != segment) return false;
    left = left.rest();
  }
  return true;
}

PathView PathView::below(PathView ancestor) const {
  PathView left = *this;
  for (; !ancestor.empty(); ancestor = ancestor.rest()) left = left.rest();
  return left;
}

std::strong_ordering PathView::operator<=>(PathView other) const {
  PathView left = *this;
  for (; !left.empty() && !other.empty(); left = left.rest(), other = other.rest()) {
    if (const auto order = left.front() <=> other.front(); std::is_neq(order)) return order;
  }
  return other.empty() <=> left.empty();
}

std::string PathView::text(Keys keys) const {
  std::string out;
  out.reserve(encoded_.size());
  for (const Segment segment : *this) {
    if (segment.isIndex()) {
      out.append("[").append(std::to_string(segment.index)).append("]");
    } else if (segment.kind == Segment::Kind::Key && keys == Keys::Bracketed) {
      out.append("[").append(segment.name).append("]");
    } else {
      if (!out.empty()) out += '.';
      out += segment.name;
    }
  }
  return out;
}

Path& Path::append(const Segment& segment) {
  encode(segment, encoded_);
  return *this;
}

Path& Path::append(Members names) {
  std::string_view left = names.text();
  if (names.written()) {
    for (std::size_t dot = left.find('.'); dot != std::string_view::npos; dot = left.find('.')) {
      append({Segment::Kind::Member, left.substr(0, dot)});
      left.remove_prefix(dot + 1);
    }
  }
  return append({Segment::Kind::Member, left});
}

Path& Path::append(PathView segments) {
  encoded_.append(segments.encoded_);
  return *this;
}

Path& Path::rebase(PathView was, PathView now) {
  encoded_.replace(0, was.encoded_.size(), now.encoded_);
  return *this;
}

void At::appendTo(Path& path) const {
  if (parent_ != nullptr) parent_->appendTo(path);
  if (base_ != nullptr) path.append(base_->view());
  switch (kind_) {
    case Kind::None:
      break;
    case Kind::Members:
      path.append(members_);
      break;
    case Kind::Key:
      path.appendKey(members_.text());
      break;
    case Kind::Index:
      path.appendIndex(index_);
      break;
  }
}

Path At::path(Keys keys) const {
  Path path;
  path.printKeys(keys);
  appendTo(path);
  return path;
}

const json::Value* valueAt(const json::Value& value, const Segment& segment) {
  if (!segment.isIndex()) return value.IsObject() ? json::findRaw(value, segment.name) : nullptr;
  if (!value.IsArray() || segment.index >= value.Size()) return nullptr;
  return &value[static_cast<rapidjson::SizeType>(segment.index)];
}

const json::Value* valueAt(const json::Value& object, PathView path) {
  const json::Value* at = &object;
  for (const Segment segment : path) {
    if (at == nullptr) break;
    at = valueAt(*at, segment);
  }
  return at;
}

}  // namespace dynamo::field
