// Writes the job files of all examples into a folder.
#include <fstream>
#include <iostream>

#include "models.h"

int main(int argc, char** argv) {
  using namespace plimsoll::examples;
  const bool small = argc == 3 && std::string(argv[2]) == "small";
  if (argc != 2 && !small) {
    std::cerr << "usage: write_jobs FOLDER [small]\n";
    return 2;
  }
  for (const Example& example :
       small ? small_networks() : published_networks()) {
    const std::string path =
        std::string(argv[1]) + "/" + example.name + ".toml";
    std::ofstream file(path);
    file << job_text(example);
    if (file.flush()) continue;
    std::cerr << path << ": cannot be written\n";
    return 1;
  }
}
