#include "io/tar.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

#include "io/cached_file.h"
#include "io/reader_memory.h"
#include "io/tar_writer.h"
#include "io/temporary_folder.h"

namespace plimsoll::io {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct Listed {
  std::string name;
  TarType type = TarType::file;
  std::string data;
  friend bool operator==(const Listed&, const Listed&) = default;
};

// All members with their bytes, or the error.
Result<std::vector<Listed>> list(const std::string& bytes,
                                 std::int64_t window = 512) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.tar");
  write_bytes(path, bytes);
  ReaderMemory memory(tar_reader_bytes(window));
  PLIMSOLL_ASSIGN(TarReader reader, TarReader::open(path, memory));
  std::vector<Listed> out;
  TarMember member;
  while (true) {
    PLIMSOLL_ASSIGN(const bool any, reader.next(member));
    if (!any) return out;
    // A claim that nothing stands behind.
    if (member.size_bytes > kMiB) {
      return Error{ErrorCode::bad_input, "too large for this test"};
    }
    std::string data(static_cast<std::size_t>(member.size_bytes), '\0');
    PLIMSOLL_RETURN_IF_ERROR(
        reader.read(member, std::as_writable_bytes(std::span(data))));
    out.push_back({std::string(member.name), member.type, data});
  }
}

std::string refusal(const std::string& bytes) {
  const auto listed = list(bytes);
  return listed ? "(read)" : listed.error().message;
}

TEST(Tar, ListsMembersOfAllFormats) {
  TarWriter tar;
  const std::string long_name = std::string(120, 'd') + "/file.txt";
  tar.add("a.txt", "hello");
  tar.add_header(TarWriter::block("old", 3, '\0', {}, false));
  tar.add_data("old");
  tar.add_header(TarWriter::block("folder/", 0, '5'));
  tar.add_header(TarWriter::block("link", 7, '2'));  // its size means nothing
  tar.add_header(TarWriter::block("name", 2, '0', "some/prefix"));
  tar.add_data("pp");
  tar.add_gnu(long_name, "gnu");
  tar.add_pax(TarWriter::record("mtime", "1.5") +
                  TarWriter::record("path", "p\xc3\xa4x/" + long_name) +
                  TarWriter::record("size", "600"),
              "short", std::string(600, 'p'), 0);
  tar.add_header(TarWriter::block("global", 12, 'g'));
  tar.add_data(TarWriter::record("a", "bcdefg"));
  tar.add("empty", "");
  const auto listed = list(tar.finished());
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(*listed,
            (std::vector<Listed>{{"a.txt", TarType::file, "hello"},
                                 {"old", TarType::file, "old"},
                                 {"folder/", TarType::folder, ""},
                                 {"link", TarType::other, ""},
                                 {"some/prefix/name", TarType::file, "pp"},
                                 {long_name, TarType::file, "gnu"},
                                 {"p\xc3\xa4x/" + long_name, TarType::file,
                                  std::string(600, 'p')},
                                 {"empty", TarType::file, ""}}));
  for (const std::int64_t window : {512, 513, 5000, 100000}) {
    EXPECT_EQ(*list(tar.finished(), window), *listed);
    const auto zipped = list(gzip(tar.finished()), window);
    ASSERT_TRUE(zipped) << zipped.error().message;
    EXPECT_EQ(*zipped, *listed);
  }
}

TEST(Tar, ReadsBinarySizesAndSignedSums) {
  std::string header = TarWriter::block("b", 0, '0');
  header.replace(124, 12, std::string("\x80\0\0\0\0\0\0\0\0\0\0\5", 12));
  TarWriter tar;
  tar.add_header(TarWriter::with_sum(header));
  tar.add_data("12345");
  // An old program's sum of signed bytes: 256 less for each high one.
  std::string signed_sum = TarWriter::block("\xe4", 0, '0');
  const long sum = std::stol(signed_sum.substr(148, 6), nullptr, 8) - 256;
  char text[8];
  std::snprintf(text, sizeof(text), "%06lo", sum);
  signed_sum.replace(148, 6, text);
  tar.add_header(signed_sum);
  const auto listed = list(tar.finished());
  ASSERT_TRUE(listed) << listed.error().message;
  EXPECT_EQ(listed->at(0).data, "12345");
  EXPECT_EQ(listed->at(1).name, "\xe4");
}

TEST(Tar, EndsAtZerosOrAtTheEndOfTheFile) {
  TarWriter tar;
  tar.add("a", "1");
  EXPECT_EQ(list(tar.bytes())->size(), 1u);
  EXPECT_EQ(list(tar.bytes() + std::string(512, '\0'))->size(), 1u);
  EXPECT_EQ(list(tar.finished() + "what follows is nobody's")->size(), 1u);
  EXPECT_EQ(list("")->size(), 0u);
  EXPECT_EQ(list(tar.bytes().substr(0, 513))->size(), 1u);  // not padded
  EXPECT_EQ(list(gzip(tar.bytes().substr(0, 513)))->size(), 1u);
  EXPECT_EQ(list(gzip(""))->size(), 0u);
}

TEST(Tar, RefusesDamageByNameAndOffset) {
  TarWriter tar;
  tar.add("a", "12345");
  std::string bytes = tar.bytes();
  EXPECT_TRUE(has(refusal(bytes + "x"),
                  "a.tar: tar header at offset 1024: truncated: 1 bytes of "
                  "512"));
  EXPECT_TRUE(has(refusal(gzip(bytes + "x")),
                  "a.tar: tar header at offset 1024: truncated: 1 bytes of "
                  "512"));
  EXPECT_TRUE(has(refusal(gzip(bytes.substr(0, 516))),
                  "a.tar: tar header at offset 512: its bytes are cut off: the "
                  "archive ends at byte 516, 1 short"))
      << refusal(gzip(bytes.substr(0, 516)));
  EXPECT_TRUE(has(refusal(bytes + std::string(512, 'x')),
                  "offset 1024: its checksum is wrong"));
  EXPECT_TRUE(has(refusal(bytes.substr(0, 516)),
                  "offset 0: claims 5 bytes; the file has 4 behind it"));
  std::string huge = TarWriter::block("h", 0, '0');
  huge.replace(124, 12,
               std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12));
  EXPECT_TRUE(has(refusal(TarWriter::with_sum(huge)),
                  "claims 9223372036854775807 bytes"));
  huge.replace(124, 12, std::string(12, '\xff'));
  EXPECT_TRUE(has(refusal(TarWriter::with_sum(huge)), "its size is no number"));
  huge.replace(124, 12, std::string("00000000009\0", 12));
  EXPECT_TRUE(has(refusal(TarWriter::with_sum(huge)), "its size is no number"));
  EXPECT_TRUE(has(refusal(TarWriter::block("", 0, '0')), "without a name"));
}

TEST(Tar, RefusesOddHeadersByName) {
  EXPECT_TRUE(has(refusal(TarWriter::block("holes", 0, 'S')),
                  "\"holes\" is a sparse file; archive it whole"));
  TarWriter pax;
  pax.add_pax(TarWriter::record("GNU.sparse.major", "1"), "holes", "", 0);
  EXPECT_TRUE(has(refusal(pax.finished()), "is a sparse file"));
  for (const char* records :
       {"5 a\n", "99 a=b\n", "x", "4 =\n\n", "12 size=xyz\n", "-1 a=b\n",
        "0 a=b\n", "12 size=-12\n"}) {
    TarWriter broken;
    broken.add_pax(records, "a", "", 0);
    EXPECT_TRUE(has(refusal(broken.finished()), "pax header has no record"))
        << records;
  }
  TarWriter large;
  large.add_header(TarWriter::block("pax", 20000, 'x'));
  large.add_data(std::string(20000, ' '));
  EXPECT_TRUE(has(refusal(large.finished()), "a pax header of 20000 bytes"));
  TarWriter name;
  name.add_gnu(std::string(5000, 'n'), "");
  EXPECT_TRUE(has(refusal(name.finished()), "a name of 5001 bytes"));
  TarWriter announced;
  announced.add_header(TarWriter::block("L", 2, 'L'));
  announced.add_data("a");
  EXPECT_TRUE(has(refusal(announced.finished()),
                  "offset 1024: the archive ends where a member was "
                  "announced"));
}

struct Sample {
  std::string key;
  std::vector<std::string> parts;  // "jpg=data"
  friend bool operator==(const Sample&, const Sample&) = default;
};

// Room for every file but those of the extension "skip".
class Kept final : public TarTarget {
 public:
  std::byte* room_for(std::string_view extension,
                      std::int64_t size_bytes) override {
    if (extension == "skip") return nullptr;
    auto& data = data_[std::string(extension)];
    data.assign(static_cast<std::size_t>(size_bytes), '?');
    return reinterpret_cast<std::byte*>(data.data());
  }
  std::string of(const TarPart& part) const {
    const auto found = data_.find(std::string(part.extension));
    return found == data_.end() ? "(skipped)" : found->second;
  }

 private:
  std::map<std::string, std::string> data_;
};

Result<std::vector<Sample>> samples(TarReader& reader) {
  std::vector<Sample> out;
  TarGroup group;
  while (true) {
    Kept kept;
    PLIMSOLL_ASSIGN(const bool any, reader.next_group(group, &kept));
    if (!any) return out;
    out.push_back({std::string(group.key), {}});
    for (int i = 0; i < group.count; ++i) {
      const TarPart& part = group.parts[static_cast<std::size_t>(i)];
      out.back().parts.push_back(std::string(part.extension) + "=" +
                                 kept.of(part));
    }
  }
}

TEST(Tar, GroupsFilesOfOneSample) {
  TarWriter tar;
  tar.add_header(TarWriter::block("set.d/", 0, '5'));
  tar.add("set.d/01.jpg", "J1");
  tar.add("set.d/01.cls", "C1");
  tar.add("set.d/01.skip", std::string(2000, 's'));
  tar.add("README", "no dot");
  tar.add(".hidden", "no key");
  tar.add_gnu("set.d/" + std::string(100, '0') + ".seg.png", "S");
  tar.add("02.cls", "C2");
  const TemporaryFolder folder;
  const std::string path = folder.file("a.tar");
  const std::vector<Sample> expected = {
      {"set.d/01", {"jpg=J1", "cls=C1", "skip=(skipped)"}},
      {"set.d/" + std::string(100, '0'), {"seg.png=S"}},
      {"02", {"cls=C2"}}};
  for (const bool zipped : {false, true}) {
    write_bytes(path, zipped ? gzip(tar.finished()) : tar.finished());
    ReaderMemory memory(tar_reader_bytes(600));
    auto reader = TarReader::open(path, memory);
    ASSERT_TRUE(reader);
    EXPECT_EQ(reader->is_gzip(), zipped);
    const auto all = samples(*reader);
    ASSERT_TRUE(all) << all.error().message;
    EXPECT_EQ(*all, expected);
    EXPECT_EQ(*samples(*reader), std::vector<Sample>{});  // still at the end
    reader->seek(0);
    EXPECT_EQ(*samples(*reader), expected);
  }
}

TEST(Tar, GoesOnWhereAnotherReaderStopped) {
  TarWriter tar;
  for (int i = 0; i < 5; ++i) {
    const std::string key = "s" + std::to_string(i);
    tar.add_gnu(key + "." + std::string(60, 'x'), key);
    tar.add(key + ".cls", "c");
  }
  const TemporaryFolder folder;
  const std::string path = folder.file("a.tar");
  write_bytes(path, tar.finished());
  for (const bool zipped : {false, true}) {
    write_bytes(path, zipped ? gzip(tar.finished()) : tar.finished());
    ReaderMemory memory(tar_reader_bytes(600));
    ReaderMemory other(tar_reader_bytes(600));
    auto first = TarReader::open(path, memory);
    auto second = TarReader::open(path, other);
    ASSERT_TRUE(first.ok() && second.ok());
    TarGroup group;
    for (int i = 0; i < 5; ++i) {
      second->seek(first->position());
      ASSERT_TRUE(*second->next_group(group));
      EXPECT_EQ(group.key, "s" + std::to_string(i));
      EXPECT_EQ(group.count, 2);
      ASSERT_TRUE(*first->next_group(group));
    }
    second->seek(first->position());
    EXPECT_FALSE(*second->next_group(group));
    // One member of a group, and then the next group.
    second->seek(0);
    TarMember member;
    ASSERT_TRUE(*second->next(member));
    ASSERT_TRUE(*second->next_group(group));
    EXPECT_EQ(group.count, 1);
    ASSERT_TRUE(*second->next(member));
    EXPECT_TRUE(member.name.starts_with("s1.x"));
    for (const std::int64_t wrong :
         {std::int64_t{-512}, std::int64_t{100}, std::int64_t{1} << 61}) {
      second->seek(wrong);
      EXPECT_FALSE(second->next_group(group)) << wrong;
    }
  }
}

TEST(Tar, RefusesGroupsThatDoNotFit) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.tar");
  const auto error = [&](const TarWriter& tar) {
    write_bytes(path, tar.finished());
    ReaderMemory memory(tar_reader_bytes(600));
    auto reader = TarReader::open(path, memory);
    const auto all = samples(*reader);
    return all ? "(read)" : all.error().message;
  };
  TarWriter many;
  for (int i = 0; i < 17; ++i) many.add("a." + std::to_string(i), "");
  EXPECT_TRUE(has(error(many), "\"a\" has more than 16 files"));
  TarWriter twice;
  twice.add("a.x", "");
  twice.add("a.x", "");
  EXPECT_TRUE(has(error(twice), "\"a.x\" is there twice"));
  TarWriter wide;
  wide.add("a." + std::string(65, 'x'), "");
  EXPECT_TRUE(has(error(wide), "has 65 bytes; at most 64"));
}

TEST(Tar, SaysHowMuchMemoryItNeeds) {
  const TemporaryFolder folder;
  const std::string path = folder.file("a.tar");
  write_bytes(path, "");
  for (const std::int64_t bytes :
       {std::int64_t{10}, kTarNamesBytes, kTarNamesBytes + 511}) {
    ReaderMemory memory(bytes);
    const auto reader = TarReader::open(path, memory);
    ASSERT_FALSE(reader);
    EXPECT_TRUE(has(reader.error().message, "its reader needs"));
  }
}

TEST(Tar, PagesThatWereReadAreDropped) {
  const CachedFile file;
  TarWriter tar;
  for (int i = 0; i < 80; ++i) {
    tar.add(std::to_string(i) + ".bin", std::string(100 * kKiB, 'x'));
  }
  const auto bytes = file.write(tar.finished());
  if (!file.can_drop()) GTEST_SKIP() << "this file system keeps its pages";
  // Headers alone, and with what lies between them.
  for (const bool headers_alone : {true, false}) {
    for (const bool drop : {false, true}) {
      file.read_all();
      ReaderMemory memory(tar_reader_bytes(headers_alone ? 4096 : 256 * kKiB));
      auto reader =
          TarReader::open(file.path(), memory, {Compression::detect, drop});
      ASSERT_TRUE(reader);
      TarGroup group;
      Kept kept;
      while (*reader->next_group(group, headers_alone ? nullptr : &kept)) {
      }
      if (drop) {
        EXPECT_LT(file.cached_bytes(), kMiB / 2);
      } else {
        EXPECT_GT(file.cached_bytes(), bytes / 2);
      }
    }
  }
}

TEST(Tar, MutatedArchivesAreReadWithinTheirSizeOrRefused) {
  TarWriter tar;
  tar.add("a.jpg", std::string(700, 'a'));
  tar.add_gnu(std::string(150, 'n') + ".txt", "gnu");
  tar.add_pax(
      TarWriter::record("path", "x.cls") + TarWriter::record("size", "3"), "x",
      "pax", 3);
  const std::string good = tar.finished();
  std::mt19937 random(3);
  int read = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string bytes = good;
    // Half of the headers get a right sum again: then their claims count.
    const std::size_t header = random() % (bytes.size() / 512) * 512;
    bytes[header + random() % 512] = static_cast<char>(random());
    if (random() % 2 == 0) {
      bytes.replace(header, 512,
                    TarWriter::with_sum(bytes.substr(header, 512)));
    }
    if (random() % 8 == 0) bytes.resize(random() % bytes.size());
    const auto listed = list(bytes);
    if (listed) ++read;
    // The same through gzip, which tells of a wrong size later.
    const auto zipped = list(gzip(bytes));
    ASSERT_EQ(zipped.ok(), listed.ok())
        << (listed ? zipped : listed).error().message;
    if (listed) {
      ASSERT_EQ(*zipped, *listed);
    }
  }
  EXPECT_GT(read, 100);
  EXPECT_LT(read, 1900);
}

}  // namespace
}  // namespace plimsoll::io
