#include "engine/precision.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/network.h"

// What a device can compute with is decided by its properties, so GPUs that are not here are tried too.
namespace stoker {
namespace {

using testing::AllOf;
using testing::HasSubstr;

DeviceInfo gpu(const char* model, int compute_capability) {
  DeviceInfo info;
  info.device = Device::cuda(0);
  info.model = model;
  info.compute_capability = compute_capability;
  return info;
}

const DeviceInfo cpu;
const DeviceInfo t4 = gpu("Tesla T4", 75);
const DeviceInfo rtx_3090 = gpu("NVIDIA GeForce RTX 3090", 86);
const DeviceInfo h200 = gpu("NVIDIA H200", 90);
const DeviceInfo p100 = gpu("Tesla P100", 60);

Network reading(Shape shape) {
  return {"any", {}, {{"window", Role::features, DType::float32, std::move(shape)}}, 1};
}

TEST(Precision, IsNotOfferedWhereTheDeviceHasNone) {
  for (const Precision each : {Precision::bf16, Precision::tf32})
    EXPECT_THAT(precision_problem(each, t4), AllOf(HasSubstr("Tesla T4"), HasSubstr(config::name_of(each)),
                                                   HasSubstr("8.0"), HasSubstr("7.5"), HasSubstr("fp16")));
  EXPECT_EQ(precision_problem(Precision::fp16, t4), "");
  EXPECT_THAT(precision_problem(Precision::fp16, p100), HasSubstr("use fp32"));
  for (const Precision each : {Precision::bf16, Precision::tf32, Precision::fp16})
    for (const DeviceInfo& device : {rtx_3090, h200}) EXPECT_EQ(precision_problem(each, device), "");
  for (const DeviceInfo& device : {cpu, p100, t4, h200}) {
    EXPECT_EQ(precision_problem(Precision::fp32, device), "");
    EXPECT_EQ(precision_problem(Precision::automatic, device), "");
  }
}

TEST(Precision, OnACpuIsFp32OrBf16) {
  EXPECT_EQ(precision_problem(Precision::bf16, cpu), "");
  EXPECT_THAT(precision_problem(Precision::tf32, cpu), HasSubstr("NVIDIA"));
  EXPECT_THAT(precision_problem(Precision::fp16, cpu), HasSubstr("use fp32 or bf16"));
}

TEST(Precision, ByItselfIsThe16BitsThatAGpuHasForSeriesAndFp32ForTables) {
  EXPECT_EQ(automatic_precision(reading({20, 29}), t4), Precision::fp16);
  EXPECT_EQ(automatic_precision(reading({20, 29}), rtx_3090), Precision::bf16);
  EXPECT_EQ(automatic_precision(reading({20, 29}), h200), Precision::bf16);
  EXPECT_EQ(automatic_precision(reading({20, 29}), p100), Precision::fp32);
  EXPECT_EQ(automatic_precision(reading({20, 29}), cpu), Precision::fp32);
  EXPECT_EQ(automatic_precision(reading({13}), h200), Precision::fp32);
}

}  // namespace
}  // namespace stoker
