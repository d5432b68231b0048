#include "base/diagnostics.h"

namespace narrow {

std::string Diagnostic::to_string() const {
  Error form;
  form.message = message;
  form.help = help;
  form.where = where;
  const std::string text = form.to_string();
  return (severity == Severity::kWarning ? "warning" : "note") + text.substr(std::string("error").size());
}

void Diagnostics::warn(std::string message, std::string help, SourceSpan where) {
  all_.push_back({Severity::kWarning, std::move(message), std::move(help), std::move(where)});
}

void Diagnostics::note(std::string message, std::string help, SourceSpan where) {
  all_.push_back({Severity::kNote, std::move(message), std::move(help), std::move(where)});
}

}  // namespace narrow
