#include "io/jpeg_memory.h"

#include <jerror.h>

#include <cstring>
#include <limits>

namespace plimsoll::io {

// What the library calls a virtual array; ours is always in memory.
struct WholeArray {
  std::size_t row_bytes = 0;
  JDIMENSION rows = 0;
  std::byte** row = nullptr;  // null until realized
  WholeArray* next = nullptr;
};

namespace {

// As wide as the library itself pads rows: its vector code writes past them.
constexpr std::size_t kRowPadding = 64;

JpegMemory& memory_of(j_common_ptr info) {
  return *reinterpret_cast<JpegMemory*>(info->mem);
}

void* take(j_common_ptr info, std::size_t bytes) {
  void* piece = memory_of(info).bump.take(bytes);
  if (piece == nullptr) ERREXIT1(info, JERR_OUT_OF_MEMORY, 1);
  return piece;
}

void* alloc(j_common_ptr info, int /*pool*/, std::size_t bytes) {
  return take(info, bytes);
}

// Row pointers and, behind one another, the rows.
std::byte** take_rows(j_common_ptr info, std::size_t row_bytes,
                      std::size_t rows) {
  const std::size_t padded =
      (row_bytes + kRowPadding - 1) / kRowPadding * kRowPadding;
  if (rows != 0 && padded > std::numeric_limits<std::size_t>::max() / rows) {
    ERREXIT1(info, JERR_OUT_OF_MEMORY, 2);
  }
  auto** row = static_cast<std::byte**>(take(info, rows * sizeof(std::byte*)));
  auto* data = static_cast<std::byte*>(take(info, rows * padded));
  for (std::size_t i = 0; i < rows; ++i) row[i] = data + i * padded;
  return row;
}

JSAMPARRAY alloc_sarray(j_common_ptr info, int /*pool*/, JDIMENSION samples,
                        JDIMENSION rows) {
  return reinterpret_cast<JSAMPARRAY>(take_rows(info, samples, rows));
}

JBLOCKARRAY alloc_barray(j_common_ptr info, int /*pool*/, JDIMENSION blocks,
                         JDIMENSION rows) {
  return reinterpret_cast<JBLOCKARRAY>(
      take_rows(info, std::size_t{blocks} * sizeof(JBLOCK), rows));
}

WholeArray* request(j_common_ptr info, std::size_t row_bytes, JDIMENSION rows) {
  auto* array = static_cast<WholeArray*>(take(info, sizeof(WholeArray)));
  WholeArray*& first = memory_of(info).requested;
  *array = {row_bytes, rows, nullptr, first};
  first = array;
  return array;
}

jvirt_sarray_ptr request_sarray(j_common_ptr info, int /*pool*/,
                                boolean /*zeroed*/, JDIMENSION samples,
                                JDIMENSION rows, JDIMENSION /*access*/) {
  return reinterpret_cast<jvirt_sarray_ptr>(request(info, samples, rows));
}

jvirt_barray_ptr request_barray(j_common_ptr info, int /*pool*/,
                                boolean /*zeroed*/, JDIMENSION blocks,
                                JDIMENSION rows, JDIMENSION /*access*/) {
  return reinterpret_cast<jvirt_barray_ptr>(
      request(info, std::size_t{blocks} * sizeof(JBLOCK), rows));
}

void realize(j_common_ptr info) {
  WholeArray*& first = memory_of(info).requested;
  for (; first != nullptr; first = first->next) {
    first->row = take_rows(info, first->row_bytes, first->rows);
    for (JDIMENSION i = 0; i < first->rows; ++i) {
      std::memset(first->row[i], 0, first->row_bytes);
    }
  }
}

std::byte** access(j_common_ptr info, const WholeArray& array, JDIMENSION start,
                   JDIMENSION count) {
  if (array.row == nullptr || start > array.rows ||
      count > array.rows - start) {
    ERREXIT(info, JERR_BAD_VIRTUAL_ACCESS);
  }
  return array.row + start;
}

JSAMPARRAY access_sarray(j_common_ptr info, jvirt_sarray_ptr array,
                         JDIMENSION start, JDIMENSION count,
                         boolean /*writable*/) {
  return reinterpret_cast<JSAMPARRAY>(
      access(info, *reinterpret_cast<WholeArray*>(array), start, count));
}

JBLOCKARRAY access_barray(j_common_ptr info, jvirt_barray_ptr array,
                          JDIMENSION start, JDIMENSION count,
                          boolean /*writable*/) {
  return reinterpret_cast<JBLOCKARRAY>(
      access(info, *reinterpret_cast<WholeArray*>(array), start, count));
}

void free_pool(j_common_ptr info, int /*pool*/) {
  memory_of(info).requested = nullptr;
}

void self_destruct(j_common_ptr /*info*/) {}

}  // namespace

void set_methods(JpegMemory& memory) {
  memory.methods = {
      alloc,         alloc,          alloc_sarray,
      alloc_barray,  request_sarray, request_barray,
      realize,       access_sarray,  access_barray,
      free_pool,     self_destruct,  std::numeric_limits<long>::max(),
      1'000'000'000L};
}

}  // namespace plimsoll::io
