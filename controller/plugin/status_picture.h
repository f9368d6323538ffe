#pragma once
// One output of `kubectl dynamo status`.

#include <string>

#include "controller/plugin/snapshot.h"
#include "controller/plugin/status_target.h"
#include "controller/view/status_text.h"

namespace dynamo::plugin {

/// One output, and whether all shown objects are ready.
struct Picture {
  std::string text;
  std::string content;  ///< the text without ages
  std::string notes;    ///< for the standard error, next to JSON
  bool found = false;
  bool ready = false;
};

class Painter {
 public:
  /// `namespaceName`: empty for all namespaces. The snapshot must outlive the object.
  Painter(const Snapshot& snapshot, StatusTarget target, std::string namespaceName, view::Style style,
          bool json)
      : snapshot_(snapshot),
        target_(std::move(target)),
        namespaceName_(std::move(namespaceName)),
        style_(style),
        json_(json) {}

  Picture draw() const;

 private:
  Picture drawTree() const;
  Picture drawList() const;
  view::TextOptions textOptions(bool ages) const;
  template <class Tree>
  Picture pictureOf(const Tree& tree) const;

  const Snapshot& snapshot_;
  StatusTarget target_;
  std::string namespaceName_;
  view::Style style_;
  bool json_ = false;
};

}  // namespace dynamo::plugin
