// Writes the job files of all examples into a folder.
#include <fstream>
#include <iostream>

#include "models.h"

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  if (argc != 2) {
    std::cerr << "usage: write_jobs FOLDER\n";
    return 2;
  }
  const Example all[] = {
      conv28(), resnet50(),  mobilenet_v2(),    vgg16(),    unet(),
      gpt2(),   bert_base(), lstm_forecaster(), two_tower()};
  for (const Example& example : all) {
    const std::string path =
        std::string(argv[1]) + "/" + example.name + ".toml";
    std::ofstream file(path);
    file << job_text(example);
    if (file.flush()) continue;
    std::cerr << path << ": cannot be written\n";
    return 1;
  }
}
