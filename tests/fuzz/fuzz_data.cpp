// Samples: arrays and pictures. The bytes go to every reader; zip archives stand in an anonymous file, because that reader
// takes a path.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <span>

#include "data/image.h"
#include "data/npz.h"
#include "tensor/npy.h"

namespace {

using namespace narrow;

// Every element can be read.
void touch(const Tensor& tensor) { (void)tensor.hash(); }

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  if (const auto array = parse_npy(bytes, "fuzz.npy", nullptr)) touch(*array);
  const int file = ::memfd_create("fuzz.npz", MFD_CLOEXEC);
  NARROW_CHECK(file >= 0 && ::write(file, data, size) == static_cast<ssize_t>(size));
  if (const auto archive = NpzFile::open(fmt::format("/proc/self/fd/{}", file))) {
    for (std::size_t i = 0; i < archive->size(); ++i) {
      (void)archive->type(i);
      const auto whole = archive->read(i);
      const auto array = archive->array(i);  // the same from the file or a temporary one
      NARROW_CHECK(whole.has_value() == array.has_value());
      if (!whole) continue;
      const auto rows = array->row_major();
      NARROW_CHECK(rows && rows->part(0, whole->elements()).reshaped(whole->shape()).hash() == whole->hash());
      rows->release(0, whole->elements());
    }
  }
  ::close(file);
  for (const auto& image : {decode_jpeg(bytes), decode_png_or_bmp(bytes, Checksums::kIgnore)}) {
    if (image) NARROW_CHECK(image->pixels.size() == static_cast<std::size_t>(image->width) * static_cast<std::size_t>(image->height) * 3);
  }
  return 0;
}
