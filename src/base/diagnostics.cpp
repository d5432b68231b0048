#include "base/diagnostics.h"

#include <algorithm>

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
  add({Severity::kWarning, std::move(message), std::move(help), std::move(where)});
}

void Diagnostics::note(std::string message, std::string help, SourceSpan where) {
  add({Severity::kNote, std::move(message), std::move(help), std::move(where)});
}

void Diagnostics::add(Diagnostic diagnostic) {
  if (std::find(all_.begin(), all_.end(), diagnostic) == all_.end()) all_.push_back(std::move(diagnostic));
}

}  // namespace narrow
