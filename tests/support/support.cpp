#include "support.h"

#include <cstdlib>
#include <filesystem>

namespace narrow::test {

namespace fs = std::filesystem;

std::optional<std::string> shared_folder() {
  const fs::path path = fs::path(NARROW_SOURCE_DIR).parent_path() / "shared";
  if (!fs::is_directory(path / "models")) return std::nullopt;
  return path.string();
}

std::string source_folder() { return NARROW_SOURCE_DIR; }
std::string narrow_binary() { return NARROW_BINARY; }

std::uint64_t seed() {
  const char* text = std::getenv("NARROW_TEST_SEED");
  return text != nullptr ? std::strtoull(text, nullptr, 10) : 20240601ULL;
}

Tensor random_tensor(const Shape& shape, std::mt19937_64& rng, float low, float high) {
  Tensor t(DType::kF32, shape);
  std::uniform_real_distribution<float> pick(low, high);
  for (float& x : t.span<float>()) x = pick(rng);
  return t;
}

std::string temporary_folder() {
  struct Folder {
    fs::path path;
    ~Folder() {
      std::error_code code;
      fs::remove_all(path, code);
    }
  };
  static std::vector<std::unique_ptr<Folder>> folders;
  std::string name = (fs::temp_directory_path() / "narrow.XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("cannot make a temporary folder");
  folders.push_back(std::unique_ptr<Folder>(new Folder{name}));  // in place: a moved-from Folder would remove it
  return name;
}

double max_abs_difference(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape()) throw std::runtime_error("shapes differ: " + to_string(a.shape()) + " " + to_string(b.shape()));
  double worst = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) worst = std::max(worst, std::abs(static_cast<double>(a.data<float>()[i]) - static_cast<double>(b.data<float>()[i])));
  return worst;
}

}  // namespace narrow::test
