// eager_loops NAME COUNT HOST_MEMORY [SIZE]: runs a loop and says, at each
// tenth of it, what the ledger and malloc hold. Then it waits for a line, so
// that whoever started it can look at the process meanwhile.
#include <fmt/core.h>
#include <malloc.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>

#include "loops.h"

namespace plimsoll::loops {
namespace {

const Loop kLoops[] = {
    {"ops", start_ops},
    {"sizes", start_sizes},
    {"products", start_products},
    {"tapes", start_tapes},
    {"functions", start_functions, true},
    {"fit", start_fit, true},
    {"models", start_models, true},
};

void report(const Loop& loop, const Session& session, std::int64_t done) {
  const std::int64_t held = all_bytes(session);
  const std::int64_t live = live_bytes(session);
  if (loop.plans) malloc_trim(0);
  const auto heap = mallinfo2();
  fmt::print("at {} held {} live {} malloc {}\n", done, held, live,
             heap.uordblks + heap.hblkhd);
  std::fflush(stdout);
  std::string line;
  std::getline(std::cin, line);
}

void run(const Loop& loop, std::int64_t count, const std::string& host,
         std::int64_t size) {
  Session session({.host = host, .threads = 2});
  const Body body = loop.start(session, size);
  report(loop, session, 0);
  for (std::int64_t tenth = 1; tenth <= 10; ++tenth) {
    const std::int64_t end = count * tenth / 10;
    for (std::int64_t i = count * (tenth - 1) / 10; i < end; ++i) body(i);
    report(loop, session, end);
  }
}

int main_of(int argc, char** argv) {
  const std::string name = argc > 1 ? argv[1] : "";
  for (const Loop& loop : kLoops) {
    if (argc < 4 || name != loop.name) continue;
    run(loop, std::atoll(argv[2]), argv[3], argc > 4 ? std::atoll(argv[4]) : 0);
    return 0;
  }
  fmt::print(stderr, "eager_loops NAME COUNT HOST_MEMORY [SIZE]; names:");
  for (const Loop& loop : kLoops) fmt::print(stderr, " {}", loop.name);
  fmt::print(stderr, "\n");
  return 2;
}

}  // namespace
}  // namespace plimsoll::loops

int main(int argc, char** argv) {
  try {
    return plimsoll::loops::main_of(argc, argv);
  } catch (const std::exception& failed) {
    fmt::print(stderr, "{}\n", failed.what());
    return 1;
  }
}
