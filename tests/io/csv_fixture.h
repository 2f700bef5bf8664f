// A CSV file of a test's own and what is read of it.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "io/csv.h"
#include "io/reader_memory.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {

class CsvTest : public ::testing::Test {
 protected:
  Result<CsvReader> open(std::string_view text, const CsvOptions& options,
                         std::int64_t window = 1000) {
    write_bytes(path_, text);
    memory_ = ReaderMemory(window);
    PLIMSOLL_ASSIGN(ByteReader reader, ByteReader::open(path_, memory_));
    return CsvReader::open(std::move(reader), options);
  }

  // All rows, each cell as text with a blank between; errors without the path
  // are rows too.
  std::vector<std::string> rows(std::string_view text,
                                const CsvOptions& options = {},
                                std::int64_t window = 1000) {
    auto csv = open(text, options, window);
    if (!csv) return {without_path(csv.error().message)};
    struct Cell {
      float f32;
      double f64;
      std::int32_t i32;
      std::int64_t i64;
      std::string_view text;
    };
    std::vector<Cell> cells(csv->columns().size());
    std::vector<void*> to;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      void* const pointers[] = {&cells[i].f32, &cells[i].f64, &cells[i].i32,
                                &cells[i].i64, &cells[i].text};
      to.push_back(pointers[static_cast<int>(csv->columns()[i].type)]);
    }
    std::vector<std::string> all;
    for (;;) {
      const auto more = csv->next(to);
      if (!more) {
        all.push_back(without_path(more.error().message));
        if (csv->can_continue()) continue;
        return all;
      }
      if (!*more) return all;
      all.emplace_back();
      for (std::size_t i = 0; i < cells.size(); ++i) {
        if (i > 0) all.back() += ' ';
        all.back() += spelled(cells[i], csv->columns()[i].type);
      }
    }
  }

  template <class Cell>
  static std::string spelled(const Cell& cell, CsvType type) {
    switch (type) {
      case CsvType::f32:
        return ::testing::PrintToString(cell.f32);
      case CsvType::f64:
        return ::testing::PrintToString(cell.f64);
      case CsvType::i32:
        return std::to_string(cell.i32);
      case CsvType::i64:
        return std::to_string(cell.i64);
      case CsvType::text:
        break;
    }
    return std::string(cell.text);
  }

  std::string without_path(const std::string& message) const {
    EXPECT_EQ(message.rfind(path_ + ": ", 0), 0u) << message;
    return message.substr(path_.size() + 2);
  }

  static CsvOptions texts(std::size_t columns) {
    CsvOptions options;
    options.header = CsvHeader::no;
    options.columns.assign(columns, {"", CsvType::text, {}});
    return options;
  }

  const TemporaryFolder folder_;
  const std::string path_ = folder_.file("a.csv");
  ReaderMemory memory_{0};
};

using Rows = std::vector<std::string>;

}  // namespace plimsoll::io
