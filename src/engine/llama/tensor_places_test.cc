#include "engine/llama/tensor_places.h"

#include <gtest/gtest.h>

#include "engine/llama/llama_backends.h"
#include "engine/llama/llama_companions.h"

namespace holdfast::llama {
namespace {

class TensorPlacesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(use_cpu_variant("").ok()); }
};

Error refused(const LlamaConfig& config) {
  const auto places = TensorPlaces::of(config);
  EXPECT_FALSE(places.ok());
  return places.ok() ? Error{} : places.error();
}

TEST_F(TensorPlacesTest, NothingIsNull) {
  const auto places = TensorPlaces::of({});
  ASSERT_TRUE(places.ok());
  EXPECT_EQ(places->overrides(), nullptr);
  EXPECT_EQ(places->metadata(), nullptr);
}

TEST_F(TensorPlacesTest, Places1ListsEndWithAnEmptyEntry) {
  const auto places = TensorPlaces::of({.tensor_places = {"blk\\.[0-3]=CPU"},
                                        .cpu_expert_layers = 2,
                                        .metadata_overrides = {"a.b=int:7"}});
  ASSERT_TRUE(places.ok()) << places.error().message;
  EXPECT_STREQ(places->overrides()[0].pattern, "blk\\.[0-3]");
  EXPECT_STREQ(places->overrides()[1].pattern, "blk\\.0\\.ffn_(up|down|gate|gate_up)_(ch|)exps");
  EXPECT_NE(places->overrides()[2].buft, nullptr);
  EXPECT_EQ(places->overrides()[3].pattern, nullptr);
  EXPECT_STREQ(places->metadata()[0].key, "a.b");
  EXPECT_EQ(places->metadata()[0].val_i64, 7);
  EXPECT_EQ(places->metadata()[1].key[0], 0);
}

TEST_F(TensorPlacesTest, AllExperts) {
  const auto places = TensorPlaces::of({.cpu_expert_layers = -1});
  ASSERT_TRUE(places.ok());
  EXPECT_STREQ(places->overrides()[0].pattern, "\\.ffn_(up|down|gate|gate_up)_(ch|)exps");
  EXPECT_EQ(places->overrides()[1].pattern, nullptr);
}

TEST_F(TensorPlacesTest, PatternsStayWhereTheyAreWhenThisMoves) {
  auto made = TensorPlaces::of({.tensor_places = {"a=CPU", "b=CPU"}});
  ASSERT_TRUE(made.ok());
  const TensorPlaces moved = std::move(*made);
  EXPECT_STREQ(moved.overrides()[1].pattern, "b");
}

TEST_F(TensorPlacesTest, TheLoaderTakesThem) {
  LlamaConfig config;
  config.model_path = HOLDFAST_POCKET_MODEL_PATH;
  config.tensor_places = {"blk.0=CPU"};
  config.metadata_overrides = {"qwen35.context_length=int:1234"};
  const auto model = load_llama_file(config, nullptr);
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ(llama_model_n_ctx_train(model->get()), 1234);
  config.tensor_places = {"blk.0=Moon"};
  EXPECT_FALSE(load_llama_file(config, nullptr).ok());
}

TEST_F(TensorPlacesTest, MistakesAreNamed) {
  EXPECT_EQ(refused({.tensor_places = {"exps"}}).param, "--override-tensor");
  EXPECT_EQ(refused({.tensor_places = {"(=CPU"}}).param, "--override-tensor");
  const Error unknown = refused({.tensor_places = {"exps=Moon"}});
  EXPECT_NE(unknown.message.find("no buffer 'Moon' here; there is CPU"), std::string::npos)
      << unknown.message;
  EXPECT_EQ(refused({.metadata_overrides = {"a=7"}}).param, "--override-kv");
}

}  // namespace
}  // namespace holdfast::llama
