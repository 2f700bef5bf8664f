// A memory manager for libjpeg over the caller's memory. The arrays of
// progressive files are taken whole, so that they are bounded like all else.
#pragma once

// jpeglib.h uses what these declare.
#include <cstddef>
#include <cstdio>
//
#include <jpeglib.h>

#include "io/bump_memory.h"

namespace plimsoll::io {

struct WholeArray;

struct JpegMemory {
  jpeg_memory_mgr methods{};  // first: the library holds its address
  BumpMemory bump;
  WholeArray* requested = nullptr;  // arrays without their memory yet
};

// Fills in the methods. Memory is handed out once `bump` is set, and returns
// only when it is set anew.
void set_methods(JpegMemory& memory);

}  // namespace plimsoll::io
