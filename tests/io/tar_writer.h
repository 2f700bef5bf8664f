// Tar archives for tests, in memory: every spelling the reader knows.
#pragma once

#include <cstdio>
#include <cstring>
#include <string>

namespace plimsoll::io {

class TarWriter {
 public:
  static std::string block(const std::string& name, std::size_t size, char type,
                           const std::string& prefix = {}, bool ustar = true) {
    std::string out(512, '\0');
    out.replace(0, std::min<std::size_t>(name.size(), 100),
                name.substr(0, 100));
    put(out, 100, "0000644");
    put(out, 108, "0000000");
    put(out, 116, "0000000");
    put(out, 124, octal(size, 11));
    put(out, 136, "00000000000");
    out[156] = type;
    if (ustar) {
      out.replace(257, 8, std::string("ustar\00000", 8));
      out.replace(345, prefix.size(), prefix);
    }
    return with_sum(out);
  }
  // Sets the checksum of a header.
  static std::string with_sum(std::string header) {
    header.replace(148, 8, "        ");
    unsigned sum = 0;
    for (const char c : header) sum += static_cast<unsigned char>(c);
    put(header, 148, octal(sum, 6));
    header[155] = ' ';
    return header;
  }
  static std::string padded(std::string data) {
    data.resize((data.size() + 511) / 512 * 512, '\0');
    return data;
  }

  void add(const std::string& name, const std::string& data) {
    bytes_ += block(name, data.size(), '0') + padded(data);
  }
  void add_header(const std::string& header) { bytes_ += header; }
  void add_data(const std::string& data) { bytes_ += padded(data); }
  // As GNU tar writes names over 100 bytes.
  void add_gnu(const std::string& name, const std::string& data) {
    bytes_ += block("././@LongLink", name.size() + 1, 'L', {}, false);
    bytes_ += padded(name + '\0');
    bytes_ += block(name, data.size(), '0', {}, false) + padded(data);
  }
  // `records` as pax has them: see record().
  void add_pax(const std::string& records, const std::string& name,
               const std::string& data, std::size_t size_in_header) {
    bytes_ += block("pax", records.size(), 'x') + padded(records);
    bytes_ += block(name, size_in_header, '0') + padded(data);
  }
  static std::string record(const std::string& key, const std::string& value) {
    const std::size_t rest = key.size() + value.size() + 3;
    std::size_t length = rest + 1;
    while (std::to_string(length).size() + rest != length) ++length;
    return std::to_string(length) + " " + key + "=" + value + "\n";
  }

  const std::string& bytes() const { return bytes_; }
  std::string finished() const { return bytes_ + std::string(1024, '\0'); }

 private:
  static void put(std::string& out, std::size_t at, const std::string& text) {
    out.replace(at, text.size(), text);
  }
  static std::string octal(std::size_t value, int digits) {
    char text[32];
    std::snprintf(text, sizeof(text), "%0*zo", digits, value);
    return text;
  }

  std::string bytes_;
};

}  // namespace plimsoll::io
