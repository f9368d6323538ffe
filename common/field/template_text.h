#pragma once
// Texts that tools such as Helm, envsubst or people should have replaced.

#include <string>
#include <string_view>

namespace dynamo::field {

/// Whether `text` contains an expression of a template: {{ .Values.x }}, {% if x %} or ${NAME}.
bool isTemplate(std::string_view text);
/// Whether `text` contains an expression that only Helm reads, such as {{ .Values.x }}.
bool isHelmTemplate(std::string_view text);
/// Whether `text` has a part such as <your-namespace>.
bool isPlaceholder(std::string_view text);

/// "is a template that was not rendered" or "is a placeholder …"; empty for other texts.
std::string notReplaced(std::string_view text);

}  // namespace dynamo::field
