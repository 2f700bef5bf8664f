// A hundred matrix products in a row, each with a fresh matrix. Where every
// intermediate stays in a list, memory grows with each of them; where the
// handle is reassigned, two are alive at a time.
#include <cmath>

#include "compare.h"
#include "plimsoll/plimsoll.h"

namespace {

namespace pl = plimsoll;

constexpr int kProducts = 100;

struct Sizes {
  std::int64_t rows, columns;
  std::int64_t result_bytes() const { return rows * columns * 4; }
  std::int64_t matrix_bytes() const { return columns * columns * 4; }
};

Sizes sizes(const example::Setting& setting) {
  return setting.small ? Sizes{4'000, 250} : Sizes{100'000, 1'000};
}

pl::Tensor fresh_matrix(std::int64_t columns, int product) {
  const double deviation = 1 / std::sqrt(static_cast<double>(columns));
  return pl::random_normal({columns, columns}, product, 0, deviation);
}

// The process, and values that are alive at a time: of those the session holds
// at most a tenth more than there ever were.
std::int64_t forecast(const pl::Session& session, std::int64_t alive_bytes) {
  return session.host_held_bytes() + alive_bytes + alive_bytes / 10;
}

example::Outcome keep_all(const example::Setting& setting) {
  const auto [rows, columns] = sizes(setting);
  const pl::Session session;
  std::vector<pl::Tensor> all = {pl::ones({1})};
  const std::int64_t expected =
      forecast(session, (kProducts + 1) * sizes(setting).result_bytes() +
                            sizes(setting).matrix_bytes());
  // 40 GB are nobody's to take.
  if (!setting.small) return {.forecast_bytes = expected, .ran = false};
  all.push_back(pl::ones({rows, columns}));
  for (int i = 0; i < kProducts; ++i) {
    all.push_back(pl::matmul(all.back(), fresh_matrix(columns, i)));
  }
  return {expected, pl::mean(pl::square(all.back())).item()};
}

example::Outcome reassign(const example::Setting& setting) {
  const auto [rows, columns] = sizes(setting);
  const pl::Session session({.host = setting.small ? "64MiB" : "1GiB"});
  pl::Tensor x = pl::ones({1});
  const std::int64_t expected =
      forecast(session, 2 * sizes(setting).result_bytes() +
                            sizes(setting).matrix_bytes());
  x = pl::ones({rows, columns});
  for (int i = 0; i < kProducts; ++i) {
    x = pl::matmul(x, fresh_matrix(columns, i));  // the old one goes
  }
  // Slice by slice: the squares of all would be a third one.
  double sum = 0;
  const std::int64_t slice = rows / 10;
  for (std::int64_t i = 0; i < rows; i += slice) {
    sum += pl::mean(pl::square(x.at({pl::slice(i, i + slice)}))).item();
  }
  return {expected, sum / 10};
}

}  // namespace

int main(int argc, char** argv) {
  return example::compare(
      argc, argv,
      {.question = "A chain of 100 matrix products fills the memory.",
       .parts = {{"keep-all", example::Role::problem,
                  "every intermediate is kept in a vector", keep_all},
                 {"reassign", example::Role::cure,
                  "x = matmul(x, ...): one handle, reassigned", reassign}},
       .line_bytes = std::int64_t{1} << 30,
       .small_line_bytes = 64 << 20,
       .tolerance = 1e-6});
}
