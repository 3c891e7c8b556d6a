// SimulatedFiles: a file system in memory that fails and loses power as it is told. For
// tests.
//
// The model of what a crash leaves, harsher than any one real file system:
//   - a file's bytes as of its last sync; of what was appended since, any part: none, all,
//     a front, or a mixture of sectors that hold the new bytes, the old ones or zeros
//   - a folder's names as of its last sync_folder; of what changed since, any selection,
//     folder by folder: a rename may leave both names, either or none
//   - a folder or file whose name is lost is lost with all that is in it
// All choices follow from the seed.
//
// Faults are given by the number of the call, counted from 1 over all calls: one that
// fails once or for good, or where power goes. From then on every call fails, and what is
// open stays dead, until restart().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tier/file_system.h"

namespace holdfast::tier {

class SimulatedFiles final : public FileSystem {
 public:
  explicit SimulatedFiles(std::uint64_t seed = 1);

  // --- what goes wrong ---
  [[nodiscard]] std::uint64_t calls() const { return calls_; }
  void fail_at(std::uint64_t call, int error, bool for_good = false) {
    fault_ = Fault{call, error, for_good};
  }
  void fail_never() { fault_.reset(); }
  void lose_power_at(std::uint64_t call) { power_off_at_ = call; }
  [[nodiscard]] bool powerless() const { return powerless_; }
  // Each append and each read takes some of the bytes only.
  void move_little() { little_ = true; }
  // ENOSPC for appends beyond this many bytes in all files.
  void set_capacity(ByteCount bytes) { capacity_ = bytes; }

  // Power goes now, if it has not, and comes back: what is left is what was durable, and
  // some of the rest. Nobody holds a lock, and no fault is planned.
  void restart();

  // --- other hands ---
  [[nodiscard]] std::vector<std::string> file_paths() const;
  [[nodiscard]] std::vector<std::byte> bytes(const std::string& path) const;
  // Durably, behind everybody's back; makes the file and its folders where missing.
  void overwrite(const std::string& path, std::vector<std::byte> bytes);
  void erase(const std::string& path);

  // --- FileSystem ---
  [[nodiscard]] std::string root() const override { return "(simulated)"; }
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> create(const std::string& path) override;
  [[nodiscard]] Io<std::unique_ptr<OpenFile>> open(const std::string& path) override;
  [[nodiscard]] int rename(const std::string& from, const std::string& to) override;
  [[nodiscard]] int remove(const std::string& path) override;
  [[nodiscard]] int make_folder(const std::string& path) override;
  [[nodiscard]] int sync_folder(const std::string& path) override;
  [[nodiscard]] Io<std::vector<FolderEntry>> list(const std::string& path) override;
  [[nodiscard]] Io<std::unique_ptr<FileLock>> lock(const std::string& path) override;
  [[nodiscard]] Io<ByteCount> free_bytes() override;

 private:
  friend class SimulatedFile;
  friend class SimulatedLock;
  using Bytes = std::vector<std::byte>;
  using NodeId = std::size_t;
  static constexpr NodeId kNothing = SIZE_MAX;

  struct Change {
    std::string name;
    NodeId node = kNothing;  // kNothing: removed
  };
  struct Node {
    bool folder = false;
    Bytes data, durable;
    std::map<std::string, NodeId> names;  // of a folder
    std::map<std::string, NodeId> durable_names;
    std::vector<Change> changes;  // since the last sync
  };
  struct Fault {
    std::uint64_t call = 0;
    int error = 0;
    bool for_good = false;
  };
  struct Location {
    NodeId folder = kNothing;
    std::string name;
  };

  // Counts a call. The errno that it must fail with; 0: go on. `act` is what a call that
  // power leaves in the middle of may have done.
  [[nodiscard]] int begin_call(const std::function<void()>& act);
  [[nodiscard]] NodeId find(const std::string& path) const;
  [[nodiscard]] Location location_of(const std::string& path) const;
  [[nodiscard]] NodeId child(const Location& location) const;
  NodeId add_node(bool folder);
  void change(NodeId folder, const std::string& name, NodeId node);
  void collect(NodeId folder, const std::string& prefix, std::vector<std::string>& paths) const;
  [[nodiscard]] ByteCount used_bytes() const;
  [[nodiscard]] Bytes survivor(const Node& node);
  void settle_names(Node& node);
  [[nodiscard]] std::size_t below(std::size_t end) { return end == 0 ? 0 : random_() % end; }

  std::mt19937_64 random_;
  std::vector<Node> nodes_;
  std::set<std::string> locked_;
  std::uint64_t calls_ = 0;
  std::uint64_t epoch_ = 0;
  std::optional<Fault> fault_;
  std::uint64_t power_off_at_ = 0;
  bool powerless_ = false;
  bool little_ = false;
  std::optional<ByteCount> capacity_;
};

}  // namespace holdfast::tier
