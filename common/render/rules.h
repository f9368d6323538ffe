#pragma once
#include <span>

#include "common/field/rule.h"

namespace dynamo::render {

/// The rules of rendering errors (`render::Errors`). The rules of the API server for pods are in rules/pod.
std::span<const field::Rule> rules();

}  // namespace dynamo::render
