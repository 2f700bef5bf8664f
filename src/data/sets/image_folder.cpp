#include "data/sets/image_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <limits>
#include <utility>

#include "data/check.h"
#include "io/file.h"

namespace plimsoll::data {
namespace {

namespace fs = std::filesystem;

bool is_image(const fs::path& path) {
  std::string suffix = path.extension().string();
  std::transform(suffix.begin(), suffix.end(), suffix.begin(),
                 [](unsigned char c) { return std::tolower(c); });
  return suffix == ".jpg" || suffix == ".jpeg" || suffix == ".png";
}

Error failed(const std::string& path, const std::string& why) {
  return {ErrorCode::io, fmt::format("{}: {}", path, why)};
}

}  // namespace

Status ImageFolder::list_class(const std::string& name) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(fs::path(folder_) / name, error), end;
       !error && at != end; at.increment(error)) {
    if (is_image(at->path())) names.push_back(at->path().filename().string());
  }
  if (error) return failed(folder_ + "/" + name, error.message());
  std::sort(names.begin(), names.end());
  const auto label = static_cast<std::int32_t>(classes_.size());
  for (const std::string& file : names) {
    const std::string path = fmt::format("{}/{}/{}", folder_, name, file);
    const auto bytes = fs::file_size(path, error);
    if (error) return failed(path, error.message());
    if (bytes > std::numeric_limits<std::int32_t>::max()) {
      return failed(path, fmt::format("has {} bytes, and an image of more "
                                      "than 2 GiB cannot be read",
                                      bytes));
    }
    files_.push_back({static_cast<std::int64_t>(names_.size()), label,
                      static_cast<std::int32_t>(bytes)});
    names_ += file;
    names_ += '\0';
  }
  classes_.push_back(name);
  return {};
}

Result<std::unique_ptr<ImageFolder>> ImageFolder::open(
    const std::string& folder) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    if (at->is_directory(error)) {
      names.push_back(at->path().filename().string());
    }
  }
  if (error) return failed(folder, error.message());
  std::sort(names.begin(), names.end());
  std::unique_ptr<ImageFolder> set(new ImageFolder(folder));
  std::int64_t most = 0;
  for (const std::string& name : names) {
    PLIMSOLL_RETURN_IF_ERROR(set->list_class(name));
  }
  if (set->files_.empty()) {
    return Error{ErrorCode::bad_input,
                 fmt::format("{}: there are no images; it should have a folder "
                             "for each class, with .jpg, .jpeg or .png files",
                             folder)};
  }
  for (const File& file : set->files_) {
    most = std::max<std::int64_t>(most, file.bytes);
  }
  set->files_.shrink_to_fit();
  set->names_.shrink_to_fit();
  set->spec_ = {{"features", DType::u8, {kVaries}, most},
                fixed_field("labels", DType::i32, {})};
  return set;
}

std::string ImageFolder::path_of(std::int64_t number) const {
  const File& file = files_[static_cast<std::size_t>(number)];
  return fmt::format("{}/{}/{}", folder_,
                     classes_[static_cast<std::size_t>(file.label)],
                     names_.c_str() + file.name);
}

Status ImageFolder::read(std::int64_t number, Element& out,
                         std::span<std::byte* const> buffers,
                         const ReadContext&) const {
  PLIMSOLL_RETURN_IF_ERROR(check_numbers(*this, {&number, 1}));
  const File& file = files_[static_cast<std::size_t>(number)];
  // On the stack: reading allocates nothing.
  std::array<char, 4096> path;
  const auto end =
      fmt::format_to_n(path.data(), path.size() - 1, "{}/{}/{}", folder_,
                       classes_[static_cast<std::size_t>(file.label)],
                       names_.c_str() + file.name);
  if (end.size >= path.size()) {
    return failed(path_of(number), "the path is too long");
  }
  *end.out = '\0';
  const io::Descriptor descriptor(::open(path.data(), O_RDONLY | O_CLOEXEC));
  if (descriptor.get() < 0) {
    return failed(path_of(number), std::strerror(errno));
  }
  for (std::int64_t done = 0; done < file.bytes;) {
    const auto got = ::pread(descriptor.get(), buffers[0] + done,
                             static_cast<std::size_t>(file.bytes - done), done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path_of(number), std::strerror(errno));
    if (got == 0) {
      return failed(path_of(number),
                    fmt::format("ends at byte {}; it had {} bytes when the "
                                "folder was listed",
                                done, file.bytes));
    }
    done += got;
  }
  std::memcpy(buffers[1], &file.label, sizeof(file.label));
  out.index = number;
  out.values[0] = {buffers[0], file.bytes, {file.bytes}};
  out.values[1] = {buffers[1], sizeof(file.label), {}};
  return {};
}

Status ImageFolder::gather(std::span<const std::int64_t>,
                           std::span<std::byte* const>,
                           const ReadContext&) const {
  return Error{ErrorCode::internal,
               "files of different sizes cannot be stacked: decode them first"};
}

std::string ImageFolder::whereabouts(std::int64_t number) const {
  return number >= 0 && number < size() ? path_of(number) : "";
}

std::string ImageFolder::describe() const {
  return fmt::format("images: {} files of {} classes from {}", size(),
                     classes_.size(), folder_);
}

std::int64_t ImageFolder::held_bytes() const {
  return static_cast<std::int64_t>(names_.capacity() +
                                   files_.capacity() * sizeof(File));
}

}  // namespace plimsoll::data
