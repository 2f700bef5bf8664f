#include "train/device_calibration.h"

#include <gtest/gtest.h>

#include "base/units.h"

namespace plimsoll::train {
namespace {

Calibration run(std::int64_t instructions, std::int64_t device_bytes,
                std::int64_t process_bytes) {
  Calibration made;
  made.instructions = instructions;
  made.device_bytes = device_bytes;
  made.process_bytes = process_bytes;
  return made;
}

DeviceRehearsals sample() {
  DeviceRehearsals made;
  made.shallow = run(100, 320 * kMiB, 400 * kMiB);
  made.deep = run(1100, 322 * kMiB, 401 * kMiB);
  made.spread = run(300, 324 * kMiB, 401 * kMiB);
  made.without = run(90, 316 * kMiB, 290 * kMiB);
  made.shallow.versions = {{"cublaslt", "13.0.2"}};
  made.shallow.convolutions = {340 * kMiB, 24 * kMiB};
  return made;
}

DeviceProfile estimate() {
  DeviceProfile profile;
  profile.granularity_bytes = 2 * kMiB;
  profile.runtime_floor_bytes = 336 * kMiB;
  profile.device_instruction_bytes = 8 * kKiB;
  return profile;
}

TEST(DeviceCalibration, TheLineIsAboveEveryRehearsal) {
  const DeviceRehearsals of = sample();
  DeviceProfile profile = estimate();
  set_figures(of, profile);
  EXPECT_TRUE(profile.measured);
  EXPECT_EQ(profile.note, "");
  EXPECT_EQ(profile.library_versions.at("cublaslt"), "13.0.2");
  // Four MiB in 200 instructions, and a granule that was not seen.
  EXPECT_EQ(profile.device_instruction_bytes, (6 * kMiB + 199) / 200);
  for (const Calibration* one :
       {&of.shallow, &of.deep, &of.spread, &of.without}) {
    const std::int64_t forecast =
        profile.runtime_floor_bytes +
        profile.device_instruction_bytes * one->instructions;
    EXPECT_GE(forecast, one->device_bytes);
  }
  EXPECT_LE(profile.runtime_floor_bytes, 320 * kMiB);
  // Layers that are each another cost more of the host than alike ones.
  EXPECT_EQ(profile.instruction_bytes, (kMiB + 199) / 200);
  EXPECT_EQ(profile.host_product_bytes, 110 * kMiB);
  EXPECT_EQ(profile.host_convolution_bytes, 340 * kMiB);
  // And a granule that was not seen.
  EXPECT_EQ(profile.device_convolution_bytes, 26 * kMiB);
}

TEST(DeviceCalibration, WhatCannotBeIsNotBelieved) {
  const auto unbelieved = [](const DeviceRehearsals& of) {
    DeviceProfile profile = estimate();
    set_figures(of, profile);
    EXPECT_FALSE(profile.measured);
    EXPECT_EQ(profile.runtime_floor_bytes, 336 * kMiB);
    EXPECT_EQ(profile.device_instruction_bytes, 8 * kKiB);
    return profile.note;
  };
  DeviceRehearsals less = sample();
  less.deep.device_bytes = -16 * kMiB;
  EXPECT_NE(unbelieved(less).find("-16777216 bytes"), std::string::npos);
  DeviceRehearsals more = sample();
  more.without.device_bytes = 5 * kGiB;
  EXPECT_NE(unbelieved(more), "");
  DeviceRehearsals apart = sample();
  apart.apart_bytes = 40 * kMiB;
  EXPECT_NE(unbelieved(apart).find("40.0 MiB apart"), std::string::npos);
}

TEST(DeviceCalibration, OnASharedGpuNothingIsKept) {
  DeviceRehearsals of = sample();
  of.deep.device_shared = true;
  DeviceProfile profile = estimate();
  set_figures(of, profile);
  EXPECT_FALSE(profile.measured);
  EXPECT_NE(profile.note.find("other processes use the GPU"),
            std::string::npos);
  EXPECT_LE(profile.runtime_floor_bytes, 320 * kMiB) << "used all the same";
}

TEST(DeviceCalibration, ComesBackFromText) {
  Calibration made = run(100, 320 * kMiB, 400 * kMiB);
  made.device_shared = true;
  made.convolutions = {12 * kMiB, 4 * kMiB};
  made.versions = {{"cublaslt", "13.0.2"}, {"nvrtc", "13.0"}};
  const auto back = calibration_from_text(to_text(made));
  ASSERT_TRUE(back.ok()) << back.error().message;
  EXPECT_EQ(back->device_bytes, 320 * kMiB);
  EXPECT_TRUE(back->device_shared);
  EXPECT_EQ(back->convolutions.host_bytes, 12 * kMiB);
  EXPECT_EQ(back->convolutions.device_bytes, 4 * kMiB);
  EXPECT_EQ(back->versions, made.versions);
  EXPECT_FALSE(calibration_from_text("12 13").ok());
}

}  // namespace
}  // namespace plimsoll::train
