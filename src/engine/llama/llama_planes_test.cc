#include "engine/llama/llama_planes.h"

#include <gtest/gtest.h>

namespace holdfast::llama {
namespace {

TEST(LlamaPlanes, WhatIsWrittenIsReadBack) {
  std::uint32_t field = 3;
  EXPECT_TRUE(write_planes(field, 1, [&] { return field; }).ok());
  EXPECT_EQ(field, 1U);
}

TEST(LlamaPlanes, AFieldThatIsAnotherIsNotWritten) {
  std::uint32_t field = 7;  // not what the library calls by this name
  const auto refused = write_planes(field, 1, [] { return 3U; });
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kEngine);
  EXPECT_EQ(field, 7U);
}

TEST(LlamaPlanes, AFieldThatHappensToBeEqualIsFoundOut) {
  std::uint32_t field = 3;
  EXPECT_FALSE(write_planes(field, 1, [] { return 3U; }).ok());
}

}  // namespace
}  // namespace holdfast::llama
