// Stands in for libFuzzer in the normal build: feeds every file of the given folders to the fuzzer's entry point, then
// the same file truncated and with bytes changed, always in the same way. It must not crash; results do not matter.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

void feed(const std::string& bytes) { LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()); }

// A number of a text becomes one that tests the limits.
void replace_number(std::string& text, std::mt19937& rng) {
  constexpr const char* kExtreme[] = {"-1", "0", "1", "2", "3", "255", "256", "-32769", "65536", "2147483648", "-9223372036854775808", "9223372036854775807", "1e-30", "1e30", "nan"};
  std::vector<std::pair<std::size_t, std::size_t>> numbers;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
    if (end > i) numbers.emplace_back(i, end - i);
    i = std::max(i + 1, end);
  }
  if (numbers.empty()) return;
  const auto [at, length] = numbers[rng() % numbers.size()];
  text.replace(at, length, kExtreme[rng() % std::size(kExtreme)]);
}

}  // namespace

int main(int argc, char** argv) {
  const char* rounds = std::getenv("NARROW_FUZZ_ROUNDS");  // damaged copies of each file; more for a longer search without clang
  const int damaged_copies = rounds != nullptr ? std::atoi(rounds) : 300;
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < argc; ++i) {
    if (std::filesystem::is_directory(argv[i])) {
      for (const auto& entry : std::filesystem::directory_iterator(argv[i])) files.push_back(entry.path());
    } else {
      files.emplace_back(argv[i]);
    }
  }
  if (files.empty()) {
    std::fprintf(stderr, "no corpus\n");
    return 1;
  }
  for (const auto& file : files) {
    std::ifstream in(file, std::ios::binary);
    const std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    feed(bytes);
    std::mt19937 rng(static_cast<unsigned>(bytes.size()));
    for (int i = 0; i < damaged_copies && !bytes.empty(); ++i) {
      std::string damaged = bytes;
      if (i % 3 == 0) damaged.resize(rng() % bytes.size());
      for (int k = 0; k < i % 4 && !damaged.empty(); ++k) damaged[rng() % damaged.size()] = static_cast<char>(rng());
      if (i % 2 == 0) replace_number(damaged, rng);
      if (i % 5 == 0 && !damaged.empty()) damaged.insert(rng() % damaged.size(), damaged.substr(rng() % damaged.size(), rng() % 64));
      feed(damaged);
    }
    std::printf("%s: %zu bytes\n", file.filename().c_str(), bytes.size());
  }
  return 0;
}
