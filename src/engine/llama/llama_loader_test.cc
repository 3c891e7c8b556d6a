// What the engine opens when it is given names of open files instead of a path.
#include <fcntl.h>
#include <gguf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "engine/llama/llama_config.h"
#include "engine/llama/testing/tiny_models.h"

namespace holdfast::llama {
namespace {

namespace fs = std::filesystem;

// One part of a split model: the tensors from `first` up to `last`.
void write_part(const gguf_context* whole, ggml_context* tensors, int part, std::int64_t first,
                std::int64_t last, const std::string& path) {
  gguf_context* const out = gguf_init_empty();
  if (part == 0) gguf_set_kv(out, whole);
  gguf_set_val_u16(out, "split.no", static_cast<std::uint16_t>(part));
  gguf_set_val_u16(out, "split.count", 2);
  gguf_set_val_i32(out, "split.tensors.count",
                   static_cast<std::int32_t>(gguf_get_n_tensors(whole)));
  for (std::int64_t i = first; i < last; ++i)
    gguf_add_tensor(out, ggml_get_tensor(tensors, gguf_get_tensor_name(whole, i)));
  ASSERT_TRUE(gguf_write_to_file(out, path.c_str(), false));
  gguf_free(out);
}

class LoaderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    fs::create_directories(folder_);
    ASSERT_TRUE(write_tiny_model({.arch = "llama"}, 3, whole_).ok());
  }
  void TearDown() override {
    for (const int fd : open_) ::close(fd);
    fs::remove_all(folder_);
  }
  // Two parts whose names do not tell that they are.
  std::vector<std::string> split() {
    ggml_context* tensors = nullptr;
    gguf_context* const whole = gguf_init_from_file(whole_.c_str(), {false, &tensors});
    const std::int64_t count = gguf_get_n_tensors(whole);
    write_part(whole, tensors, 0, 0, count / 2, path("one"));
    write_part(whole, tensors, 1, count / 2, count, path("two"));
    gguf_free(whole);
    ggml_free(tensors);
    return {path("one"), path("two")};
  }
  std::string held_open(const std::string& name) {
    open_.push_back(::open(name.c_str(), O_RDONLY | O_CLOEXEC));
    return "/proc/self/fd/" + std::to_string(open_.back());
  }
  [[nodiscard]] std::string path(const std::string& name) const {
    return (folder_ / name).string();
  }
  [[nodiscard]] static LlamaConfig config(const std::string& path) {
    LlamaConfig config{.model_path = path, .context_tokens = 128};
    config.slots = 1;
    config.threads = 1;
    return config;
  }

  const fs::path folder_ =
      fs::path(::testing::TempDir()) / ("holdfast-loader-" + std::to_string(::getpid()));
  const std::string whole_ = path("whole.gguf");
  std::vector<int> open_;
};

TEST_F(LoaderTest, AFileThatHasLostItsNameIsLoaded) {
  LlamaConfig held = config(whole_);
  held.model_names = {held_open(whole_)};
  fs::remove(whole_);
  const auto loaded = load_llama_model(held, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->text->card().path, whole_);
  EXPECT_FALSE(load_llama_model(config(whole_), nullptr).ok());
}

TEST_F(LoaderTest, PartsOfASplitModelAreLoadedByTheirNames) {
  const std::vector<std::string> parts = split();
  LlamaConfig held = config(path("split-00001-of-00002.gguf"));
  for (const std::string& part : parts) held.model_names.push_back(held_open(part));
  for (const std::string& part : parts) fs::remove(part);
  const auto loaded = load_llama_model(held, nullptr);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const auto whole = load_llama_model(config(whole_), nullptr);
  ASSERT_TRUE(whole.ok());
  EXPECT_EQ(loaded->text->card().parameters, whole->text->card().parameters);
}

TEST_F(LoaderTest, AComplaintNamesThePathThatPeopleKnow) {
  fs::resize_file(whole_, fs::file_size(whole_) / 2);
  LlamaConfig held = config(whole_);
  held.model_names = {held_open(whole_)};
  const auto loaded = load_llama_model(held, nullptr);
  ASSERT_FALSE(loaded.ok());
  EXPECT_NE(loaded.error().message.find(whole_), std::string::npos) << loaded.error().message;
  EXPECT_EQ(loaded.error().message.find("/proc/"), std::string::npos) << loaded.error().message;
}

}  // namespace
}  // namespace holdfast::llama
