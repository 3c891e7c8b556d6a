#include "tier/testing/simulated_files.h"

#include <algorithm>
#include <cerrno>

#include "base/check.h"

namespace holdfast::tier {

namespace {

// Small, so that the small files of tests are torn in the middle, too.
constexpr std::size_t kSector = 64;

}  // namespace

class SimulatedFile final : public OpenFile {
 public:
  SimulatedFile(SimulatedFiles& files, std::size_t node)
      : files_(files), node_(node), epoch_(files.epoch_), size_(files.nodes_[node].data.size()) {}

  [[nodiscard]] ByteCount size() const override { return size_; }

  [[nodiscard]] Io<std::size_t> append(Pieces pieces) override {
    std::vector<std::byte> bytes;
    for (const auto piece : pieces) bytes.insert(bytes.end(), piece.begin(), piece.end());
    if (files_.little_) bytes.resize(1 + files_.below(bytes.size()));
    const auto act = [&] { put(bytes); };
    if (const int error = begin(act); error != 0) return Io<std::size_t>::failed(error);
    if (files_.capacity_) {
      const ByteCount used = files_.used_bytes();
      const ByteCount room = *files_.capacity_ > used ? *files_.capacity_ - used : 0;
      if (room == 0) return Io<std::size_t>::failed(ENOSPC);
      bytes.resize(std::min<ByteCount>(bytes.size(), room));
    }
    put(bytes);
    return bytes.size();
  }

  [[nodiscard]] Io<std::size_t> read_at(ByteCount offset, std::span<std::byte> out) override {
    if (const int error = begin({}); error != 0) return Io<std::size_t>::failed(error);
    const auto& data = files_.nodes_[node_].data;
    if (offset >= data.size()) return std::size_t{0};
    std::size_t count = std::min<ByteCount>(out.size(), data.size() - offset);
    if (files_.little_) count = 1 + files_.below(count);
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(offset), count, out.begin());
    return count;
  }

  [[nodiscard]] int sync() override {
    const auto act = [&] { files_.nodes_[node_].durable = files_.nodes_[node_].data; };
    if (const int error = begin(act); error != 0) return error;
    act();
    return 0;
  }

 private:
  int begin(const std::function<void()>& act) {
    return epoch_ == files_.epoch_ ? files_.begin_call(act) : EIO;
  }
  void put(const std::vector<std::byte>& bytes) {
    auto& data = files_.nodes_[node_].data;
    data.insert(data.end(), bytes.begin(), bytes.end());
  }

  SimulatedFiles& files_;
  const std::size_t node_;
  const std::uint64_t epoch_;
  const ByteCount size_;
};

class SimulatedLock final : public FileLock {
 public:
  SimulatedLock(SimulatedFiles& files, std::string path)
      : files_(files), path_(std::move(path)), epoch_(files.epoch_) {}
  ~SimulatedLock() override {
    if (epoch_ == files_.epoch_) files_.locked_.erase(path_);
  }

 private:
  SimulatedFiles& files_;
  const std::string path_;
  const std::uint64_t epoch_;
};

SimulatedFiles::SimulatedFiles(std::uint64_t seed) : random_(seed) { add_node(true); }

// --- faults ------------------------------------------------------------------------

int SimulatedFiles::begin_call(const std::function<void()>& act) {
  if (powerless_) return EIO;
  ++calls_;
  if (calls_ == power_off_at_) {
    if (act && below(2) == 0) act();
    powerless_ = true;
    return EIO;
  }
  if (!fault_ || calls_ < fault_->call) return 0;
  return calls_ == fault_->call || fault_->for_good ? fault_->error : 0;
}

SimulatedFiles::Bytes SimulatedFiles::survivor(const Node& node) {
  if (node.data == node.durable) return node.data;
  switch (below(4)) {
    case 0: return node.durable;
    case 1: return node.data;
    default: break;
  }
  const std::size_t least = std::min(node.data.size(), node.durable.size());
  const std::size_t most = std::max(node.data.size(), node.durable.size());
  Bytes torn(least + below(most - least + 1));
  for (std::size_t begin = 0; begin < torn.size(); begin += kSector) {
    const std::size_t choice = below(3);
    for (std::size_t at = begin; at < std::min(begin + kSector, torn.size()); ++at) {
      const bool old = at < node.durable.size() && (choice == 1 || at >= node.data.size());
      if (old) torn[at] = node.durable[at];
      if (!old && choice != 2 && at < node.data.size()) torn[at] = node.data[at];
      // What was synced and not written since does not suffer.
      if (at < least && node.data[at] == node.durable[at]) torn[at] = node.data[at];
    }
  }
  return torn;
}

void SimulatedFiles::settle_names(Node& node) {
  for (const Change& change : node.changes) {
    if (below(2) == 0) continue;
    if (change.node == kNothing) {
      node.durable_names.erase(change.name);
    } else {
      node.durable_names[change.name] = change.node;
    }
  }
  node.changes.clear();
  node.names = node.durable_names;
}

void SimulatedFiles::restart() {
  for (Node& node : nodes_) {
    if (node.folder) {
      settle_names(node);
    } else {
      node.data = node.durable = survivor(node);
    }
  }
  ++epoch_;
  locked_.clear();
  fault_.reset();
  power_off_at_ = 0;
  powerless_ = false;
}

// --- nodes and names -----------------------------------------------------------------

SimulatedFiles::NodeId SimulatedFiles::add_node(bool folder) {
  nodes_.emplace_back().folder = folder;
  return nodes_.size() - 1;
}

SimulatedFiles::NodeId SimulatedFiles::child(const Location& location) const {
  if (location.folder == kNothing || !nodes_[location.folder].folder) return kNothing;
  const auto& names = nodes_[location.folder].names;
  const auto found = names.find(location.name);
  return found == names.end() ? kNothing : found->second;
}

SimulatedFiles::NodeId SimulatedFiles::find(const std::string& path) const {
  if (path.empty()) return 0;
  return child(location_of(path));
}

SimulatedFiles::Location SimulatedFiles::location_of(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return {0, path};
  return {find(path.substr(0, slash)), path.substr(slash + 1)};
}

void SimulatedFiles::change(NodeId folder, const std::string& name, NodeId node) {
  Node& held = nodes_[folder];
  if (node == kNothing) {
    held.names.erase(name);
  } else {
    held.names[name] = node;
  }
  held.changes.push_back({name, node});
}

ByteCount SimulatedFiles::used_bytes() const {
  std::vector<std::string> paths;
  collect(0, "", paths);
  ByteCount bytes = 0;
  for (const std::string& path : paths) bytes += nodes_[find(path)].data.size();
  return bytes;
}

void SimulatedFiles::collect(NodeId folder, const std::string& prefix,
                             std::vector<std::string>& paths) const {
  for (const auto& [name, node] : nodes_[folder].names) {
    if (nodes_[node].folder) {
      collect(node, prefix + name + "/", paths);
    } else {
      paths.push_back(prefix + name);
    }
  }
}

// --- other hands ---------------------------------------------------------------------

std::vector<std::string> SimulatedFiles::file_paths() const {
  std::vector<std::string> paths;
  collect(0, "", paths);
  return paths;
}

std::vector<std::byte> SimulatedFiles::bytes(const std::string& path) const {
  const NodeId node = find(path);
  CHECK(node != kNothing);
  return nodes_[node].data;
}

void SimulatedFiles::overwrite(const std::string& path, std::vector<std::byte> bytes) {
  for (std::size_t slash = path.find('/'); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const Location location = location_of(path.substr(0, slash));
    if (child(location) != kNothing) continue;
    const NodeId made = add_node(true);
    nodes_[location.folder].names[location.name] = made;
    nodes_[location.folder].durable_names[location.name] = made;
  }
  const Location location = location_of(path);
  const NodeId node = add_node(false);  // another file: who has the old one open keeps it
  nodes_[location.folder].names[location.name] = node;
  nodes_[location.folder].durable_names[location.name] = node;
  nodes_[node].durable = bytes;
  nodes_[node].data = std::move(bytes);
}

void SimulatedFiles::erase(const std::string& path) {
  const Location location = location_of(path);
  CHECK(child(location) != kNothing);
  nodes_[location.folder].names.erase(location.name);
  nodes_[location.folder].durable_names.erase(location.name);
  nodes_[location.folder].changes.push_back({location.name, kNothing});
}

// --- FileSystem ----------------------------------------------------------------------

Io<std::unique_ptr<OpenFile>> SimulatedFiles::create(const std::string& path) {
  using Opened = Io<std::unique_ptr<OpenFile>>;
  const Location location = location_of(path);
  const bool possible = location.folder != kNothing && child(location) == kNothing;
  const auto act = [&] {
    if (possible) change(location.folder, location.name, add_node(false));
  };
  if (const int error = begin_call(act); error != 0) return Opened::failed(error);
  if (location.folder == kNothing) return Opened::failed(ENOENT);
  if (!possible) return Opened::failed(EEXIST);
  act();
  return std::unique_ptr<OpenFile>(std::make_unique<SimulatedFile>(*this, child(location)));
}

Io<std::unique_ptr<OpenFile>> SimulatedFiles::open(const std::string& path) {
  using Opened = Io<std::unique_ptr<OpenFile>>;
  if (const int error = begin_call({}); error != 0) return Opened::failed(error);
  const NodeId node = find(path);
  if (node == kNothing) return Opened::failed(ENOENT);
  if (nodes_[node].folder) return Opened::failed(EINVAL);
  return std::unique_ptr<OpenFile>(std::make_unique<SimulatedFile>(*this, node));
}

int SimulatedFiles::rename(const std::string& from, const std::string& to) {
  const Location source = location_of(from);
  const Location target = location_of(to);
  const bool possible = child(source) != kNothing && target.folder != kNothing;
  const auto act = [&] {
    if (!possible) return;
    change(target.folder, target.name, child(source));
    change(source.folder, source.name, kNothing);
  };
  if (const int error = begin_call(act); error != 0) return error;
  if (!possible) return ENOENT;
  act();
  return 0;
}

int SimulatedFiles::remove(const std::string& path) {
  const Location location = location_of(path);
  const NodeId node = child(location);
  const bool possible = node != kNothing && !nodes_[node].folder;
  const auto act = [&] {
    if (possible) change(location.folder, location.name, kNothing);
  };
  if (const int error = begin_call(act); error != 0) return error;
  if (node == kNothing) return ENOENT;
  if (!possible) return EISDIR;
  act();
  return 0;
}

int SimulatedFiles::make_folder(const std::string& path) {
  const Location location = location_of(path);
  const bool possible = location.folder != kNothing && child(location) == kNothing;
  const auto act = [&] {
    if (possible) change(location.folder, location.name, add_node(true));
  };
  if (const int error = begin_call(act); error != 0) return error;
  if (location.folder == kNothing) return ENOENT;
  if (!possible) return EEXIST;
  act();
  return 0;
}

int SimulatedFiles::sync_folder(const std::string& path) {
  const NodeId node = find(path);
  const auto act = [&] {
    if (node == kNothing) return;
    nodes_[node].durable_names = nodes_[node].names;
    nodes_[node].changes.clear();
  };
  if (const int error = begin_call(act); error != 0) return error;
  if (node == kNothing) return ENOENT;
  act();
  return 0;
}

Io<std::vector<FolderEntry>> SimulatedFiles::list(const std::string& path) {
  if (const int error = begin_call({}); error != 0)
    return Io<std::vector<FolderEntry>>::failed(error);
  const NodeId folder = find(path);
  if (folder == kNothing) return Io<std::vector<FolderEntry>>::failed(ENOENT);
  if (!nodes_[folder].folder) return Io<std::vector<FolderEntry>>::failed(ENOTDIR);
  std::vector<FolderEntry> entries;
  for (const auto& [name, node] : nodes_[folder].names) {
    const bool is_folder = nodes_[node].folder;
    entries.push_back({name, is_folder ? FolderEntry::Kind::kFolder : FolderEntry::Kind::kFile,
                       nodes_[node].data.size()});
  }
  return entries;
}

Io<std::unique_ptr<FileLock>> SimulatedFiles::lock(const std::string& path) {
  const Location location = location_of(path);
  const auto act = [&] {
    if (child(location) == kNothing) change(location.folder, location.name, add_node(false));
  };
  if (const int error = begin_call(act); error != 0)
    return Io<std::unique_ptr<FileLock>>::failed(error);
  act();
  if (!locked_.insert(path).second) return Io<std::unique_ptr<FileLock>>::failed(EWOULDBLOCK);
  return std::unique_ptr<FileLock>(std::make_unique<SimulatedLock>(*this, path));
}

Io<ByteCount> SimulatedFiles::free_bytes() {
  if (const int error = begin_call({}); error != 0) return Io<ByteCount>::failed(error);
  if (!capacity_) return ByteCount{1} << 50;
  const ByteCount used = used_bytes();
  return *capacity_ > used ? *capacity_ - used : ByteCount{0};
}

}  // namespace holdfast::tier
