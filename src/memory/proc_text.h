// Reading the kernel's small text files: /proc and the cgroup tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// The whole file, or nothing when it cannot be read.
std::optional<std::string> read_text_file(const std::string& path);

// The first number of the file; nothing when there is none ("max" too).
std::optional<std::int64_t> read_number_file(const std::string& path);

// The number at the start of `text`, spaces before it skipped. Numbers that
// do not fit are cut to the largest. Allocates nothing.
std::optional<std::int64_t> leading_number(std::string_view text) noexcept;

// The text after `key` on the line that starts with it. Allocates nothing.
std::optional<std::string_view> find_field(std::string_view text,
                                           std::string_view key) noexcept;

// The bytes of a line such as "Rss:   1760 kB". Allocates nothing.
std::optional<std::int64_t> kib_field(std::string_view text,
                                      std::string_view key) noexcept;

std::vector<std::string_view> split_fields(std::string_view text,
                                           char separator);

}  // namespace plimsoll
