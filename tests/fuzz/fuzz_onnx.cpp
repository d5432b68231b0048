// ONNX import, from the bytes of a model to the internal form. The bytes stand in an anonymous file, because the reader
// takes a path (models may refer to files beside them).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "graph/text.h"
#include "model/import.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace narrow;
  const int file = ::memfd_create("fuzz.onnx", MFD_CLOEXEC);
  NARROW_CHECK(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  Diagnostics diagnostics;
  const auto graph = import_onnx(fmt::format("/proc/self/fd/{}", file), {}, diagnostics);
  ::close(file);
  if (!graph) {
    NARROW_CHECK(!graph.error().to_string().empty() && graph.error().exit_code != ExitCode::kInternal, "{}", graph.error().to_string());
    return 0;
  }
  const auto again = parse_graph(print_graph(*graph));
  NARROW_CHECK(again.has_value() && again->hash() == graph->hash());
  return 0;
}
