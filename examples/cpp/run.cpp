// Runs an artifact on one sample of zeros and prints the outputs: run_artifact FILE.narrow
#include <narrow/narrow.h>

#include <cstdio>

int main(int argc, char** argv) {
  std::string error;
  const auto network = narrow::api::Network::open(argc > 1 ? argv[1] : "", &error);
  if (!network) return std::fprintf(stderr, "%s\n", error.c_str()), 1;
  std::vector<std::vector<float>> inputs;  // one array per input: what the recipe's formula makes of the data
  for (const narrow::api::Port& port : network->inputs()) {
    std::size_t elements = 1;
    for (const std::int64_t extent : port.shape) elements *= static_cast<std::size_t>(extent);
    inputs.emplace_back(elements, 0.0F);
  }
  const auto outputs = network->run(inputs, &error);
  if (!outputs) return std::fprintf(stderr, "%s\n", error.c_str()), 1;
  for (std::size_t i = 0; i < outputs->size(); ++i) {
    std::printf("%s:", network->outputs()[i].name.c_str());
    for (const float value : (*outputs)[i]) std::printf(" %g", static_cast<double>(value));
    std::printf("\n");
  }
}
