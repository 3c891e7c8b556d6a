// holdfast-genmodel: writes a random model of realistic size, or a tiny one, as a GGUF file.
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/llama/testing/tiny_full_size.h"
#include "engine/llama/testing/tiny_models.h"
#include "state/parts.h"

namespace {

namespace fs = std::filesystem;
namespace llama = holdfast::llama;

struct Wish {
  std::string shape;
  std::string tiny;  // an architecture
  std::string out;
  ggml_type type = GGML_TYPE_Q8_0;
  std::uint64_t seed = 1;
  bool mtp = false;
  bool force = false;
};

void print_help() {
  std::printf(
      "holdfast-genmodel --shape NAME --out FILE [options]\n"
      "Writes a model with random weights and the sizes of a real one, for measurements.\n"
      "holdfast-genmodel --tiny ARCHITECTURE --out FILE [--seed N] [--mtp] [--force]\n"
      "Writes one of a few megabytes, for tests: bert, llama, qwen35, ...\n\n");
  for (const llama::FullSizeShape& shape : llama::full_size_shapes()) {
    std::printf("  %-14s %s\n", std::string(shape.name).c_str(), std::string(shape.what).c_str());
  }
  std::printf(
      "\n"
      "  --type f16|q8_0   of the matrices (default: q8_0)\n"
      "  --seed N          another number, another model (default: 1)\n"
      "  --mtp             adds a block that drafts tokens (qwen35 shapes)\n"
      "  --force           replaces FILE if it exists\n\n"
      "Vocabularies have %u tokens at most, which keeps files small: they decide nothing\n"
      "about the states.\n",
      llama::kFullSizeVocabulary);
}

[[noreturn]] void fail(const std::string& what, const std::string& what_to_do) {
  std::fprintf(stderr, "holdfast-genmodel: %s\n%s\n", what.c_str(), what_to_do.c_str());
  std::exit(2);
}

std::string shape_names() {
  std::string names;
  for (const llama::FullSizeShape& shape : llama::full_size_shapes())
    names += " " + std::string(shape.name);
  return names;
}

ggml_type type_named(std::string_view name) {
  if (name == "f16") return GGML_TYPE_F16;
  if (name == "q8_0") return GGML_TYPE_Q8_0;
  fail("there is no type " + std::string(name) + ".", "Give --type f16 or --type q8_0.");
}

std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size()) return value;
  fail("'" + text + "' is not a number.", "Give --seed a whole number, such as 1.");
}

Wish parse(const std::vector<std::string>& args) {
  Wish wish;
  for (std::size_t i = 0; i < args.size(); ++i) {
    const std::string& name = args[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == args.size()) fail(name + " needs a value.", "--help lists the options.");
      return args[++i];
    };
    if (name == "--shape") {
      wish.shape = value();
    } else if (name == "--tiny") {
      wish.tiny = value();
    } else if (name == "--out") {
      wish.out = value();
    } else if (name == "--type") {
      wish.type = type_named(value());
    } else if (name == "--seed") {
      wish.seed = number(value());
    } else if (name == "--mtp") {
      wish.mtp = true;
    } else if (name == "--force") {
      wish.force = true;
    } else if (name == "--help" || name == "-h") {
      print_help();
      std::exit(0);
    } else {
      fail("there is no option " + name + ".", "--help lists the options.");
    }
  }
  return wish;
}

void check_file(const Wish& wish) {
  if (wish.out.empty()) fail("no file was named.", "Give --out FILE.");
  if (fs::exists(wish.out) && !wish.force) {
    fail(wish.out + " exists.", "Give --force to replace it, or another --out.");
  }
}

llama::FullSizeSpec spec_of(const Wish& wish) {
  const llama::FullSizeShape* shape = llama::find_full_size_shape(wish.shape);
  if (shape == nullptr) {
    const std::string what =
        wish.shape.empty() ? "no shape was named." : "there is no shape " + wish.shape + ".";
    fail(what, "Give --shape one of:" + shape_names());
  }
  return {.shape = *shape, .mtp = wish.mtp, .type = wish.type, .seed = wish.seed};
}

void show_progress(std::size_t done, std::size_t all) {
  static int shown = -1;
  const int percent = static_cast<int>(100 * done / all);
  if (percent == shown) return;
  shown = percent;
  std::fprintf(stderr, "\r%3d%% of %s", percent, holdfast::human_bytes(all).c_str());
  if (done == all) std::fprintf(stderr, "\n");
}

holdfast::Result<void> write_full_size(const Wish& wish, const fs::path& path) {
  llama::FullSizeSpec spec = spec_of(wish);
  check_file(wish);
  spec.progress = show_progress;
  return llama::write_full_size_model(spec, path);
}

holdfast::Result<void> write_tiny(const Wish& wish, const fs::path& path) {
  check_file(wish);
  return llama::write_tiny_model({.arch = wish.tiny, .mtp = wish.mtp}, wish.seed, path);
}

}  // namespace

int main(int argc, char** argv) {
  const Wish wish = parse({argv + 1, argv + argc});
  // Under another name until it is whole, so that nobody loads half of a model.
  const fs::path part = wish.out + ".part";
  const auto written = wish.tiny.empty() ? write_full_size(wish, part) : write_tiny(wish, part);
  std::error_code error;
  if (written.ok()) fs::rename(part, wish.out, error);
  if (written.ok() && !error) return 0;
  fs::remove(part);
  if (!written.ok() && written.error().param == "mtp") {
    fail(written.error().message + ".", "Leave --mtp out, or choose a qwen35 shape.");
  }
  if (!written.ok() && written.error().param == "arch") {
    fail(written.error().message + ".", "--help names some that there are.");
  }
  fail(written.ok() ? error.message() : written.error().message + ".",
       "Is the folder there, and is there room on the disk?");
}
