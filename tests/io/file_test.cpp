#include "io/file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>

#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

TEST(InputFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  for (const std::string& path :
       {folder.file("missing"), folder.path(), folder.file("pipe")}) {
    if (path == folder.file("pipe")) {
      ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
    }
    const auto file = InputFile::open(path);
    ASSERT_FALSE(file) << path;
    EXPECT_EQ(file.error().code, ErrorCode::bad_input);
    EXPECT_NE(file.error().message.find(path), std::string::npos);
  }
}

TEST(InputFile, AFileThatShrankIsAnErrorWithItsOffset) {
  const TemporaryFolder folder;
  const std::string path = folder.file("data");
  write_bytes(path, "0123456789");
  const auto file = InputFile::open(path);
  ASSERT_TRUE(file);
  std::filesystem::resize_file(path, 4);
  std::array<std::byte, 6> out{};
  const auto status = file->read_at(2, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message,
            path +
                ": ends at offset 4, 4 bytes short; it had 10 bytes when "
                "it was opened");
}

TEST(ReplacedFile, AppearsWholeOrNotAtAll) {
  const TemporaryFolder folder;
  const std::string path = folder.file("out");
  write_bytes(path, "old");
  {
    auto file = ReplacedFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::as_bytes(std::span("new", 3))));
    EXPECT_EQ(read_bytes(path), "old");
  }
  EXPECT_EQ(read_bytes(path), "old");
  {
    auto file = ReplacedFile::create(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write(std::as_bytes(std::span("new", 3))));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(read_bytes(path), "new");
  int files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(folder.path())) {
    ++files;
  }
  EXPECT_EQ(files, 1);
}

TEST(ReplacedFile, NamesAFolderThatIsNotThere) {
  const auto file = ReplacedFile::create("/nowhere/at/all");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("/nowhere/at/all"), std::string::npos);
}

}  // namespace
}  // namespace plimsoll::io
