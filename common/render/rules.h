#pragma once
#include <span>

#include "common/field/rule.h"

namespace dynamo::render {

/// What rendering refuses (`render::Errors`); the API server's own rules of pods are podrules' business.
std::span<const field::Rule> rules();

}  // namespace dynamo::render
