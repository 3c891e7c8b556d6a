// ModelFiles: the files of a model, held open from before it is loaded.
//
// States are filed under the digest of the model that computed them. A path can be given to
// another file at any moment, so the digest is taken from the open files, and the engine is given
// names that lead to the same open files:
//
//   open(path) --> digest()  --> the engine loads engine_names() --> check_unchanged()
//
// Invariants, verified by the tests of the same numbers (model_files_test.cc):
//   MODELFILE-1  digest() is of the files that engine_names() lead to, whatever becomes of the
//                path: replaced, renamed, removed
//   MODELFILE-2  where the system has no names for open files (no /proc), check_unchanged() is an
//                Error unless the path still leads to them and no file was renamed meanwhile. (A
//                symbolic link that led elsewhere for a moment is not noticed there)
//   MODELFILE-3  check_unchanged() is an Error if a file was written to since open(). Times that
//                changed without the content (chmod, a new link) are no Error
//
// Of a split model (NAME-00001-of-00003.gguf) every part is held, whichever of them is named.
// One thread at a time.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"

namespace holdfast::cache {

// How open files are named for the engine. Tests choose.
enum class FileNaming {
  kByDescriptor,  // "/proc/self/fd/5" where the system has that, else kByPath
  kByPath,
};

class ModelFiles {
 public:
  // The Error names the file.
  [[nodiscard]] static Result<ModelFiles> open(const std::string& path,
                                               FileNaming naming = FileNaming::kByDescriptor);
  ModelFiles(ModelFiles&& other) noexcept;
  ModelFiles& operator=(ModelFiles&& other) noexcept;
  ~ModelFiles();

  // 32 hexadecimal digits that stand for the bytes, not for names or ages.
  //
  // A file of up to 64 MiB is read whole. Of a larger one the digest takes in its size, its first
  // 16 MiB, its last MiB and 4096 pages of 4 KiB, evenly spread: at most 33 MiB, so that a model
  // of 100 GiB costs a fraction of a second where the disk is warm. That tells models apart: the
  // head holds the settings, the vocabulary, the template and the list of tensors, and training or
  // quantising changes nearly every page of what follows. Changed bytes in a row, more than 1/4096
  // of the file, are always noticed; fewer may be missed, so this is no protection against one who
  // edits a file to be taken for another. It is taken at every start and never remembered.
  [[nodiscard]] Result<std::string> digest() const;

  // What the engine is to open, in order. Valid while this object lives.
  [[nodiscard]] std::vector<std::string> engine_names() const;

  // To be called once the engine has read everything.
  [[nodiscard]] Result<void> check_unchanged() const;

 private:
  class File;

  explicit ModelFiles(FileNaming naming);

  FileNaming naming_;
  std::vector<File> files_;
  mutable std::string digest_;  // of the first digest(); empty: none was asked for
};

// For a file that nobody loads.
[[nodiscard]] Result<std::string> model_digest(const std::string& path);

}  // namespace holdfast::cache
