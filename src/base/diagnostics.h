// A sink for findings that do not stop the work: warnings and notes, in the order they arose. Errors that can be
// collected (all unsupported nodes, all bad lines of a config) are gathered by their finder into one Error instead.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"

namespace narrow {

enum class Severity { kNote, kWarning };

struct Diagnostic {
  Severity severity = Severity::kNote;
  std::string message;
  std::string help;
  SourceSpan where;
  bool operator==(const Diagnostic&) const = default;
  std::string to_string() const;  // same form as Error::to_string, with "warning:" or "note:"
};

// What is found again (a file that two phases cannot read) is kept once.
class Diagnostics {
 public:
  void warn(std::string message, std::string help = {}, SourceSpan where = {});
  void note(std::string message, std::string help = {}, SourceSpan where = {});
  const std::vector<Diagnostic>& all() const { return all_; }

 private:
  void add(Diagnostic diagnostic);
  std::vector<Diagnostic> all_;
};

}  // namespace narrow
